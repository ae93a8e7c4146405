#pragma once

/// The HOT.* commands: the hottest items, each time weighed by how long ago it was.

#include "modules/redis/engine/call.hpp"

namespace mankai::redis {

// The commands.
Answer hot_reserve(Call& call);
Answer hot_incrby(Call& call);
Answer hot_incrbyat(Call& call);
Answer hot_count(Call& call);
Answer hot_countat(Call& call);
Answer hot_rate(Call& call);
Answer hot_rateat(Call& call);
Answer hot_top(Call& call);
Answer hot_info(Call& call);

}  // namespace mankai::redis
