#pragma once

/// Models of what the text describes and of what its authors' code did where that differs. Nowhere but in this lab.
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
#include "mankai/hash/digest.hpp"

namespace mankai::lab::forgetting {

/// The text's array.
class TextArray {
 public:
  explicit TextArray(const Shape& shape) : shape_(shape), places_(shape.s) {}
  void insert(Digest digest) noexcept;
  [[nodiscard]] bool may_contain(Digest digest) const noexcept;

 private:
  Shape shape_;
  std::vector<std::uint32_t> places_;
};

/// The code's array. A digest is the key itself here: it is not mixed before.
class CodeArray {
 public:
  explicit CodeArray(const Shape& shape) : shape_(shape), places_(shape.s) {}
  void insert(Digest key) noexcept;
  [[nodiscard]] bool may_contain(Digest key) const noexcept;

 private:
  Shape shape_;
  std::vector<std::uint8_t> places_;
};

}  // namespace mankai::lab::forgetting
