#pragma once

/// The CBF.* commands: items that are counted, and taken out again by the id that they came with; dablooms' semantics.
///
/// All that takes items takes any number of them, and answers with an array of as many replies, also for one.

#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/reserve.hpp"

namespace mankai::redis {

/// What CBF.ADD makes a filter with; the configs cbf-* set it. Threads: the engine's main thread.
[[nodiscard]] GrowingDefaults& counting_defaults() noexcept;

// The commands.
Answer counting_reserve(Call& call);
Answer counting_add(Call& call);
Answer counting_rem(Call& call);
Answer counting_count(Call& call);
Answer counting_exists(Call& call);
Answer counting_info(Call& call);

}  // namespace mankai::redis
