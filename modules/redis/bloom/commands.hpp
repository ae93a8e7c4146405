#pragma once

/// The BF.* commands: RedisBloom's contract, and BF.REM, BF.MERGE, BF.CLEAR and some words of our own
/// (docs/redis/bloom.md).

#include "modules/redis/bloom/value.hpp"
#include "modules/redis/image/key.hpp"

namespace mankai::redis {

using BloomKey = ImageKey<BloomValue>;
using BloomLookup = Lookup<BloomKey>;

// The commands.
Answer bloom_reserve(Call& call);
Answer bloom_add(Call& call);
Answer bloom_madd(Call& call);
Answer bloom_insert(Call& call);
Answer bloom_exists(Call& call);
Answer bloom_mexists(Call& call);
Answer bloom_card(Call& call);
Answer bloom_info(Call& call);
Answer bloom_debug(Call& call);
Answer bloom_scandump(Call& call);
Answer bloom_loadchunk(Call& call);
Answer bloom_load(Call& call);
Answer bloom_merge(Call& call);
Answer bloom_clear(Call& call);
Answer bloom_rem(Call& call);
Answer bloom_advance(Call& call);
Answer mankai_convert(Call& call);  ///< of any family

}  // namespace mankai::redis
