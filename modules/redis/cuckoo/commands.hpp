#pragma once

/// The CF.* commands: RedisBloom's contract of cuckoo filters, and a time to live for each item
/// (docs/redis/cuckoo.md).

#include "modules/redis/cuckoo/value.hpp"
#include "modules/redis/image/key.hpp"

namespace mankai::redis {

using CuckooKey = ImageKey<CuckooValue>;
using CuckooLookup = Lookup<CuckooKey>;

inline constexpr std::size_t kFirstCuckooItem = 2;

// The commands.
Answer cuckoo_reserve(Call& call);
Answer cuckoo_add(Call& call);
Answer cuckoo_addnx(Call& call);
Answer cuckoo_insert(Call& call);
Answer cuckoo_insertnx(Call& call);
Answer cuckoo_exists(Call& call);
Answer cuckoo_mexists(Call& call);
Answer cuckoo_count(Call& call);
Answer cuckoo_ttl(Call& call);
Answer cuckoo_del(Call& call);
Answer cuckoo_mdel(Call& call);
Answer cuckoo_compact(Call& call);
Answer cuckoo_advance(Call& call);
Answer cuckoo_info(Call& call);
Answer cuckoo_debug(Call& call);
Answer cuckoo_scandump(Call& call);
Answer cuckoo_loadchunk(Call& call);

}  // namespace mankai::redis
