#pragma once

/// The FADE.* commands: what came lately is known, and what came long ago forgotten.

#include "modules/redis/engine/call.hpp"

namespace mankai::redis {

// The commands, by what they do; each replies and returns what the engine wants to have.
int fade_reserve(Call& call);
int fade_put(Call& call);
int fade_seen(Call& call);
int fade_info(Call& call);

}  // namespace mankai::redis
