#pragma once

#include <vector>

#include "lab/lab.hpp"

namespace mankai::lab {

// One folder each.
[[nodiscard]] Source basket_gate();
[[nodiscard]] Source url_dedup();
[[nodiscard]] Source dablooms();
[[nodiscard]] Source web_profiling();
[[nodiscard]] Source fading();

/// Every source, in the order of the report.
[[nodiscard]] std::vector<Source> all_sources();

}  // namespace mankai::lab
