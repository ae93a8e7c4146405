#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <ostream>
#include <span>
#include <vector>

#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "tests/support/filter_request.hpp"
#include "tests/support/outcomes.hpp"
#include "tests/support/require.hpp"

// Sequences of operations on a counting filter beside an exact multiset, for property tests and for the fuzzer alike.

namespace mankai::test {

enum class CountingVerb : std::uint8_t {
  insert,
  insert_often,
  observe,
  erase,
  insert_batch,
  observe_batch,
  erase_batch,
  ask_batch,
  merge,
  clear,
  round_trip,
};
inline constexpr std::uint8_t kCountingVerbs = 11;

/// One operation. Keys are drawn from a small range, so that they come again and overflow.
struct CountingOperation {
  CountingVerb verb{};
  std::uint16_t key = 0;    ///< the first key, or the way of a round trip
  std::uint16_t count = 0;  ///< of keys in a batch, or of times
};

inline std::ostream& operator<<(std::ostream& out, const CountingOperation& operation) {
  constexpr const char* kNames[kCountingVerbs] = {"insert",       "insert_often",  "observe",     "erase",
                                                  "insert_batch", "observe_batch", "erase_batch", "ask_batch",
                                                  "merge",        "clear",         "round_trip"};
  return out << kNames[static_cast<std::uint8_t>(operation.verb)] << "(key " << operation.key << ", count "
             << operation.count << ")";
}

/// A counting filter beside an exact multiset. Every call is made on both, and what is promised is checked: a key that
/// is in is found and its estimate is no smaller than how often it is in, unless it is saturated. Absent keys are never
/// erased where the filter reports them as members: that is the caller's duty, and others would be lost.
class CheckedCounts {
 public:
  explicit CheckedCounts(CountingBloom filter) : filter_(std::move(filter)) {}

  [[nodiscard]] const CountingBloom& filter() const noexcept { return filter_; }

  void insert(Digest digest) {
    filter_.insert(digest);
    count(digest);
    require_key(digest);
  }

  void observe(Digest digest) {
    const bool answered = filter_.may_contain(digest);
    require(filter_.observe(digest) == answered, "observe says what may_contain said before it");
    count(digest);
    require_key(digest);
  }

  /// Erases a member, or asks for an absent key to be erased whom the filter knows as one.
  void erase(Digest digest) {
    if (!is_in(digest)) {
      if (!filter_.may_contain(digest)) {
        require(filter_.erase(digest) == EraseResult::absent, "an absent key is refused");
        require(!filter_.may_contain(digest), "and remains an absent key");
      }
      return;
    }
    if (filter_.estimate(digest).is_saturated) {
      require(filter_.erase(digest) == EraseResult::stuck, "a member whose counters are stuck is refused");
    } else {
      require(filter_.erase(digest) == EraseResult::erased, "a member is erased");
      discount(digest);
    }
    require_key(digest);
  }

  void insert(std::span<const Digest> digests) {
    CountingBloom singles = copy();
    filter_.insert(digests);
    for (const Digest digest : digests) {
      singles.insert(digest);
      count(digest);
    }
    require_same(singles);
  }

  void observe(std::span<const Digest> digests) {
    CountingBloom singles = copy();
    Outcomes seen(digests.size());
    filter_.observe(digests, seen.span());
    for (std::size_t i = 0; i < digests.size(); ++i) {
      require(seen.span()[i] == singles.observe(digests[i]), "a batch observes as single calls do");
      require(seen.span()[i] || !is_in(digests[i]), "a member has been seen");
      count(digests[i]);
    }
    require_same(singles);
  }

  void erase(std::span<const Digest> digests) {
    CountingBloom singles = copy();
    std::vector<Digest> members;
    std::vector<EraseResult> expected;
    for (const Digest digest : digests) {
      if (is_in(digest)) {
        members.push_back(digest);
        // No erasure makes or unmakes that.
        const bool is_stuck = filter_.estimate(digest).is_saturated;
        expected.push_back(is_stuck ? EraseResult::stuck : EraseResult::erased);
        if (!is_stuck) {
          discount(digest);
        }
      }
    }
    std::vector<EraseResult> results(members.size(), EraseResult::ambiguous);
    filter_.erase(members, results);
    for (std::size_t i = 0; i < members.size(); ++i) {
      require(results[i] == expected[i], "every member of a batch is erased, or stuck");
      require(singles.erase(members[i]) == expected[i], "and every single one");
    }
    require_same(singles);
  }

  void ask(std::span<const Digest> digests) const {
    const std::vector<bool> answers = batch_answers(filter_, digests);
    std::vector<KeyCount> counts(digests.size());
    filter_.estimate(digests, counts);
    for (std::size_t i = 0; i < digests.size(); ++i) {
      require(answers[i] == filter_.may_contain(digests[i]), "a batch answers as single calls do");
      require(counts[i] == filter_.estimate(digests[i]), "a batch estimates as single calls do");
      require_key(digests[i]);
    }
  }

  void merge(const CheckedCounts& other) {
    require(filter_.merge(other.filter_).has_value(), "filters made alike merge");
    for (const auto& [digest, times] : other.model_) {
      model_[digest] += times;
    }
    keys_ += other.keys_;
    require_all();
  }

  void clear() {
    filter_.clear();
    model_.clear();
    keys_ = 0;
    require(filter_.fill_ratio() == 0 && filter_.saturated_cells() == 0, "a cleared filter has every counter at 0");
  }

  void round_trip(bool is_trusted) {
    const std::vector<std::byte> before = filter_.to_bytes();
    filter_ = CountingBloom::from_bytes(before, is_trusted ? Trust::fast : Trust::checked).value();
    require(filter_.to_bytes() == before, "an image makes the filter that it came from");
    require_all();
  }

  /// Asks for every key there is.
  void require_all() const {
    require(filter_.keys_inserted() == keys_, "the count of keys is that of inserts less erasures");
    for (const auto& [digest, times] : model_) {
      require_key(digest);
    }
  }

 private:
  [[nodiscard]] CountingBloom copy() const { return CountingBloom::from_bytes(filter_.to_bytes()).value(); }
  [[nodiscard]] bool is_in(Digest digest) const { return model_.contains(digest); }

  void count(Digest digest) {
    ++model_[digest];
    ++keys_;
  }
  void discount(Digest digest) {
    if (const auto found = model_.find(digest); --found->second == 0) {
      model_.erase(found);
    }
    --keys_;
  }

  void require_key(Digest digest) const {
    const auto found = model_.find(digest);
    const std::uint64_t times = found == model_.end() ? 0 : found->second;
    const KeyCount estimate = filter_.estimate(digest);
    require(estimate.value >= times || estimate.is_saturated, "an estimate is never too small");
    require(estimate.is_saturated == (estimate.value == 15), "saturated is 15");
    require(filter_.may_contain(digest) == (estimate.value != 0), "found is estimated to be in");
    require(filter_.may_contain(digest) || times == 0, "a member is found");
    require(filter_.keys_inserted() == keys_, "the count of keys is that of inserts less erasures");
  }

  void require_same(const CountingBloom& singles) const {
    require(filter_.to_bytes() == singles.to_bytes(), "a batch changes what its single calls in order change");
    require_all();
  }

  CountingBloom filter_;
  std::map<Digest, std::uint64_t> model_;
  std::uint64_t keys_ = 0;
};

inline CountingBloom make_counting(CountingLayout layout, const FilterRequest& request) {
  return CountingBloom::create({.keys = request.keys,
                                .fpr = request.fpr,
                                .layout = layout,
                                .hash = request.hash,
                                .memory = request.memory})
      .value();
}

/// Runs the operations on a filter of this layout, checking each; throws where a promise is broken.
inline void run_counting_operations(CountingLayout layout, const FilterRequest& request,
                                    std::span<const CountingOperation> operations) {
  CheckedCounts checked(make_counting(layout, request));
  const Hasher hash = checked.filter().hasher();
  for (const CountingOperation& operation : operations) {
    const Digest digest = hash(std::uint64_t{operation.key});
    const std::vector<Digest> batch = batch_of(hash, operation);
    switch (operation.verb) {
      case CountingVerb::insert: checked.insert(digest); break;
      case CountingVerb::insert_often:
        for (int i = 0; i < operation.count % 20; ++i) {
          checked.insert(digest);
        }
        break;
      case CountingVerb::observe: checked.observe(digest); break;
      case CountingVerb::erase: checked.erase(digest); break;
      case CountingVerb::insert_batch: checked.insert(std::span(batch)); break;
      case CountingVerb::observe_batch: checked.observe(std::span(batch)); break;
      case CountingVerb::erase_batch: checked.erase(std::span(batch)); break;
      case CountingVerb::ask_batch: checked.ask(std::span(batch)); break;
      case CountingVerb::merge: {
        CheckedCounts other(make_counting(layout, request));
        other.insert(std::span(batch));
        checked.merge(other);
        break;
      }
      case CountingVerb::clear: checked.clear(); break;
      case CountingVerb::round_trip: checked.round_trip(operation.key % 2 == 0); break;
    }
  }
  checked.require_all();
}

}  // namespace mankai::test
