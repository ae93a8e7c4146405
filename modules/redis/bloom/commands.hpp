#pragma once

/// The BF.* commands: RedisBloom's contract, and BF.REM, BF.MERGE, BF.CLEAR and some words of our own
/// (docs/redis/bloom.md).

#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/redis_abi.hpp"

namespace mankai::redis {

// The commands, by what they do; each replies and returns what the engine wants to have.
int bloom_reserve(Call& call);
int bloom_add(Call& call);
int bloom_madd(Call& call);
int bloom_insert(Call& call);
int bloom_exists(Call& call);
int bloom_mexists(Call& call);
int bloom_card(Call& call);
int bloom_info(Call& call);
int bloom_debug(Call& call);
int bloom_scandump(Call& call);
int bloom_loadchunk(Call& call);
int bloom_merge(Call& call);
int bloom_clear(Call& call);
int bloom_rem(Call& call);

}  // namespace mankai::redis
