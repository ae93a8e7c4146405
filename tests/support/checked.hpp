#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "mankai/base/region.hpp"
#include "tests/support/every_kind.hpp"
#include "tests/support/image_edit.hpp"
#include "tests/support/outcomes.hpp"
#include "tests/support/require.hpp"

namespace mankai::test {

/// How a filter goes through its image and comes back.
enum class RoundTrip : std::uint8_t { from_bytes, from_bytes_fast, adopt, attach };

/// A filter beside an exact set of what it was given. Every call is made on both, and the promise is checked: an
/// inserted key is found. What else follows from the cells is checked too: a `no` from observe or an answered `no`
/// means that the set has not got the key; the count of keys is the count of such inserts, or of all inserts where the
/// filter counts repeats.
class Checked {
 public:
  explicit Checked(Subject filter) : filter_(std::move(filter)), keys_inserted_(filter_.keys_inserted()) {}

  void insert(Digest digest) {
    keys_inserted_ += counts(filter_.may_contain(digest));
    filter_.insert(digest);
    model_.insert(digest);
    require_count();
    require(filter_.may_contain(digest), "a key is found right after it was inserted");
  }

  bool observe(Digest digest) {
    const bool answered = filter_.may_contain(digest);
    const bool known = model_.contains(digest);
    const bool seen = filter_.observe(digest);
    model_.insert(digest);
    keys_inserted_ += counts(seen);
    require(seen == answered, "observe says what may_contain said before it");
    require(seen || !known, "a key that was inserted has been seen");
    require(filter_.may_contain(digest), "a key is found right after it was observed");
    require_count();
    return seen;
  }

  [[nodiscard]] bool may_contain(Digest digest) const {
    const bool answer = filter_.may_contain(digest);
    require(answer || !model_.contains(digest), "an inserted key is found");
    return answer;
  }

  /// By a class that has it; by others as insert.
  bool insert_concurrent(Digest digest) {
    if (filter_.calls().insert_concurrent == nullptr) {
      insert(digest);
      return true;
    }
    const bool answered = filter_.may_contain(digest);
    const bool fresh = filter_.insert_concurrent(digest);
    model_.insert(digest);
    keys_inserted_ += fresh ? 1U : 0U;
    require(fresh == !answered, "alone, insert_concurrent sets a bit where the key was not found");
    require_count();
    return fresh;
  }

  void insert(std::span<const Digest> digests) {
    filter_.insert(digests);
    model_.insert(digests.begin(), digests.end());
    for (const Digest digest : digests) {
      require(filter_.may_contain(digest), "every key of a batch is found after it");
    }
    // How many of a batch were fresh is the contract suite's question; here the count may only grow by at most that.
    const std::uint64_t now = filter_.keys_inserted();
    require(now >= keys_inserted_ && now - keys_inserted_ <= digests.size(), "a batch counts no key twice");
    require(filter_.kind().has_ttl || !counts_repeats(filter_.kind()) || now - keys_inserted_ == digests.size(),
            "a batch of repeats counts every key");
    keys_inserted_ = now;
  }

  void observe(std::span<const Digest> digests) {
    Outcomes seen(digests.size());
    filter_.observe(digests, seen.span());
    for (std::size_t i = 0; i < digests.size(); ++i) {
      require(seen.span()[i] || !model_.contains(digests[i]), "a key that was inserted has been seen, also in a batch");
      keys_inserted_ += counts(seen.span()[i]);
      model_.insert(digests[i]);
    }
    require_count();
  }

  void may_contain(std::span<const Digest> digests) const {
    const std::vector<bool> answers = batch_answers(filter_, digests);
    for (std::size_t i = 0; i < digests.size(); ++i) {
      require(answers[i] || !model_.contains(digests[i]), "an inserted key is found, also in a batch");
      require(answers[i] == filter_.may_contain(digests[i]), "a batch answers as single calls do");
    }
  }

  /// Nothing for a kind that cannot.
  void merge(const Checked& other) {
    if (!filter_.kind().can_merge) {
      return;
    }
    const std::uint64_t most = keys_inserted_ + other.keys_inserted_;
    const std::uint64_t least = std::max(keys_inserted_, other.keys_inserted_);
    require(filter_.merge(other.filter_).has_value(), "filters made alike merge");
    model_.insert(other.model_.begin(), other.model_.end());
    keys_inserted_ = filter_.keys_inserted();
    require(keys_inserted_ >= least && keys_inserted_ <= most,
            "a union has no fewer keys than a part, no more than both");
    require_all();
  }

  void clear() {
    filter_.clear();
    model_.clear();
    keys_inserted_ = 0;
    require_count();
    require(filter_.fill_ratio() == 0, "a cleared filter has no cell set");
  }

  void round_trip(RoundTrip way) {
    const std::vector<std::byte> before = filter_.to_bytes();
    if (way == RoundTrip::attach) {
      AlignedBytes bytes(before);
      const auto attached = filter_.attach(bytes.span());
      require(attached.has_value() && attached->to_bytes() == before, "an attached image is the filter");
      return;
    }
    if (way == RoundTrip::adopt) {
      auto region = Region::allocate(system_memory(), before.size());
      std::copy(before.begin(), before.end(), region.value().bytes().begin());
      filter_ = filter_.adopt(std::move(*region)).value();
    } else {
      const Trust trust = way == RoundTrip::from_bytes ? Trust::checked : Trust::fast;
      filter_ = filter_.from_bytes(before, trust).value();
      require(filter_.verify().has_value(), "the cells agree with the trailer");
    }
    require(filter_.to_bytes() == before, "an image makes the filter that it came from");
    require_all();
  }

  /// Asks for every key there is.
  void require_all() {
    require_count();
    for (const Digest digest : model_) {
      require(filter_.may_contain(digest), "an inserted key is found");
    }
  }

  [[nodiscard]] const Subject& filter() const noexcept { return filter_; }
  [[nodiscard]] const std::set<Digest>& model() const noexcept { return model_; }

 private:
  /// By how much an insert of a key raises the count.
  [[nodiscard]] std::uint64_t counts(bool seen) const { return seen && !counts_repeats(filter_.kind()) ? 0 : 1; }

  // Where counts stick, and where a key lives longer instead of being counted, a repeat may raise nothing.
  void require_count() {
    const std::uint64_t now = filter_.keys_inserted();
    require(now == keys_inserted_ || (filter_.kind().has_ttl && now < keys_inserted_),
            "the count of keys is that of the inserts that count");
    keys_inserted_ = now;
  }

  Subject filter_;
  std::set<Digest> model_;
  std::uint64_t keys_inserted_;
};

}  // namespace mankai::test
