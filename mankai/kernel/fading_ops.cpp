#include "mankai/kernel/fading_ops.hpp"

#include <algorithm>
#include <atomic>

#include "mankai/base/bits.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/tuning.hpp"

namespace mankai::kernel {
namespace {

/// Cells of whole bytes: a write is one store.
template <class Word>
struct WholeCells {
  static constexpr unsigned kBits = sizeof(Word) * 8;

  static std::byte* at(std::byte* cells, std::uint64_t cell) noexcept { return cells + cell * sizeof(Word); }

  static std::uint32_t load(std::byte* cells, std::uint64_t cell) noexcept {
    return ref(cells, cell).load(std::memory_order_relaxed);
  }
  static void store(std::byte* cells, std::uint64_t cell, std::uint32_t fingerprint) noexcept {
    ref(cells, cell).store(static_cast<Word>(fingerprint), std::memory_order_relaxed);
  }
  static void store_concurrent(std::byte* cells, std::uint64_t cell, std::uint32_t fingerprint) noexcept {
    store(cells, cell, fingerprint);
  }

 private:
  static std::atomic_ref<Word> ref(std::byte* cells, std::uint64_t cell) noexcept {
    return std::atomic_ref<Word>(*reinterpret_cast<Word*>(at(cells, cell)));
  }
};

/// Two cells per byte, the even one in the lower half: a write must not change the other one.
struct HalfByteCells {
  static constexpr unsigned kBits = 4;

  static std::byte* at(std::byte* cells, std::uint64_t cell) noexcept { return cells + cell / 2; }

  static std::uint32_t load(std::byte* cells, std::uint64_t cell) noexcept {
    return (ref(cells, cell).load(std::memory_order_relaxed) >> shift(cell)) & kMask;
  }
  static void store(std::byte* cells, std::uint64_t cell, std::uint32_t fingerprint) noexcept {
    const auto byte = ref(cells, cell);
    byte.store(with(byte.load(std::memory_order_relaxed), cell, fingerprint), std::memory_order_relaxed);
  }
  static void store_concurrent(std::byte* cells, std::uint64_t cell, std::uint32_t fingerprint) noexcept {
    const auto byte = ref(cells, cell);
    std::uint8_t before = byte.load(std::memory_order_relaxed);
    while (!byte.compare_exchange_weak(before, with(before, cell, fingerprint), std::memory_order_relaxed)) {
    }
  }

 private:
  static constexpr std::uint32_t kMask = (1U << kBits) - 1;

  static unsigned shift(std::uint64_t cell) noexcept { return static_cast<unsigned>(cell % 2) * kBits; }
  static std::uint8_t with(std::uint32_t byte, std::uint64_t cell, std::uint32_t fingerprint) noexcept {
    return static_cast<std::uint8_t>((byte & ~(kMask << shift(cell))) | fingerprint << shift(cell));
  }
  static std::atomic_ref<std::uint8_t> ref(std::byte* cells, std::uint64_t cell) noexcept {
    return std::atomic_ref<std::uint8_t>(*reinterpret_cast<std::uint8_t*>(at(cells, cell)));
  }
};

template <class Cells>
void prefetch(const FadingCells& array, Digest digest) noexcept {
  probes::CellSequence positions(digest);
  for (std::uint32_t i = 0; i < array.k; ++i) {
    prefetch_line(Cells::at(array.cells, positions.next(array.cell_count)));
  }
}

template <class Cells>
bool find(const FadingCells& array, Digest digest) noexcept {
  const std::uint32_t fingerprint = probes::fingerprint(digest, Cells::kBits);
  probes::CellSequence positions(digest);
  std::uint32_t matches = 0;
  for (std::uint32_t i = 0; i < array.k; ++i) {
    matches += Cells::load(array.cells, positions.next(array.cell_count)) == fingerprint ? 1U : 0U;
  }
  return matches >= array.min_matches;
}

template <class Cells, bool kConcurrent>
void put(const FadingCells& array, Digest digest) noexcept {
  const std::uint32_t fingerprint = probes::fingerprint(digest, Cells::kBits);
  probes::CellSequence positions(digest);
  for (std::uint32_t i = 0; i < array.k; ++i) {
    const std::uint64_t cell = positions.next(array.cell_count);
    if constexpr (kConcurrent) {
      Cells::store_concurrent(array.cells, cell, fingerprint);
    } else {
      Cells::store(array.cells, cell, fingerprint);
    }
  }
}

// Visits the keys in order, with prefetch one window ahead beyond the cache.
template <class Cells, class Visit>
void for_each_key(const FadingCells& array, const Digest* digests, std::size_t count, const Visit& visit) noexcept {
  const std::size_t near = kNearBytes * 8 / Cells::kBits;
  if (array.cell_count <= near) {
    for (std::size_t i = 0; i < count; ++i) {
      visit(i);
    }
    return;
  }
  const std::size_t window = std::max<std::size_t>(1, kLinesAhead / array.k);
  std::size_t asked = std::min(window, count);
  for (std::size_t i = 0; i < asked; ++i) {
    prefetch<Cells>(array, digests[i]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (asked < count) {
      prefetch<Cells>(array, digests[asked++]);
    }
    visit(i);
  }
}

template <class Cells, bool kConcurrent>
void insert(const FadingCells& array, const Digest* digests, std::size_t count) noexcept {
  for_each_key<Cells>(array, digests, count,
                      [&](std::size_t i) noexcept { put<Cells, kConcurrent>(array, digests[i]); });
}

template <class Cells>
void observe(const FadingCells& array, const Digest* digests, std::size_t count, bool* seen) noexcept {
  for_each_key<Cells>(array, digests, count, [&](std::size_t i) noexcept {
    seen[i] = find<Cells>(array, digests[i]);
    put<Cells, false>(array, digests[i]);
  });
}

template <class Cells>
void may_contain(const FadingCells& array, const Digest* digests, std::size_t count, bool* outcomes) noexcept {
  for_each_key<Cells>(array, digests, count,
                      [&](std::size_t i) noexcept { outcomes[i] = find<Cells>(array, digests[i]); });
}

template <class Cells>
std::uint64_t count_used(const FadingCells& array) noexcept {
  std::uint64_t used = 0;
  for (std::uint64_t cell = 0; cell < array.cell_count; ++cell) {
    used += Cells::load(array.cells, cell) != 0 ? 1U : 0U;
  }
  return used;
}

template <class Cells>
constexpr FadingOps kOps{.insert = insert<Cells, false>,
                         .insert_concurrent = insert<Cells, true>,
                         .observe = observe<Cells>,
                         .may_contain = may_contain<Cells>,
                         .count_used = count_used<Cells>};

}  // namespace

const FadingOps& fading_ops(unsigned bits) noexcept {
  switch (bits) {
    case HalfByteCells::kBits: return kOps<HalfByteCells>;
    case WholeCells<std::uint8_t>::kBits: return kOps<WholeCells<std::uint8_t>>;
    case WholeCells<std::uint16_t>::kBits: return kOps<WholeCells<std::uint16_t>>;
    default: return kOps<WholeCells<std::uint32_t>>;
  }
}

}  // namespace mankai::kernel
