#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "mankai/filter/any_filter.hpp"
#include "mankai/filter/parts/growth.hpp"
#include "mankai/filter/parts/image_format.hpp"

// The calls that a filter's class offers beside those of AnyFilter: digests one at a time and in batches, integer keys,
// images in place. One table of functions per class, compiled once (class_calls.cpp.in), so that a suite that checks
// every kind is compiled once, too. CMake makes the tables from the folders of the kinds.

namespace mankai::test {

/// What a filter that grows was told to do when it is full, and what one of its sub-filters was made for.
struct SliceFacts {
  std::uint64_t capacity_keys = 0;
  double fpr_target = 0;
  std::uint64_t keys_inserted = 0;

  [[nodiscard]] bool is_full() const noexcept { return keys_inserted >= capacity_keys; }
};

/// The table of one class. A function is nullptr where the class does not have it. A digest that is given to a class of
/// paths is a path of one segment; one that is given to a class of values is put with the value 0 at full strength.
struct ClassCalls {
  std::uint16_t kind;
  Promise promise;

  void (*insert)(AnyFilter& filter, Digest digest);
  bool (*observe)(AnyFilter& filter, Digest digest);
  bool (*may_contain)(const AnyFilter& filter, Digest digest);
  void (*insert_batch)(AnyFilter& filter, std::span<const Digest> digests);
  void (*observe_batch)(AnyFilter& filter, std::span<const Digest> digests, std::span<bool> seen);
  void (*may_contain_batch)(const AnyFilter& filter, std::span<const Digest> digests, std::span<bool> outcomes);

  // Of a BatchFilter.
  void (*insert_integers)(AnyFilter& filter, std::span<const std::uint64_t> keys);
  void (*may_contain_integers)(const AnyFilter& filter, std::span<const std::uint64_t> keys, std::span<bool> outcomes);
  void (*insert_strings)(AnyFilter& filter, std::span<const std::string_view> keys);
  void (*observe_strings)(AnyFilter& filter, std::span<const std::string_view> keys, std::span<bool> seen);
  void (*may_contain_strings)(const AnyFilter& filter, std::span<const std::string_view> keys,
                              std::span<bool> outcomes);

  bool (*insert_concurrent)(AnyFilter& filter, Digest digest);
  void (*insert_bulk)(AnyFilter& filter, std::span<const Digest> digests, const Memory& scratch);
  void (*insert_bulk_integers)(AnyFilter& filter, std::span<const std::uint64_t> keys, const Memory& scratch);

  EraseResult (*erase)(AnyFilter& filter, Digest digest);
  void (*erase_batch)(AnyFilter& filter, std::span<const Digest> digests, std::span<EraseResult> results);
  std::uint64_t (*saturated_cells)(const AnyFilter& filter);
  KeyCount (*estimate)(const AnyFilter& filter, Digest digest);
  void (*estimate_batch)(const AnyFilter& filter, std::span<const Digest> digests, std::span<KeyCount> counts);
  DecayedCount (*decayed)(const AnyFilter& filter, Digest digest);
  void (*decayed_batch)(const AnyFilter& filter, std::span<const Digest> digests, std::span<DecayedCount> counts);
  void (*advance)(AnyFilter& filter, Tick tick);
  Tick (*tick)(const AnyFilter& filter);
  Decay (*decay)(const AnyFilter& filter);

  double (*fill_ratio)(const AnyFilter& filter);
  double (*fpr_estimate)(const AnyFilter& filter);
  double (*keys_estimate)(const AnyFilter& filter);
  double (*fpr_expected)(const AnyFilter& filter, std::uint64_t keys);
  bool (*is_full)(const AnyFilter& filter);
  HashSpec (*hash)(const AnyFilter& filter);

  Result<AnyFilter> (*from_bytes)(std::span<const std::byte> bytes, Trust trust, const Memory& memory);
  /// Uses the bytes where they stand.
  Result<AnyFilter> (*attach)(std::span<std::byte> bytes, Trust trust);
  Result<AnyFilter> (*adopt)(Region region, Trust trust);
  ImageHeader (*sealed_header)(const AnyFilter& filter);
  /// The cells of a filter of one image.
  std::span<const std::byte> (*cells)(const AnyFilter& filter);
  // Of a filter of slices.
  std::size_t (*slice_count)(const AnyFilter& filter);
  SliceFacts (*slice)(const AnyFilter& filter, std::size_t index);
  std::vector<std::byte> (*slice_image)(const AnyFilter& filter, std::size_t index);
  std::uint64_t (*initial_keys)(const AnyFilter& filter);
  // Of one that grows.
  Growth (*growth)(const AnyFilter& filter);
  Result<AnyFilter> (*create_growing)(std::uint64_t keys, double fpr, const Growth& growth, const HashSpec& hash);
  // Of one whose keys have ids.
  Result<void> (*insert_with_id)(AnyFilter& filter, Digest digest, std::uint64_t id);
  EraseResult (*erase_with_id)(AnyFilter& filter, Digest digest, std::uint64_t id);
  std::uint64_t (*max_id)(const AnyFilter& filter);

  std::size_t (*memory_pieces)(const AnyFilter& filter);
  void (*relocate)(AnyFilter& filter, std::size_t piece, const Mover& mover);
  /// Moves both filters of the class, into each other's place.
  void (*swap)(AnyFilter& one, AnyFilter& other);
  /// Creates a filter for ten keys by the class's own defaults, and returns its hash, whose seed is drawn at random.
  /// Errors: invalid_argument for a class that must be told more.
  Result<HashSpec> (*drawn_hash)();
};

/// Adds a table; called before main by each class's own file.
bool add_calls(const ClassCalls& calls);
/// Returns the table of a kind. Pre: a kind of the list.
[[nodiscard]] const ClassCalls& calls_of(const KindDescription& kind);

}  // namespace mankai::test
