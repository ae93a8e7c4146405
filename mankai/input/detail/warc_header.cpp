#include "mankai/input/detail/warc_header.hpp"

#include <algorithm>
#include <array>

#include "mankai/base/ascii.hpp"
#include "mankai/base/number.hpp"
#include "mankai/input/detail/text_fields.hpp"
#include "mankai/input/detail/time_scan.hpp"

namespace mankai::detail {
namespace {

constexpr std::array<std::string_view, 9> kTypeNames = {"warcinfo", "response",   "resource",     "request", "metadata",
                                                        "revisit",  "conversion", "continuation", "other"};

bool equals_ignoring_case(std::string_view a, std::string_view b) noexcept {
  return std::ranges::equal(a, b, {}, lower, lower);
}

bool is_blank(char character) noexcept { return character == ' ' || character == '\t'; }

std::string_view trimmed_of_blanks(std::string_view text) noexcept { return trimmed(text, is_blank); }

std::string_view take_line(std::string_view& rest) noexcept {
  std::string_view line = take_field(rest, '\n');
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

WarcType type_of(std::string_view text) noexcept {
  const auto* const found =
      std::ranges::find_if(kTypeNames, [text](std::string_view name) { return equals_ignoring_case(name, text); });
  return found == kTypeNames.end() ? WarcType::other : static_cast<WarcType>(found - kTypeNames.begin());
}

std::string_view without_brackets(std::string_view uri) noexcept {
  return uri.size() > 1 && uri.starts_with('<') && uri.ends_with('>') ? uri.substr(1, uri.size() - 2) : uri;
}

/// The header fields that are read. If a field is repeated, the first counts.
struct WarcFields {
  std::optional<std::string> type;
  std::optional<std::string> length;
  std::optional<std::string> uri;
  std::optional<std::string> date;

  /// Returns where to store the field; nullptr for a repeated or unused field.
  [[nodiscard]] std::string* take(std::string_view name) {
    const std::array<std::pair<std::string_view, std::optional<std::string>*>, 4> wanted = {
        {{"WARC-Type", &type}, {"Content-Length", &length}, {"WARC-Target-URI", &uri}, {"WARC-Date", &date}}};
    for (const auto& [known, field] : wanted) {
      if (equals_ignoring_case(name, known)) {
        return field->has_value() ? nullptr : &field->emplace();
      }
    }
    return nullptr;
  }
};

Result<WarcFields> read_fields(std::string_view rest) {
  WarcFields fields;
  std::string* current = nullptr;
  bool has_field = false;
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    if (!line.empty() && is_blank(line.front()) && has_field) {
      if (current != nullptr) {
        current->append(" ").append(trimmed_of_blanks(line));
      }
      continue;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      return fail(ErrorCode::corrupt, "has a header line without a colon");
    }
    has_field = true;
    current = fields.take(trimmed_of_blanks(line.substr(0, colon)));
    if (current != nullptr) {
      *current = trimmed_of_blanks(line.substr(colon + 1));
    }
  }
  return fields;
}

Result<void> check_version(std::string_view line) {
  const std::string_view version = line.substr(std::min(kWarcMagic.size(), line.size()));
  if (!looks_like_warc(line)) {
    return fail(ErrorCode::corrupt, "has no WARC version");
  }
  if (version.front() > '1') {
    return fail(ErrorCode::unsupported_version,
                "has WARC version " + std::string(version) + "; versions 1.0 and 1.1 can be read");
  }
  return {};
}

Result<std::uint64_t> length_of(const WarcFields& fields) {
  if (!fields.length) {
    return fail(ErrorCode::corrupt, "has no Content-Length");
  }
  const auto length = to_number<std::uint64_t>(*fields.length);
  if (!length || *length > kWarcBlockBytesMax) {
    return fail(ErrorCode::corrupt, "has an invalid Content-Length \"" + *fields.length + "\"");
  }
  return *length;
}

}  // namespace

Result<WarcRecord> parse_warc_header(std::string_view header, std::string& uri) {
  std::string_view rest = header;
  MANKAI_TRY(check_version(take_line(rest)));
  MANKAI_ASSIGN(const auto fields, read_fields(rest));
  MANKAI_ASSIGN(const auto length, length_of(fields));
  if (!fields.type) {
    return fail(ErrorCode::corrupt, "has no WARC-Type");
  }
  uri = without_brackets(fields.uri ? std::string_view(*fields.uri) : std::string_view());
  WarcRecord record{.type = type_of(*fields.type), .block_bytes = length};
  if (fields.date) {
    record.date = scan_iso_time(*fields.date).whole(*fields.date);
  }
  return record;
}

}  // namespace mankai::detail

namespace mankai {

bool looks_like_warc(std::string_view line) noexcept {
  if (!line.starts_with(detail::kWarcMagic)) {
    return false;
  }
  line.remove_prefix(detail::kWarcMagic.size());
  return line.size() > 1 && line.front() >= '0' && line.front() <= '9' && line[1] == '.';
}

std::string_view name(WarcType type) noexcept { return detail::kTypeNames[static_cast<std::size_t>(type)]; }

}  // namespace mankai
