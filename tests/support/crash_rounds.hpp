#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/support/sampled.hpp"

namespace mankai::test {

/// How many rounds of a randomized crash test to run: the few of `make test`, or as many times more as `make
/// test-crash` says through MANKAI_CRASH_ROUNDS.
inline std::uint64_t crash_rounds(std::uint64_t few) {
  const char* times = std::getenv("MANKAI_CRASH_ROUNDS");
  return times == nullptr ? few : few * std::stoull(times);
}

/// Of the moments of a trace, one in so many is looked at: under a sanitizer each disk takes ten times as long, and
/// what it looks for is at other moments as well.
inline constexpr std::size_t kMomentStep = kIsSampled ? 4 : 1;

}  // namespace mankai::test
