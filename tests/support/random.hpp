#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "mankai/hash/digest.hpp"

namespace mankai::test {

/// Numbers that are the same on every machine: the standard pins this generator's outputs, not its distributions.
class Random {
 public:
  explicit Random(std::uint64_t seed) : generator_(seed) {}

  std::uint64_t number() { return generator_(); }
  /// Below 2^32 the skew towards small numbers is beyond notice.
  std::uint64_t below(std::uint64_t range) { return generator_() % range; }
  Digest digest() { return {generator_()}; }
  void fill(std::span<Digest> digests) {
    for (Digest& digest : digests) {
      digest = {generator_()};
    }
  }
  std::vector<Digest> digests(std::size_t count) {
    std::vector<Digest> drawn(count);
    fill(drawn);
    return drawn;
  }
  std::vector<std::uint64_t> numbers(std::size_t count) {
    std::vector<std::uint64_t> drawn(count);
    for (std::uint64_t& each : drawn) {
      each = generator_();
    }
    return drawn;
  }
  std::string bytes(std::size_t length) {
    std::string drawn(length, '\0');
    for (char& each : drawn) {
      each = static_cast<char>(generator_());
    }
    return drawn;
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace mankai::test
