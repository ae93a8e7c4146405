#pragma once

/// Words that a writer may change while readers look: relaxed atomic access, which compiles to plain moves.

#include <atomic>
#include <cstdint>

/// Defined where ThreadSanitizer watches: vector loads beside an atomic OR are formally a race, so such builds use the
/// scalar kernels of this folder only (docs/adr/0004).
#if defined(__SANITIZE_THREAD__)
#define MANKAI_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MANKAI_THREAD_SANITIZER 1
#endif
#endif

namespace mankai::kernel {

[[nodiscard]] inline std::uint64_t load_word(const std::uint64_t* word) noexcept {
  // atomic_ref has no const form before C++26; a load changes nothing.
  return std::atomic_ref<std::uint64_t>(*const_cast<std::uint64_t*>(word)).load(std::memory_order_relaxed);
}

inline void store_word(std::uint64_t* word, std::uint64_t value) noexcept {
  std::atomic_ref<std::uint64_t>(*word).store(value, std::memory_order_relaxed);
}

/// Sets bits beside other writers and returns the word as it was. A word that already has them is left alone, so that
/// hot keys do not bounce their cache line between cores.
inline std::uint64_t or_word(std::uint64_t* word, std::uint64_t bits) noexcept {
  const std::uint64_t before = load_word(word);
  if ((before & bits) == bits) {
    return before;
  }
  return std::atomic_ref<std::uint64_t>(*word).fetch_or(bits, std::memory_order_relaxed);
}

}  // namespace mankai::kernel
