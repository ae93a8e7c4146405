#pragma once

#include "lab/web_profiling/profiles.hpp"
#include "mankai/filter/time_decaying_tiered_counts/time_decaying_tiered_counts.hpp"

namespace mankai::lab::profiling {

using Tiered = ProfileOf<TimeDecayingTieredCounts>;

/// Makes the exponential filter as it was reconstructed.
[[nodiscard]] inline Result<std::unique_ptr<Tiered>> make_tiered(TimeDecayingTieredCounts::Options options,
                                                                 const Context& context) {
  options.hash = hash_of(context);
  return profile_of(TimeDecayingTieredCounts::create(options), context);
}

}  // namespace mankai::lab::profiling
