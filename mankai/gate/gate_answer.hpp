#pragma once

#include <cstdint>

#include "mankai/filter/any_filter.hpp"
#include "mankai/filter/counting_bloom/counting_bloom.hpp"

namespace mankai {

/// The answer to a query, and the state of the memo against which a report about it is checked.
class [[nodiscard]] GateAnswer {
 public:
  /// `state` is that of an earlier answer, or of the gate that makes one.
  GateAnswer(bool is_maybe, std::uint64_t state) noexcept : state_(state), is_maybe_(is_maybe) {}

  /// True for "maybe": ask the database. False for "empty": there is no row with this key.
  [[nodiscard]] bool is_maybe() const noexcept { return is_maybe_; }
  explicit operator bool() const noexcept { return is_maybe_; }
  /// For programs that store an answer until they report about it.
  [[nodiscard]] std::uint64_t state() const noexcept { return state_; }

 private:
  std::uint64_t state_;  ///< of the key's set in the memo, read before the filter
  bool is_maybe_;
};

/// Numbers of queries by answer. asked = empty + maybe.
struct GateCounts {
  std::uint64_t asked = 0;
  std::uint64_t empty = 0;            ///< database queries saved, by the filter or the memo
  std::uint64_t maybe = 0;            ///< database queries needed
  std::uint64_t memo_hits = 0;        ///< answers "empty" from the memo
  std::uint64_t waiting = 0;          ///< answers "maybe" because of `after` or a Hold
  std::uint64_t false_positives = 0;  ///< reports
  std::uint64_t late_reports = 0;     ///< reports ignored because such a key was inserted or held in between

  friend bool operator==(const GateCounts&, const GateCounts&) = default;
};

/// Fill state of a gate, in the terms of [Beach2000].
struct GateFacts {
  std::uint64_t keys = 0;           ///< number of rows: insertions minus erasures
  std::uint64_t capacity_keys = 0;  ///< number of rows the gate is sized for
  double saturation = 0;            ///< fraction of the cells that are not 0
  unsigned phase = 0;               ///< cells per key
  double fpr_target = 0;            ///< upper bound up to the capacity
  double fpr_estimate = 0;          ///< of the current cells
  std::uint64_t stuck_cells = 0;    ///< saturated counters, which never decrease
  std::uint64_t image_bytes = 0;
};

/// Cost: two passes over the cells.
[[nodiscard]] GateFacts gate_facts(const CountingBloom& filter);

/// Errors: invalid_argument for a filter of another kind than a gate's.
[[nodiscard]] Result<void> check_is_gate(const AnyFilter& filter);

}  // namespace mankai
