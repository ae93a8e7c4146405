#pragma once

/// Words that one thread changes while others read them: relaxed atomic accesses, which compile to plain moves.

#include <atomic>
#include <cstdint>

/// Defined in builds under ThreadSanitizer, which reports a vector load beside an atomic OR as a race (docs/adr/0004).
/// Such builds compile each kernel once, without vectors, and access shared words atomically. Kernel sources include
/// this file before Highway.
#if defined(__SANITIZE_THREAD__)
#define MANKAI_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MANKAI_THREAD_SANITIZER 1
#endif
#endif
#ifdef MANKAI_THREAD_SANITIZER
#define HWY_COMPILE_ONLY_SCALAR
#endif

namespace mankai::kernel {

[[nodiscard]] inline std::uint64_t load_word(const std::uint64_t* word) noexcept {
  // atomic_ref<const T> needs C++26.
  return std::atomic_ref<std::uint64_t>(*const_cast<std::uint64_t*>(word)).load(std::memory_order_relaxed);
}

inline void store_word(std::uint64_t* word, std::uint64_t value) noexcept {
  std::atomic_ref<std::uint64_t>(*word).store(value, std::memory_order_relaxed);
}

/// As load_word, beside or_word: who reads a bit also sees the bits that its writer had set before.
[[nodiscard]] inline std::uint64_t acquire_word(const std::uint64_t* word) noexcept {
  return std::atomic_ref<std::uint64_t>(*const_cast<std::uint64_t*>(word)).load(std::memory_order_acquire);
}

/// Sets bits beside other writers and returns the previous word. Writes nothing if the bits are set, so that frequent
/// keys do not move their cache line between cores.
inline std::uint64_t or_word(std::uint64_t* word, std::uint64_t bits) noexcept {
  const std::uint64_t before = acquire_word(word);
  if ((before & bits) == bits) {
    return before;
  }
  return std::atomic_ref<std::uint64_t>(*word).fetch_or(bits, std::memory_order_acq_rel);
}

#ifdef MANKAI_THREAD_SANITIZER
/// MANKAI_SHARED(words[i]): a word in a hot loop. A plain lvalue, so that the compiler may combine accesses; under
/// ThreadSanitizer an atomic proxy.
struct SharedWord {
  std::uint64_t* word;
  operator std::uint64_t() const noexcept { return load_word(word); }
  void operator=(std::uint64_t value) const noexcept { store_word(word, value); }
  void operator|=(std::uint64_t bits) const noexcept { store_word(word, load_word(word) | bits); }
  void operator+=(std::uint64_t value) const noexcept { store_word(word, load_word(word) + value); }
  void operator-=(std::uint64_t value) const noexcept { store_word(word, load_word(word) - value); }
};
#define MANKAI_SHARED(lvalue) (::mankai::kernel::SharedWord{const_cast<std::uint64_t*>(&(lvalue))})
#else
#define MANKAI_SHARED(lvalue) (lvalue)
#endif

}  // namespace mankai::kernel
