#include "lab/fading/original.hpp"

#include "lab/random.hpp"

namespace mankai::lab::forgetting {
namespace {

// The text's hash functions: independent draws from the event.
template <class Visit>
void for_each_place(Digest digest, const Shape& shape, const Visit& visit) noexcept {
  constexpr unsigned kMostBits = 32;
  Random hashes(digest.value);
  const auto fingerprint = static_cast<std::uint32_t>(hashes.next() >> kMostBits) >> (kMostBits - shape.b);
  for (std::uint32_t i = 0; i < shape.n; ++i) {
    visit(hashes.below(shape.s), fingerprint);
  }
}

// The code's generator.
template <class Visit>
void for_each_place_of_code(Digest key, const Shape& shape, const Visit& visit) noexcept {
  constexpr std::uint64_t kMultiplier = 0x5deece66d;
  constexpr std::uint64_t kIncrement = 0x123456789;
  constexpr std::uint64_t kWithoutSign = ~std::uint64_t{0} >> 1U;
  std::uint64_t v = key.value & kWithoutSign;
  for (std::uint32_t i = 0; i < shape.n; ++i) {
    v = (v * kMultiplier + kIncrement) & kWithoutSign;
    visit(v % shape.s, static_cast<std::uint8_t>(v / shape.s));
  }
}

}  // namespace

void TextArray::insert(Digest digest) noexcept {
  for_each_place(digest, shape_, [this](std::uint64_t place, std::uint32_t print) { places_[place] = print; });
}

bool TextArray::may_contain(Digest digest) const noexcept {
  std::uint32_t matches = 0;
  for_each_place(digest, shape_, [this, &matches](std::uint64_t place, std::uint32_t print) {
    matches += static_cast<std::uint32_t>(places_[place] == print);
  });
  return matches >= shape_.r;
}

void CodeArray::insert(Digest key) noexcept {
  for_each_place_of_code(key, shape_, [this](std::uint64_t place, std::uint8_t print) { places_[place] = print; });
}

bool CodeArray::may_contain(Digest key) const noexcept {
  std::uint32_t matches = 0;
  for_each_place_of_code(key, shape_, [this, &matches](std::uint64_t place, std::uint8_t print) {
    matches += static_cast<std::uint32_t>(places_[place] == print);
  });
  return matches >= shape_.r;
}

}  // namespace mankai::lab::forgetting
