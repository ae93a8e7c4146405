#include <memory>
#include <string_view>

#include "modules/redis/cuckoo/commands.hpp"
#include "modules/redis/image/move.hpp"

namespace mankai::redis {
namespace {

constexpr const char* kBadPosition = "Invalid position";

// Headers of all of our families begin so; RedisBloom's with a count.
bool is_header_of_ours(std::string_view header) noexcept { return header.starts_with("mankai"); }

// Errors: to be replied.
Result<void> load_cuckoo_header(const Call& call, CuckooLookup& lookup, std::span<const std::byte> header,
                                MemoryLimit& limit) {
  MANKAI_TRY(lookup.must_be_absent());
  const auto shape = takeover::CuckooShape::of_header(header);
  constexpr const char* kNotCreated = "Couldn't create filter!";
  if (!shape) {
    return refuse(header.size() == takeover::CuckooShape::kHeaderBytes ? kNotCreated : "Invalid header");
  }
  lookup.limit(limit);
  if (!limit.would_grant(shape->cells())) {
    return refuse(memory_error(kNotCreated));
  }
  auto made = CuckooValue::from_redisbloom(*shape, cells_of_header(call));
  if (!made) {
    return refuse(memory_error(kNotCreated));
  }
  lookup.set(std::make_unique<CuckooKey>(std::move(*made)));
  return {};
}

// Errors: to be replied.
Result<void> load_cuckoo_cells(CuckooLookup& lookup, const Chunk& chunk, MemoryLimit& limit) {
  auto* chain = lookup.value() != nullptr ? lookup.value()->redisbloom() : nullptr;
  if (chain != nullptr) {
    constexpr const char* kNotLoaded = "Couldn't load chunk!";
    return chunk.iterator > 0 && !chunk.data.empty() &&
                   chain->load_chunk(static_cast<std::uint64_t>(chunk.iterator), chunk.data)
               ? Result<void>()
               : refuse(memory_error(kNotLoaded));
  }
  return lookup.found() == nullptr || chunk.iterator > 0 ? load_cells(lookup, chunk, limit) : refuse(kBadData);
}

}  // namespace

Answer cuckoo_scandump(Call& call) {
  const auto iterator = call.integer(2);
  if (!iterator || *iterator < 0) {
    return refuse(kBadPosition);
  }
  const CuckooLookup lookup(call, kRead);
  MANKAI_TRY(lookup.must_be_whole());
  const CuckooValue& value = *lookup.value();
  if (value.own() != nullptr) {
    return reply_piece(call, CuckooValue::kFamily, value.parts());
  }
  const takeover::CuckooChain& chain = *value.redisbloom();
  const bool is_empty = chain.shape().items == 0;  // to RedisBloom, which then has no header either
  if (*iterator == 0 && !is_empty) {
    return reply_chunk(call, kHeaderIterator, chain.shape().header());
  }
  const auto chunk = is_empty ? takeover::CuckooChain::Chunk() : chain.chunk(static_cast<std::uint64_t>(*iterator));
  if (chunk.iterator != 0) {
    return reply_chunk(call, static_cast<long long>(chunk.iterator), chunk.bytes);
  }
  engine.reply_with_array(call.context(), 2);
  engine.reply_with_long_long(call.context(), 0);
  return engine.reply_with_null(call.context());
}

Answer cuckoo_loadchunk(Call& call) {
  const auto iterator = call.integer(2);
  if (!iterator || *iterator == 0) {
    return refuse(kBadPosition);
  }
  MemoryLimit limit(call.context());
  CuckooLookup lookup(call, kRead | kWrite);
  const std::string_view text = call.text(3);
  const Chunk chunk{.iterator = *iterator, .data = std::as_bytes(std::span(text))};
  if (chunk.iterator != kHeaderIterator) {
    MANKAI_TRY(load_cuckoo_cells(lookup, chunk, limit));
  } else {
    MANKAI_TRY(is_header_of_ours(text) ? load_header(lookup, chunk.data, limit)
                                       : load_cuckoo_header(call, lookup, chunk.data, limit));
  }
  return finish_load(call, lookup, CuckooValue::kFamily.load_command);
}

}  // namespace mankai::redis
