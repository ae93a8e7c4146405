#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "tests/support/paths.hpp"
#include "tests/support/require.hpp"

namespace mankai::test {

/// A filter of paths beside an exact set of what it was given, as Checked is for digests.
class CheckedPaths {
 public:
  explicit CheckedPaths(LayeredUrlBloom filter) : filter_(std::move(filter)) {}

  bool observe(const Path& path) {
    const bool answered = filter_.may_contain(path);
    const std::uint64_t before = filter_.keys_inserted();
    const bool seen = filter_.observe(path);
    require(seen == answered, "observe says what may_contain said before it");
    require(seen || !model_.contains(path), "a path that was inserted has been seen");
    require(filter_.keys_inserted() == before + (seen ? 0U : 1U), "the count is that of the new paths");
    model_.insert(path);
    require(filter_.may_contain(path), "a path is found right after it was observed");
    return seen;
  }

  [[nodiscard]] bool may_contain(const Path& path) const {
    const bool answer = filter_.may_contain(path);
    require(answer || !model_.contains(path), "an inserted path is found");
    return answer;
  }

  /// Beside a copy that takes the paths one by one.
  void observe(std::span<const Path> paths) {
    LayeredUrlBloom single = LayeredUrlBloom::from_bytes(filter_.to_bytes()).value();
    std::vector<bool> expected;
    for (const Path& path : paths) {
      expected.push_back(single.observe(path));
    }
    const PathBatch batch(paths);
    Outcomes seen(paths.size());
    filter_.observe(batch.segments, batch.ends, seen.span());
    require(seen.vector() == expected, "a batch observes as single calls do");
    require(filter_.to_bytes() == single.to_bytes(), "a batch leaves what single calls leave");
    model_.insert(paths.begin(), paths.end());
  }

  void may_contain(std::span<const Path> paths) const {
    const std::vector<bool> answers = path_answers(filter_, paths);
    for (std::size_t i = 0; i < paths.size(); ++i) {
      require(answers[i] == may_contain(paths[i]), "a batch answers as single calls do");
    }
  }

  void merge(const CheckedPaths& other) {
    const std::uint64_t most = filter_.keys_inserted() + other.filter_.keys_inserted();
    const std::uint64_t least = std::max(filter_.keys_inserted(), other.filter_.keys_inserted());
    require(filter_.merge(other.filter_).has_value(), "filters made alike merge");
    require(filter_.keys_inserted() >= least && filter_.keys_inserted() <= most,
            "a union has no fewer keys than a part, no more than both");
    model_.insert(other.model_.begin(), other.model_.end());
    require_all();
  }

  void clear() {
    filter_.clear();
    model_.clear();
    require(filter_.keys_inserted() == 0 && filter_.fill_ratio() == 0, "a cleared filter has nothing in it");
  }

  void round_trip(Trust trust) {
    const std::vector<std::byte> before = filter_.to_bytes();
    filter_ = LayeredUrlBloom::from_bytes(before, trust).value();
    require(filter_.verify().has_value(), "the cells agree with the trailers");
    require(filter_.to_bytes() == before, "an image makes the filter that it came from");
    require_all();
  }

  /// Asks for every path there is.
  void require_all() const {
    for (const Path& path : model_) {
      require(filter_.may_contain(path), "an inserted path is found");
    }
  }

  [[nodiscard]] const LayeredUrlBloom& filter() const noexcept { return filter_; }

 private:
  LayeredUrlBloom filter_;
  std::set<Path> model_;
};

}  // namespace mankai::test
