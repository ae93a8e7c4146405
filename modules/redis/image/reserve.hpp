#pragma once

/// How filters are made: by RESERVE, or when something is added to an absent key.

#include <memory>
#include <utility>

#include "modules/redis/engine/reserve.hpp"
#include "modules/redis/image/key.hpp"

namespace mankai::redis {

/// RESERVE key …: makes an empty filter under a key that is absent. `tell(call, settings)` tells replicas how, and
/// `refused(error)` makes the error to reply of Value::create's.
template <ImageValue Value, class Settings, class Tell>
Answer reserve(const Call& call, const Settings& settings, const char* event, const Tell& tell,
               Error (*refused)(const Error&) = not_made) {
  MemoryLimit limit(call.context());
  ImageLookup<Value> lookup(call, kRead | kWrite);
  MANKAI_TRY(lookup.must_be_absent());
  lookup.limit(limit);
  auto made = Value::create(settings);
  if (!made) {
    return std::unexpected(refused(made.error()));
  }
  auto key = std::make_unique<ImageKey<Value>>(std::move(*made));
  tell(call, settings);
  lookup.set(std::move(key));
  call.key_changed(event);
  return call.ok();
}

/// Makes an empty filter that grows under a key that is absent, and tells replicas by `command`. Subscribers are told
/// when the command is done with it: they may delete it. Errors: to be replied.
template <ImageValue Value>
Result<void> reserve_growing(const Call& call, ImageLookup<Value>& lookup, const char* command,
                             const GrowingSettings& settings) {
  auto made = Value::create(settings);
  if (!made) {
    return std::unexpected(not_made(made.error()));
  }
  lookup.set(std::make_unique<ImageKey<Value>>(std::move(*made)));
  replicate_reserve(call, command, settings);
  return {};
}

}  // namespace mankai::redis
