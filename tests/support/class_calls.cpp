#include "tests/support/class_calls.hpp"

#include <algorithm>
#include <vector>

#include "mankai/base/assert.hpp"

namespace mankai::test {
namespace {

std::vector<ClassCalls>& tables() {
  static std::vector<ClassCalls> all;
  return all;
}

}  // namespace

bool add_calls(const ClassCalls& calls) {
  tables().push_back(calls);
  return true;
}

const ClassCalls& calls_of(const KindDescription& kind) {
  const auto found = std::ranges::find(tables(), kind.kind, [](const ClassCalls& calls) { return Kind{calls.kind}; });
  MANKAI_ASSERT(found != tables().end());
  return *found;
}

}  // namespace mankai::test
