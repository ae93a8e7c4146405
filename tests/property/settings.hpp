#pragma once

#include <cstdlib>

namespace mankai::test {

// rapidcheck reads its settings once for a program, when the first property runs.
#ifdef MANKAI_SAMPLED
inline const bool kIsSeeded = ::setenv("RC_PARAMS", "seed=20240229 max_success=250 max_size=120", 0) == 0;
#else
inline const bool kIsSeeded = ::setenv("RC_PARAMS", "seed=20240229 max_success=1000 max_size=120", 0) == 0;
#endif

}  // namespace mankai::test
