#pragma once

#include "lab/web_profiling/profiles.hpp"
#include "mankai/filter/time_decaying_pooled_counts/time_decaying_pooled_counts.hpp"

namespace mankai::lab::profiling {

using Pooled = ProfileOf<TimeDecayingPooledCounts>;

/// Makes the optimized filter, by default the paper's: m counters, a pool of m / 2 digits that grows when it is empty.
[[nodiscard]] inline Result<std::unique_ptr<Pooled>> make_pooled(TimeDecayingPooledCounts::Options options,
                                                                 const Context& context) {
  options.hash = hash_of(context);
  return profile_of(TimeDecayingPooledCounts::create(options), context);
}

}  // namespace mankai::lab::profiling
