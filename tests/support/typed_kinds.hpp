#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/filter_kinds.hpp"

namespace mankai::test {

/// Every kind and mode there is, for typed suites.
using FilterKinds = testing::Types<BlockedBloomKind, BloomRangeKind, BloomFieldsKind, CountingBlockedKind,
                                   CountingPartitionedKind, CountingDabloomsKind, TimeDecayingKind>;
/// Those from which keys can be taken out, and that say how often one is in.
using CountingKinds = testing::Types<CountingBlockedKind, CountingPartitionedKind, CountingDabloomsKind>;

/// Names typed tests after the kind instead of a number.
struct KindNames {
  template <class Kind>
  static std::string GetName(int /*index*/) {  // NOLINT(readability-identifier-naming): gtest looks for this name
    return std::string(Kind::kName);
  }
};

}  // namespace mankai::test
