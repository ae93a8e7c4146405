#pragma once

/// URL.BLOCK and its like: rules of block lists and exceptions in a key, and the URLs that they cover.

#include "modules/redis/engine/call.hpp"

namespace mankai::redis {

// The commands, by what they do; each replies and returns what the engine wants to have.
int url_block(Call& call);
int url_unblock(Call& call);
int url_allow(Call& call);
int url_disallow(Call& call);
int url_check(Call& call);
int url_rules(Call& call);
int url_rulesload(Call& call);

}  // namespace mankai::redis
