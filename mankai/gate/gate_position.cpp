#include "mankai/gate/gate_position.hpp"

#include <algorithm>
#include <charconv>

namespace mankai {
namespace {

constexpr std::size_t kMaxIdBytes = 32;
constexpr std::size_t kMaxMarkBytes = 10;

bool fits(std::string_view word, std::size_t most_bytes) {
  return word.size() <= most_bytes && std::ranges::all_of(word, [](char c) { return c > ' ' && c <= '~'; });
}

// Removes a space and a word from the front; an empty text has the word "". Returns false for a space without a word.
bool take_word(std::string_view& text, std::string_view& word) {
  word = {};
  if (text.empty()) {
    return true;
  }
  if (text.front() != ' ') {
    return false;
  }
  text.remove_prefix(1);
  word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return !word.empty();
}

}  // namespace

std::string to_text(const GatePosition& position) {
  std::string text = std::to_string(position.position);
  if (!position.source_id.empty()) {
    text += " " + position.source_id + (position.mark.empty() ? "" : " " + position.mark);
  }
  return text;
}

Result<GatePosition> parse_gate_position(std::string_view text) {
  GatePosition found;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), found.position);
  std::string_view rest(end, text.end());
  std::string_view id;
  std::string_view mark;
  if (error != std::errc() || !take_word(rest, id) || !take_word(rest, mark) || !rest.empty() || !check_source_id(id) ||
      !check_position_mark(mark)) {
    return fail(ErrorCode::corrupt, "the source position is not one of a gate; another program wrote it");
  }
  found.source_id = id;
  found.mark = mark;
  return found;
}

Result<std::optional<GatePosition>> gate_position_of(const SourcePosition& stored) {
  if (stored.empty()) {
    return std::nullopt;
  }
  return parse_gate_position(stored.view());
}

Result<void> check_source_id(std::string_view id) {
  if (fits(id, kMaxIdBytes)) {
    return {};
  }
  return fail(ErrorCode::invalid_argument,
              "a source's id has at most " + std::to_string(kMaxIdBytes) + " printable characters, and no spaces");
}

Result<void> check_position_mark(std::string_view mark) {
  if (fits(mark, kMaxMarkBytes)) {
    return {};
  }
  return fail(ErrorCode::invalid_argument, "a position's mark has at most " + std::to_string(kMaxMarkBytes) +
                                               " printable characters, and no spaces");
}

}  // namespace mankai
