#pragma once

/// What a gate (gate.hpp, gate_follower.hpp) answers and tells about itself.

#include <cstddef>
#include <cstdint>

#include "mankai/filter/counting_bloom/counting_bloom.hpp"

namespace mankai {

namespace detail {
class GateCore;
}

/// Whether there may be something to fetch, and what a report about it is checked by.
class [[nodiscard]] GateAnswer {
 public:
  /// "maybe": ask the database. Otherwise "empty": there is no row with this key.
  [[nodiscard]] bool is_maybe() const noexcept { return is_maybe_; }
  explicit operator bool() const noexcept { return is_maybe_; }

 private:
  friend class detail::GateCore;
  GateAnswer(bool is_maybe, std::uint64_t state) noexcept : state_(state), is_maybe_(is_maybe) {}

  std::uint64_t state_;  ///< of the key's line of the memo, before the filter was asked
  bool is_maybe_;
};

/// What was asked and answered. asked = empty + maybe.
struct GateCounts {
  std::uint64_t asked = 0;
  std::uint64_t empty = 0;            ///< queries saved, by the filter or the memo
  std::uint64_t maybe = 0;            ///< queries to make
  std::uint64_t memo_hits = 0;        ///< of the empty ones: known from a report
  std::uint64_t waiting = 0;          ///< of the maybes: since a position was not applied yet, or the key was held
  std::uint64_t false_positives = 0;  ///< reports
  std::uint64_t late_reports = 0;     ///< of them: not believed, since such a key was inserted or held meanwhile

  friend bool operator==(const GateCounts&, const GateCounts&) = default;
};

/// How full a gate is, in the words of the paper that had the idea [Beach2000].
struct GateFacts {
  std::uint64_t keys = 0;           ///< rows: insertions less erasures
  std::uint64_t capacity_keys = 0;  ///< rows that it was made for
  double saturation = 0;            ///< the share of cells that are not 0
  unsigned phase = 0;               ///< cells per key
  double fpr_target = 0;            ///< promised up to the capacity
  double fpr_estimate = 0;          ///< of the cells as they are
  std::uint64_t stuck_cells = 0;    ///< counters that cannot go down any more
  std::uint64_t image_bytes = 0;
};

/// Cost: two passes over the cells.
[[nodiscard]] GateFacts gate_facts(const CountingBloom& filter);

}  // namespace mankai
