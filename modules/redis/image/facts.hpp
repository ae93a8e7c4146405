#pragma once

#include <span>
#include <type_traits>
#include <utility>

#include "modules/redis/engine/call.hpp"
#include "modules/redis/image/lookup.hpp"

namespace mankai::redis {

/// A fact that a family's INFO tells.
template <ImageValue Value>
struct Fact {
  using Filter = std::remove_cvref_t<decltype(std::declval<const Value&>().filter())>;

  const char* name;
  int (*reply)(const Call&, const ImageKey<Value>&, const Filter&);
};

/// INFO key: a map of facts.
template <ImageValue Value>
int reply_facts(const Call& call, std::span<const Fact<Value>> facts) {
  if (call.size() != 2) {
    return call.wrong_arity();
  }
  const ImageLookup<Value> lookup(call, call.arguments()[1], kRead);
  if (lookup.value() == nullptr) {
    return call.error(lookup.error());
  }
  engine.reply_with_map(call.context(), static_cast<long>(facts.size()));
  for (const Fact<Value>& fact : facts) {
    engine.reply_with_simple_string(call.context(), fact.name);
    fact.reply(call, *lookup.found(), lookup.value()->filter());
  }
  return kOk;
}

}  // namespace mankai::redis
