#pragma once

namespace mankai::detail {

/// Prints the failed condition and aborts. A failed assertion is a bug in this library, never bad input.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace mankai::detail

/// Always on: for conditions between our own functions whose check has no measurable cost.
#define MANKAI_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::mankai::detail::assertion_failed(#condition, __FILE__, __LINE__))

/// Debug builds only: for hot loops.
#ifdef NDEBUG
#define MANKAI_DCHECK(condition) static_cast<void>(0)
#else
#define MANKAI_DCHECK(condition) MANKAI_ASSERT(condition)
#endif
