#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "mankai/base/region.hpp"
#include "mankai/hash/hasher.hpp"

namespace mankai::kernel::test {

inline constexpr std::uint64_t kSeed = 42;
/// Keys of the largest batch.
inline constexpr std::size_t kMaxCount = 600;

template <class Shape>
struct Batch {
  Shape shape;
  const std::vector<std::uint64_t>& keys;
  const std::vector<Digest>& digests;
  std::size_t count;
};

/// Zeroed words at a cache line's boundary.
class Cells {
 public:
  explicit Cells(std::size_t words)
      : region_(Region::allocate(system_memory(), words * sizeof(std::uint64_t)).value()), count_(words) {}

  [[nodiscard]] std::uint64_t* words() { return reinterpret_cast<std::uint64_t*>(region_.bytes().data()); }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::vector<std::uint64_t> copy() { return {words(), words() + count_}; }
  void clear() { std::memset(words(), 0, count_ * sizeof(std::uint64_t)); }

 private:
  Region region_;
  std::size_t count_;
};

/// Keys of which every fourth repeats one shortly before it, so that a window holds twins.
inline std::vector<std::uint64_t> keys_with_twins(std::size_t count) {
  std::vector<std::uint64_t> keys(count);
  for (std::size_t i = 0; i < count; ++i) {
    keys[i] = i % 4 == 3 ? keys[i - 1 - i % 3] : i * 0x10001;
  }
  return keys;
}

inline std::vector<Digest> digests_of(const std::vector<std::uint64_t>& keys) {
  std::vector<Digest> digests;
  digests.reserve(keys.size());
  for (const std::uint64_t key : keys) {
    digests.push_back(mix_integer(key, kSeed));
  }
  return digests;
}

/// A vector of bools that has addresses.
class Bools {
 public:
  explicit Bools(std::size_t count) : bytes_(count + 1, kUntouched) {}

  [[nodiscard]] bool* data() { return reinterpret_cast<bool*>(bytes_.data()); }
  /// The first `count` outcomes; checks that nothing was written behind them.
  [[nodiscard]] std::vector<bool> first(std::size_t count) const {
    EXPECT_EQ(bytes_[count], kUntouched);
    std::vector<bool> outcomes;
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_LE(bytes_[i], 1) << i;
      outcomes.push_back(bytes_[i] == 1);
    }
    return outcomes;
  }

 private:
  static constexpr std::uint8_t kUntouched = 0x77;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace mankai::kernel::test
