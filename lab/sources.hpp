#pragma once

#include <vector>

#include "lab/lab.hpp"

namespace mankai::lab {

/// Every source, in the order of the report.
[[nodiscard]] std::vector<Source> all_sources();

}  // namespace mankai::lab
