#pragma once

/// The handles of dablooms.h: each is one of its public structs, followed by private members.

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "mankai/c/dablooms.h"
#include "mankai/c/detail/bloom_files.hpp"
#include "mankai/c/detail/forks.hpp"
#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"

namespace mankai::c {

/// The process that has changed a bloom, if one has. A forked child must not change its copy of the bloom, nor close
/// the file: both would damage what the parent changes. Nor sync it: an error is reported to one of the two only.
class Owner {
 public:
  explicit Owner(const Store& store) noexcept {
    if (store.recovery().had_journal) {
      claim();
    }
  }

  /// Before a change. Returns false, and sets errno to EPERM, in a child of the owner.
  [[nodiscard]] bool may_change() noexcept {
    if (forks_ != fork_count.load(std::memory_order_relaxed)) [[unlikely]] {
      if (!may_sync()) {
        return false;
      }
      claim();
    }
    return true;
  }
  /// The same before a sync.
  [[nodiscard]] bool may_sync() const noexcept {
    if (is_another_process()) [[unlikely]] {
      errno = EPERM;
      return false;
    }
    return true;
  }
  /// Also after _Fork() and system calls, which fork_count does not see.
  [[nodiscard]] bool is_another_process() const noexcept { return pid_ != kNobody && pid_ != ::getpid(); }

 private:
  static constexpr pid_t kNobody = 0;

  void claim() noexcept {
    forks_ = fork_count.load(std::memory_order_relaxed);
    pid_ = ::getpid();
  }

  std::uint32_t forks_ = ~std::uint32_t{0};  ///< when it was claimed
  pid_t pid_ = kNobody;
};

/// A separate bitmap_t, or the one in a bloom.
struct BitmapHandle : bitmap_t {
  Store* store = nullptr;  ///< of the bloom; null: separate
  const Owner* owner = nullptr;
};

[[nodiscard]] inline BitmapHandle bitmap_of(Store& store, const Owner& owner) noexcept {
  return {{.bytes = 0, .fd = -1, .array = nullptr}, &store, &owner};
}

/// Before the filter is read.
inline void apply_pending(const Store& store) noexcept {
  if (store.pending() != 0) [[unlikely]] {
    static_cast<void>(store.filter());
  }
}

/// Whether most pages of the counters have been written. The first write to each takes so long that a batch of them
/// would be a pause.
[[nodiscard]] inline bool is_touched(const CountingBloom& filter) noexcept {
  constexpr std::uint64_t kShare = 64;
  return filter.keys_inserted() >= filter.capacity_keys() / kShare;
}

struct ScalingHandle;

/// A counting_bloom_t: in a file of its own, or a read-only part of a scaling bloom.
struct CountingHandle : counting_bloom_t {
  explicit CountingHandle(Store opened);
  CountingHandle(const CountingBloom& part, ScalingHandle& scaling, std::uint64_t first_id);
  CountingHandle(const CountingHandle&) = delete;
  CountingHandle& operator=(const CountingHandle&) = delete;
  CountingHandle(CountingHandle&&) = delete;
  CountingHandle& operator=(CountingHandle&&) = delete;
  ~CountingHandle() = default;

  /// Pre: nothing is pending.
  void show_count() noexcept { shown_header.count = static_cast<std::uint32_t>(filter->keys_inserted()); }
  [[nodiscard]] bool may_contain(std::string_view key) const noexcept {
    const Digest digest = hash(key);
    apply_pending(*whole);
    return filter->may_contain(digest);
  }
  /// Prefetches the key's cache line, which a change needs after journaling it.
  [[nodiscard]] Digest digest_of(std::string_view key) const noexcept {
    const Digest digest = hash(key);
    filter->prefetch(digest);
    return digest;
  }

  std::optional<Store> store;
  const Store* whole;  ///< `store`, or that of the scaling bloom
  const CountingBloom* filter;
  SingleHasher hash;
  counting_bloom_header_t shown_header{};
  std::optional<Owner> owner;  ///< with `store`
  BitmapHandle shown_bitmap{};
  Complaints complaints;

 private:
  void show_shape() noexcept;
};

struct NumberedKey {
  Digest digest;
  std::uint64_t id;
};

struct ScalingHandle : scaling_bloom_t {
  explicit ScalingHandle(Store opened);
  ScalingHandle(const ScalingHandle&) = delete;
  ScalingHandle& operator=(const ScalingHandle&) = delete;
  ScalingHandle(ScalingHandle&&) = delete;
  ScalingHandle& operator=(ScalingHandle&&) = delete;
  ~ScalingHandle() = default;

  /// As digest_of.
  [[nodiscard]] NumberedKey numbered(std::string_view key, std::uint64_t id) const noexcept {
    const Digest digest = hash(key);
    filter->prefetch(digest, id);
    return {.digest = digest, .id = id};
  }
  /// Whether an addition with this id may wait for others: it belongs to the newest part, which has been written to
  /// (is_touched).
  [[nodiscard]] bool may_wait(std::uint64_t id) const noexcept;
  /// After a change. Pre: nothing is pending.
  void show_change();
  /// After an addition to the newest part that may be pending.
  void show_pending_add() noexcept;
  void show_flush() noexcept { shown_header.disk_seqnum = shown_header.mem_seqnum; }

  Store store;
  const ScalableCountingBloom* filter;
  SingleHasher hash;
  scaling_bloom_header_t shown_header{};
  Owner owner;
  BitmapHandle shown_bitmap{};
  std::vector<std::unique_ptr<CountingHandle>> parts;
  std::vector<counting_bloom_t*> shown_parts;
  Complaints complaints;

 private:
  void show_parts();
  void show_sequence() noexcept;
};

/// A store's filter, for Store::change_by.
template <class Filter>
[[nodiscard]] Filter& changeable(const Filter* filter) noexcept {
  return const_cast<Filter&>(*filter);  // the store's own is not const
}

/// Sets errno.
[[gnu::cold]] void note_not_erased(EraseResult result) noexcept;
/// Sets errno if nothing was erased.
[[nodiscard]] inline bool is_erased(EraseResult result) noexcept {
  if (result != EraseResult::erased) [[unlikely]] {
    note_not_erased(result);
    return false;
  }
  return true;
}

/// Makes the handle of the store that `make` returns; NULL after an error, which is printed.
template <class Handle>
[[nodiscard]] Handle* make_handle(const BloomRequest& request,
                                  Result<Store> (*make)(const BloomRequest& request)) noexcept {
  const auto made = caught([&]() -> Result<Handle*> {
    MANKAI_ASSIGN(auto store, make(request));
    return std::make_unique<Handle>(std::move(store)).release();
  });
  return is_fine(made) ? *made : nullptr;
}

/// A change of one key: a digest, or a digest and an id, as in filter/change.hpp.
template <class Key>
[[nodiscard]] Change change_of(Operation operation, const Key& key) noexcept {
  return {.operation = operation, .keys = 1, .payload = std::as_bytes(std::span(&key, 1))};
}

}  // namespace mankai::c
