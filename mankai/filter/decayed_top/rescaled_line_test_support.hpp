#pragma once

#include <cmath>

#include "mankai/filter/decayed_top/rescaled_line.hpp"

namespace mankai::test {

inline double value_of(Scaled scaled) { return std::ldexp(static_cast<double>(scaled.count), scaled.exponent); }

}  // namespace mankai::test
