#include "bench/peers/keys.hpp"

#include "lab/traffic/url_generator.hpp"
#include "mankai/base/bits.hpp"

namespace mankai::bench {
namespace {

// Which keys are asked for, by number; those from `count` on are absent.
struct Numbers {
  std::vector<std::uint64_t> hits;
  std::vector<std::uint64_t> misses;
  std::vector<std::uint64_t> mixed;
};

Numbers choose(std::uint64_t count, std::size_t queries) {
  constexpr std::uint64_t kSeed = std::uint64_t{1} << 60;
  Numbers numbers;
  for (std::uint64_t i = 0; i < queries; ++i) {
    numbers.hits.push_back(fastrange(random_integer(kSeed + 3 * i), count));
    numbers.misses.push_back(count + i);
    const std::uint64_t present = fastrange(random_integer(kSeed + 3 * i + 1), count);
    const bool is_present = (random_integer(kSeed + 3 * i + 2) >> 63) != 0;
    numbers.mixed.push_back(is_present ? present : count + queries + i);
  }
  return numbers;
}

std::vector<Integer> integers(const std::vector<std::uint64_t>& numbers) {
  std::vector<Integer> keys;
  keys.reserve(numbers.size());
  for (const std::uint64_t number : numbers) {
    keys.push_back(random_integer(number));
  }
  return keys;
}

// Writes `count` URLs into a new arena, the i-th with the number that `number(i)` says.
template <class Number>
std::vector<Url> urls(const UrlGenerator& web, std::size_t count, const Number& number, std::string& arena) {
  constexpr std::size_t kReserved = 80;
  arena.reserve(count * kReserved);
  std::vector<std::uint16_t> lengths;
  lengths.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t before = arena.size();
    web.append_url(number(i), arena);
    lengths.push_back(static_cast<std::uint16_t>(arena.size() - before));
  }
  std::vector<Url> keys;
  keys.reserve(count);
  const char* start = arena.data();
  for (const std::uint16_t length : lengths) {
    keys.emplace_back(start, length);
    start += length;
  }
  return keys;
}

}  // namespace

KeySet<Integer> make_integers(std::uint64_t count, std::size_t queries) {
  const Numbers numbers = choose(count, queries);
  KeySet<Integer> set{.keys = {},
                      .hits = integers(numbers.hits),
                      .misses = integers(numbers.misses),
                      .mixed = integers(numbers.mixed),
                      .arenas = {}};
  set.keys.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    set.keys.push_back(random_integer(i));
  }
  return set;
}

KeySet<Url> make_urls(std::uint64_t count, std::size_t queries) {
  const Numbers numbers = choose(count, queries);
  const UrlGenerator web = UrlGenerator::create({.hosts = 10'000}).value();
  KeySet<Url> set{.keys = {}, .hits = {}, .misses = {}, .mixed = {}, .arenas = std::vector<std::string>(4)};
  set.keys = urls(web, count, [](std::size_t i) { return i; }, set.arenas[0]);
  set.hits = urls(web, queries, [&](std::size_t i) { return numbers.hits[i]; }, set.arenas[1]);
  set.misses = urls(web, queries, [&](std::size_t i) { return numbers.misses[i]; }, set.arenas[2]);
  set.mixed = urls(web, queries, [&](std::size_t i) { return numbers.mixed[i]; }, set.arenas[3]);
  return set;
}

}  // namespace mankai::bench
