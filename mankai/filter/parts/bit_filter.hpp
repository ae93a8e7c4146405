#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/filter/parts/flat_filter.hpp"
#include "mankai/filter/parts/sizing.hpp"
#include "mankai/kernel/scan_ops.hpp"

namespace mankai {

/// Base of the kinds whose cells are single bits. `Layout` defines where a key's bits are: `Shape` (parameters of the
/// kernels), `Ops` and `ops()` (the kernels), single operations and cell counts.
///
/// Threads: any number of readers beside one writer, or beside several that use only `insert_concurrent`.
template <class Derived, class Layout>
class BitFilter : public FlatFilter<Derived> {
 public:
  using FilterBase::hash;
  using FilterBase::hasher;

  // Single calls compile to the caller's flags, so no copy may be shared between callers (docs/adr/0005).

  [[gnu::always_inline]] void insert(Digest digest) noexcept { static_cast<void>(observe(digest)); }
  [[gnu::always_inline]] bool observe(Digest digest) noexcept {
    const bool seen = Layout::observe(*ops_, words_, shape_, digest);
    if (!seen) {
      image().add_keys(1);
    }
    return seen;
  }
  [[nodiscard, gnu::always_inline]] bool may_contain(Digest digest) const noexcept {
    return Layout::may_contain(*ops_, words_, shape_, digest);
  }
  /// Inserts beside other threads that do the same; returns whether the key was absent. Of several threads that insert
  /// one absent key at once exactly one gets true; none does if the key was a false positive.
  bool insert_concurrent(Digest digest) noexcept {
    const bool fresh = Layout::insert_concurrent(words_, shape_, digest);
    if (fresh) {
      image().add_keys_concurrent(1);
    }
    return fresh;
  }

  void insert(std::span<const Digest> digests) noexcept {
    image().add_keys(ops_->insert(words_, shape_, digests.data(), digests.size()));
  }
  void insert(std::span<const std::uint64_t> keys) noexcept {
    if (const HashSpec spec = hash(); spec.kind == HashKind::xxh3) {
      image().add_keys(ops_->insert_integers(words_, shape_, keys.data(), spec.seed[0], keys.size()));
      return;
    }
    // Code that is not inlined into every caller must call only batches, not code compiled to the caller's flags.
    FlatFilter<Derived>::insert(keys);
  }
  void observe(std::span<const Digest> digests, std::span<bool> seen) noexcept {
    MANKAI_ASSERT(digests.size() == seen.size());
    image().add_keys(ops_->observe(words_, shape_, digests.data(), digests.size(), seen.data()));
  }
  /// As insert_concurrent, also beside other processes: `seen` reports which keys were present. Returns how many were
  /// absent and does not count them: one counter for all writers would cost more than the inserts.
  [[nodiscard]] std::uint64_t observe_concurrent(std::span<const Digest> digests, std::span<bool> seen) noexcept {
    return this->observe_absent(digests, seen,
                                [this](Digest digest) { return Layout::insert_concurrent(words_, shape_, digest); });
  }
  /// As AnyFilter::count_again.
  void count_again(std::uint64_t keys) noexcept { image().set_keys_inserted(keys); }
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

  [[nodiscard]] Result<void> merge(const Derived& other) {
    MANKAI_TRY(check_mergeable(other));
    kernel::merge_or(words_, other.image().words().data(), image().words().size());
    merge_keys(other, keys_estimate());
    return {};
  }

  void relocate(const Mover& mover) noexcept {
    image().relocate(mover);
    words_ = image().words().data();
  }

  [[nodiscard]] double fill_ratio() const noexcept {
    const auto words = image().words();
    return static_cast<double>(kernel::count_ones(words.data(), words.size())) /
           static_cast<double>(Layout::cell_count(shape_));
  }
  /// Within about 0.5 % for 1e5 keys, better for more.
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
  friend Derived;
  BitFilter(Image source, const Shape& shape) noexcept
      : FlatFilter<Derived>(std::move(source)), words_(image().words().data()), shape_(shape), ops_(&Layout::ops()) {}

  // Adjacent, so that a query loads one cache line of the object.
  std::uint64_t* words_;
  Shape shape_;
  const Ops* ops_;
};

}  // namespace mankai
