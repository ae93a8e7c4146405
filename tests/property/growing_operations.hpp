#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include "mankai/filter/scalable_bloom/scalable_bloom.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"
#include "tests/support/filter_request.hpp"
#include "tests/support/image_edit.hpp"
#include "tests/support/outcomes.hpp"
#include "tests/support/require.hpp"

// Sequences of operations on a growing filter beside an exact multiset, for property tests and for the fuzzer alike.

namespace mankai::test {

enum class GrowingVerb : std::uint8_t {
  insert,
  observe,
  insert_with_id,
  insert_batch,
  observe_batch,
  insert_batch_with_ids,
  ask,
  erase_member,
  erase_with_id,
  erase,
  merge,
  clear,
  round_trip,
};
inline constexpr std::uint8_t kGrowingVerbs = 13;

/// One operation. Keys and ids are drawn from small ranges, so that they come again.
struct GrowingOperation {
  GrowingVerb verb{};
  std::uint16_t key = 0;    ///< the first key, which member, or the way of a round trip
  std::uint16_t count = 0;  ///< of keys in a batch
  std::uint16_t id = 0;     ///< how far behind the next id, or a whole one
};

inline std::ostream& operator<<(std::ostream& out, const GrowingOperation& operation) {
  return out << "verb " << static_cast<int>(operation.verb) << "(key " << operation.key << ", count " << operation.count
             << ", id " << operation.id << ")";
}

/// A filter beside what it was given: how often each key is in under each id. An inserted key is found; an erase that
/// is refused changes no byte; what the answer of an erase must be follows from the slices.
template <class F>
class CheckedGrowing {
 public:
  using Member = std::pair<Digest, std::uint64_t>;

  explicit CheckedGrowing(F filter) : filter_(std::move(filter)) {}

  void insert(Digest digest) {
    const std::uint64_t id = next_id();
    filter_.insert(digest);
    add(digest, id);
    require(filter_.may_contain(digest), "a key is found right after it was inserted");
  }
  void observe(Digest digest) {
    const bool answered = filter_.may_contain(digest);
    const std::uint64_t id = next_id();
    require(filter_.observe(digest) == answered, "observe says what may_contain said before it");
    add(digest, id);
  }
  void insert(Digest digest, std::uint64_t id) {
    const bool is_refused = id < filter_.first_id();
    const auto before = is_refused ? filter_.to_bytes() : std::vector<std::byte>{};
    require(filter_.insert(digest, id).has_value() == !is_refused, "ids below the first are refused");
    if (is_refused) {
      require(filter_.to_bytes() == before, "a refused insert changes nothing");
    } else {
      add(digest, id);
    }
  }
  void insert(std::span<const Digest> digests) {
    const std::uint64_t id = next_id();
    filter_.insert(digests);
    for (std::size_t i = 0; i < digests.size(); ++i) {
      add(digests[i], id + i);
    }
  }
  void observe(std::span<const Digest> digests) {
    const std::uint64_t id = next_id();
    Outcomes seen(digests.size());
    const std::vector<bool> before = single_answers(filter_, digests);
    filter_.observe(digests, seen.span());
    for (std::size_t i = 0; i < digests.size(); ++i) {
      require(seen.span()[i] || !before[i], "a batch sees what a question before it saw");
      add(digests[i], id + i);
    }
  }
  void insert(std::span<const Digest> digests, std::span<const std::uint64_t> ids) {
    std::size_t below = 0;
    for (std::size_t i = 0; i < digests.size(); ++i) {
      if (ids[i] < filter_.first_id()) {
        ++below;
      } else {
        add(digests[i], ids[i]);
      }
    }
    require(filter_.insert(digests, ids) == below, "a batch says how many ids were below the first");
  }

  /// Takes out some member under its id; refused only where two slices may hold it.
  void erase_member(std::size_t which) {
    if (members_.empty()) {
      return;
    }
    const Member member = std::next(members_.begin(), static_cast<std::ptrdiff_t>(which % members_.size()))->first;
    const EraseResult result = erase(member.first, member.second);
    require(result != EraseResult::absent && result != EraseResult::below_ids, "a member's own id finds it");
  }

  /// Takes out what may be no member. Where it would be believed though it is not in, nothing is asked: the harm of
  /// that is stated, and would blunt every later check.
  EraseResult erase(Digest digest, std::uint64_t id) {
    const EraseResult expected = expected_result(digest, [&](std::size_t slice) { return owns(slice, id); });
    const bool is_member = members_.contains({digest, id});
    if (expected == EraseResult::erased && !is_member) {
      return expected;
    }
    const auto before = bytes_unless_erased(expected);
    const EraseResult result = filter_.erase(digest, id);
    const bool is_below = id < filter_.first_id();
    require(result == (is_below ? EraseResult::below_ids : expected), "an erase asks the slices that have the id");
    settle(result, before, {digest, id});
    return result;
  }
  void erase(Digest digest) {
    const EraseResult expected = expected_result(digest, [](std::size_t) { return true; });
    const auto member = members_.lower_bound({digest, 0});
    const bool is_member = member != members_.end() && member->first.first == digest;
    if (expected == EraseResult::erased && !is_member) {
      return;
    }
    const auto before = bytes_unless_erased(expected);
    const EraseResult result = filter_.erase(digest);
    require(result == expected, "an erase without id asks all slices");
    settle(result, before, is_member ? member->first : Member{});
  }

  void merge(const CheckedGrowing& other) {
    require(filter_.merge(other.filter_).has_value(), "filters made alike merge");
    for (const auto& [member, count] : other.members_) {
      members_[member] += count;
    }
    total_ += other.total_;
    require_all();
  }
  void clear() {
    filter_.clear();
    members_.clear();
    total_ = 0;
    require(filter_.slice_count() == 1 && filter_.fill_ratio() == 0, "a cleared filter is one empty slice");
  }
  void round_trip(unsigned way) {
    const auto before = filter_.to_bytes();
    if (way % 3 == 0) {
      filter_ = F::from_bytes(before, Trust::fast).value();
    } else if (way % 3 == 1) {
      filter_ = F::from_bytes(joined(filter_.seal_parts())).value();
    } else {
      filter_ = F::from_region(region_of(before), Trust::checked).value();
    }
    require(filter_.verify().has_value(), "the cells agree with the trailers");
    require(filter_.to_bytes() == before, "an image makes the filter that it came from");
  }

  void require_all() const {
    std::vector<Digest> digests;
    for (const auto& [member, count] : members_) {
      require(filter_.may_contain(member.first), "an inserted key is found");
      digests.push_back(member.first);
      if constexpr (FrequencyFilter<F>) {
        const KeyCount estimate = filter_.estimate(member.first);
        require(estimate.is_saturated || estimate.value >= count, "a key is in at least as often as it was inserted");
      }
    }
    require(batch_answers(filter_, digests) == std::vector<bool>(digests.size(), true),
            "an inserted key is found, also in a batch");
    if constexpr (NumberedFilter<F>) {
      require(filter_.keys_inserted() == total_, "the count of keys is insertions less erasures");
    } else {
      require(filter_.keys_inserted() <= total_, "no key is counted twice");
    }
  }

  [[nodiscard]] const F& filter() const noexcept { return filter_; }

 private:
  [[nodiscard]] std::uint64_t next_id() const {
    if constexpr (NumberedFilter<F>) {
      return filter_.next_id();
    }
    return 0;
  }
  void add(Digest digest, std::uint64_t id) {
    // scalable-bloom has no ids, and one of each key.
    ++members_[{digest, NumberedFilter<F> ? id : 0}];
    ++total_;
  }
  [[nodiscard]] bool owns(std::size_t slice, std::uint64_t id) const {
    return filter_.slice_first_id(slice) <= id && id <= filter_.slice_last_id(slice);
  }
  template <class Asked>
  [[nodiscard]] EraseResult expected_result(Digest digest, const Asked& asked) const {
    std::size_t holders = 0;
    bool is_stuck = false;
    for (std::size_t i = 0; i < filter_.slice_count(); ++i) {
      const bool holds = asked(i) && filter_.slice(i).may_contain(digest);
      holders += holds ? 1U : 0U;
      is_stuck = is_stuck || (holds && filter_.slice(i).estimate(digest).is_saturated);
    }
    const EraseResult of_one = is_stuck ? EraseResult::stuck : EraseResult::erased;
    return holders == 0 ? EraseResult::absent : holders == 1 ? of_one : EraseResult::ambiguous;
  }
  [[nodiscard]] std::vector<std::byte> bytes_unless_erased(EraseResult expected) const {
    return expected == EraseResult::erased ? std::vector<std::byte>{} : filter_.to_bytes();
  }
  void settle(EraseResult result, const std::vector<std::byte>& before, const Member& member) {
    if (result != EraseResult::erased) {
      require(filter_.to_bytes() == before, "a refused erase changes nothing");
      return;
    }
    --total_;
    if (--members_.at(member) == 0) {
      members_.erase(member);
    }
  }

  F filter_;
  std::map<Member, std::uint64_t> members_;
  std::uint64_t total_ = 0;
};

/// The operations that need ids. Ids fall behind the next one, which takes keys to older slices.
template <NumberedFilter F>
void run_numbered(CheckedGrowing<F>& checked, const GrowingOperation& operation, Digest digest,
                  std::span<const Digest> batch) {
  const std::uint64_t next = checked.filter().next_id();
  const std::uint64_t late = next - std::min<std::uint64_t>(next, operation.id % 64);
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    ids.push_back(i % 8 == 7 ? late : next + i / 2);
  }
  switch (operation.verb) {
    case GrowingVerb::insert_with_id: checked.insert(digest, operation.id % 2 == 0 ? next + operation.id : late); break;
    case GrowingVerb::insert_batch_with_ids: checked.insert(batch, std::span<const std::uint64_t>(ids)); break;
    case GrowingVerb::erase_member: checked.erase_member(operation.key); break;
    case GrowingVerb::erase_with_id: checked.erase(digest, late); break;
    default: checked.erase(digest); break;
  }
}

/// How the slices grow, and what they are: layouts of counters are those of scalable-counting-bloom.
struct GrowingMode {
  const char* name;
  bool is_counting = false;
  std::uint32_t factor = 2;
  CountingLayout layout = CountingLayout::blocked;
  FprBound bound = FprBound::total;
};

inline constexpr std::array<GrowingMode, 6> kGrowingModes = {
    {{.name = "bloom_doubling"},
     {.name = "bloom_constant", .factor = 1},
     {.name = "bloom_gradual", .bound = FprBound::gradual},
     {.name = "counting_doubling", .is_counting = true},
     {.name = "counting_faithful", .is_counting = true, .factor = 1, .layout = CountingLayout::partitioned},
     {.name = "counting_dablooms", .is_counting = true, .factor = 1, .layout = CountingLayout::dablooms}}};

template <class F>
F make_of_mode(const GrowingMode& mode, const FilterRequest& request) {
  typename F::Options options{.keys = request.keys, .fpr = request.fpr};
  options.growth = {.factor = mode.factor, .bound = mode.bound};
  options.hash = request.hash;
  if constexpr (requires { options.layout; }) {
    options.layout = mode.layout;
  }
  return F::create(options).value();
}

template <class F>
void run_growing_operations_of(const GrowingMode& mode, const FilterRequest& request,
                               std::span<const GrowingOperation> operations) {
  // Batches and merges add up: beyond so many keys a sequence would only become slower.
  constexpr std::uint64_t kKeysMax = 1000;
  CheckedGrowing checked(make_of_mode<F>(mode, request));
  CheckedGrowing other(make_of_mode<F>(mode, request));  // what merges bring in
  const Hasher hash = checked.filter().hasher();
  for (const GrowingOperation& operation : operations) {
    const Digest digest = hash(std::uint64_t{operation.key});
    const bool is_large = checked.filter().keys_inserted() > kKeysMax;
    const std::vector<Digest> batch = is_large ? std::vector<Digest>{} : batch_of(hash, operation);
    switch (operation.verb) {
      case GrowingVerb::insert: checked.insert(digest); break;
      case GrowingVerb::observe: checked.observe(digest); break;
      case GrowingVerb::insert_batch: checked.insert(std::span(batch)); break;
      case GrowingVerb::observe_batch: checked.observe(std::span(batch)); break;
      case GrowingVerb::ask: checked.require_all(); break;
      case GrowingVerb::clear: checked.clear(); break;
      case GrowingVerb::round_trip: checked.round_trip(operation.key); break;
      case GrowingVerb::merge:
        if (!is_large) {
          other.insert(std::span(batch));
          checked.merge(other);
        }
        break;
      default:
        if constexpr (NumberedFilter<F>) {
          run_numbered(checked, operation, digest, batch);
        }
        break;
    }
  }
  checked.require_all();
}

/// Runs the operations on a filter of this mode, checking each; throws where a promise is broken.
inline void run_growing_operations(const GrowingMode& mode, const FilterRequest& request,
                                   std::span<const GrowingOperation> operations) {
  mode.is_counting ? run_growing_operations_of<ScalableCountingBloom>(mode, request, operations)
                   : run_growing_operations_of<ScalableBloom>(mode, request, operations);
}

}  // namespace mankai::test
