#include "mankai/gate/detail/gate_memo.hpp"

#include <algorithm>

#include "mankai/base/bits.hpp"

namespace mankai::detail {

GateMemo::GateMemo(std::size_t bytes)
    : hasher_(HashSpec::random()),
      count_(std::max(bytes / sizeof(Set), std::size_t{1})),
      is_on_(bytes > 0),
      sets_(std::make_unique<Set[]>(count_)) {}

GateMemo::Set& GateMemo::set_of(Digest digest) const noexcept {
  // The filter uses the ends of the digest; after the multiplication all of its bits choose the set.
  return sets_[multiply_high(digest.value * kMixFirst, count_)];
}

std::uint64_t GateMemo::hash_of(std::string_view key) const noexcept {
  const std::uint64_t hash = hasher_(key).value;
  return hash == 0 ? 1 : hash;
}

// Moves a hash to the front of its set, or inserts it there and drops the last one.
void GateMemo::put_first(Set& set, std::uint64_t hash) noexcept {
  std::uint64_t carried = hash;
  for (std::size_t i = 1; i < kWords && carried != 0; ++i) {
    const std::uint64_t here = set.words[i].load(std::memory_order_relaxed);
    set.words[i].store(carried, std::memory_order_relaxed);
    carried = here == hash ? 0 : here;
  }
}

void GateMemo::add_to_state(Set& set, std::uint64_t amount) noexcept {
  set.words[0].store(set.words[0].load(std::memory_order_relaxed) + amount, std::memory_order_release);
}

bool GateMemo::knows(Digest digest, std::string_view key) noexcept {
  Set& set = set_of(digest);
  const std::uint64_t hash = hash_of(key);
  for (std::size_t i = 1; i < kWords; ++i) {
    if (set.words[i].load(std::memory_order_acquire) != hash) {
      continue;
    }
    // Reordering the set is not worth waiting for the lock.
    if (const std::unique_lock lock(changing_, std::try_to_lock);
        lock && i > 1 && set.words[i].load(std::memory_order_relaxed) == hash) {
      put_first(set, hash);
    }
    return true;
  }
  return false;
}

bool GateMemo::enter(Digest digest, std::string_view key, std::uint64_t state) noexcept {
  Set& set = set_of(digest);
  const std::uint64_t hash = hash_of(key);
  const std::lock_guard lock(changing_);
  if (is_held(state) || set.words[0].load(std::memory_order_relaxed) != state) {
    return false;
  }
  if (is_on_) {
    put_first(set, hash);
  }
  return true;
}

void GateMemo::drop(Digest digest, std::string_view key) noexcept {
  Set& set = set_of(digest);
  const std::uint64_t hash = hash_of(key);
  const std::lock_guard lock(changing_);
  add_to_state(set, kVersionStep);
  std::size_t kept = 1;
  for (std::size_t i = 1; i < kWords; ++i) {
    const std::uint64_t here = set.words[i].load(std::memory_order_relaxed);
    if (here != hash) {
      set.words[kept++].store(here, std::memory_order_relaxed);
    }
  }
  for (; kept < kWords; ++kept) {
    set.words[kept].store(0, std::memory_order_relaxed);
  }
}

void GateMemo::drop_all() noexcept {
  const std::lock_guard lock(changing_);
  for (std::size_t i = 0; i < count_; ++i) {
    add_to_state(sets_[i], kVersionStep);
    for (std::size_t j = 1; j < kWords; ++j) {
      sets_[i].words[j].store(0, std::memory_order_relaxed);
    }
  }
}

void GateMemo::hold(Digest digest) noexcept {
  const std::lock_guard lock(changing_);
  add_to_state(set_of(digest), kVersionStep + 1);
}

void GateMemo::release(Digest digest) noexcept {
  const std::lock_guard lock(changing_);
  add_to_state(set_of(digest), kVersionStep - 1);
}

}  // namespace mankai::detail
