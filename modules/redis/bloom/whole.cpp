#include <memory>

#include "modules/redis/bloom/commands.hpp"
#include "modules/redis/engine/guard.hpp"

namespace mankai::redis {
namespace {

using BloomSources = Sources<BloomKey>;

// Whether all of them fit. Errors: as BloomValue::merge's.
Result<void> check_all(const BloomValue& destination, const BloomSources& sources) {
  std::uint64_t keys = destination.keys_inserted();
  std::size_t slices = destination.slice_count();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (&sources[i] == &destination) {
      continue;
    }
    MANKAI_TRY(destination.check_merge(sources[i], keys));
    keys += sources[i].keys_inserted();
    slices += sources[i].slice_count();
  }
  if (slices > kMaxSlices) {
    return fail(ErrorCode::invalid_argument, "the filters have more than 4096 sub-filters together");
  }
  return {};
}

// Returns how many were merged: all, or those before one that there was no memory for.
std::size_t merge_all(BloomValue& destination, const BloomSources& sources) noexcept {
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const bool is_merged =
        guarded([&] { return &sources[i] == &destination || destination.merge(sources[i]); }, [] { return false; });
    if (!is_merged) {
      return i;
    }
  }
  return sources.size();
}

}  // namespace

Answer bloom_merge(Call& call) {
  BloomLookup lookup(call, kRead | kWrite);
  MANKAI_TRY(lookup.may_be_absent());
  BloomSources sources;
  MANKAI_TRY(sources.open(call, 2));
  MemoryLimit limit(call.context());
  lookup.limit(limit);
  std::unique_ptr<BloomKey> created;
  if (lookup.is_absent()) {
    auto like = sources[0].create_like();
    if (!like) {
      return refuse(memory_error(kNoMemory));
    }
    created = BloomKey::create(std::move(*like));
  }
  BloomValue& destination = created != nullptr ? *created->value() : *lookup.value();
  if (const auto possible = check_all(destination, sources); !possible) {
    return refuse("ERR " + possible.error().detail);
  }
  const std::size_t merged = merge_all(destination, sources);
  const bool is_complete = merged == sources.size();
  sources.close();
  if (merged > 0) {
    engine.replicate(call.context(), "BF.MERGE", "sv", call.key(), call.arguments().data() + 2, merged);
    if (created != nullptr) {
      lookup.set(std::move(created));
    }
    fit_key(lookup);
    call.key_changed("bf.merge");
  }
  return is_complete ? Answer(call.ok()) : refuse(memory_error(kNoMemory));
}

Answer bloom_clear(Call& call) {
  MemoryLimit limit(call.context());
  BloomLookup lookup(call, kRead | kWrite);
  MANKAI_TRY(lookup.must_be_whole());
  limit.set_growing(lookup.found()->memory_bytes());
  if (!lookup.value()->is_empty()) {
    // A new one instead of a cleared one, so that the memory of its growth is released.
    auto like = lookup.value()->create_like();
    if (!like) {
      return refuse(memory_error(kNoMemory));
    }
    lookup.replace(BloomKey::create(std::move(*like)));  // a converted filter becomes one of ours
    engine.replicate_verbatim(call.context());
    call.key_changed("bf.clear");
  }
  return call.ok();
}

}  // namespace mankai::redis
