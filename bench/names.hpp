#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string_view>
#include <vector>

#include "bench/random.hpp"

namespace mankai::bench {

/// Keys of 20 digits.
class Names {
 public:
  explicit Names(std::size_t count) : bytes_(count * kLength + 1) {
    for (std::size_t i = 0; i < count; ++i) {
      std::snprintf(bytes_.data() + i * kLength, kLength + 1, "%020llu",
                    static_cast<unsigned long long>(random_integer(i)));
      keys_.emplace_back(bytes_.data() + i * kLength, kLength);
    }
  }
  [[nodiscard]] const std::vector<std::string_view>& keys() const noexcept { return keys_; }

 private:
  static constexpr std::size_t kLength = 20;
  std::vector<char> bytes_;
  std::vector<std::string_view> keys_;
};

inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace mankai::bench
