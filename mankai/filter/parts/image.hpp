#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "mankai/base/region.hpp"
#include "mankai/filter/parts/image_format.hpp"
#include "mankai/hash/hasher.hpp"

namespace mankai {

/// Reads or writes the kind's Params in a header.
template <class Params>
[[nodiscard]] Params params_in(const decltype(ImageHeader::kind_params)& words) noexcept {
  static_assert(sizeof(Params) <= sizeof(words));
  static_assert(std::has_unique_object_representations_v<Params> && std::is_trivially_copyable_v<Params>);
  Params params;
  std::memcpy(&params, words.data(), sizeof(params));
  return params;
}
template <class Params>
[[nodiscard]] Params params_in(const ImageHeader& header) noexcept {
  return params_in<Params>(header.kind_params);
}
template <class Params>
void set_params(ImageHeader& header, const Params& params) noexcept {
  static_assert(sizeof(Params) <= sizeof(ImageHeader::kind_params));
  std::memcpy(header.kind_params.data(), &params, sizeof(params));
}

/// How much of an image to check before using it.
enum class Trust : std::uint8_t {
  checked,  ///< header, trailer and all cells, at memory speed
  fast,     ///< header and trailer only: opening costs no more than mapping
};

/// Common settings of all kinds.
struct FilterSettings {
  std::uint64_t capacity_keys = 0;
  double fpr_target = 0;
  HashSpec hash;
  std::uint64_t cells_bytes = 0;
  std::uint64_t slice_tag = 0;  ///< set by a growing filter that contains this one, or a keys_tag; else 0
};

/// A filter's bytes: header, cells and trailer in one Region, equal in memory, on disk and on the wire. Checksums are
/// stale after a change until `seal`. Threads: `keys_inserted` and `add_keys` may race with each other; the rest as
/// const and non-const members do.
class Image {
 public:
  /// The cells are zero. Errors: invalid_argument above kMaxImageBytes; out_of_space.
  [[nodiscard]] static Result<Image> create(std::uint16_t kind, const FilterSettings& settings, const Memory& memory);
  /// Copies an image; allocates nothing before the header is verified. Errors: corrupt (offset and reason),
  /// unsupported_version, out_of_space.
  [[nodiscard]] static Result<Image> from_bytes(std::span<const std::byte> bytes, Trust trust, const Memory& memory);
  /// Takes over a Region with an image, such as a mapped file, without copying. Errors: as from_bytes; invalid_argument
  /// if the bytes are not aligned to 64.
  [[nodiscard]] static Result<Image> adopt(Region region, Trust trust);

  [[nodiscard]] ImageHeader& header() noexcept { return *reinterpret_cast<ImageHeader*>(region_.bytes().data()); }
  [[nodiscard]] const ImageHeader& header() const noexcept {
    return *reinterpret_cast<const ImageHeader*>(region_.bytes().data());
  }
  [[nodiscard]] std::span<std::uint64_t> words() noexcept {
    return {reinterpret_cast<std::uint64_t*>(region_.bytes().data() + sizeof(ImageHeader)), word_count_};
  }
  [[nodiscard]] std::span<const std::uint64_t> words() const noexcept { return const_cast<Image*>(this)->words(); }

  [[nodiscard]] HashSpec hash() const noexcept;
  [[nodiscard]] double fpr_target() const noexcept { return std::bit_cast<double>(header().fpr_target_bits); }
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept { return keys().load(std::memory_order_relaxed); }
  void set_keys_inserted(std::uint64_t count) noexcept { keys().store(count, std::memory_order_relaxed); }
  /// Threads: one writer beside readers.
  void add_keys(std::uint64_t count) noexcept { set_keys_inserted(keys_inserted() + count); }
  /// Threads: any number of writers.
  void add_keys_concurrent(std::uint64_t count) noexcept { keys().fetch_add(count, std::memory_order_relaxed); }

  template <class Params>
  [[nodiscard]] Params params() const noexcept {
    return params_in<Params>(header());
  }
  template <class Params>
  void set_params(const Params& params) noexcept {
    mankai::set_params(header(), params);
  }
  /// One of the kind's own counts, which change with the cells. Threads: as keys_inserted.
  [[nodiscard]] std::uint64_t state(std::size_t word) const noexcept {
    return std::atomic_ref<std::uint64_t>(const_cast<ImageHeader&>(header()).kind_state[word])
        .load(std::memory_order_relaxed);
  }
  void set_state(std::size_t word, std::uint64_t value) noexcept {
    std::atomic_ref<std::uint64_t>(header().kind_state[word]).store(value, std::memory_order_relaxed);
  }
  /// Whether the header's words after the kind's own are zero, as required.
  [[nodiscard]] bool unused_words_are_zero(std::size_t param_words, std::size_t state_words) const noexcept;

  [[nodiscard]] std::size_t image_bytes() const noexcept { return region_.size(); }
  /// Updates the checksums and returns the whole image. Cost: one pass over the cells. Threads: not beside inserts.
  [[nodiscard]] std::span<const std::byte> seal() noexcept;
  /// Writes a sealed copy. Shape: `out` has image_bytes() bytes. Cost: a copy and a pass over the cells.
  void to_bytes(std::span<std::byte> out) const noexcept;
  [[nodiscard]] std::vector<std::byte> to_bytes() const;
  /// Checks the cells against the trailer of the last `seal`. Errors: corrupt with the offset of the first bad chunk.
  [[nodiscard]] Result<void> verify() const;
  /// Zeroes the cells, the count of keys and the kind's own counts.
  void clear() noexcept;
  /// Lets the image move in memory, which invalidates pointers into it.
  void relocate(const Mover& mover) noexcept { region_.relocate(mover); }

 private:
  explicit Image(Region region) noexcept;
  /// atomic_ref has no const form before C++26; `keys_inserted` only loads.
  [[nodiscard]] std::atomic_ref<std::uint64_t> keys() const noexcept {
    return std::atomic_ref<std::uint64_t>(const_cast<ImageHeader&>(header()).keys_inserted);
  }

  Region region_;
  // Of the cells. Read from the header once, when it was verified.
  std::size_t word_count_;
};

/// Bytes of an image with so many bytes of cells: header, cells, a checksum per chunk and one over those.
[[nodiscard]] std::uint64_t image_bytes_for(std::uint64_t cells_bytes) noexcept;
/// The most cache lines of cells whose image has at most so many bytes; 0 if not even one fits.
[[nodiscard]] std::uint64_t cell_lines_within(std::uint64_t image_bytes) noexcept;

/// Makes the header of an empty image, without its checksum (seal_header).
[[nodiscard]] ImageHeader make_header(std::uint16_t kind, ImageLayout layout, const FilterSettings& settings) noexcept;
void seal_header(ImageHeader& header) noexcept;

/// Updates all checksums of an image assembled from a header and cells. Pre: the header is valid (read_header). Cost: a
/// pass over the cells.
void seal_image(std::span<std::byte> image) noexcept;

/// A fingerprint of the filter that never changes: the checksum of its header with the kind's own counts, flags and
/// count of keys zeroed.
[[nodiscard]] std::uint64_t identity(const ImageHeader& header) noexcept;

/// Checks a flat image. Errors: corrupt, unsupported_version.
[[nodiscard]] Result<void> check_image(std::span<const std::byte> bytes, Trust trust);

/// Reads the header of an untrusted flat or sliced image; checks magic, version, checksum, and sizes against
/// `total_bytes`. Errors: corrupt, unsupported_version.
[[nodiscard]] Result<ImageHeader> read_header(std::span<const std::byte> bytes, std::uint64_t total_bytes);

}  // namespace mankai
