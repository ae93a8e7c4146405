#pragma once

/// A model of how dablooms 0.9.1 changes its file: in place, in a shared mapping, one store after another. One filter,
/// which does not grow. Written from a description, as original.hpp; stores are taken in the order of the code, though
/// nothing there forces a compiler to keep it.
/// - A change first sets the sequence number on disk to 0 and waits for the disk, unless it is 0 already. Then it sets
///   the number in memory to 0, changes counters and the count of keys, and stores the next number.
/// - A flush waits for the disk, then copies the number in memory to the one on disk and waits again.
/// Source: [Dablooms2012].

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lab/dablooms/original.hpp"

namespace mankai::lab::spam {

/// `Disk` has `stored(offset)`, called after each store, and `synced()`, called where the code waits for the disk.
template <class Disk>
class MappedOriginal {
 public:
  static constexpr std::size_t kMaxId = 0;
  static constexpr std::size_t kInMemory = 8;
  static constexpr std::size_t kOnDisk = 16;
  static constexpr std::size_t kKeys = 32;
  static constexpr std::size_t kCounters = Original::kHeaderBytes + Original::kSliceHeaderBytes;

  /// Pre: the file has kCounters + shape.bytes.size() bytes, zeros if it is new, at an address that 8 divides.
  MappedOriginal(std::span<std::uint8_t> file, const Original::Slice& shape, Disk& disk) noexcept
      : file_(file), size_(shape.size), k_(shape.k), disk_(disk) {
    if (in_memory() == 0 && on_disk() == 0 && field(kKeys) == 0) {
      store(kInMemory, 1);
      store(kOnDisk, 1);
    }
  }

  void insert(Digest digest, std::uint64_t id) noexcept { change(digest, id, 1); }
  void erase(Digest digest, std::uint64_t id) noexcept { change(digest, id, -1); }
  void flush() noexcept {
    disk_.synced();
    if (on_disk() == 0) {
      store(kOnDisk, in_memory());
      disk_.synced();
    }
  }
  [[nodiscard]] std::uint64_t in_memory() const noexcept { return field(kInMemory); }
  [[nodiscard]] std::uint64_t on_disk() const noexcept { return field(kOnDisk); }

 private:
  void change(Digest digest, std::uint64_t id, int by) noexcept {
    if (on_disk() != 0) {
      store(kOnDisk, 0);
      disk_.synced();
    }
    const std::uint64_t number = in_memory();
    store(kInMemory, 0);
    if (id > field(kMaxId)) {
      store(kMaxId, id);
    }
    const Counters::Change counters{.digest = digest, .by = by};
    for (std::uint32_t i = 0; i < k_; ++i) {
      const auto [byte, value] = Counters::changed(file_.subspan(kCounters), size_, i, counters);
      std::atomic_ref(file_[kCounters + byte]).store(value, std::memory_order_release);
      disk_.stored(kCounters + byte);
    }
    store(kKeys, field(kKeys) + static_cast<std::uint64_t>(by));
    store(kInMemory, number + 1);
  }
  [[nodiscard]] std::uint64_t field(std::size_t offset) const noexcept {
    return std::atomic_ref(word(offset)).load(std::memory_order_acquire);
  }
  void store(std::size_t offset, std::uint64_t value) noexcept {
    std::atomic_ref(word(offset)).store(value, std::memory_order_release);
    disk_.stored(offset);
  }
  [[nodiscard]] std::uint64_t& word(std::size_t offset) const noexcept {
    return *reinterpret_cast<std::uint64_t*>(&file_[offset]);
  }

  std::span<std::uint8_t> file_;
  std::uint64_t size_;
  std::uint32_t k_;
  Disk& disk_;
};

}  // namespace mankai::lab::spam
