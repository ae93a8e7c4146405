#pragma once

/// GUARD.BLOCK and its like: rules of block lists and exceptions in a key, and the URLs that they cover.

#include "modules/redis/engine/call.hpp"

namespace mankai::redis {

// The commands, by what they do; each replies and returns what the engine wants to have.
int guard_block(Call& call);
int guard_unblock(Call& call);
int guard_allow(Call& call);
int guard_disallow(Call& call);
int guard_check(Call& call);
int guard_info(Call& call);
int guard_loadchunk(Call& call);

}  // namespace mankai::redis
