#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "mankai/base/region.hpp"
#include "mankai/filter/parts/image_format.hpp"
#include "mankai/hash/hasher.hpp"

namespace mankai {

/// Returns the kind's own Params, which live in a header.
template <class Params>
[[nodiscard]] Params params_in(const ImageHeader& header) noexcept {
  static_assert(sizeof(Params) <= sizeof(ImageHeader::kind_params));
  static_assert(std::has_unique_object_representations_v<Params> && std::is_trivially_copyable_v<Params>);
  Params params;
  std::memcpy(&params, header.kind_params.data(), sizeof(params));
  return params;
}
template <class Params>
void set_params(ImageHeader& header, const Params& params) noexcept {
  static_assert(sizeof(Params) <= sizeof(ImageHeader::kind_params));
  std::memcpy(header.kind_params.data(), &params, sizeof(params));
}

/// How much of an image to check before using it.
enum class Trust : std::uint8_t {
  checked,  ///< everything: header, trailer and all cells, at memory speed
  fast,     ///< header and trailer; the cells are taken as they are, so opening costs no more than mapping
};

/// What every kind is created with.
struct FilterSettings {
  std::uint64_t capacity_keys = 0;
  double fpr_target = 0;
  HashSpec hash;
  std::uint64_t cells_bytes = 0;
  std::uint64_t slice_tag = 0;  ///< of a slice, or a keys_tag; else 0
};

/// A filter's bytes: header, cells and trailer in one Region, the same in memory, on disk and on the wire.
///
/// The checksums hold only after `seal`; while a filter changes they are stale.
/// Threads: `keys_inserted` and `add_keys` may race with each other; the rest as const and non-const members do.
class Image {
 public:
  /// Makes an image of zeroed cells. Errors: invalid_argument above kMaxImageBytes; out_of_space.
  [[nodiscard]] static Result<Image> create(std::uint16_t kind, const FilterSettings& settings, const Memory& memory);
  /// Copies an image. Errors: corrupt (offset and reason), unsupported_version, out_of_space; nothing is allocated
  /// before the header has been checked.
  [[nodiscard]] static Result<Image> from_bytes(std::span<const std::byte> bytes, Trust trust, const Memory& memory);
  /// Takes over a Region that holds an image, such as a mapped file, without copying. Errors: as from_bytes, and
  /// invalid_argument when the bytes are not aligned to 64.
  [[nodiscard]] static Result<Image> adopt(Region region, Trust trust);

  [[nodiscard]] ImageHeader& header() noexcept { return *reinterpret_cast<ImageHeader*>(region_.bytes().data()); }
  [[nodiscard]] const ImageHeader& header() const noexcept {
    return *reinterpret_cast<const ImageHeader*>(region_.bytes().data());
  }
  [[nodiscard]] std::span<std::uint64_t> words() noexcept { return words_; }
  [[nodiscard]] std::span<const std::uint64_t> words() const noexcept { return words_; }

  [[nodiscard]] HashSpec hash() const noexcept;
  [[nodiscard]] double fpr_target() const noexcept { return std::bit_cast<double>(header().fpr_target_bits); }
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept { return keys().load(std::memory_order_relaxed); }
  void set_keys_inserted(std::uint64_t count) noexcept { keys().store(count, std::memory_order_relaxed); }
  /// Counts keys beside readers, as the only writer.
  void add_keys(std::uint64_t count) noexcept { set_keys_inserted(keys_inserted() + count); }
  /// Counts keys beside other writers.
  void add_keys_concurrent(std::uint64_t count) noexcept { keys().fetch_add(count, std::memory_order_relaxed); }

  /// The kind's own Params, which live in the header.
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
  /// Whether the header's words behind the kind's own are zero, as they must be.
  [[nodiscard]] bool unused_words_are_zero(std::size_t param_words, std::size_t state_words) const noexcept;

  [[nodiscard]] std::size_t image_bytes() const noexcept { return region_.size(); }
  /// Brings the checksums up to date and returns the whole image, ready to be written.
  /// Cost: one pass over the cells. Threads: not with inserts.
  [[nodiscard]] std::span<const std::byte> seal() noexcept;
  /// Writes a sealed copy; `out` is image_bytes() long. Cost: a copy and a pass over the cells.
  void to_bytes(std::span<std::byte> out) const noexcept;
  [[nodiscard]] std::vector<std::byte> to_bytes() const;
  /// Checks the cells against the trailer of the last `seal`. Errors: corrupt with the offset of the first bad chunk.
  [[nodiscard]] Result<void> verify() const;
  /// Zeroes the cells, the count of keys and the kind's own counts.
  void clear() noexcept;
  /// Lets the image be moved in memory; pointers into it are void then.
  void relocate(const Mover& mover) noexcept;

 private:
  explicit Image(Region region) noexcept;
  /// atomic_ref has no const form before C++26; `keys_inserted` only loads.
  [[nodiscard]] std::atomic_ref<std::uint64_t> keys() const noexcept {
    return std::atomic_ref<std::uint64_t>(const_cast<ImageHeader&>(header()).keys_inserted);
  }

  Region region_;
  // Taken from the header once, when it was checked.
  std::span<std::uint64_t> words_;
};

/// Returns the size of an image with so many bytes of cells: header, cells, a checksum a chunk and one over those.
[[nodiscard]] std::uint64_t image_bytes_for(std::uint64_t cells_bytes) noexcept;

/// Makes the header of an empty image; its checksum is left for seal_header.
[[nodiscard]] ImageHeader make_header(std::uint16_t kind, ImageLayout layout, const FilterSettings& settings) noexcept;
/// Brings the header's checksum up to date.
void seal_header(ImageHeader& header) noexcept;

/// Brings all checksums up to date of an image that was put together from a header and cells. The header has been found
/// right (read_header). Cost: a pass over the cells.
void seal_image(std::span<std::byte> image) noexcept;

/// Returns what tells a filter from others and never changes in its life: the checksum of its header's bytes before the
/// kind's own counts, flags and count of keys taken as zero.
[[nodiscard]] std::uint64_t identity(const ImageHeader& header) noexcept;

/// Checks a flat image. Errors: corrupt, unsupported_version.
[[nodiscard]] Result<void> check_image(std::span<const std::byte> bytes, Trust trust);

/// Reads the header of a flat or sliced image without trusting it: magic, version, checksum, and that the sizes agree
/// with `total_bytes`. Errors: corrupt, unsupported_version.
[[nodiscard]] Result<ImageHeader> read_header(std::span<const std::byte> bytes, std::uint64_t total_bytes);

}  // namespace mankai
