#pragma once

/// Models of the filter in the text and of its authors' code, where they differ.
///
/// Written from descriptions of their behavior; they share no code with the original. Both start as arrays of zeros,
/// and 0 is a valid fingerprint. What is modeled:
///   - the text: n places by n hash functions, and one fingerprint of b bits by another one;
///   - the code, 2013 to 2016: fingerprints of 8 bits. Place and fingerprint come from a linear congruential generator
///     seeded with the key without its sign: v = (v 0x5deece66d + 0x123456789) mod 2^63, place v mod s, fingerprint the
///     low byte of v / s, so each place has another fingerprint;
///   - an event is known when r of its n places match.
/// Source: [Kifi2013].

#include <cstdint>
#include <vector>

#include "lab/fading/formulas.hpp"
#include "lab/random.hpp"
#include "mankai/hash/digest.hpp"

namespace mankai::lab::forgetting {

/// Hash functions of the text: independent draws seeded by the event.
struct TextPlaces {
  using Fingerprint = std::uint32_t;
  template <class Visit>
  static void visit(Digest digest, const Shape& shape, const Visit& visit) noexcept {
    constexpr unsigned kMostBits = 32;
    Random hashes(digest.value);
    const auto fingerprint = static_cast<std::uint32_t>(hashes.next() >> kMostBits) >> (kMostBits - shape.b);
    for (std::uint32_t i = 0; i < shape.n; ++i) {
      visit(hashes.below(shape.s), fingerprint);
    }
  }
};

/// Generator of the code. The digest is the key itself, unmixed.
struct CodePlaces {
  using Fingerprint = std::uint8_t;
  template <class Visit>
  static void visit(Digest key, const Shape& shape, const Visit& visit) noexcept {
    constexpr std::uint64_t kMultiplier = 0x5deece66d;
    constexpr std::uint64_t kIncrement = 0x123456789;
    constexpr std::uint64_t kWithoutSign = ~std::uint64_t{0} >> 1U;
    std::uint64_t v = key.value & kWithoutSign;
    for (std::uint32_t i = 0; i < shape.n; ++i) {
      v = (v * kMultiplier + kIncrement) & kWithoutSign;
      visit(v % shape.s, static_cast<std::uint8_t>(v / shape.s));
    }
  }
};

template <class Places>
class ModelArray {
 public:
  explicit ModelArray(const Shape& shape) : shape_(shape), prints_(shape.s) {}
  void insert(Digest digest) noexcept {
    Places::visit(digest, shape_, [this](std::uint64_t place, auto print) { prints_[place] = print; });
  }
  [[nodiscard]] bool may_contain(Digest digest) const noexcept {
    std::uint32_t matches = 0;
    Places::visit(digest, shape_, [&](std::uint64_t place, auto print) {
      matches += static_cast<std::uint32_t>(prints_[place] == print);
    });
    return matches >= shape_.r;
  }

 private:
  Shape shape_;
  std::vector<typename Places::Fingerprint> prints_;
};
using TextArray = ModelArray<TextPlaces>;
using CodeArray = ModelArray<CodePlaces>;

}  // namespace mankai::lab::forgetting
