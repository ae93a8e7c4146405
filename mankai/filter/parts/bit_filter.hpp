#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/filter/parts/flat_filter.hpp"
#include "mankai/filter/parts/sizing.hpp"
#include "mankai/kernel/scan_ops.hpp"

namespace mankai {

/// What the kinds whose cells are single bits share: every operation, given a layout that says where a key's bits are.
///
/// `Layout` has a `Shape` (what its kernels need to know besides the words), `Ops` (its kernels), `ops()`, and the
/// single operations `may_contain`, `observe`, `insert_concurrent`, and the counts of cells.
///
/// Threads: any number of readers beside one writer. Several writers use `insert_concurrent` only, beside any number of
///          readers. `seal`, `clear`, `merge` and moving need the filter alone.
template <class Derived, class Layout>
class BitFilter : public FlatFilter<Derived> {
 public:
  using FilterBase::hash;
  using FilterBase::hasher;

  // Single calls compile to what their caller's flags allow, so they must never be kept once for all callers
  // (docs/adr/0005).

  /// Never fails; past the capacity the false positive rate rises.
  [[gnu::always_inline]] void insert(Digest digest) noexcept { static_cast<void>(observe(digest)); }
  /// Inserts, and returns whether the key had been seen before, as far as the filter can tell.
  [[gnu::always_inline]] bool observe(Digest digest) noexcept {
    const bool seen = Layout::observe(*ops_, words_, shape_, digest);
    if (!seen) {
      image().add_keys(1);
    }
    return seen;
  }
  /// Returns whether the key may have been inserted: always true if it was.
  [[nodiscard, gnu::always_inline]] bool may_contain(Digest digest) const noexcept {
    return Layout::may_contain(*ops_, words_, shape_, digest);
  }
  /// Inserts beside other threads that do the same; returns whether this call set a bit. Two threads that insert one
  /// new key at the same time may both be told so.
  bool insert_concurrent(Digest digest) noexcept {
    const bool fresh = Layout::insert_concurrent(words_, shape_, digest);
    if (fresh) {
      image().add_keys_concurrent(1);
    }
    return fresh;
  }

  /// Batches, in order: the fast path. Shape: digests[c] or keys[c], outcomes[c]; may be empty; must not overlap.
  /// Integer keys are hashed in the same pass, as `hasher()` would.
  void insert(std::span<const Digest> digests) noexcept {
    image().add_keys(ops_->insert(words_, shape_, digests.data(), digests.size()));
  }
  void insert(std::span<const std::uint64_t> keys) noexcept {
    if (const HashSpec spec = hash(); spec.kind == HashKind::xxh3) {
      image().add_keys(ops_->insert_integers(words_, shape_, keys.data(), spec.seed[0], keys.size()));
      return;
    }
    // Batches only: what is not inlined into every caller must not call what is compiled to that caller's flags.
    FlatFilter<Derived>::insert(keys);
  }
  void observe(std::span<const Digest> digests, std::span<bool> seen) noexcept {
    MANKAI_ASSERT(digests.size() == seen.size());
    image().add_keys(ops_->observe(words_, shape_, digests.data(), digests.size(), seen.data()));
  }
  void may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept {
    MANKAI_ASSERT(digests.size() == outcomes.size());
    ops_->may_contain(words_, shape_, digests.data(), digests.size(), outcomes.data());
  }
  void may_contain(std::span<const std::uint64_t> keys, std::span<bool> outcomes) const noexcept {
    MANKAI_ASSERT(keys.size() == outcomes.size());
    if (const HashSpec spec = hash(); spec.kind == HashKind::xxh3) {
      ops_->may_contain_integers(words_, shape_, keys.data(), spec.seed[0], keys.size(), outcomes.data());
      return;
    }
    FlatFilter<Derived>::may_contain(keys, outcomes);
  }

  /// Adds the other filter's keys. Errors: invalid_argument when size, shape or seed differ.
  [[nodiscard]] Result<void> merge(const Derived& other) {
    MANKAI_TRY(check_mergeable(other));
    kernel::merge_or(words_, other.image().words().data(), image().words().size());
    merge_keys(other, keys_estimate());
    return {};
  }

  /// Lets the image be moved in memory. Threads: needs the filter alone.
  void relocate(const Mover& mover) noexcept {
    image().relocate(mover);
    words_ = image().words().data();
  }

  /// Set cells over all cells. Cost: a pass over the cells.
  [[nodiscard]] double fill_ratio() const noexcept {
    const auto words = image().words();
    return static_cast<double>(kernel::count_ones(words.data(), words.size())) /
           static_cast<double>(Layout::cell_count(shape_));
  }
  /// How many distinct keys there are, from the fill; within about 0.5 % for 1e5 keys and better for more.
  /// Infinite when every cell is set. Cost: a pass over the cells.
  [[nodiscard]] double keys_estimate() const noexcept {
    return estimate_keys(fill_ratio(), static_cast<double>(Layout::cells_per_probe(shape_)),
                         Layout::probes_per_cells(shape_));
  }

 protected:
  using FilterBase::check_mergeable;
  using FilterBase::image;
  using FilterBase::merge_keys;
  using Ops = typename Layout::Ops;
  using Shape = typename Layout::Shape;

  [[nodiscard]] const std::uint64_t* words() const noexcept { return words_; }
  [[nodiscard]] std::uint64_t* words() noexcept { return words_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] const Ops& ops() const noexcept { return *ops_; }

 private:
  // Only the kind that it is the base of may make one.
  friend Derived;
  BitFilter(Image source, const Shape& shape) noexcept
      : FlatFilter<Derived>(std::move(source)), words_(image().words().data()), shape_(shape), ops_(&Layout::ops()) {}

  // Kept beside each other, so that a query loads one line of the filter's own.
  std::uint64_t* words_;
  Shape shape_;
  const Ops* ops_;
};

}  // namespace mankai
