#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/peers/samples.hpp"

namespace mankai::bench {

/// The result of one target in one table.
struct Verdict {
  std::string workload;
  double fpr_class = 0;
  std::string target;
  std::string rival;  ///< the one that was hardest to beat, and its operation
  double wanted = 0;
  double measured = 0;  ///< 0: nothing to compare with
  bool is_ceiling = false;

  [[nodiscard]] bool is_missing() const { return measured == 0; }
  [[nodiscard]] bool is_met() const { return is_ceiling ? measured <= wanted : measured >= wanted; }
};

/// Holds a table against the targets that apply to it. `is_native`: this program was compiled with -march=native.
std::vector<Verdict> judge(const Table& table, bool is_native);

}  // namespace mankai::bench
