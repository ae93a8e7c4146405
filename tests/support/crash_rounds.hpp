#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace mankai::test {

/// How many rounds of a randomised crash test to run: the few of `make test`, or as many times more as `make
/// test-crash` says through MANKAI_CRASH_ROUNDS.
inline std::uint64_t crash_rounds(std::uint64_t few) {
  const char* times = std::getenv("MANKAI_CRASH_ROUNDS");
  return times == nullptr ? few : few * std::stoull(times);
}

}  // namespace mankai::test
