#include <memory>
#include <utility>

#include "modules/redis/bloom/commands.hpp"
#include "modules/redis/bloom/settings.hpp"
#include "modules/redis/engine/reserve.hpp"

namespace mankai::redis {
namespace {

constexpr const char* kNotConvertible =
    "WRONGTYPE only Bloom filters can be converted: RedisBloom's cuckoo filters have items in cells that no other "
    "layout can remove them from, sketches and lists do not grow";

}  // namespace

Answer mankai_convert(Call& call) {
  HashRequest request;
  for (std::size_t i = 2; i < call.size(); i += 2) {
    MANKAI_TRY(HashRequest::is_option(call, i) ? request.read(call, i) : refuse(kUnknownArgument));
  }
  BloomLookup lookup(call, kRead | kWrite);
  if (lookup.found() == nullptr && !lookup.is_absent()) {
    return refuse(kNotConvertible);
  }
  MANKAI_TRY(lookup.must_be_whole());
  if (!lookup.value()->is_taken_over()) {
    return call.ok();
  }
  // The new key is allocated, with any value, before the links leave the old one.
  auto any = BloomValue::create({.capacity_keys = 1, .fpr = kMaxFpr, .is_nonscaling = true, .hash = {}});
  if (!any) {
    return refuse(memory_error(kNoMemory));
  }
  auto made = std::make_unique<BloomKey>(std::move(*any));
  const HashSpec hash = request.hash();
  auto converted = lookup.value()->convert(hash);
  if (!converted) {
    return refuse("ERR " + converted.error().detail);
  }
  made->set_value(std::move(*converted));
  lookup.replace(std::move(made));
  static constinit RepeatedCommand repeated("MANKAI.CONVERT");
  repeated.begin().add(hash).replicate(call);
  call.key_changed("mankai.convert");
  return call.ok();
}

}  // namespace mankai::redis
