#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "mankai/filter/parts/hash_windows.hpp"
#include "mankai/filter/parts/image.hpp"
#include "modules/redis/engine/memory.hpp"
#include "modules/redis/engine/reserve.hpp"
#include "modules/redis/image/family.hpp"

namespace mankai::redis {

template <class Filter>
concept SlicedFilter = requires(const Filter& filter) { filter.slice_count(); };

/// Calls `use(slice)` for each, oldest first.
template <SlicedFilter Filter, class Use>
void for_each_slice(const Filter& filter, const Use& use) {
  for (std::size_t i = 0; i < filter.slice_count(); ++i) {
    use(filter.slice(i));
  }
}

template <class Filter>
[[nodiscard]] Result<Filter> filter_of(AssembledImage source) {
  if constexpr (SlicedFilter<Filter>) {
    return Filter::from_region(std::move(source.image), Trust::fast, engine_memory());
  } else {
    MANKAI_ASSIGN(auto image, Image::adopt(std::move(source.image), Trust::fast));
    return Filter::from_image(std::move(image));
  }
}

/// Returns the bytes that a filter allocates by `engine_memory()`, without the object.
template <class Filter>
[[nodiscard]] std::size_t heap_bytes_of(const Filter& filter) noexcept {
  if constexpr (SlicedFilter<Filter>) {
    // The first slice's object is a member of the filter.
    std::size_t bytes = (filter.slice_count() - 1) * sizeof(typename Filter::Slice);
    for_each_slice(filter, [&](const auto& slice) { bytes += engine_bytes(slice.image_bytes()); });
    return bytes;
  } else {
    return engine_bytes(filter.image_bytes());
  }
}

template <class Value, class Filter>
[[nodiscard]] Result<Value> value_of(Result<Filter> filter) {
  if (!filter) {
    return std::unexpected(std::move(filter.error()));
  }
  return Value(std::move(*filter));
}

/// Errors: invalid_argument for an impossible request; out_of_space.
template <class Filter>
[[nodiscard]] Result<Filter> growing_filter(const GrowingSettings& settings) {
  return Filter::create({.keys = settings.capacity_keys,
                         .fpr = settings.fpr,
                         .growth = {.factor = settings.expansion},
                         .hash = settings.hash,
                         .memory = engine_memory()});
}

template <class T>
class FilterValue {
 public:
  using Filter = T;

  [[nodiscard]] Filter& filter() noexcept { return filter_; }
  [[nodiscard]] const Filter& filter() const noexcept { return filter_; }

  /// Shape: keys[c], answers[c].
  void ask(std::span<const std::string_view> keys, std::span<bool> answers) const noexcept {
    for_each_hashed_window(filter_.hasher(), keys, [&](std::size_t start, std::span<const Digest> digests) {
      filter_.may_contain(digests, answers.subspan(start, digests.size()));
    });
  }

  [[nodiscard]] ImageParts parts() const { return parts_of(filter_); }
  [[nodiscard]] std::size_t heap_bytes() const noexcept { return heap_bytes_of(filter_); }

  // For defragmentation.
  [[nodiscard]] std::size_t memory_pieces() const noexcept
    requires SlicedFilter<Filter>
  {
    return filter_.memory_pieces();
  }
  void relocate(std::size_t piece, const Mover& mover) noexcept
    requires SlicedFilter<Filter>
  {
    filter_.relocate(piece, mover);
  }
  void relocate(const Mover& mover) noexcept
    requires(!SlicedFilter<Filter>)
  {
    filter_.relocate(mover);
  }

 protected:
  explicit FilterValue(Filter filter) noexcept : filter_(std::move(filter)) {}

 private:
  Filter filter_;
};

}  // namespace mankai::redis
