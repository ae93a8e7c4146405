#pragma once

#include <concepts>
#include <utility>

#include "modules/redis/engine/reserve.hpp"
#include "modules/redis/image/key.hpp"

namespace mankai::redis {

/// RESERVE key …: creates an empty filter under an absent key. `replicate(call, settings, value)` or
/// `replicate(call, settings)` replicates it; `refused(error)` converts an error of Value::create to a reply.
template <ImageValue Value, class Settings, class Replicate>
Answer reserve(const Call& call, const Settings& settings, const char* event, const Replicate& replicate,
               Error (*refused)(const Error&) = not_made) {
  MemoryLimit limit(call.context());
  ImageLookup<Value> lookup(call, kRead | kWrite);
  MANKAI_TRY(lookup.must_be_absent());
  lookup.limit(limit);
  auto made = ImageKey<Value>::create_new(settings);
  if (!made) {
    return std::unexpected(refused(made.error()));
  }
  if constexpr (std::invocable<const Replicate&, const Call&, const Settings&, const Value&>) {
    replicate(call, settings, *(*made)->value());
  } else {
    replicate(call, settings);
  }
  lookup.set(std::move(*made));
  call.key_changed(event);
  return call.ok();
}

/// Creates an empty growing filter under an absent key and replicates it by `command`. The caller notifies subscribers
/// when it is done with the filter, because they may delete the key.
template <ImageValue Value>
Result<void> reserve_growing(const Call& call, ImageLookup<Value>& lookup, RepeatedCommand& command,
                             const GrowingSettings& settings) {
  auto made = ImageKey<Value>::create_new(settings);
  if (!made) {
    return std::unexpected(not_made(made.error()));
  }
  lookup.set(std::move(*made));
  replicate_reserve(call, command, settings);
  return {};
}

}  // namespace mankai::redis
