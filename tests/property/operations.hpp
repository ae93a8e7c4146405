#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <vector>

#include "tests/support/checked.hpp"
#include "tests/support/every_kind.hpp"

// Sequences of operations on a checked filter, for property tests and for the fuzzer alike.

namespace mankai::test {

enum class Verb : std::uint8_t {
  insert,
  observe,
  may_contain,
  insert_concurrent,
  insert_batch,
  observe_batch,
  may_contain_batch,
  merge,
  clear,
  round_trip,
};
inline constexpr std::uint8_t kVerbs = 10;

/// One operation. Keys are drawn from a small range, so that they come again.
struct Operation {
  Verb verb{};
  std::uint16_t key = 0;    ///< the first key, or the way of a round trip
  std::uint16_t count = 0;  ///< of keys in a batch
};

inline std::ostream& operator<<(std::ostream& out, const Operation& operation) {
  constexpr const char* kNames[kVerbs] = {"insert",       "observe",       "may_contain",       "insert_concurrent",
                                          "insert_batch", "observe_batch", "may_contain_batch", "merge",
                                          "clear",        "round_trip"};
  return out << kNames[static_cast<std::uint8_t>(operation.verb)] << "(key " << operation.key << ", count "
             << operation.count << ")";
}

/// Runs the operations on a filter of this kind, checking each; throws where a promise is broken.
inline void run_operations(const Example& example, const FilterRequest& request,
                           std::span<const Operation> operations) {
  Checked checked(make(example, request));
  Checked other(make(example, request));  // what merges bring in
  const Hasher hash = checked.filter().hasher();
  for (const Operation& operation : operations) {
    const Digest digest = hash(std::uint64_t{operation.key});
    const std::vector<Digest> batch = batch_of(hash, operation);
    switch (operation.verb) {
      case Verb::insert: checked.insert(digest); break;
      case Verb::observe: checked.observe(digest); break;
      case Verb::may_contain: static_cast<void>(checked.may_contain(digest)); break;
      case Verb::insert_concurrent: checked.insert_concurrent(digest); break;
      case Verb::insert_batch: checked.insert(std::span(batch)); break;
      case Verb::observe_batch: checked.observe(std::span(batch)); break;
      case Verb::may_contain_batch: checked.may_contain(std::span(batch)); break;
      case Verb::merge:
        other.insert(std::span(batch));
        checked.merge(other);
        break;
      case Verb::clear: checked.clear(); break;
      case Verb::round_trip: checked.round_trip(static_cast<RoundTrip>(operation.key % 4)); break;
    }
  }
  checked.require_all();
}

}  // namespace mankai::test
