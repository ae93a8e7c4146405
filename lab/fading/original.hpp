#pragma once

/// Models of what the text describes and of what its authors' code did where that differs. Only in this lab.
///
/// Written from descriptions of their behavior; they share no code and no file with it. Both are arrays of zeros at
/// first, and 0 is a fingerprint like any other. What is modeled:
///   - the text: n places by n hash functions, and one fingerprint of b bits by another;
///   - the code, 2013 to 2016: bytes; place and fingerprint both come from a congruential generator that starts at the
///     key without its sign, v = (v 0x5deece66d + 0x123456789) mod 2^63, place v mod s, fingerprint the low byte of
///     v / s: another fingerprint for each place;
///   - an event is known when r of its n places match.
/// Source: [Kifi2013].

#include <cstdint>
#include <vector>

#include "lab/fading/formulas.hpp"
#include "lab/random.hpp"
#include "mankai/hash/digest.hpp"

namespace mankai::lab::forgetting {

/// The text's hash functions: independent draws from the event.
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

/// The code's generator. A digest is the key itself here: it is not mixed before.
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
