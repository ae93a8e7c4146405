#include "mankai/service/gate_position.hpp"

#include <algorithm>
#include <charconv>

namespace mankai {
namespace {

constexpr std::size_t kMaxIdBytes = 32;

bool is_id_character(char c) { return c > ' ' && c <= '~'; }

}  // namespace

std::string to_text(const GatePosition& position) {
  const std::string number = std::to_string(position.position);
  return position.source_id.empty() ? number : number + ' ' + position.source_id;
}

Result<GatePosition> parse_gate_position(std::string_view text) {
  GatePosition found;
  const auto [behind, error] = std::from_chars(text.begin(), text.end(), found.position);
  const std::string_view rest(behind, text.end());
  if (error != std::errc() || (!rest.empty() && (rest.front() != ' ' || rest.size() == 1)) ||
      !check_source_id(rest.substr(std::min<std::size_t>(rest.size(), 1)))) {
    return fail(ErrorCode::corrupt, "the source position is none of a gate's: it was given by another program");
  }
  if (!rest.empty()) {
    found.source_id = rest.substr(1);
  }
  return found;
}

Result<void> check_source_id(std::string_view id) {
  if (id.size() <= kMaxIdBytes && std::ranges::all_of(id, is_id_character)) {
    return {};
  }
  return fail(ErrorCode::invalid_argument,
              "a source's id has at most " + std::to_string(kMaxIdBytes) + " printable characters without blanks");
}

}  // namespace mankai
