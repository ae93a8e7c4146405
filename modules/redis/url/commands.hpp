#pragma once

/// The URL.* commands: which URLs have been seen, however they are spelled. An argument that is no URL gets an error in
/// its place of the answer; the others are served.

#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/reserve.hpp"

namespace mankai::redis {

/// What URL.ADD makes a filter with; the configs url-* set it. Threads: the engine's main thread.
[[nodiscard]] GrowingDefaults& url_defaults() noexcept;

// The commands, by what they do; each replies and returns what the engine wants to have.
int url_reserve(Call& call);
int url_add(Call& call);
int url_seen(Call& call);
int url_info(Call& call);

}  // namespace mankai::redis
