#pragma once

/// Extra digits of counters whose first digit, 4 bits, is stored elsewhere: a pool of digits, and a lookup table that
/// maps counters to them. Two interchangeable views over words owned by the caller:
///
///   - `DigitTable`: digits and lookup in one array of slots, sorted by counter, with gaps. A slot is the counter's
///     number plus one (0: free) and a digit. Counter c's slots begin at its home, the share c / m of the array, or
///     right after those of the counters before it; they are adjacent, lowest digit first:
///
///         slots: | 0 | 7,d1 | 7,d2 | 9,d1 | 0 | 0 | 14,d1 | 0 | …          counter 7 = d2 d1 and its first digit
///                      ▲ home of 7   ▲ home of 8 and 9
///
///     A linear-probing hash table with a monotone hash: keys hash to counters, so counters that overflow are spread
///     evenly, and a pass over counters and table is one sequential merge. There are no links. The set of slots
///     determines their positions, so an image is checked by recomputing them.
///
///   - `DigitLists`: an array of digits, each with a link to the next in its list; free digits form a list, too. One
///     head per counter (the array of m links), or one per 16 counters and a second link in each digit, back to its
///     counter (two-way links).
///
/// Source:  [Cheng2005] §4.1, "free counter pool" and "lookup table". The paper does not say how the table is searched,
///          nor its cost, which decides whether anything is saved: docs/filters/time_decaying_pooled_counts.md.

#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "mankai/base/bits.hpp"
#include "mankai/base/error.hpp"
#include "mankai/filter/parts/packed_fields.hpp"
#include "mankai/filter/parts/whole_decay.hpp"

namespace mankai::pool {

inline constexpr unsigned kDigitBits = 4;
inline constexpr std::uint64_t kLargestDigit = 15;
/// With the first digit, a counter has 32 bits.
inline constexpr unsigned kMaxExtraDigits = 7;
/// Numbers of counters and digits, plus one, fit in 32 bits.
inline constexpr std::uint64_t kMaxCounters = std::uint64_t{1} << 31;
inline constexpr std::uint64_t kMaxDigits = std::uint64_t{1} << 31;

/// Number of hexadecimal digits; 0 for 0.
[[nodiscard]] constexpr unsigned digits_of(std::uint64_t value) noexcept {
  return (static_cast<unsigned>(std::bit_width(value)) + kDigitBits - 1) / kDigitBits;
}

/// Size of the pool.
struct Shape {
  std::uint64_t counters = 0;  ///< 1 to kMaxCounters
  std::uint64_t digits = 0;    ///< 1 to kMaxDigits
};

/// Counts that change with the digits; in the image before the cells.
struct Ledger {
  std::uint64_t in_use = 0;      ///< digits that belong to counters
  std::uint64_t peak = 0;        ///< maximum of in_use; lists: digits from this one on were never used
  std::uint64_t first_free = 0;  ///< lists: a returned digit, plus one; 0: none
};

/// Sizes in bits, allocated and in use.
struct Bits {
  std::uint64_t digits = 0;
  std::uint64_t lookup = 0;
  std::uint64_t digits_used = 0;
  std::uint64_t lookup_used = 0;
};

/// An array of first digits: 16 per word, low bits first.
class FirstDigits {
 public:
  FirstDigits() noexcept = default;
  FirstDigits(std::uint64_t* words, std::uint64_t count) noexcept : words_(words), count_(count) {}

  [[nodiscard]] static constexpr std::uint64_t words_for(std::uint64_t count) noexcept {
    return divide_up<std::uint64_t>(count, kInWord);
  }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t* words() const noexcept { return words_; }
  /// Whether the padding is zero, as required.
  [[nodiscard]] bool is_tail_zero() const noexcept {
    return count_ % kInWord == 0 || words_[count_ / kInWord] >> shift(count_) == 0;
  }
  [[nodiscard]] std::uint64_t operator[](std::uint64_t at) const noexcept {
    return (words_[at / kInWord] >> shift(at)) & kLargestDigit;
  }
  void set(std::uint64_t at, std::uint64_t digit) noexcept {
    std::uint64_t& word = words_[at / kInWord];
    word = (word & ~(kLargestDigit << shift(at))) | digit << shift(at);
  }
  /// Pre: the digit is not the largest.
  void increment(std::uint64_t at) noexcept { words_[at / kInWord] += std::uint64_t{1} << shift(at); }
  void prefetch(std::uint64_t at) const noexcept { prefetch_line(words_ + at / kInWord); }

  /// Decays the counters in [begin, end), which have no extra digits.
  void fade(std::uint64_t begin, std::uint64_t end, const std::array<std::uint8_t, 256>& pairs) noexcept;

 private:
  static constexpr std::uint64_t kInWord = 16;
  static constexpr unsigned shift(std::uint64_t at) noexcept {
    return static_cast<unsigned>(at % kInWord) * kDigitBits;
  }

  std::uint64_t* words_ = nullptr;
  std::uint64_t count_ = 0;
};

/// Decay by a number of epochs.
class Fading {
 public:
  Fading(const WholeDecay& decay, std::uint64_t epochs) noexcept;

  [[nodiscard]] std::uint64_t operator()(std::uint64_t value) const noexcept { return decay_.after(value, epochs_); }
  /// A table that decays two first digits at once.
  [[nodiscard]] const std::array<std::uint8_t, 256>& pairs() const noexcept { return pairs_; }

 private:
  WholeDecay decay_;
  std::uint64_t epochs_;
  std::array<std::uint8_t, 256> pairs_{};
};

/// See the top of this file.
class DigitTable {
 public:
  DigitTable() noexcept = default;
  DigitTable(std::uint64_t* words, const Shape& shape, Ledger* ledger) noexcept;

  [[nodiscard]] static std::uint64_t words_for(const Shape& shape) noexcept;

  /// The counter's extra digits as a number: the counter's value is 16 times that plus its first digit. Cost: about
  /// three adjacent slots while the pool is not full.
  [[nodiscard]] std::uint64_t high(std::uint64_t counter) const noexcept;
  /// Replaces them by a number with at least as many digits. Pre: has_room() for the additional digits.
  void raise(std::uint64_t counter, std::uint64_t high) noexcept;
  /// Whether that many more digits can be allocated, by any counters.
  [[nodiscard]] bool has_room(std::uint64_t digits) const noexcept;
  /// Whether these digits, and that many more, fit in a pool of another size.
  [[nodiscard]] bool fits(const Shape& shape, std::uint64_t digits) const noexcept;

  /// Calls `visit(counter, high)` for each counter that has extra digits, in order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (std::uint64_t at = 0; at < slots_.count();) {
      const std::uint64_t key = key_at(at);
      if (key == 0) {
        ++at;
        continue;
      }
      const Run run = run_at(at, key);
      visit(key - 1, run.high);
      at += run.digits;
    }
  }

  /// Decays all counters, and frees leading digits that become 0. Cost: a pass over counters and table.
  void fade(FirstDigits& first, const Fading& fading) noexcept;
  /// Checks the position of every slot; `offset` is that of the first word. Errors: corrupt.
  [[nodiscard]] Result<void> check(std::uint64_t offset) const;
  [[nodiscard]] Bits bits() const noexcept;

 private:
  struct Run {
    std::uint64_t high = 0;
    std::uint64_t digits = 0;
  };

  [[nodiscard]] std::uint64_t home(std::uint64_t counter) const noexcept { return (counter * scale_) >> 32; }
  [[nodiscard]] std::uint64_t key_at(std::uint64_t at) const noexcept { return slots_[at] >> kDigitBits; }
  [[nodiscard]] std::uint64_t find(std::uint64_t counter) const noexcept;
  [[nodiscard]] Run run_at(std::uint64_t at, std::uint64_t key) const noexcept;
  void open_slot(std::uint64_t at) noexcept;
  void write(std::uint64_t at, std::uint64_t key, std::uint64_t high) noexcept;
  [[nodiscard]] Result<void> check_slots(std::uint64_t offset) const;

  Ledger* ledger_ = nullptr;
  std::uint64_t digits_ = 0;
  std::uint64_t counters_ = 0;
  std::uint64_t scale_ = 0;  ///< slots per counter, times 2^32
  PackedFields slots_;
};

/// See the top of this file.
class DigitLists {
 public:
  /// Counters per list: 1, or 16, in which case each digit stores its counter.
  enum class Heads : std::uint8_t { each, shared };

  DigitLists(std::uint64_t* words, const Shape& shape, Heads heads, Ledger* ledger) noexcept;

  [[nodiscard]] static std::uint64_t words_for(const Shape& shape, Heads heads) noexcept;

  /// As DigitTable's.
  [[nodiscard]] std::uint64_t high(std::uint64_t counter) const noexcept;
  void raise(std::uint64_t counter, std::uint64_t high) noexcept;
  [[nodiscard]] bool has_room(std::uint64_t digits) const noexcept {
    return digits_.count() - ledger_->in_use >= digits;
  }
  [[nodiscard]] bool fits(const Shape& shape, std::uint64_t digits) const noexcept {
    return shape.digits >= ledger_->in_use + digits;
  }
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (std::uint64_t group = 0; group < heads_.count(); ++group) {
      if (heads_[group] == 0) {
        continue;
      }
      const Group found = read(group);
      for (std::uint64_t i = 0; i < group_; ++i) {
        if (found.digits[i] != 0) {
          visit(group * group_ + i, found.high[i]);
        }
      }
    }
  }
  void fade(FirstDigits& first, const Fading& fading) noexcept;
  [[nodiscard]] Result<void> check(std::uint64_t offset) const;
  [[nodiscard]] Bits bits() const noexcept;

 private:
  static constexpr std::uint64_t kShared = 16;

  struct Group {
    std::array<std::uint64_t, kShared> high{};
    std::array<std::uint8_t, kShared> digits{};
  };

  [[nodiscard]] Group read(std::uint64_t group) const noexcept;
  [[nodiscard]] bool belongs(std::uint64_t digit, std::uint64_t counter) const noexcept {
    return group_ == 1 || owners_[digit] == counter + 1;
  }
  [[nodiscard]] std::uint64_t take() noexcept;
  void give_back(std::uint64_t digit) noexcept;
  void rewrite(std::uint64_t group, const std::array<std::uint64_t, kShared>& highs) noexcept;
  [[nodiscard]] Result<void> check_list(std::uint64_t group, std::span<std::uint64_t> seen, std::uint64_t offset) const;
  [[nodiscard]] Result<void> check_free(std::span<std::uint64_t> seen, std::uint64_t offset) const;

  Ledger* ledger_;
  std::uint64_t group_;
  std::uint64_t counters_;
  PackedFields digits_;
  PackedFields next_;
  PackedFields heads_;
  PackedFields owners_;  ///< empty if each counter has a list
};

}  // namespace mankai::pool
