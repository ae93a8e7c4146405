#pragma once

#include <array>
#include <string>
#include <vector>

#include "bench/peers/peer.hpp"

namespace mankai::bench {

/// One peer's times for one workload and rate; sample i of one peer ran within milliseconds of sample i of another.
struct Measured {
  std::string workload;
  double fpr_class = 0;
  std::string peer;
  Side side = Side::peer;
  double bits_per_key = 0;
  double fpr = 0;  ///< measured on fresh keys
  std::array<std::vector<double>, kOperations> ns;

  [[nodiscard]] const std::vector<double>& of(Operation operation) const { return ns[index(operation)]; }
};

/// The peers of one workload and rate.
using Table = std::vector<Measured>;

/// Precondition: not empty.
double median(std::vector<double> values);

}  // namespace mankai::bench
