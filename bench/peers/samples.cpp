#include "bench/peers/samples.hpp"

#include <algorithm>

namespace mankai::bench {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace mankai::bench
