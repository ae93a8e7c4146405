#pragma once

/// Answers, counts and facts of a gate (gate.hpp, gate_follower.hpp).

#include <cstddef>
#include <cstdint>

#include "mankai/filter/any_filter.hpp"
#include "mankai/filter/counting_bloom/counting_bloom.hpp"

namespace mankai {

namespace detail {
class GateCore;
}

/// Whether there may be something to fetch, with the state that a report about it is checked against.
class [[nodiscard]] GateAnswer {
 public:
  /// "maybe": ask the database. Otherwise "empty": there is no row with this key.
  [[nodiscard]] bool is_maybe() const noexcept { return is_maybe_; }
  explicit operator bool() const noexcept { return is_maybe_; }

 private:
  friend class detail::GateCore;
  GateAnswer(bool is_maybe, std::uint64_t state) noexcept : state_(state), is_maybe_(is_maybe) {}

  std::uint64_t state_;  ///< of the key's set of the memo, before the filter was asked
  bool is_maybe_;
};

/// Numbers of questions and answers. asked = empty + maybe.
struct GateCounts {
  std::uint64_t asked = 0;
  std::uint64_t empty = 0;            ///< queries saved, by the filter or the memo
  std::uint64_t maybe = 0;            ///< queries to make
  std::uint64_t memo_hits = 0;        ///< of the empty ones: by the memo
  std::uint64_t waiting = 0;          ///< of the maybes: because of `after`, or a Hold
  std::uint64_t false_positives = 0;  ///< reports
  std::uint64_t late_reports = 0;     ///< of them: ignored, since such a key was inserted or held meanwhile

  friend bool operator==(const GateCounts&, const GateCounts&) = default;
};

/// How full a gate is, in the terms of [Beach2000].
struct GateFacts {
  std::uint64_t keys = 0;           ///< rows: insertions minus erasures
  std::uint64_t capacity_keys = 0;  ///< rows that it is sized for
  double saturation = 0;            ///< the share of cells that are not 0
  unsigned phase = 0;               ///< cells per key
  double fpr_target = 0;            ///< at most, up to the capacity
  double fpr_estimate = 0;          ///< of the current cells
  std::uint64_t stuck_cells = 0;    ///< saturated counters, which can never go down
  std::uint64_t image_bytes = 0;
};

/// Cost: two passes over the cells.
[[nodiscard]] GateFacts gate_facts(const CountingBloom& filter);

/// Errors: invalid_argument for a filter that cannot be a gate's.
[[nodiscard]] Result<void> check_is_gate(const AnyFilter& filter);

}  // namespace mankai
