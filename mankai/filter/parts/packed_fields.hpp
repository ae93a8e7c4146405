#pragma once

#include <cstdint>

#include "mankai/base/bits.hpp"

namespace mankai {

/// An array of fields of 1 to 56 bits in words, low bits first, without gaps.
///
/// Shape:   words[words_for(count, bits)]; the bits after the last field are zero. Pre: the words outlive the view.
/// Cost:    one word, or two for a field that crosses words.
class PackedFields {
 public:
  PackedFields() noexcept = default;
  PackedFields(std::uint64_t* words, std::uint64_t count, unsigned bits) noexcept
      : words_(words), count_(count), bits_(bits), mask_((std::uint64_t{1} << bits) - 1) {}

  [[nodiscard]] static constexpr std::uint64_t words_for(std::uint64_t count, unsigned bits) noexcept {
    return divide_up<std::uint64_t>(count * bits, kWordBits);
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t bits() const noexcept { return count_ * bits_; }

  /// Pre: at < count().
  [[nodiscard]] std::uint64_t operator[](std::uint64_t at) const noexcept {
    const std::uint64_t bit = at * bits_;
    const unsigned shift = bit % kWordBits;
    const std::uint64_t* word = words_ + bit / kWordBits;
    const std::uint64_t low = word[0] >> shift;
    return (shift + bits_ > kWordBits ? low | word[1] << (kWordBits - shift) : low) & mask_;
  }

  /// Pre: at < count(), value < 2^bits.
  void set(std::uint64_t at, std::uint64_t value) noexcept {
    const std::uint64_t bit = at * bits_;
    const unsigned shift = bit % kWordBits;
    std::uint64_t* word = words_ + bit / kWordBits;
    word[0] = (word[0] & ~(mask_ << shift)) | value << shift;
    if (shift + bits_ > kWordBits) {
      const unsigned taken = kWordBits - shift;
      word[1] = (word[1] & ~(mask_ >> taken)) | value >> taken;
    }
  }

  /// Whether the bits after the last field are zero, as required.
  [[nodiscard]] bool is_tail_zero() const noexcept {
    const unsigned used = bits() % kWordBits;
    return used == 0 || words_[bits() / kWordBits] >> used == 0;
  }

  void prefetch(std::uint64_t at) const noexcept { prefetch_line(words_ + at * bits_ / kWordBits); }
  /// The byte in which a field begins, counted from the first word.
  [[nodiscard]] std::uint64_t byte_of(std::uint64_t at) const noexcept { return at * bits_ / 8; }

 private:
  static constexpr unsigned kWordBits = 64;

  std::uint64_t* words_ = nullptr;
  std::uint64_t count_ = 0;
  unsigned bits_ = 1;
  std::uint64_t mask_ = 1;
};

}  // namespace mankai
