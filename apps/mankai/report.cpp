// The only file that includes nlohmann/json, which compiles slowly.

#include "apps/mankai/report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace mankai::command {
namespace {

std::string_view type_name(MetricType type) noexcept {
  switch (type) {
    case MetricType::counter: return "counter";
    case MetricType::gauge: return "gauge";
    case MetricType::histogram: return "histogram";
  }
  return "untyped";
}

void append_escaped(std::string_view text, bool escapes_quotes, std::string& out) {
  for (const char byte : text) {
    if (byte == '\n') {
      out += "\\n";
    } else if (byte == '\\' || (byte == '"' && escapes_quotes)) {
      out += '\\';
      out += byte;
    } else {
      out += byte;
    }
  }
}

// Returns the size of a UTF-8 character with this first byte; 0 if invalid.
std::size_t length_by_lead(unsigned char lead) noexcept {
  if (lead < 0x80) {
    return 1;
  }
  if (lead < 0xc2 || lead > 0xf4) {
    return 0;
  }
  return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

// C0, DEL and C1, which terminals interpret.
bool is_control(std::string_view character) noexcept {
  const auto lead = static_cast<unsigned char>(character[0]);
  return lead < 0x20 || lead == 0x7f || (lead == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0);
}

// Returns an empty string if no byte needs an escape.
template <class KeepCharacter>
std::string escaped(std::string_view bytes, KeepCharacter keep) {
  std::string text;
  bool is_changed = false;
  while (!bytes.empty()) {
    const std::size_t length = character_bytes(bytes);
    const std::string_view character = bytes.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0 || !keep(character)) {
      is_changed = true;
      for (const char byte : character) {
        text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
      }
    } else {
      text += character == "\\" ? "\\\\" : character;
    }
    bytes.remove_prefix(character.size());
  }
  return is_changed ? text : std::string();
}

nlohmann::ordered_json json_of(const Report& report) {
  auto object = nlohmann::ordered_json::object();
  for (const Report::Line& line : report.lines()) {
    std::visit([&](const auto& value) { object[line.name] = value; }, line.value);
  }
  for (const Report::List& list : report.lists()) {
    auto& items = object[list.name] = nlohmann::ordered_json::array();
    for (const Report& item : list.items) {
      items.push_back(json_of(item));
    }
  }
  return object;
}

// Replaces invalid UTF-8: file names and keys may be any bytes.
std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

void PrometheusText::begin(std::string_view name, MetricType type, std::string_view help) {
  name_ = name;
  text_ += fmt::format("# HELP {} ", name);
  append_escaped(help, false, text_);
  text_ += fmt::format("\n# TYPE {} {}\n", name, type_name(type));
}

std::string PrometheusText::number(double value) {
  if (std::isnan(value)) {
    return "NaN";
  }
  if (std::isinf(value)) {
    return value > 0 ? "+Inf" : "-Inf";
  }
  return fmt::format("{}", value);
}

void PrometheusText::add(std::string_view suffix, Labels labels, std::string_view value) {
  text_ += name_;
  text_ += suffix;
  char before = '{';
  for (const auto& [name, content] : labels) {
    text_ += before;
    text_ += name;
    text_ += "=\"";
    append_escaped(printable(content), true, text_);
    text_ += '"';
    before = ',';
  }
  text_ += before == ',' ? "} " : " ";
  text_ += value;
  text_ += '\n';
}

std::string human_count(std::uint64_t count) {
  std::string digits = std::to_string(count);
  constexpr std::size_t kGroup = 3;
  for (std::size_t i = digits.size(); i > kGroup; i -= kGroup) {
    digits.insert(i - kGroup, ",");
  }
  return digits;
}

std::string counted(std::uint64_t count, std::string_view noun, std::string_view plural) {
  return fmt::format("{} {}{}", human_count(count), count == 1 || plural.empty() ? noun : plural,
                     count != 1 && plural.empty() ? "s" : "");
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  constexpr double kStep = 1024;
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= kStep && unit + 1 < kUnits.size()) {
    value /= kStep;
    ++unit;
  }
  return unit == 0 ? counted(bytes, "byte") : fmt::format("{:.{}f} {}", value, value < 100 ? 1 : 0, kUnits[unit]);
}

std::string human_share(double share) { return fmt::format("{:.3g}%", share * 100); }

std::string human_estimate(double estimate) {
  return std::isfinite(estimate) ? human_count(static_cast<std::uint64_t>(std::llround(estimate)))
                                 : "unknown: the filter is too full";
}

std::size_t character_bytes(std::string_view text) noexcept {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  const std::size_t length = length_by_lead(lead);
  const auto is_wrong = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U; };
  if (length < 2 || text.size() < length || std::ranges::any_of(text.substr(1, length - 1), is_wrong)) {
    return length == 1 ? 1 : 0;
  }
  const bool is_out = (lead == 0xe0 && at(1) < 0xa0) || (lead == 0xed && at(1) > 0x9f) ||
                      (lead == 0xf0 && at(1) < 0x90) || (lead == 0xf4 && at(1) > 0x8f);
  return is_out ? 0 : length;
}

std::string printable(std::string_view bytes) {
  std::string text = escaped(bytes, [](std::string_view character) { return !is_control(character); });
  return text.empty() ? std::string(bytes) : text;
}

void add_bytes(const std::string& name, std::string_view bytes, Report& report, const std::string& label) {
  std::string text = escaped(bytes, [](std::string_view) { return true; });
  const bool is_escaped = !text.empty();
  report.add(name, is_escaped ? std::move(text) : std::string(bytes), label, label.empty() ? "" : printable(bytes));
  if (is_escaped) {
    report.add(name + "_is_escaped", true);
  }
}

std::string Report::text() const {
  std::size_t width = 0;
  for (const Line& line : lines_) {
    width = std::max(width, line.label.size());
  }
  std::string text;
  for (const Line& line : lines_) {
    if (!line.label.empty()) {
      text += line.label + std::string(width - line.label.size() + 2, ' ') + line.shown + "\n";
    }
  }
  return text;
}

std::string Report::json() const { return dump(json_of(*this)); }

std::string json_array(const std::vector<Report>& reports) {
  auto array = nlohmann::ordered_json::array();
  for (const Report& report : reports) {
    array.push_back(json_of(report));
  }
  return dump(array);
}

}  // namespace mankai::command
