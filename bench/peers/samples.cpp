#include "bench/peers/samples.hpp"

#include <algorithm>

namespace mankai::bench {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

double least(std::span<const double> values) { return *std::ranges::min_element(values); }

double paired_speedup(std::span<const double> ours, std::span<const double> theirs) {
  const std::size_t pairs = std::min(ours.size(), theirs.size());
  if (pairs == 0) {
    return 0;
  }
  std::vector<double> ratios;
  for (std::size_t i = 0; i < pairs; ++i) {
    ratios.push_back(theirs[i] / ours[i]);
  }
  return median(std::move(ratios));
}

const Measured* find(const Table& table, std::string_view peer) {
  const auto found = std::ranges::find(table, peer, &Measured::peer);
  return found == table.end() ? nullptr : &*found;
}

}  // namespace mankai::bench
