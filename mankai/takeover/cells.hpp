#pragma once

/// The cells of a filter that may be loaded in chunks. Those behind the last one that has arrived read as zeros and
/// take no memory, so a header of a few bytes allocates nothing, whatever it announces.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/base/error.hpp"
#include "mankai/base/region.hpp"

namespace mankai::takeover {

/// Which cells of a header get memory at once.
enum class CellsOfHeader : std::uint8_t {
  all,
  arriving,  ///< those that have arrived, unless the filter is small: then all
};

/// Filters of up to so many bytes of cells are small: their chunks may come in any order.
inline constexpr std::uint64_t kSmallCellsBytes = std::uint64_t{64} << 10;

/// See the top of this file. Threads: as the filter's.
class Cells {
 public:
  /// All of them are present.
  explicit(false) Cells(Region all) noexcept : present_(std::move(all)), bytes_(present_.size()), arrived_(bytes_) {}
  /// All are zeros, and none is present.
  [[nodiscard]] static Cells absent(std::uint64_t bytes) noexcept {
    Cells cells{Region()};
    cells.bytes_ = bytes;
    return cells;
  }

  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(bytes_); }
  [[nodiscard]] bool is_whole() const noexcept { return present_.size() == bytes_; }
  /// The first ones; all others are zeros. If a power of two of buckets of at most 4096 bytes is the whole, these are
  /// whole buckets.
  [[nodiscard]] std::span<const std::byte> present() const noexcept { return present_.bytes(); }
  [[nodiscard]] std::span<std::byte> present() noexcept { return present_.bytes(); }

  /// Makes all present. Errors: out_of_space; then nothing has changed.
  [[nodiscard]] Result<void> make_whole(const Memory& memory) { return make_room(bytes_, memory); }
  /// Replaces cells. Memory grows to at most twice of what has arrived. Errors: out_of_space; invalid_argument if cells
  /// are missing in front of these. Pre: they are within the size.
  [[nodiscard]] Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes, const Memory& memory) {
    const std::uint64_t end = offset + bytes.size();
    MANKAI_ASSERT(end <= bytes_);
    if (!is_whole()) {
      if (offset > arrived_) {
        return fail(ErrorCode::invalid_argument, "a chunk before the one in front of it");
      }
      MANKAI_TRY(make_room(end, memory));
    }
    std::ranges::copy(bytes, present().subspan(static_cast<std::size_t>(offset)).begin());
    arrived_ = std::max(arrived_, end);
    return {};
  }
  /// A copy that has the same memory. Errors: out_of_space.
  [[nodiscard]] Result<Cells> clone(const Memory& memory) const {
    Cells copy = absent(bytes_);
    if (!present().empty()) {
      MANKAI_ASSIGN(copy.present_, Region::allocate(memory, present().size()));
      std::ranges::copy(present(), copy.present().begin());
    }
    copy.arrived_ = arrived_;
    return copy;
  }
  /// Calls `use(bytes)` with all of them. Errors: std::bad_alloc, for a copy if they are not present.
  template <class Use>
  void with_all(const Memory& memory, const Use& use) const {
    if (is_whole()) {
      return use(present());
    }
    auto all = Region::allocate(memory, size());
    if (!all) {
      throw std::bad_alloc();
    }
    std::ranges::copy(present(), all->bytes().begin());
    use(std::as_const(*all).bytes());
  }

  void relocate(const Mover& mover) noexcept {
    if (present_.size() != 0) {
      present_.relocate(mover);
    }
  }

 private:
  // The sizes are the whole, halved repeatedly, so the bytes copied add up to at most the whole.
  Result<void> make_room(std::uint64_t end, const Memory& memory) {
    constexpr std::uint64_t kLeast = 4096;
    if (end <= present_.size()) {
      return {};
    }
    std::uint64_t bytes = bytes_;
    while (bytes / 2 >= std::max(end, kLeast)) {
      bytes = divide_up<std::uint64_t>(bytes, 2);
    }
    MANKAI_ASSIGN(Region larger, Region::allocate(memory, static_cast<std::size_t>(bytes)));
    std::ranges::copy(present(), larger.bytes().begin());
    present_ = std::move(larger);
    return {};
  }

  Region present_;
  std::uint64_t bytes_ = 0;    ///< of all
  std::uint64_t arrived_ = 0;  ///< all in front of this have been written
};

}  // namespace mankai::takeover
