#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mankai/filter/layered_url_bloom/layered_url_bloom.hpp"
#include "tests/support/filter_request.hpp"
#include "tests/support/outcomes.hpp"
#include "tests/support/random.hpp"

namespace mankai::test {

using Path = std::vector<Digest>;

/// Many paths as a batch takes them: their digests one after the other, and where each ends.
struct PathBatch {
  std::vector<Digest> segments;
  std::vector<std::uint32_t> ends;

  PathBatch() = default;
  explicit PathBatch(std::span<const Path> paths) {
    for (const Path& path : paths) {
      add(path);
    }
  }
  void add(std::span<const Digest> path) {
    segments.insert(segments.end(), path.begin(), path.end());
    ends.push_back(static_cast<std::uint32_t>(segments.size()));
  }
};

/// The answers of one batch call.
template <class F>
std::vector<bool> path_answers(const F& filter, std::span<const Path> paths) {
  const PathBatch batch(paths);
  Outcomes outcomes(paths.size());
  filter.may_contain(batch.segments, batch.ends, outcomes.span());
  return outcomes.vector();
}

/// A path of so many segments, drawn from `words` at each level: few words, so that paths share segments, recombine
/// and repeat one within themselves.
inline Path random_path(Random& random, std::size_t segments, std::uint64_t words) {
  Path path(segments);
  for (Digest& segment : path) {
    segment = {random.below(words) * 0x9e3779b97f4a7c15U + 1};
  }
  return path;
}

/// So many paths of none to `most` segments.
inline std::vector<Path> random_paths(Random& random, std::size_t count, std::size_t most, std::uint64_t words) {
  std::vector<Path> paths;
  for (std::size_t i = 0; i < count; ++i) {
    paths.push_back(random_path(random, random.below(most + 1), words));
  }
  return paths;
}

/// A shape of layered-url-bloom.
struct UrlShape {
  const char* name;
  UrlLayering layering = UrlLayering::repaired;
  std::size_t max_levels = LayeredUrlBloom::kDefaultLevels;
};

inline constexpr UrlShape kRepaired{.name = "repaired"};
inline constexpr UrlShape kFaithful{.name = "faithful", .layering = UrlLayering::faithful};
/// With as many levels as there can be, and with one that all segments share.
inline constexpr UrlShape kRepairedDeep{.name = "repaired_deep", .max_levels = LayeredUrlBloom::kMaxLevels};
inline constexpr UrlShape kFaithfulDeep{
    .name = "faithful_deep", .layering = UrlLayering::faithful, .max_levels = LayeredUrlBloom::kMaxLevels};
inline constexpr UrlShape kRepairedOneLevel{.name = "repaired_one_level", .max_levels = 1};
inline constexpr UrlShape kFaithfulOneLevel{
    .name = "faithful_one_level", .layering = UrlLayering::faithful, .max_levels = 1};

inline Result<LayeredUrlBloom> create(const UrlShape& shape, const FilterRequest& request) {
  return LayeredUrlBloom::create({.keys = request.keys,
                                  .fpr = request.fpr,
                                  .layering = shape.layering,
                                  .max_levels = shape.max_levels,
                                  .hash = request.hash,
                                  .memory = request.memory});
}
inline LayeredUrlBloom make(const UrlShape& shape, const FilterRequest& request = {}) {
  return create(shape, request).value();
}

/// Names a test after its shape.
struct UrlShapeNames {
  template <class Info>
  std::string operator()(const Info& info) const {
    return info.param.name;
  }
};

}  // namespace mankai::test
