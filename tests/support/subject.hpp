#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "mankai/filter/any_filter.hpp"
#include "tests/support/class_calls.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {

/// A filter of any kind with the calls of its class, for suites that check every kind alike. It reads like the class:
/// the same names, one call of the class for each.
class Subject {
 public:
  explicit Subject(AnyFilter filter) : filter_(std::move(filter)), calls_(&calls_of(filter_.kind())) {}

  [[nodiscard]] AnyFilter& any() noexcept { return filter_; }
  [[nodiscard]] const AnyFilter& any() const noexcept { return filter_; }
  [[nodiscard]] const KindDescription& kind() const noexcept { return filter_.kind(); }
  [[nodiscard]] const ClassCalls& calls() const noexcept { return *calls_; }

  void insert(Digest digest) { calls_->insert(filter_, digest); }
  bool observe(Digest digest) { return calls_->observe(filter_, digest); }
  [[nodiscard]] bool may_contain(Digest digest) const { return calls_->may_contain(filter_, digest); }
  void insert(std::span<const Digest> digests) { calls_->insert_batch(filter_, digests); }
  void observe(std::span<const Digest> digests, std::span<bool> seen) { calls_->observe_batch(filter_, digests, seen); }
  void may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const {
    calls_->may_contain_batch(filter_, digests, outcomes);
  }
  void insert(std::span<const std::uint64_t> keys) { calls_->insert_integers(filter_, keys); }
  void may_contain(std::span<const std::uint64_t> keys, std::span<bool> outcomes) const {
    calls_->may_contain_integers(filter_, keys, outcomes);
  }
  void insert_keys(std::span<const std::string_view> keys) { calls_->insert_strings(filter_, keys); }
  void observe_keys(std::span<const std::string_view> keys, std::span<bool> seen) {
    calls_->observe_strings(filter_, keys, seen);
  }
  void may_contain_keys(std::span<const std::string_view> keys, std::span<bool> outcomes) const {
    calls_->may_contain_strings(filter_, keys, outcomes);
  }
  bool insert_concurrent(Digest digest) { return calls_->insert_concurrent(filter_, digest); }
  void insert_bulk(std::span<const Digest> digests, const Memory& scratch) {
    calls_->insert_bulk(filter_, digests, scratch);
  }
  void insert_bulk(std::span<const std::uint64_t> keys, const Memory& scratch) {
    calls_->insert_bulk_integers(filter_, keys, scratch);
  }

  EraseResult erase(Digest digest) { return calls_->erase(filter_, digest); }
  void erase(std::span<const Digest> digests, std::span<EraseResult> results) {
    calls_->erase_batch(filter_, digests, results);
  }
  [[nodiscard]] std::uint64_t saturated_cells() const { return calls_->saturated_cells(filter_); }
  [[nodiscard]] KeyCount estimate(Digest digest) const { return calls_->estimate(filter_, digest); }
  void estimate(std::span<const Digest> digests, std::span<KeyCount> counts) const {
    calls_->estimate_batch(filter_, digests, counts);
  }
  [[nodiscard]] DecayedCount decayed(Digest digest) const { return calls_->decayed(filter_, digest); }
  void decayed(std::span<const Digest> digests, std::span<DecayedCount> counts) const {
    calls_->decayed_batch(filter_, digests, counts);
  }
  void advance(Tick tick) { calls_->advance(filter_, tick); }
  [[nodiscard]] Tick tick() const { return calls_->tick(filter_); }
  [[nodiscard]] Decay decay() const { return calls_->decay(filter_); }

  [[nodiscard]] std::size_t slice_count() const { return calls_->slice_count(filter_); }
  [[nodiscard]] SliceFacts slice(std::size_t index) const { return calls_->slice(filter_, index); }
  [[nodiscard]] std::vector<std::byte> slice_image(std::size_t index) const {
    return calls_->slice_image(filter_, index);
  }
  [[nodiscard]] SliceFacts newest_slice() const { return slice(slice_count() - 1); }
  [[nodiscard]] std::uint64_t initial_keys() const { return calls_->initial_keys(filter_); }
  [[nodiscard]] Growth growth() const { return calls_->growth(filter_); }
  [[nodiscard]] bool is_numbered() const noexcept { return calls_->insert_with_id != nullptr; }
  [[nodiscard]] Result<void> insert(Digest digest, std::uint64_t id) {
    return calls_->insert_with_id(filter_, digest, id);
  }
  EraseResult erase(Digest digest, std::uint64_t id) { return calls_->erase_with_id(filter_, digest, id); }
  [[nodiscard]] std::uint64_t max_id() const { return calls_->max_id(filter_); }
  [[nodiscard]] std::size_t memory_pieces() const { return calls_->memory_pieces(filter_); }
  void relocate(std::size_t piece, const Mover& mover) { calls_->relocate(filter_, piece, mover); }

  [[nodiscard]] Result<void> merge(const Subject& other) { return filter_.merge(other.filter_); }
  void clear() noexcept { filter_.clear(); }
  [[nodiscard]] Result<Subject> create_like() const { return of(filter_.create_like()); }

  [[nodiscard]] Hasher hasher() const noexcept { return filter_.hasher(); }
  [[nodiscard]] HashSpec hash() const { return calls_->hash(filter_); }
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept { return filter_.keys_inserted(); }
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept { return filter_.capacity_keys(); }
  [[nodiscard]] bool is_full() const { return calls_->is_full(filter_); }
  [[nodiscard]] double fill_ratio() const { return calls_->fill_ratio(filter_); }
  [[nodiscard]] double fpr_estimate() const { return calls_->fpr_estimate(filter_); }
  [[nodiscard]] double keys_estimate() const { return calls_->keys_estimate(filter_); }
  [[nodiscard]] double fpr_expected(std::uint64_t keys) const { return calls_->fpr_expected(filter_, keys); }
  [[nodiscard]] double fpr_target() const { return filter_.describe().fpr_target; }
  [[nodiscard]] std::uint64_t cell_count() const { return filter_.describe().cell_count; }
  [[nodiscard]] std::uint64_t cells_bytes() const { return filter_.describe().cells_bytes; }
  [[nodiscard]] unsigned probes_per_key() const { return filter_.describe().probes_per_key; }
  [[nodiscard]] double lines_per_key() const { return filter_.describe().lines_per_key; }

  [[nodiscard]] std::uint64_t image_bytes() const noexcept { return filter_.image_bytes(); }
  [[nodiscard]] std::vector<std::byte> to_bytes() const { return filter_.to_bytes(); }
  [[nodiscard]] std::vector<std::span<const std::byte>> seal_parts() noexcept { return filter_.seal_parts(); }
  [[nodiscard]] ImageHeader sealed_header() const { return calls_->sealed_header(filter_); }
  [[nodiscard]] std::span<const std::byte> cells() const { return calls_->cells(filter_); }
  [[nodiscard]] Result<void> verify() const { return filter_.verify(); }

  /// Open an image by the calls of this filter's class.
  [[nodiscard]] Result<Subject> from_bytes(std::span<const std::byte> bytes, Trust trust = Trust::checked,
                                           const Memory& memory = system_memory()) const {
    return of(calls_->from_bytes(bytes, trust, memory));
  }
  [[nodiscard]] Result<Subject> attach(std::span<std::byte> bytes, Trust trust = Trust::checked) const {
    return of(calls_->attach(bytes, trust));
  }
  [[nodiscard]] Result<Subject> adopt(Region region, Trust trust = Trust::checked) const {
    return of(calls_->adopt(std::move(region), trust));
  }

  /// Moves the filters of the class, where the move of a Subject would only move a pointer.
  void swap(Subject& other) noexcept { calls_->swap(filter_, other.filter_); }

  [[nodiscard]] static Result<Subject> of(Result<AnyFilter> made) {
    return made ? Result<Subject>(Subject(std::move(*made))) : std::unexpected(made.error());
  }

 private:
  AnyFilter filter_;
  const ClassCalls* calls_;
};

}  // namespace mankai::test
