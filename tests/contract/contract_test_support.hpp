#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/every_kind.hpp"
#include "tests/support/outcomes.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {

/// Half of the keys come from those that are known, and one in `twins` is a twin of an earlier one.
inline std::vector<Digest> mixed(Random& random, std::span<const Digest> known, std::size_t count,
                                 std::uint64_t twins = 3) {
  std::vector<Digest> drawn;
  for (std::size_t i = 0; i < count; ++i) {
    if (!drawn.empty() && random.below(twins) == 0) {
      drawn.push_back(drawn[random.below(drawn.size())]);
    } else {
      drawn.push_back(random.below(2) == 0 ? known[random.below(known.size())] : random.digest());
    }
  }
  return drawn;
}

inline std::vector<bool> observe_singly(Subject& filter, std::span<const Digest> digests) {
  std::vector<bool> seen;
  for (const Digest digest : digests) {
    seen.push_back(filter.observe(digest));
  }
  return seen;
}

inline std::vector<bool> observe_batch(Subject& filter, std::span<const Digest> digests) {
  Outcomes seen(digests.size());
  filter.observe(digests, seen.span());
  return seen.vector();
}

inline void expect_all_found(const Subject& filter, const std::set<Digest>& model) {
  for (const Digest known : model) {
    ASSERT_TRUE(filter.may_contain(known)) << "after " << model.size() << " keys";
  }
}

inline void expect_refused(Subject& filter, const Subject& other, std::string_view word) {
  const auto before = filter.to_bytes();
  const auto merged = filter.merge(other);
  ASSERT_FALSE(merged.has_value());
  EXPECT_EQ(merged.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(merged.error().detail.find(word), std::string::npos) << merged.error().detail;
  EXPECT_TRUE(filter.to_bytes() == before);
}

/// Asks for so many of the keys that are in, singly, and for the latest ones in a batch.
inline std::size_t count_missed(const Subject& filter, std::span<const Digest> known, Random& random,
                                std::size_t singles) {
  std::size_t missed = 0;
  for (std::size_t i = 0; i < singles && !known.empty(); ++i) {
    missed += filter.may_contain(known[random.below(known.size())]) ? 0U : 1U;
  }
  const auto latest = known.last(std::min<std::size_t>(known.size(), 100));
  Outcomes outcomes(latest.size());
  filter.may_contain(latest, outcomes.span());
  return missed + latest.size() - outcomes.yes();
}

}  // namespace mankai::test
