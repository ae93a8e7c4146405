#pragma once

#include <vector>

#include <hwy/targets.h>

namespace mankai::kernel {

/// Resolves a table of kernels once per instruction set that this machine supports, best first.
template <class Resolve>
auto resolve_every_target(const Resolve& resolve) {
  std::vector<decltype(resolve())> all;
  for (const auto target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    all.push_back(resolve());
  }
  hwy::SetSupportedTargetsForTest(0);
  return all;
}

}  // namespace mankai::kernel
