#include "modules/redis/gate/value.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "mankai/hash/checksum.hpp"

namespace mankai::redis {
namespace {

bool is_printable(char letter) noexcept { return letter > ' ' && letter <= '~'; }

std::string_view word_in(std::span<const char> bytes) noexcept {
  return {bytes.begin(), std::ranges::find(bytes, '\0')};
}
bool is_word(std::span<const char> bytes) noexcept {
  const std::string_view word = word_in(bytes);
  return std::ranges::all_of(word, is_printable) &&
         std::ranges::all_of(bytes.subspan(word.size()), [](char letter) { return letter == '\0'; });
}

}  // namespace

Result<GateValue> GateValue::from_image(AssembledImage source) {
  State state{};
  std::memcpy(&state, source.state.data(), sizeof(state));
  if (!is_word(state.mark) || !is_word(state.id) || state.id.front() == '\0') {
    return fail(ErrorCode::corrupt, "a gate without the id of its source, or with an impossible mark");
  }
  if (state.position > std::numeric_limits<std::int64_t>::max()) {
    return fail(ErrorCode::corrupt, "a gate at an impossible position");
  }
  MANKAI_ASSIGN(auto filter, filter_of<CountingBloom>(std::move(source)));
  if (checksum(filter.cells()) != state.cells_checksum) {
    return fail(ErrorCode::corrupt, "cells of another gate, or of another moment of this one");
  }
  return GateValue(std::move(filter), state);
}

bool GateValue::is_mark(std::string_view mark) noexcept {
  return mark.size() <= kMarkBytes && std::ranges::all_of(mark, is_printable);
}

void GateValue::apply(std::span<const std::string_view> inserted, std::span<const std::string_view> erased,
                      const Position& position) noexcept {
  for_each_hashed_window(filter().hasher(), inserted,
                         [&](std::size_t, std::span<const Digest> digests) { filter().insert(digests); });
  std::array<EraseResult, kHashWindow> results;
  for_each_hashed_window(filter().hasher(), erased, [&](std::size_t, std::span<const Digest> digests) {
    filter().erase(digests, std::span(results).first(digests.size()));
  });
  state_.position = position.number;
  state_.mark.fill('\0');
  std::ranges::copy(position.mark, state_.mark.begin());
}

GateValue::Position GateValue::position() const noexcept {
  return {.number = state_.position, .mark = word_in(state_.mark)};
}
std::string_view GateValue::source_id() const noexcept { return word_in(state_.id); }

ImageParts GateValue::parts() const {
  ImageParts parts = parts_of(filter());
  State state = state_;
  state.cells_checksum = checksum(filter().cells());
  const auto bytes = std::as_bytes(std::span(&state, 1));
  parts.state.assign(bytes.begin(), bytes.end());
  bind_to_moment(parts);
  return parts;
}

}  // namespace mankai::redis
