#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "lab/traffic/url_words.hpp"

namespace mankai::detail {

/// Builds one URL in a fixed buffer. The longest possible URL has less than 192 bytes. A word is written as a whole
/// field, so up to 15 bytes past its end.
class UrlText {
 public:
  void put(char character) noexcept { *at_++ = character; }
  void put(std::string_view literal) noexcept {
    std::memcpy(at_, literal.data(), literal.size());
    at_ += literal.size();
  }
  void put(const Word& word) noexcept {
    std::memcpy(at_, &word, sizeof word);
    at_ += word.length;
  }
  void put_number(std::uint64_t number) noexcept { at_ = std::to_chars(at_, at_ + 20, number).ptr; }
  void put_two_digits(std::uint64_t number) noexcept {
    put(static_cast<char>('0' + number / 10));
    put(static_cast<char>('0' + number % 10));
  }

  [[nodiscard]] std::string_view view() const noexcept {
    return {buffer_.data(), static_cast<std::size_t>(at_ - buffer_.data())};
  }

 private:
  static_assert(sizeof(Word) == 16);

  std::array<char, 256> buffer_;
  char* at_ = buffer_.data();
};

}  // namespace mankai::detail
