#include "apps/mankai/escape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mankai::command {
namespace {

// How long a UTF-8 character with this first byte is, or 0 if none begins so.
std::size_t length_by_lead(unsigned char lead) noexcept {
  if (lead < 0x80) {
    return 1;
  }
  if (lead < 0xc2 || lead > 0xf4) {
    return 0;
  }
  return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

// C0, DEL and C1: a terminal takes them for commands.
bool is_control(std::string_view character) noexcept {
  const auto lead = static_cast<unsigned char>(character[0]);
  return lead < 0x20 || lead == 0x7f || (lead == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0);
}

// Nothing where no byte has to be escaped.
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

}  // namespace

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

}  // namespace mankai::command
