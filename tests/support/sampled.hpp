#pragma once

namespace mankai::test {

/// Whether a sanitizer runs the tests, which makes them 3 to 10 times as slow. What repeats one thing many times does
/// so less often then: the release build has all repetitions.
#ifdef MANKAI_SAMPLED
inline constexpr bool kIsSampled = true;
#else
inline constexpr bool kIsSampled = false;
#endif

}  // namespace mankai::test
