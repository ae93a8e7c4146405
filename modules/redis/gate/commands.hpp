#pragma once

/// The GATE.* commands: a gate that `mankai gate sync --mirror` keeps in step, for many servers to ask.

#include "modules/redis/engine/call.hpp"

namespace mankai::redis {

// The commands, by what they do; each replies and returns what the engine wants to have.
int gate_maybe(Call& call);
int gate_apply(Call& call);
int gate_info(Call& call);

}  // namespace mankai::redis
