#pragma once

/// What lies behind the structs of dablooms.h: each handle is one of them, and what it needs besides.

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "mankai/c/dablooms.h"
#include "mankai/c/detail/bloom_files.hpp"
#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"

namespace mankai::c {

/// A bitmap_t of its own, or of the bloom that shows it.
struct BitmapHandle : bitmap_t {
  Store* store = nullptr;  ///< of the bloom
};

[[nodiscard]] inline BitmapHandle bitmap_of(Store& store) noexcept {
  return {{.bytes = 0, .fd = -1, .array = nullptr}, &store};
}

/// A counting_bloom_t: in a file of its own, or a part of a scaling one, which is only looked at.
struct CountingHandle : counting_bloom_t {
  explicit CountingHandle(Store opened);
  CountingHandle(const CountingBloom& part, bitmap_t* bitmap, std::uint64_t first_id);
  CountingHandle(const CountingHandle&) = delete;
  CountingHandle& operator=(const CountingHandle&) = delete;
  CountingHandle(CountingHandle&&) = delete;
  CountingHandle& operator=(CountingHandle&&) = delete;
  ~CountingHandle() = default;

  /// Shows how many keys are in.
  void show_count() noexcept { shown_header.count = static_cast<std::uint32_t>(filter->keys_inserted()); }
  [[nodiscard]] bool may_contain(std::string_view key) const noexcept { return filter->may_contain(hash(key)); }
  /// Of a key that is to be changed: its line comes while the change is journaled.
  [[nodiscard]] Digest digest_of(std::string_view key) const noexcept {
    const Digest digest = hash(key);
    filter->prefetch(digest);
    return digest;
  }

  std::optional<Store> store;
  const CountingBloom* filter;
  Hasher hash;
  counting_bloom_header_t shown_header{};
  BitmapHandle shown_bitmap{};
  Complaints complaints;

 private:
  void show_shape() noexcept;
};

/// A key of a scaling bloom.
struct NumberedKey {
  Digest digest;
  std::uint64_t id;
};

/// A scaling_bloom_t.
struct ScalingHandle : scaling_bloom_t {
  ScalingHandle(Store opened, const BloomRequest& request);
  ScalingHandle(const ScalingHandle&) = delete;
  ScalingHandle& operator=(const ScalingHandle&) = delete;
  ScalingHandle(ScalingHandle&&) = delete;
  ScalingHandle& operator=(ScalingHandle&&) = delete;
  ~ScalingHandle() = default;

  /// A key that is to be changed: its line comes while the change is journaled.
  [[nodiscard]] NumberedKey numbered(std::string_view key, std::uint64_t id) const noexcept {
    const Digest digest = hash(key);
    filter->prefetch(digest, id);
    return {.digest = digest, .id = id};
  }
  /// Shows what a change has changed.
  void show_change();
  /// Shows that the disk has everything.
  void show_flush() noexcept { shown_header.disk_seqnum = shown_header.mem_seqnum; }

  Store store;
  const ScalableCountingBloom* filter;
  Hasher hash;
  scaling_bloom_header_t shown_header{};
  BitmapHandle shown_bitmap{};
  std::vector<std::unique_ptr<CountingHandle>> parts;
  std::vector<counting_bloom_t*> shown_parts;
  Complaints complaints;

 private:
  void show_parts();
};

/// Why a key was not taken out.
void set_errno(EraseResult result) noexcept;

}  // namespace mankai::c
