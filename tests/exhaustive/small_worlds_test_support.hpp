#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mankai/hash/digest.hpp"

// What the models of small worlds share.

namespace mankai::test {

/// The cells of a key.
using Positions = std::vector<std::size_t>;

struct Key {
  Digest digest;
  Positions positions;
};

/// Ends, neighbors of a block's border, and two that are neighbors and share a block.
inline constexpr std::array<std::uint64_t, 4> kDigests = {0, ~std::uint64_t{0}, 0x5555555555555556U,
                                                          0x5555555555555555U};

/// floor(uniform * range / 2^64) by schoolbook multiplication of halves.
inline std::uint64_t scaled(std::uint64_t uniform, std::uint64_t range) {
  const std::uint64_t low = (uniform & 0xffffffffU) * range;
  return ((uniform >> 32) * range + (low >> 32)) >> 32;
}

// Goal: no sequence of operations, however short, makes the filter differ from the model.
// Method: sequences are the numbers of `length` digits to the base of all operations; after the last operation of each,
// `expect_same` compares cells, counts and every answer. Shorter sequences are the beginnings of longer ones and come
// first. The last of the verbs has no key.
template <class F, class Model>
void expect_model(F& filter, const Model& empty, unsigned verbs, const std::vector<Key>& keys, unsigned length_max) {
  const std::size_t operations = (verbs - 1) * keys.size() + 1;
  std::size_t sequences = 1;
  for (unsigned length = 1; length <= length_max; ++length) {
    sequences *= operations;
    for (std::size_t number = 0; number < sequences; ++number) {
      filter.clear();
      Model model = empty;
      std::size_t rest = number;
      for (unsigned step = 0; step < length; ++step, rest /= operations) {
        const std::size_t operation = rest % operations;
        const auto verb = static_cast<unsigned>(operation / keys.size());
        ASSERT_TRUE(apply(filter, model, keys, verb, operation % keys.size())) << "sequence " << number;
      }
      expect_same(filter, model, keys, "sequence " + std::to_string(number) + " of " + std::to_string(length));
      if (testing::Test::HasFatalFailure()) {
        return;
      }
    }
  }
}

}  // namespace mankai::test
