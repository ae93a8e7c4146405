#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
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
double least(std::span<const double> values);

/// How many times as long as `ours` `theirs` took: the median over pairs of samples, so that whatever slows the machine
/// for a while slows both. 0 when one of them has no samples.
double paired_speedup(std::span<const double> ours, std::span<const double> theirs);

/// Returns the peer of that name, or nullptr.
const Measured* find(const Table& table, std::string_view peer);

}  // namespace mankai::bench
