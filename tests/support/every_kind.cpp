#include "tests/support/every_kind.hpp"

#include <algorithm>
#include <utility>

namespace mankai::test {
namespace {

// Whether so many keys at such a rate are what a filter of the shape is made for: not where the example gives its size.
bool is_sized_by_keys(const Example& example) {
  return std::ranges::all_of(std::vector<std::uint64_t>{400, 5000}, [&](std::uint64_t keys) {
    const auto made = create(example, {.keys = keys, .fpr = 0.02});
    return made && made->capacity_keys() == keys;
  });
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

Result<Subject> create(const Example& example, const Request& request) {
  FilterSpec spec = example.parsed;
  spec.keys = request.keys;
  spec.fpr = request.fpr;
  spec.hash = request.hash.kind;
  spec.seed = request.hash.seed;
  spec.canonical = false;
  return Subject::of(create_filter(spec, request.memory));
}

}  // namespace mankai::test
