#pragma once

/// The paper's two algorithms as it prints them, in plain loops that count the cells that they read or write. The
/// filters of this project use vectors, batches and other lookup tables, so their times say little about the paper's.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "lab/traffic/random.hpp"
#include "lab/under_test.hpp"
#include "lab/web_profiling/visits.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/hash/digest.hpp"

namespace mankai::lab::profiling {

struct PrintedShape {
  std::uint64_t counters = 0;
  unsigned k = 0;
  double lambda = 0;
  bool is_rounded_up = false;  ///< λ C, which the paper does not say
  Fault fault = Fault::none;

  /// h_j(q) of the paper: independent functions, which may coincide.
  [[nodiscard]] std::uint64_t position(Digest digest, unsigned j) const noexcept {
    return fastrange(detail::mix(digest.value + (j + 1) * 0x9E3779B97F4A7C15U), counters);
  }
  [[nodiscard]] std::uint64_t decayed(std::uint64_t count) const noexcept {
    const double product = (fault == Fault::never_decays ? 1 : lambda) * static_cast<double>(count);
    return static_cast<std::uint64_t>(is_rounded_up ? std::ceil(product) : product);
  }
};

/// Section 3.1: an array of counters of 16 bits. A full counter stays full; the paper does not say what it does.
class PrintedBasic {
 public:
  explicit PrintedBasic(const PrintedShape& shape) : shape_(shape), counters_(shape.counters) {}

  void insert(Digest digest) noexcept {
    for (unsigned j = 0; j < shape_.k && !loses_insert(shape_.fault, digest.value); ++j) {
      std::uint16_t& counter = counters_[shape_.position(digest, j)];
      counter = static_cast<std::uint16_t>(counter + (counter != kFull ? 1 : 0));
      ++touched_;
    }
  }
  void decay() noexcept {
    for (std::uint16_t& counter : counters_) {
      counter = static_cast<std::uint16_t>(shape_.decayed(counter));
    }
    touched_ += counters_.size();
  }
  [[nodiscard]] std::uint64_t count(Digest digest) noexcept {
    std::uint64_t least = kFull;
    for (unsigned j = 0; j < shape_.k; ++j) {
      least = std::min<std::uint64_t>(least, counters_[shape_.position(digest, j)]);
      ++touched_;
    }
    return invents_yes(shape_.fault, digest.value) ? least + 1 : least;
  }
  [[nodiscard]] std::uint64_t touched() const noexcept { return touched_; }
  [[nodiscard]] const std::vector<std::uint16_t>& counters() const noexcept { return counters_; }

 private:
  static constexpr std::uint16_t kFull = std::numeric_limits<std::uint16_t>::max();

  PrintedShape shape_;
  std::vector<std::uint16_t> counters_;
  std::uint64_t touched_ = 0;
};

/// Section 4.2: a Bloom filter, counters of 4 bits (a byte each here), and extra counters, which a lookup table links
/// to them. The pool grows; the paper does not say what an empty one does.
class PrintedOptimized {
 public:
  explicit PrintedOptimized(const PrintedShape& shape)
      : shape_(shape), bloom_(shape.counters), first_(shape.counters), links_(shape.counters), extra_(1) {}

  void insert(Digest digest) {
    for (unsigned j = 0; j < shape_.k && !loses_insert(shape_.fault, digest.value); ++j) {
      const std::uint64_t at = shape_.position(digest, j);
      bloom_[at] = true;
      touched_ += 2;
      if (first_[at] != kLargestDigit) {
        ++first_[at];
      } else {
        first_[at] = 0;
        write(at, high(at) + 1);
      }
    }
  }
  void decay() {
    for (std::uint64_t at = 0; at < shape_.counters; ++at) {
      const std::uint64_t before = high(at) * kBase + first_[at];
      const std::uint64_t after = shape_.decayed(before);
      first_[at] = static_cast<std::uint8_t>(after % kBase);
      if (before / kBase != after / kBase) {
        write(at, after / kBase);
      }
      ++touched_;
    }
  }
  [[nodiscard]] std::uint64_t count(Digest digest) noexcept {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (unsigned j = 0; j < shape_.k; ++j) {
      const std::uint64_t at = shape_.position(digest, j);
      touched_ += 2;
      least = bloom_[at] ? std::min(least, high(at) * kBase + first_[at]) : 0;
    }
    return invents_yes(shape_.fault, digest.value) ? least + 1 : least;
  }
  [[nodiscard]] std::uint64_t touched() const noexcept { return touched_; }
  /// The most extra counters that were in use.
  [[nodiscard]] std::uint64_t extra_peak() const noexcept { return extra_.size() - 1; }

 private:
  static constexpr std::uint64_t kBase = 16;
  static constexpr std::uint8_t kLargestDigit = kBase - 1;

  struct Extra {
    std::uint8_t digit = 0;
    std::uint32_t next = 0;   // 0: none
    std::uint32_t owner = 0;  // the way back of the bi-directional link
  };

  // The extra counters of one counter as a number.
  std::uint64_t high(std::uint64_t at) noexcept {
    std::uint64_t value = 0;
    std::uint64_t unit = 1;
    ++touched_;
    for (std::uint32_t link = links_[at]; link != 0; link = extra_[link].next, unit *= kBase) {
      value += unit * extra_[link].digit;
      ++touched_;
    }
    return value;
  }
  // Replaces them: takes what is missing from the pool, and gives back what is zero at the high end.
  void write(std::uint64_t at, std::uint64_t value) {
    std::uint32_t before = 0;
    std::uint32_t link = links_[at];
    for (; value != 0; value /= kBase) {
      if (link == 0) {
        link = take(static_cast<std::uint32_t>(at));
        (before == 0 ? links_[at] : extra_[before].next) = link;
      }
      extra_[link].digit = static_cast<std::uint8_t>(value % kBase);
      before = link;
      link = extra_[link].next;
      ++touched_;
    }
    (before == 0 ? links_[at] : extra_[before].next) = 0;
    while (link != 0) {
      const std::uint32_t next = extra_[link].next;
      extra_[link].next = free_;
      free_ = link;
      link = next;
      ++touched_;
    }
  }
  std::uint32_t take(std::uint32_t owner) {
    std::uint32_t link = free_;
    if (link != 0) {
      free_ = extra_[link].next;
    } else {
      link = static_cast<std::uint32_t>(extra_.size());
      extra_.emplace_back();
    }
    extra_[link] = {.owner = owner};
    return link;
  }

  PrintedShape shape_;
  std::vector<bool> bloom_;
  std::vector<std::uint8_t> first_;
  std::vector<std::uint32_t> links_;
  std::vector<Extra> extra_;  // the first is none
  std::uint32_t free_ = 0;
  std::uint64_t touched_ = 0;
};

/// Replays visits: a decay at the start of every epoch but the first.
template <class Printed>
void replay(Printed& filter, const Visits& visits) {
  for (std::size_t epoch = 0; epoch < visits.epochs.size(); ++epoch) {
    if (epoch > 0) {
      filter.decay();
    }
    for (const std::uint32_t page : visits.of(epoch)) {
      filter.insert(visits.digests[page]);
    }
  }
}

}  // namespace mankai::lab::profiling
