#pragma once

#include <benchmark/benchmark.h>

#include <string>
#include <string_view>
#include <vector>

#include "bench/random.hpp"
#include "mankai/hash/digest.hpp"

namespace mankai::bench {

inline std::vector<Digest> random_digests(std::size_t count) {
  std::vector<Digest> digests(count);
  for (std::size_t i = 0; i < count; ++i) {
    digests[i].value = random_integer(i);
  }
  return digests;
}

/// Strings in one arena.
struct Strings {
  std::string arena;
  std::vector<std::string_view> keys;
};

/// `count` strings of `shortest` to `longest` random bytes.
inline Strings random_strings(std::size_t count, std::size_t shortest, std::size_t longest) {
  Strings strings;
  strings.arena.resize(count * longest);
  for (std::size_t i = 0; i < strings.arena.size(); ++i) {
    strings.arena[i] = static_cast<char>(random_integer(i));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t length = shortest + random_integer(~i) % (longest - shortest + 1);
    strings.keys.emplace_back(strings.arena.data() + i * longest, length);
  }
  return strings;
}

/// Reports the time per key beside that of an iteration.
inline void count_keys(benchmark::State& state, std::size_t keys_per_iteration) {
  const auto keys = static_cast<double>(state.iterations()) * static_cast<double>(keys_per_iteration);
  state.counters["key"] = benchmark::Counter(keys, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

}  // namespace mankai::bench
