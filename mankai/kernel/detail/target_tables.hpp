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

/// Defines `name()` and `all_name()`, which return the tables of `const Ops* target_name()`, compiled once per
/// instruction set: the best one for this machine, and all that it supports.
// NOLINTBEGIN(bugprone-macro-parentheses): Ops is a type.
#define MANKAI_EXPORT_TABLES(Ops, name)                                                \
  HWY_EXPORT(target_##name);                                                           \
  const Ops& name() noexcept { return *HWY_DYNAMIC_DISPATCH(target_##name)(); }        \
  std::vector<const Ops*> all_##name() {                                               \
    return resolve_every_target([] { return HWY_DYNAMIC_DISPATCH(target_##name)(); }); \
  }
// NOLINTEND(bugprone-macro-parentheses)
