#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mankai/filter/decayed_top/decayed_top.hpp"

namespace mankai::test {

inline constexpr std::uint64_t kKiB = 1024;
/// What rounding up adds to a count of the table: 2^-28 per event while the count is small.
inline constexpr double kMostExcess = 1e-5;

inline Time at(std::int64_t second) { return Time(std::chrono::seconds(second)); }

inline std::string key_of(std::uint64_t number) { return "/articles/" + std::to_string(number) + ".html"; }

inline void insert(DecayedTop& filter, std::string_view key, Time when, std::uint32_t count = 1) {
  filter.insert(filter.hasher()(key), key, when, count);
}

}  // namespace mankai::test
