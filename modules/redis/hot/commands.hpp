#pragma once

/// The HOT.* commands: the hottest items, each time weighed by how long ago it was.

#include "modules/redis/engine/call.hpp"

namespace mankai::redis {

// The commands, by what they do; each replies and returns what the engine wants to have.
int hot_reserve(Call& call);
int hot_incrby(Call& call);
int hot_incrbyat(Call& call);
int hot_count(Call& call);
int hot_countat(Call& call);
int hot_rate(Call& call);
int hot_rateat(Call& call);
int hot_top(Call& call);
int hot_info(Call& call);

}  // namespace mankai::redis
