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

/// Defines `name()`, the best table of `const Ops* target_name()` for this machine, and `all_name()`, those of all
/// supported instruction sets. The function is compiled once per instruction set.
// NOLINTBEGIN(bugprone-macro-parentheses): Ops is a type.
#define MANKAI_EXPORT_TABLES(Ops, name)                                                \
  HWY_EXPORT(target_##name);                                                           \
  const Ops& name() noexcept { return *HWY_DYNAMIC_DISPATCH(target_##name)(); }        \
  std::vector<const Ops*> all_##name() {                                               \
    return resolve_every_target([] { return HWY_DYNAMIC_DISPATCH(target_##name)(); }); \
  }
// NOLINTEND(bugprone-macro-parentheses)
