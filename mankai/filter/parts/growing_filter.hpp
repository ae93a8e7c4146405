#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/filter/parts/filter_base.hpp"
#include "mankai/filter/parts/growth.hpp"
#include "mankai/filter/parts/hash_windows.hpp"
#include "mankai/filter/parts/sizing.hpp"
#include "mankai/filter/parts/slice_list.hpp"
#include "mankai/filter/parts/sliced_image.hpp"

namespace mankai {

/// Keys per pass over the sub-filters. Large enough for the kernels' windows to overlap (1024 take 4 % longer at 5e6
/// keys), small enough that digests and outcomes stay in the near caches.
inline constexpr std::size_t kSliceWindow = 4096;

/// Base of the kinds that grow: an outer header, sub-filters (slices), and the image of both.
///
/// `Derived` has `kKind`, `growth()`, `check_header(outer)` and `check_slice(outer, slice, index)` for its own header
/// fields, and inherits the constructor. The header's capacity is that of the first sub-filter, its rate the filter's.
///
/// Threads: any number of readers beside one writer, which publishes a sub-filter when it is complete.
template <class Derived, class SliceFilter>
class GrowingFilter {
 public:
  using Slice = SliceFilter;

  /// Copies an image; allocates nothing before header and checksums are verified. Errors: corrupt, unsupported_version,
  /// out_of_space.
  [[nodiscard]] static Result<Derived> from_bytes(std::span<const std::byte> bytes, Trust trust = Trust::checked,
                                                  const Memory& memory = system_memory()) {
    MANKAI_TRY(check(bytes, trust));
    MANKAI_ASSIGN(auto region, Region::allocate(memory, bytes.size()));
    std::copy(bytes.begin(), bytes.end(), region.bytes().begin());
    return take_apart(std::move(region), memory);
  }
  /// Attaches to a Region with an image, such as a mapped file, without copying; allocates later sub-filters from
  /// `memory`. Errors: as from_bytes; invalid_argument if the bytes are not aligned to 64.
  [[nodiscard]] static Result<Derived> from_region(Region region, Trust trust, const Memory& memory = system_memory()) {
    MANKAI_TRY(check(region.bytes(), trust));
    return take_apart(std::move(region), memory);
  }

  /// Queries the newest sub-filter first.
  [[nodiscard]] bool may_contain(Digest digest) const noexcept {
    for (std::size_t i = slice_count(); i-- > 0;) {
      if (slices_[i].may_contain(digest)) {
        return true;
      }
    }
    return false;
  }
  void may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept {
    MANKAI_ASSERT(digests.size() == outcomes.size());
    if (slice_count() == 0) {  // moved from
      std::ranges::fill(outcomes, false);
      return;
    }
    for (std::size_t start = 0; start < digests.size(); start += kSliceWindow) {
      const std::size_t count = std::min(kSliceWindow, digests.size() - start);
      ask_slices(slice_count(), digests.subspan(start, count), outcomes.subspan(start, count));
    }
  }
  void insert(std::span<const std::uint64_t> keys) {
    for_each_hashed_window(hasher(), keys, [this](std::size_t, std::span<const Digest> digests) {
      static_cast<Derived&>(*this).insert(digests);
    });
  }
  void may_contain(std::span<const std::uint64_t> keys, std::span<bool> outcomes) const noexcept {
    MANKAI_ASSERT(keys.size() == outcomes.size());
    if (slice_count() == 0) {  // moved from, and so without a hash
      std::ranges::fill(outcomes, false);
      return;
    }
    for_each_hashed_window(hasher(), keys, [&](std::size_t start, std::span<const Digest> digests) {
      may_contain(digests, outcomes.subspan(start, digests.size()));
    });
  }

  [[nodiscard]] Hasher hasher() const noexcept { return Hasher(hash()); }
  [[nodiscard]] HashSpec hash() const noexcept { return {.kind = outer_.hash_kind, .seed = outer_.seed}; }

  /// See FilterBase.
  [[nodiscard]] std::uint8_t canonical_version() const noexcept { return outer_.canonical_version; }
  void set_canonical_version(std::uint8_t version) noexcept { outer_.canonical_version = version; }

  [[nodiscard]] std::size_t slice_count() const noexcept { return slices_.size(); }
  [[nodiscard]] const Slice& slice(std::size_t index) const noexcept { return slices_[index]; }
  [[nodiscard]] std::uint64_t initial_keys() const noexcept { return outer_.capacity_keys; }
  /// Room of the sub-filters opened so far.
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept {
    return sum([](const Slice& slice) { return slice.capacity_keys(); });
  }
  [[nodiscard]] double fpr_target() const noexcept { return std::bit_cast<double>(outer_.fpr_target_bits); }
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept {
    return sum([](const Slice& slice) { return slice.keys_inserted(); });
  }
  /// Whether no further sub-filter can be opened and the last one is full.
  [[nodiscard]] bool is_full() const noexcept { return slice_count() == kMaxSlices && slices_.back().is_full(); }

  [[nodiscard]] std::uint64_t cell_count() const noexcept {
    return sum([](const Slice& slice) { return slice.cell_count(); });
  }
  [[nodiscard]] std::size_t cells_bytes() const noexcept {
    return static_cast<std::size_t>(sum([](const Slice& slice) { return slice.cells_bytes(); }));
  }
  [[nodiscard]] std::size_t image_bytes() const noexcept { return bytes_with(slice_count()); }

  /// The pieces of the image in order, with current checksums. Cost: one pass over the cells. Threads: not beside
  /// inserts.
  [[nodiscard]] std::vector<std::span<const std::byte>> seal_parts() {
    std::vector<std::span<const std::byte>> sealed;
    for (std::size_t i = 0; i < slice_count(); ++i) {
      sealed.push_back(slices_[i].seal());
    }
    sealed_ = std::make_unique<ImageHeader>(counted_header());
    return sliced_parts(*sealed_, sealed);
  }
  /// The outer header, for copying sub-filters piece by piece (seal_outer, their sealed_header). Checksum, sizes and
  /// slice count are current, the slice order is not. Threads: not beside inserts.
  [[nodiscard]] ImageHeader sealed_header() const noexcept {
    ImageHeader outer = counted_header();
    outer.cells_bytes = image_bytes() - sizeof(ImageHeader);
    outer.kind_state[kSliceCount] = slice_count();
    outer.kind_state[kSliceOrder] = 0;
    seal_header(outer);
    return outer;
  }
  /// Copies the image. Threads: as a reader. The copy has every key inserted before the call, and some keys, or some of
  /// their cells, inserted during it.
  [[nodiscard]] std::vector<std::byte> to_bytes() const {
    const std::size_t count = slice_count();  // read once: a writer may append
    std::vector<std::byte> out(bytes_with(count));
    std::vector<std::span<const std::byte>> sealed;
    std::size_t offset = sizeof(ImageHeader);
    for (std::size_t i = 0; i < count; ++i) {
      const auto place = std::span(out).subspan(offset, slices_[i].image_bytes());
      slices_[i].to_bytes(place);
      sealed.emplace_back(place);
      offset += static_cast<std::size_t>(slice_bytes(place.size()));
    }
    ImageHeader outer = counted_header();
    seal_outer(outer, sealed);
    std::memcpy(out.data(), &outer, sizeof(outer));
    return out;
  }
  /// See FilterBase.
  [[nodiscard]] Result<void> verify() const {
    for (std::size_t i = 0; i < slice_count(); ++i) {
      if (auto verified = slices_[i].verify(); !verified) {
        return std::unexpected(verified.error().within("slice " + std::to_string(i)));
      }
    }
    return {};
  }

  [[nodiscard]] double fill_ratio() const noexcept {
    const std::size_t count = slice_count();  // read once: a writer may append
    double set = 0;
    double cells = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto in_slice = static_cast<double>(slices_[i].cell_count());
      set += slices_[i].fill_ratio() * in_slice;
      cells += in_slice;
    }
    return set / cells;
  }
  [[nodiscard]] double keys_estimate() const noexcept {
    double keys = 0;
    for (std::size_t i = 0; i < slice_count(); ++i) {
      keys += slices_[i].keys_estimate();
    }
    return keys;
  }
  /// The probability that any sub-filter has a false positive.
  [[nodiscard]] double fpr_estimate() const noexcept {
    double all_no = 0;  // a logarithm: 1 - (1 - f) cancels for small f
    for (std::size_t i = 0; i < slice_count(); ++i) {
      all_no += std::log1p(-slices_[i].fpr_estimate());
    }
    return 0 - std::expm1(all_no);  // not -0 for an empty filter
  }

  /// Movable pieces of memory: the backing image, if any, and one per sub-filter.
  [[nodiscard]] std::size_t memory_pieces() const noexcept { return 1 + slice_count(); }
  /// Lets one piece move; a defragmenting allocator moves them one by one. Threads: needs the filter alone.
  void relocate(std::size_t piece, const Mover& mover) noexcept {
    MANKAI_ASSERT(piece < memory_pieces());
    if (piece == 0) {
      relocate_backing(mover);
    } else if (Slice& slice = slices_[piece - 1]; !is_within(address(backing_.bytes()), backing_.size(), slice)) {
      slice.relocate(mover);
    }
  }
  /// Lets the image of the only sub-filter be in a block of the caller's, which outlives the filter: copies it there,
  /// unless it was created there. Later sub-filters are allocated from `memory`. Pre: the sub-filter does not own its
  /// image.
  void settle(std::span<std::byte> block, const Memory& memory) noexcept {
    MANKAI_ASSERT(slice_count() == 1 && slices_[0].image_bytes() == block.size());
    if (!is_within(address(block), block.size(), slices_[0])) {
      const auto copy = [](void* place, std::span<std::byte> bytes) noexcept {
        return static_cast<std::byte*>(std::memcpy(place, bytes.data(), bytes.size()));
      };
      slices_[0].relocate({.move = copy, .context = block.data()});
    }
    backing_ = Region::borrow(block);
    memory_ = memory;
  }

 protected:
  struct Parts {
    ImageHeader header;
    Region backing;  ///< the image that the first slices point into, if any
    SliceList<Slice> slices;
    Memory memory;
  };

  /// Queries the first `count` >= 1 slices, newest first. Shape: at most kSliceWindow keys.
  void ask_slices(std::size_t count, std::span<const Digest> digests, std::span<bool> any) const noexcept {
    slices_[--count].may_contain(digests, any);
    std::array<bool, kSliceWindow> answers;
    while (count-- > 0) {
      slices_[count].may_contain(digests, std::span(answers).first(digests.size()));
      std::transform(any.begin(), any.end(), answers.begin(), any.begin(), [](bool a, bool b) { return a | b; });
    }
  }

  /// Appends the slice that `make` returns. Returns false if there can be no more, so that the newest takes the
  /// remaining keys. Errors: std::bad_alloc, with nothing changed.
  template <class Make>
  bool grow(const Make& make) {
    if (slice_count() == kMaxSlices) {
      return false;
    }
    slices_.reserve(slice_count() + 1);
    Result<Slice> slice = make();
    if (slice) {
      slices_.append(std::move(*slice));
    } else if (slice.error().code == ErrorCode::out_of_space) {
      throw std::bad_alloc();
    }
    return slice.has_value();  // else too large to address
  }

  /// Frees the image that the filter was opened from if no slice is in it any more.
  void release_unused_backing() noexcept {
    const std::uintptr_t start = address(backing_.bytes());
    bool is_used = false;
    for (std::size_t i = 0; i < slice_count(); ++i) {
      is_used = is_used || is_within(start, backing_.size(), slices_[i]);
    }
    if (!is_used) {
      backing_ = {};
    }
  }

  /// The slice of the highest generation.
  [[nodiscard]] const Slice& latest() const noexcept {
    std::size_t latest = 0;
    for (std::size_t i = 1; i < slice_count(); ++i) {
      latest = is_as_late(slices_[i], slices_[latest]) ? i : latest;
    }
    return slices_[latest];
  }
  /// After a merge: makes the slice of the highest generation that has room the newest, so that its room is used. Slice
  /// 0 stays first, for `clear`.
  void go_on_from_latest_room() noexcept {
    std::size_t chosen = 0;
    for (std::size_t i = 1; i < slice_count(); ++i) {
      if (!slices_[i].is_full() && (chosen == 0 || is_as_late(slices_[i], slices_[chosen]))) {
        chosen = i;
      }
    }
    if (chosen != 0) {
      slices_.move_to_end(chosen);
    }
  }

  /// Errors: out_of_space.
  [[nodiscard]] Result<Slice> copy_of(const Slice& slice) const {
    MANKAI_ASSIGN(auto region, Region::allocate(memory_, slice.image_bytes()));
    slice.to_bytes(region.bytes());
    auto image = Image::adopt(std::move(region), Trust::fast);
    return image ? Slice::from_image(std::move(*image)) : std::unexpected(image.error());
  }
  /// Errors: invalid_argument if there would be too many slices.
  [[nodiscard]] Result<void> reserve_slices(std::size_t more) {
    if (slice_count() + more > kMaxSlices) {
      return fail(ErrorCode::invalid_argument, "the filters have more than " + std::to_string(kMaxSlices) +
                                                   " slices together; create one with more keys and add them there");
    }
    slices_.reserve(slice_count() + more);
    return {};
  }

  [[nodiscard]] static Parts make_parts(const ImageHeader& header, Slice first, const Memory& memory) {
    Parts parts{.header = header, .backing = {}, .slices = {}, .memory = memory};
    parts.slices.append(std::move(first));
    return parts;
  }

  /// The outer header, without sizes and counts.
  [[nodiscard]] ImageHeader header() const noexcept {
    ImageHeader header =
        make_header(Derived::kKind, ImageLayout::sliced,
                    {.capacity_keys = initial_keys(), .fpr_target = fpr_target(), .hash = hash(), .cells_bytes = 0});
    header.canonical_version = outer_.canonical_version;
    header.kind_params = outer_.kind_params;
    return header;
  }
  template <class Params>
  [[nodiscard]] Params kind_params() const noexcept {
    return params_in<Params>(outer_.kind_params);
  }
  /// A count of keys for kinds that do not count them by sub-filter.
  [[nodiscard]] std::atomic_ref<std::uint64_t> whole_count() const noexcept {
    // atomic_ref has no const form before C++26.
    return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(outer_.keys_inserted));
  }
  /// With the current count of keys.
  [[nodiscard]] ImageHeader counted_header() const noexcept {
    ImageHeader counted = header();
    counted.keys_inserted = static_cast<const Derived&>(*this).keys_inserted();
    return counted;
  }

  [[nodiscard]] SliceList<Slice>& slices() noexcept { return slices_; }
  [[nodiscard]] const SliceList<Slice>& slices() const noexcept { return slices_; }
  [[nodiscard]] const Memory& memory() const noexcept { return memory_; }

  template <class Options, class Params>
  [[nodiscard]] static ImageHeader make_outer(const Options& options, const Params& params) noexcept {
    ImageHeader outer =
        make_header(Derived::kKind, ImageLayout::sliced,
                    {.capacity_keys = options.keys, .fpr_target = options.fpr, .hash = options.hash, .cells_bytes = 0});
    set_params(outer, params);
    return outer;
  }
  /// Checks the fields that all growing kinds share. Errors: corrupt.
  [[nodiscard]] static Result<void> check_growing(const ImageHeader& outer, const Growth& growth) {
    if (auto valid = check_growth(growth); !valid) {
      return fail(ErrorCode::corrupt, valid.error().detail + " (offset 64)");
    }
    return check_outer(outer);
  }
  [[nodiscard]] static Result<void> check_outer(const ImageHeader& outer) {
    if (!check_request({.keys = outer.capacity_keys, .fpr = std::bit_cast<double>(outer.fpr_target_bits)})) {
      return fail(ErrorCode::corrupt, "capacity at offset 40 or rate at offset 48 is impossible");
    }
    if (outer.slice_tag != 0 || outer.kind_state[2] != 0) {
      return fail(ErrorCode::corrupt, "reserved bytes before offset 120 are not zero");
    }
    return {};
  }

  /// Errors: invalid_argument that names the difference.
  [[nodiscard]] Result<void> check_same_hash(const GrowingFilter& other) const {
    MANKAI_TRY(check_same_keys(header(), other.header()));
    if (outer_.kind_params != other.outer_.kind_params || outer_.capacity_keys != other.outer_.capacity_keys ||
        outer_.fpr_target_bits != other.outer_.fpr_target_bits) {
      return fail(ErrorCode::invalid_argument,
                  "the filters grow by different rules; create the second one like the first");
    }
    return {};
  }

  template <class Value>
  [[nodiscard]] std::uint64_t sum(const Value& value) const noexcept {
    return sum_of_first(slice_count(), value);
  }
  template <class Value>
  [[nodiscard]] std::uint64_t sum_of_first(std::size_t count, const Value& value) const noexcept {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < count; ++i) {
      total = std::min(total + value(slices_[i]), kMaxKeysInserted);  // saturates on hostile counts
    }
    return total;
  }

  /// The rate of a filter grown from empty to `keys`; `rate(slice, keys)` is that of a slice holding `keys`.
  template <class Rate>
  [[nodiscard]] double expected_fpr(std::uint64_t keys, const Rate& rate) const noexcept {
    const Growth growth = static_cast<const Derived&>(*this).growth();
    double all_no = 0;
    for (std::uint64_t generation = 0; keys > 0 && generation < kMaxSlices; ++generation) {
      const SizeRequest slice{.keys = slice_keys(initial_keys(), growth, generation),
                              .fpr = slice_fpr(fpr_target(), growth, generation)};
      const std::uint64_t inside = generation + 1 == kMaxSlices ? keys : std::min(keys, slice.keys);
      all_no += std::log1p(-rate(slice, inside));
      keys -= inside;
    }
    return 0 - std::expm1(all_no);  // not -0 for an empty filter
  }

 private:
  friend Derived;
  explicit GrowingFilter(Parts parts) noexcept
      : outer_{.seed = parts.header.seed,
               .capacity_keys = parts.header.capacity_keys,
               .fpr_target_bits = parts.header.fpr_target_bits,
               .keys_inserted = parts.header.keys_inserted,
               .kind_params = parts.header.kind_params,
               .hash_kind = static_cast<HashKind>(parts.header.hash_kind),
               .canonical_version = parts.header.canonical_version},
        backing_(std::move(parts.backing)),
        slices_(std::move(parts.slices)),
        memory_(parts.memory) {}

  [[nodiscard]] std::size_t bytes_with(std::size_t count) const noexcept {
    return sizeof(ImageHeader) + static_cast<std::size_t>(sum_of_first(
                                     count, [](const Slice& slice) { return slice_bytes(slice.image_bytes()); }));
  }

  static std::uintptr_t address(std::span<const std::byte> bytes) noexcept {
    return reinterpret_cast<std::uintptr_t>(bytes.data());
  }
  static bool is_within(std::uintptr_t start, std::size_t bytes, const Slice& slice) noexcept {
    return address(slice.cells()) - start < bytes;
  }

  // Slices inside the backing move by the same distance.
  void relocate_backing(const Mover& mover) noexcept {
    if (backing_.size() == 0) {
      return;
    }
    const std::uintptr_t before = address(backing_.bytes());
    backing_.relocate(mover);
    std::uintptr_t distance = address(backing_.bytes()) - before;
    const auto follow = [](void* context, std::span<std::byte> bytes) noexcept {
      return reinterpret_cast<std::byte*>(address(bytes) + *static_cast<const std::uintptr_t*>(context));
    };
    for (std::size_t i = 0; i < slice_count(); ++i) {
      if (is_within(before, backing_.size(), slices_[i])) {
        slices_[i].relocate({.move = follow, .context = &distance});
      }
    }
  }

  // Later generations have more keys, or the same number at a lower rate.
  static bool is_as_late(const Slice& slice, const Slice& other) noexcept {
    return slice.capacity_keys() != other.capacity_keys() ? slice.capacity_keys() > other.capacity_keys()
                                                          : slice.fpr_target() <= other.fpr_target();
  }

  static Result<void> check(std::span<const std::byte> bytes, Trust trust) {
    MANKAI_TRY(check_sliced(bytes, trust));
    ImageHeader outer;
    std::memcpy(&outer, bytes.data(), sizeof(outer));
    if (outer.kind != Derived::kKind) {
      return fail(ErrorCode::corrupt, "image of kind " + std::to_string(outer.kind) + " at offset 10, not " +
                                          std::to_string(Derived::kKind));
    }
    return Derived::check_header(outer);
  }

  // Pre: the bytes have been checked.
  static Result<Derived> take_apart(Region region, const Memory& memory) {
    ImageHeader outer;
    std::memcpy(&outer, region.bytes().data(), sizeof(outer));
    MANKAI_ASSIGN(auto images, slices_in(region.bytes()));
    Parts parts{.header = outer, .backing = {}, .slices = {}, .memory = memory};
    for (std::size_t i = 0; i < images.size(); ++i) {
      auto slice = open_slice(std::move(images[i]), outer, i);
      if (!slice) {
        return std::unexpected(slice.error().within("slice " + std::to_string(i)));
      }
      parts.slices.append(std::move(*slice));
    }
    parts.backing = std::move(region);
    return Derived(std::move(parts));
  }

  static Result<Slice> open_slice(Image image, const ImageHeader& outer, std::size_t index) {
    const HashSpec expected{.kind = static_cast<HashKind>(outer.hash_kind), .seed = outer.seed};
    if (image.hash() != expected) {
      return fail(ErrorCode::corrupt, "its seed at offset 24 is not the filter's");
    }
    auto slice = Slice::from_image(std::move(image));
    if (!slice) {
      return slice;
    }
    MANKAI_TRY(Derived::check_slice(outer, *slice, index));
    return slice;
  }

  /// The fields of the outer header that cannot be computed: most of a small filter's memory is its objects.
  struct Outer {
    std::array<std::uint64_t, 2> seed;
    std::uint64_t capacity_keys;
    std::uint64_t fpr_target_bits;
    std::uint64_t keys_inserted;  ///< see whole_count
    decltype(ImageHeader::kind_params) kind_params;
    HashKind hash_kind;
    std::uint8_t canonical_version;
  };
  Outer outer_;
  /// Of seal_parts. Few filters ever need it.
  std::unique_ptr<ImageHeader> sealed_;
  Region backing_;
  SliceList<Slice> slices_;
  Memory memory_;
};

}  // namespace mankai
