#include "modules/redis/engine/repeated_command.hpp"

#include <bit>
#include <charconv>
#include <cstring>

#include "mankai/base/assert.hpp"

namespace mankai::redis {
namespace {

// Eight digits, the first of them in the lowest byte: eight nibbles at a time instead of one.
std::uint64_t hexadecimal(std::uint32_t number) noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  std::uint64_t nibbles = std::byteswap(number);
  nibbles = (nibbles | nibbles << 16U) & 0x0000ffff0000ffffU;
  nibbles = (nibbles | nibbles << 8U) & 0x00ff00ff00ff00ffU;
  nibbles = (nibbles >> 4U | nibbles << 8U) & 0x0f0f0f0f0f0f0f0fU;
  const std::uint64_t letters = (nibbles + 6 * kOnes) >> 4U & kOnes;  // 1 where a nibble is above 9
  return nibbles + '0' * kOnes + letters * ('a' - '0' - 10);
}

}  // namespace

RepeatedCommand& RepeatedCommand::set(Word word, std::string_view text) noexcept {
  MANKAI_ASSERT(count_ < kMostWords);
  String*& string = strings_[count_];
  if (string != nullptr) {
    engine.free_string(nullptr, string);
  }
  string = engine.create_string(nullptr, text.data(), text.size());
  word.text = text_of(string);
  words_[count_] = word;
  return keep();
}

RepeatedCommand& RepeatedCommand::add(long long number) noexcept {
  const Word word{.kind = Kind::integer, .bits = static_cast<std::uint64_t>(number)};
  if (is_kept(word)) {
    return keep();
  }
  std::array<char, 24> text;  // the longest has 20 characters
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return set(word, {text.data(), static_cast<std::size_t>(end - text.data())});
}

RepeatedCommand& RepeatedCommand::add(double number) noexcept {
  const Word word{.kind = Kind::real, .bits = std::bit_cast<std::uint64_t>(number)};
  if (is_kept(word)) {
    return keep();
  }
  constexpr int kDigits = 17;  // distinguish all doubles
  std::array<char, 32> text;
  // As printf with "%.17g", in half of the time.
  const auto end = std::to_chars(text.begin(), text.end(), number, std::chars_format::general, kDigits).ptr;
  return set(word, {text.begin(), end});
}

RepeatedCommand& RepeatedCommand::add(const HashSpec& hash) noexcept {
  std::array<char, 32> seed;
  for (std::size_t i = 0; i < 2 * hash.seed.size(); ++i) {
    const std::uint64_t word = hash.seed[i / 2];
    const std::uint64_t digits = hexadecimal(static_cast<std::uint32_t>(i % 2 == 0 ? word >> 32 : word));
    std::memcpy(seed.data() + i * sizeof(digits), &digits, sizeof(digits));
  }
  return add("HASH").add(name(hash.kind)).add("SEED").add({seed.data(), seed.size()});
}

}  // namespace mankai::redis
