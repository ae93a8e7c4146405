#pragma once

#include <cstdint>
#include <span>

#include "tests/support/checked_paths.hpp"

namespace mankai::test {

enum class PathVerb : std::uint8_t { observe, may_contain, observe_batch, may_contain_batch, round_trip, merge, clear };
inline constexpr unsigned kPathVerbs = 7;

/// One thing to do, with paths drawn from `seed`.
struct PathOperation {
  PathVerb verb = PathVerb::observe;
  std::uint16_t seed = 0;
  std::uint8_t depth = 0;  ///< the most segments of a path
  std::uint8_t count = 0;  ///< paths of a batch, or in the filter that is merged
};

/// Segments of five words: paths that share, repeat, swap and cancel them all the time.
inline constexpr std::uint64_t kOperationWords = 5;

/// Runs the operations on a filter beside an exact set. Throws where a promise is broken.
inline void run_path_operations(const UrlShape& shape, const FilterRequest& request,
                                std::span<const PathOperation> operations) {
  CheckedPaths checked(make(shape, request));
  for (const PathOperation& operation : operations) {
    Random random(operation.seed);
    const auto some = [&] { return random_paths(random, operation.count, operation.depth, kOperationWords); };
    switch (operation.verb) {
      case PathVerb::observe: checked.observe(random_path(random, operation.depth, kOperationWords)); break;
      case PathVerb::may_contain:
        static_cast<void>(checked.may_contain(random_path(random, operation.depth, kOperationWords)));
        break;
      case PathVerb::observe_batch: checked.observe(std::span<const Path>(some())); break;
      case PathVerb::may_contain_batch: checked.may_contain(std::span<const Path>(some())); break;
      case PathVerb::round_trip: checked.round_trip(operation.seed % 2 == 0 ? Trust::checked : Trust::fast); break;
      case PathVerb::merge: {
        CheckedPaths other(make(shape, request));
        other.observe(std::span<const Path>(some()));
        checked.merge(other);
        break;
      }
      case PathVerb::clear: checked.clear(); break;
    }
  }
  checked.require_all();
}

}  // namespace mankai::test
