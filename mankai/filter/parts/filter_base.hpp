#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "mankai/filter/parts/image.hpp"
#include "mankai/hash/hasher.hpp"

namespace mankai {

/// Returns the count of keys of two merged filters: `estimated`, but no fewer than either had and no more than both.
[[nodiscard]] std::uint64_t merged_keys(std::uint64_t mine, std::uint64_t theirs, double estimated) noexcept;

/// What every filter over one flat image has: its bytes, hash, counts and checks. Kinds inherit and add their cells'
/// meaning.
class FilterBase {
 public:
  /// The hash that turns keys into this filter's digests.
  [[nodiscard]] Hasher hasher() const noexcept { return Hasher(image_.hash()); }
  [[nodiscard]] HashSpec hash() const noexcept { return image_.hash(); }

  /// By which version of the URL rules keys are made canonical before they are hashed; 0: they are taken as they are.
  /// The filter only keeps it, for whoever hashes (AnyFilter). Set it before the first key.
  [[nodiscard]] std::uint8_t canonical_version() const noexcept { return image_.header().canonical_version; }
  void set_canonical_version(std::uint8_t version) noexcept { image_.header().canonical_version = version; }

  /// The keys it was sized for, and the false positive rate with so many.
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept { return image_.header().capacity_keys; }
  [[nodiscard]] double fpr_target() const noexcept { return image_.fpr_target(); }
  /// How many inserts set a bit: distinct keys, less those that were false positives when they came.
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept { return image_.keys_inserted(); }
  /// Past its capacity a filter keeps its promise; its false positive rate goes beyond the target.
  [[nodiscard]] bool is_full() const noexcept { return keys_inserted() >= capacity_keys(); }

  /// What the growing filter around a slice wants to know about it; 0 for a filter on its own.
  [[nodiscard]] std::uint64_t slice_tag() const noexcept { return image_.header().slice_tag; }

  [[nodiscard]] std::size_t cells_bytes() const noexcept { return image_.words().size_bytes(); }
  [[nodiscard]] std::size_t image_bytes() const noexcept { return image_.image_bytes(); }

  /// The image, checksums up to date. Cost: one pass over the cells. Threads: not beside inserts.
  [[nodiscard]] std::span<const std::byte> seal() noexcept { return image_.seal(); }
  /// The same as the one piece that it is, as growing kinds have several.
  [[nodiscard]] std::vector<std::span<const std::byte>> seal_parts() { return {seal()}; }
  /// The parts that an image is put together from (seal_image), for who copies a large one piece by piece: the header
  /// with its checksum up to date, and the cells as they stand. Threads: not beside inserts.
  [[nodiscard]] ImageHeader sealed_header() const noexcept;
  [[nodiscard]] std::span<const std::byte> cells() const noexcept { return std::as_bytes(image_.words()); }
  /// A copy of the image; `out` is image_bytes() long.
  void to_bytes(std::span<std::byte> out) const noexcept { image_.to_bytes(out); }
  [[nodiscard]] std::vector<std::byte> to_bytes() const { return image_.to_bytes(); }
  /// Checks the cells of a filter opened with Trust::fast, before anything is inserted. Errors: corrupt.
  [[nodiscard]] Result<void> verify() const { return image_.verify(); }

  /// Whether the other filter's header is this one's but for what is in it: made alike, or one from the other.
  [[nodiscard]] bool is_made_like(const ImageHeader& other) const noexcept;

  /// Forgets every key.
  void clear() noexcept { image_.clear(); }

 protected:
  explicit FilterBase(Image image) noexcept : image_(std::move(image)) {}

  [[nodiscard]] Image& image() noexcept { return image_; }
  [[nodiscard]] const Image& image() const noexcept { return image_; }

  /// Filters merge when a key has the same digest and the same cells in both. Errors: invalid_argument with what
  /// differs.
  [[nodiscard]] Result<void> check_mergeable(const FilterBase& other) const;
  /// Takes over the other's count, as merged_keys says.
  void merge_keys(const FilterBase& other, double estimated) noexcept {
    image_.set_keys_inserted(merged_keys(keys_inserted(), other.keys_inserted(), estimated));
  }

 private:
  Image image_;
};

/// Checks that a key has the same digest in both filters, as merging needs. Errors: invalid_argument with what differs.
[[nodiscard]] Result<void> check_same_keys(const ImageHeader& mine, const ImageHeader& theirs);

/// Whether two flat filters differ in nothing but their keys: kind, size, hash and shape. Threads: pure.
[[nodiscard]] bool is_made_alike(const ImageHeader& mine, const ImageHeader& theirs) noexcept;

/// Checks what a kind's image must have besides a valid header: its own words, and zeros behind them. Errors: corrupt.
[[nodiscard]] Result<void> check_kind(const Image& image, std::uint16_t kind, std::size_t param_words,
                                      std::size_t state_words = 0);

}  // namespace mankai
