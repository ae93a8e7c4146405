#pragma once

#include <cstdlib>

#include "tests/support/sampled.hpp"

namespace mankai::test {

// rapidcheck reads its settings once for a program, when the first property runs.
inline const bool kIsSeeded =
    ::setenv("RC_PARAMS",
             kIsSampled ? "seed=20240229 max_success=250 max_size=120" : "seed=20240229 max_success=1000 max_size=120",
             0) == 0;

}  // namespace mankai::test
