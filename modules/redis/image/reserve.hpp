#pragma once

/// How the families of our own whose filters grow make them: by RESERVE, or when something is added to an absent key.

#include <memory>

#include "modules/redis/engine/call.hpp"
#include "modules/redis/engine/memory.hpp"
#include "modules/redis/engine/reserve.hpp"
#include "modules/redis/image/lookup.hpp"

namespace mankai::redis {

/// Makes an empty filter under a key that is absent, and tells replicas by `command`. Subscribers are told when the
/// command is done with it: they may delete it. Errors: as Value::create's.
template <ImageValue Value>
Result<void> reserve_growing(const Call& call, ImageLookup<Value>& lookup, const char* command,
                             const GrowingSettings& settings) {
  MANKAI_ASSIGN(auto made, Value::create(settings));
  lookup.set(std::make_unique<ImageKey<Value>>(std::move(made)));
  replicate_reserve(call, command, call.arguments()[1], settings);
  return {};
}

/// RESERVE key error capacity [EXPANSION n] [HASH name] [SEED hex32], and of URLs [RULES n].
template <ImageValue Value>
int growing_reserve(const Call& call, const GrowingDefaults& defaults, const char* command, const char* event) {
  constexpr std::size_t kLeast = 4;
  if (call.size() < kLeast) {
    return call.wrong_arity();
  }
  GrowingSettings settings;
  if (const char* error = read_reserve(call, defaults, settings); error != nullptr) {
    return call.error(error);
  }
  MemoryLimit limit(call.context());
  ImageLookup<Value> lookup(call, call.arguments()[1], kRead | kWrite);
  lookup.limit(limit);
  if (!lookup.is_absent()) {
    return call.error(lookup.found() != nullptr ? kItemExists : kWrongType);
  }
  if (const auto reserved = reserve_growing(call, lookup, command, settings); !reserved) {
    return reply_not_made(call, reserved.error());
  }
  call.key_changed(call.arguments()[1], event);
  return call.ok();
}

}  // namespace mankai::redis
