#include "mankai/hash/murmur2.hpp"

#include <cstddef>
#include <cstring>

namespace mankai {
namespace {

/// The constants of one word size. Source: [Appleby2008].
template <class Word>
struct Murmur2;

template <>
struct Murmur2<std::uint32_t> {
  static constexpr std::uint32_t kMultiplier = 0x5bd1e995U;
  static constexpr std::uint32_t kLengthFactor = 1;
  static constexpr unsigned kWordShift = 24;

  static std::uint32_t absorb(std::uint32_t state, std::uint32_t mixed) noexcept { return state * kMultiplier ^ mixed; }
  static std::uint32_t finish(std::uint32_t state) noexcept {
    state = (state ^ (state >> 13U)) * kMultiplier;
    return state ^ (state >> 15U);
  }
};

template <>
struct Murmur2<std::uint64_t> {
  static constexpr std::uint64_t kMultiplier = 0xc6a4a7935bd1e995U;
  static constexpr std::uint64_t kLengthFactor = kMultiplier;
  static constexpr unsigned kWordShift = 47;

  static std::uint64_t absorb(std::uint64_t state, std::uint64_t mixed) noexcept {
    return (state ^ mixed) * kMultiplier;
  }
  static std::uint64_t finish(std::uint64_t state) noexcept {
    state = (state ^ (state >> kWordShift)) * kMultiplier;
    return state ^ (state >> kWordShift);
  }
};

// Missing bytes are zeros.
template <class Word>
Word load_word(const char* data, std::size_t bytes) noexcept {
  Word word = 0;
  std::memcpy(&word, data, bytes);
  return word;
}

template <class Word>
Word murmur2(std::string_view key, Word seed) noexcept {
  using Form = Murmur2<Word>;
  Word state = seed ^ static_cast<Word>(key.size() * Form::kLengthFactor);
  const char* at = key.data();
  std::size_t rest = key.size();
  for (; rest >= sizeof(Word); at += sizeof(Word), rest -= sizeof(Word)) {
    const Word word = load_word<Word>(at, sizeof(Word)) * Form::kMultiplier;
    state = Form::absorb(state, (word ^ (word >> Form::kWordShift)) * Form::kMultiplier);
  }
  if (rest != 0) {
    state = (state ^ load_word<Word>(at, rest)) * Form::kMultiplier;
  }
  return Form::finish(state);
}

}  // namespace

std::uint32_t murmur2_32(std::string_view key, std::uint32_t seed) noexcept { return murmur2(key, seed); }
std::uint64_t murmur2_64a(std::string_view key, std::uint64_t seed) noexcept { return murmur2(key, seed); }

}  // namespace mankai
