#pragma once

/// The FADE.* commands: recent items are found, and old ones overwritten.

#include "modules/redis/engine/call.hpp"

namespace mankai::redis {

// The commands, by what they do; each replies and returns what the engine wants to have.
int fade_reserve(Call& call);
int fade_put(Call& call);
int fade_seen(Call& call);
int fade_info(Call& call);

}  // namespace mankai::redis
