#include "mankai/gate/database/source_settings.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace mankai {
namespace {

constexpr std::string_view kFirstLine = "mankai gate source ";
constexpr std::string_view kVersion = "1";
constexpr std::size_t kMaxValueBytes = 4096;
constexpr std::size_t kMaxFileBytes = std::size_t{64} << 10U;

struct Field {
  std::string_view name;
  std::string RowSourceSettings::* value;
};

// One line per field, in this order.
constexpr std::array<Field, 5> kFields = {{{"source", &RowSourceSettings::source},
                                           {"table", &RowSourceSettings::table},
                                           {"key", &RowSourceSettings::key},
                                           {"where", &RowSourceSettings::where},
                                           {"installed", &RowSourceSettings::installed}}};

bool fits_in_line(std::string_view value) {
  constexpr unsigned char kDelete = 0x7f;
  return value.size() <= kMaxValueBytes && std::ranges::all_of(value, [](char c) {
           return static_cast<unsigned char>(c) >= ' ' && static_cast<unsigned char>(c) != kDelete;
         });
}

bool take_line(std::string_view& text, std::string_view& line) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) {
    return false;
  }
  line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return true;
}

}  // namespace

Result<std::string> to_text(const RowSourceSettings& settings) {
  std::string text = std::string(kFirstLine) + std::string(kVersion) + "\n";
  for (const Field& field : kFields) {
    const std::string& value = settings.*field.value;
    if (!fits_in_line(value)) {
      return fail(ErrorCode::invalid_argument, "the " + std::string(field.name) + " must be one line of at most " +
                                                   std::to_string(kMaxValueBytes) +
                                                   " bytes without control characters");
    }
    text += std::string(field.name) + " " + value + "\n";
  }
  return text;
}

Result<RowSourceSettings> parse_source_settings(std::string_view text) {
  std::string_view line;
  if (!take_line(text, line) || !line.starts_with(kFirstLine)) {
    return fail(ErrorCode::corrupt, "is not a gate's source file");
  }
  if (line.substr(kFirstLine.size()) != kVersion) {
    return fail(ErrorCode::unsupported_version,
                "was written by a newer mankai: version " + std::string(line.substr(kFirstLine.size()).substr(0, 16)));
  }
  RowSourceSettings settings;
  for (const Field& field : kFields) {
    const std::size_t name_bytes = field.name.size() + 1;
    if (!take_line(text, line) || line.size() < name_bytes || !line.starts_with(field.name) ||
        line[field.name.size()] != ' ' || !fits_in_line(line.substr(name_bytes))) {
      return fail(ErrorCode::corrupt, "has no line '" + std::string(field.name) + "...' where it is expected");
    }
    settings.*field.value = line.substr(name_bytes);
  }
  if (!text.empty()) {
    return fail(ErrorCode::corrupt, "has too many lines");
  }
  return settings;
}

Result<std::vector<RowSourceSettings>> parse_source_list(std::string_view text) {
  std::vector<RowSourceSettings> list;
  while (!text.empty()) {
    const std::string_view begin = text;
    std::string_view line;
    for (std::size_t i = 0; i < kFields.size() + 1; ++i) {
      static_cast<void>(take_line(text, line));
    }
    const std::string_view part =
        begin.substr(0, text.size() < begin.size() ? begin.size() - text.size() : begin.size());
    MANKAI_ASSIGN(auto settings, parse_source_settings(part));
    list.push_back(std::move(settings));
  }
  return list;
}

std::string source_settings_path(const std::string& gate_path) { return gate_path + "-source"; }

Result<RowSourceSettings> read_source_settings(const std::string& gate_path) {
  const std::string path = source_settings_path(gate_path);
  std::array<std::byte, 1> none{};
  const auto size = read_start(path, none);
  if (!size && size.error().code == ErrorCode::not_found) {
    return fail(ErrorCode::not_found,
                path + ": is missing, and names the source of the gate's keys; `mankai gate build` makes both files");
  }
  if (!size) {
    return std::unexpected(size.error());
  }
  if (*size > kMaxFileBytes) {
    return fail(ErrorCode::corrupt, path + ": is not a gate's -source file");
  }
  MANKAI_ASSIGN(const auto bytes, read_file(path));
  auto settings = parse_source_settings({reinterpret_cast<const char*>(bytes.bytes().data()), bytes.bytes().size()});
  return settings ? std::move(settings) : std::unexpected(settings.error().within(path));
}

Result<void> write_source_settings(const std::string& gate_path, const RowSourceSettings& settings, Existing existing,
                                   FileMode mode) {
  MANKAI_ASSIGN(const auto text, to_text(settings));
  return write_file(source_settings_path(gate_path), std::as_bytes(std::span(text)), existing, nullptr, system_calls(),
                    mode);
}

}  // namespace mankai
