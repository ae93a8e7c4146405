#include <memory>
#include <utility>

#include "modules/redis/bloom/commands.hpp"
#include "modules/redis/bloom/settings.hpp"
#include "modules/redis/cms/any.hpp"
#include "modules/redis/cuckoo/commands.hpp"
#include "modules/redis/engine/reserve.hpp"
#include "modules/redis/topk/any.hpp"

namespace mankai::redis {
namespace {

// Returns whether the key has a value of the type. Errors: to be replied, if it is another module's.
template <class Value>
Result<bool> is_ours(const Call& call, const char* reason) {
  const ImageLookup<Value> lookup(call, kRead);
  if (lookup.value() == nullptr) {
    return false;
  }
  return lookup.value()->foreign_format() ? Result<bool>(refuse(reason)) : true;
}

// Errors: to be replied.
Answer convert_other(const Call& call) {
  MANKAI_ASSIGN(const bool is_cuckoo,
                is_ours<CuckooValue>(call,
                                     "ERR a cuckoo filter of RedisBloom cannot be converted, because its items can be "
                                     "removed from its own cells only: add them to a new filter"));
  MANKAI_ASSIGN(
      const bool is_sketch,
      is_ours<AnySketch>(call, "ERR a sketch does not grow, so there is nothing to convert; it counts as it is"));
  MANKAI_ASSIGN(
      const bool is_list,
      is_ours<AnyTopList>(call, "ERR a list does not grow, so there is nothing to convert; it counts as it is"));
  return is_cuckoo || is_sketch || is_list ? Answer(call.ok()) : refuse(kWrongType);
}

}  // namespace

Answer mankai_convert(Call& call) {
  HashRequest request;
  for (std::size_t i = 2; i < call.size(); i += 2) {
    MANKAI_TRY(HashRequest::is_option(call, i) ? request.read(call, i) : refuse(kUnknownArgument));
  }
  BloomLookup lookup(call, kRead | kWrite);
  if (lookup.found() == nullptr && !lookup.is_absent()) {
    return convert_other(call);
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
  const HashText text = hash_text(hash);
  engine.replicate(call.context(), "MANKAI.CONVERT", "scccc", call.key(), "HASH", text.name.data(), "SEED",
                   text.seed.data());
  call.key_changed("mankai.convert");
  return call.ok();
}

}  // namespace mankai::redis
