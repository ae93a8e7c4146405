#include "tests/support/every_kind.hpp"

#include <algorithm>
#include <utility>

namespace mankai::test {
namespace {

// Whether so many keys at such a rate are what a filter of the shape is made for: not where the example gives its size.
bool is_sized_by_keys(const Example& example) {
  const auto few = create(example, {.keys = 400, .fpr = 0.02});
  const auto many = create(example, {.keys = 5000, .fpr = 0.02});
  return few && many && few->capacity_keys() == 400 && many->capacity_keys() == 5000 &&
         few->image_bytes() < many->image_bytes();
}

}  // namespace

std::vector<Example> shapes() {
  std::vector<Example> chosen;
  for (Example& example : examples()) {
    const bool is_known = std::ranges::any_of(chosen, [&](const Example& other) {
      return other.kind == example.kind && other.parsed.options == example.parsed.options;
    });
    if (!is_known && is_sized_by_keys(example)) {
      chosen.push_back(std::move(example));
    }
  }
  return chosen;
}

std::vector<Example> shapes(bool (*fits)(const KindDescription& kind)) {
  std::vector<Example> all = shapes();
  std::erase_if(all, [&](const Example& example) { return !fits(*example.kind); });
  return all;
}

std::vector<Example> shapes(bool (*fits)(const Example& example)) {
  std::vector<Example> all = shapes();
  std::erase_if(all, [&](const Example& example) { return !fits(example); });
  return all;
}

Result<Subject> create(const Example& example, const FilterRequest& request) {
  FilterSpec spec = example.parsed;
  spec.keys = request.keys;
  spec.fpr = request.fpr;
  spec.hash = request.hash.kind;
  spec.seed = request.hash.seed;
  spec.canonical = false;
  return Subject::of(create_filter(spec, request.memory));
}

std::uint64_t keys_beyond_cache(const Example& example, double fpr) {
  constexpr std::uint64_t kBytes = std::uint64_t{3} << 19U;
  std::uint64_t keys = 50'000;
  while (make(example, {.keys = keys, .fpr = fpr}).image_bytes() < kBytes) {
    keys *= 2;
  }
  return keys;
}

}  // namespace mankai::test
