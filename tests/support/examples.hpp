#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mankai/filter/any_filter.hpp"

// The kinds' own examples: what the suites that do everything to every kind run over.

namespace mankai::test {

/// A small filter that a kind states as an example of itself.
struct Example {
  const KindDescription* kind = nullptr;
  std::string spec;   ///< complete, with a seed
  FilterSpec parsed;  ///< the same

  [[nodiscard]] AnyFilter create() const { return create_filter(parsed).value(); }
};

/// Every example of every kind.
inline std::vector<Example> examples() {
  std::vector<Example> all;
  for (const KindDescription* kind : kinds()) {
    for (const std::string_view text : kind->examples) {
      std::string spec = std::string(kind->name) + ":" + std::string(text) + ",seed=" + std::to_string(all.size() + 1);
      all.push_back({.kind = kind, .spec = spec, .parsed = parse_spec(spec).value()});
    }
  }
  return all;
}

/// Those of the kinds for which `fits` holds.
inline std::vector<Example> examples(bool (*fits)(const KindDescription& kind)) {
  std::vector<Example> all = examples();
  std::erase_if(all, [&](const Example& example) { return !fits(*example.kind); });
  return all;
}

/// The specs of all examples, and of the first one of each kind.
inline std::vector<std::string> example_specs() {
  std::vector<std::string> specs;
  for (const Example& example : examples()) {
    specs.push_back(example.spec);
  }
  return specs;
}
inline std::vector<std::string> first_example_specs() {
  std::vector<std::string> specs;
  const KindDescription* last = nullptr;
  for (const Example& example : examples()) {
    if (std::exchange(last, example.kind) != example.kind) {
      specs.push_back(example.spec);
    }
  }
  return specs;
}

/// Chooses an example by a byte of a fuzzer's input: the number of its kind, and three bits for which of the kind's.
/// The same for ever, so that a corpus means what it meant when kinds are added.
inline std::string example_spec_of(std::uint8_t byte) {
  constexpr std::uint8_t kExampleBits = 3;
  const KindDescription* kind = find_kind(Kind{static_cast<std::uint16_t>(byte >> kExampleBits)});
  kind = kind == nullptr ? kinds().front() : kind;
  const std::size_t which = byte % (1U << kExampleBits) % kind->examples.size();
  return std::string(kind->name) + ":" + std::string(kind->examples[which]) + ",seed=" + std::to_string(byte);
}

/// A name for gtest.
inline std::string name_of_spec(std::string_view spec) {
  std::string name(spec.substr(0, spec.find(",seed=")));
  std::ranges::replace_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}
/// Names tests of specs.
struct SpecNames {
  template <class Info>
  std::string operator()(const Info& info) const {
    return name_of_spec(info.param);
  }
};

inline std::ostream& operator<<(std::ostream& out, const Example& example) { return out << example.spec; }

}  // namespace mankai::test
