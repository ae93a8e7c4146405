#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace mankai {

template <class Word>
[[nodiscard]] std::uint64_t load_word(const char* from) noexcept {
  Word word = 0;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

/// The bytes of less than 16 as two words. Of texts of one length, different ones have different words.
[[nodiscard]] inline std::array<std::uint64_t, 2> short_words(std::string_view text) noexcept {
  const char* const first = text.data();
  const char* const end = first + text.size();
  if (text.size() >= sizeof(std::uint64_t)) {
    return {load_word<std::uint64_t>(first), load_word<std::uint64_t>(end - sizeof(std::uint64_t))};
  }
  if (text.size() >= sizeof(std::uint32_t)) {
    return {load_word<std::uint32_t>(first), load_word<std::uint32_t>(end - sizeof(std::uint32_t))};
  }
  if (text.empty()) {
    return {};
  }
  return {load_word<std::uint8_t>(first) | load_word<std::uint8_t>(first + text.size() / 2) << 8 |
          load_word<std::uint8_t>(end - 1) << 16};
}

}  // namespace mankai
