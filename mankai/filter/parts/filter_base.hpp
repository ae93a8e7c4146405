#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "mankai/filter/parts/image.hpp"
#include "mankai/hash/hasher.hpp"

namespace mankai {

/// Key count of two merged filters: `estimated`, clamped to between the larger count and the sum.
[[nodiscard]] std::uint64_t merged_keys(std::uint64_t mine, std::uint64_t theirs, double estimated) noexcept;

/// Base of kinds with one flat image: bytes, hash, counts and checks.
class FilterBase {
 public:
  [[nodiscard]] Hasher hasher() const noexcept { return Hasher(image_.hash()); }
  [[nodiscard]] HashSpec hash() const noexcept { return image_.hash(); }

  /// Version of the URL rules by which keys are canonicalized before hashing; 0: keys are hashed as they are. The
  /// filter only stores it for its caller (AnyFilter). Set it before the first key.
  [[nodiscard]] std::uint8_t canonical_version() const noexcept { return image_.header().canonical_version; }
  void set_canonical_version(std::uint8_t version) noexcept { image_.header().canonical_version = version; }

  /// The number of keys it was sized for, and its false-positive rate at that number.
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept { return image_.header().capacity_keys; }
  [[nodiscard]] double fpr_target() const noexcept { return image_.fpr_target(); }
  /// How many inserts set a bit: distinct keys, less those that were false positives.
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept { return image_.keys_inserted(); }
  /// A full filter still has no false negatives; its false-positive rate may exceed the target.
  [[nodiscard]] bool is_full() const noexcept { return keys_inserted() >= capacity_keys(); }

  /// A word of the growing filter that contains this one; 0 otherwise.
  [[nodiscard]] std::uint64_t slice_tag() const noexcept { return image_.header().slice_tag; }

  [[nodiscard]] std::size_t cells_bytes() const noexcept { return image_.words().size_bytes(); }
  [[nodiscard]] std::size_t image_bytes() const noexcept { return image_.image_bytes(); }

  /// The image with current checksums. Cost: one pass over the cells. Threads: not beside inserts.
  [[nodiscard]] std::span<const std::byte> seal() noexcept { return image_.seal(); }
  [[nodiscard]] std::vector<std::span<const std::byte>> seal_parts() { return {seal()}; }
  /// The parts of an image (seal_image), for copying a large one piece by piece: the header with current checksum, and
  /// the cells. Threads: not beside inserts.
  [[nodiscard]] ImageHeader sealed_header() const noexcept;
  [[nodiscard]] std::span<const std::byte> cells() const noexcept { return std::as_bytes(image_.words()); }
  /// Copies the image. Shape: `out` has image_bytes() bytes.
  void to_bytes(std::span<std::byte> out) const noexcept { image_.to_bytes(out); }
  [[nodiscard]] std::vector<std::byte> to_bytes() const { return image_.to_bytes(); }
  /// Checks the cells of a filter opened with Trust::fast; call before the first insert. Errors: corrupt.
  [[nodiscard]] Result<void> verify() const { return image_.verify(); }

  void clear() noexcept { image_.clear(); }

 protected:
  explicit FilterBase(Image image) noexcept : image_(std::move(image)) {}

  [[nodiscard]] Image& image() noexcept { return image_; }
  [[nodiscard]] const Image& image() const noexcept { return image_; }

  /// Filters merge if every key has the same digest and the same cells in both. Errors: invalid_argument that names the
  /// difference.
  [[nodiscard]] Result<void> check_mergeable(const FilterBase& other) const;
  void merge_keys(const FilterBase& other, double estimated) noexcept {
    image_.set_keys_inserted(merged_keys(keys_inserted(), other.keys_inserted(), estimated));
  }

 private:
  Image image_;
};

/// Checks that a key has the same digest in both filters. Errors: invalid_argument that names the difference.
[[nodiscard]] Result<void> check_same_keys(const ImageHeader& mine, const ImageHeader& theirs);

/// Checks that an image with a valid header is of a kind, and that unused words are 0. Errors: corrupt.
[[nodiscard]] Result<void> check_kind(const Image& image, std::uint16_t kind, std::size_t param_words,
                                      std::size_t state_words = 0);

/// Checks that the bits after the last cell are zero: a merge or a count of cells would include them. Errors: corrupt.
[[nodiscard]] Result<void> check_tail(const Image& image, std::uint64_t cell_count, unsigned cell_bits);

}  // namespace mankai
