#include <algorithm>

#include "modules/redis/bloom/commands.hpp"
#include "modules/redis/image/move.hpp"

namespace mankai::redis {
namespace {

constexpr const char* kBadOffset = "ERR invalid offset - no link found";
constexpr const char* kTooBig = "ERR invalid chunk - Too big for current filter";

// Our headers begin with our magic; RedisBloom's with counts.
bool is_header_of_redisbloom(std::span<const std::byte> header) noexcept {
  const auto magic = std::as_bytes(std::span(BloomValue::kFamily.magic));
  return header.size() < magic.size() || !std::ranges::equal(header.first(magic.size()), magic);
}

// What is wrong with a chunk that an assembly, if there is one, does not take.
const char* load_error(const Error& error, std::uint64_t end, std::uint64_t total, std::size_t chunk_bytes) noexcept {
  if (error.code == ErrorCode::out_of_space) {
    return memory_error(kNoMemory);
  }
  const std::uint64_t start =
      end - std::min<std::uint64_t>(end, chunk_bytes - std::min(chunk_bytes, kPieceChecksumBytes));
  if (start >= total) {
    return kBadOffset;
  }
  if (end > total) {
    return kTooBig;
  }
  return error.code == ErrorCode::corrupt ? kBadData : kBadOffset;
}

// Errors: to be replied.
Result<void> load_header_of_redisbloom(const Call& call, BloomLookup& lookup, std::span<const std::byte> header,
                                       MemoryLimit& limit) {
  MANKAI_TRY(lookup.must_be_absent());
  lookup.limit(limit);
  auto made = BloomValue::from_redisbloom(header, cells_of_header(call));
  if (!made) {
    return refuse(made.error().code == ErrorCode::out_of_space ? memory_error(kNoMemory) : kBadData);
  }
  if (!limit.would_grant(made->redisbloom()->cells_bytes())) {
    return refuse(memory_error(kNoMemory));
  }
  lookup.set(BloomKey::create(std::move(*made)));
  return {};
}

// Errors: to be replied.
Result<void> load_cells_of_redisbloom(takeover::BloomChain& filter, const Chunk& chunk) {
  switch (filter.load_chunk(static_cast<std::uint64_t>(chunk.iterator), chunk.data)) {
    case takeover::BloomChain::ChunkStatus::copied: return {};
    case takeover::BloomChain::ChunkStatus::no_link:
    case takeover::BloomChain::ChunkStatus::too_early: return refuse(kBadOffset);
    case takeover::BloomChain::ChunkStatus::out_of_memory: return refuse(memory_error(kNoMemory));
    case takeover::BloomChain::ChunkStatus::too_big: return refuse(kTooBig);
    case takeover::BloomChain::ChunkStatus::bad_iterator: break;
  }
  return refuse(kBadData);
}

// Errors: to be replied.
Result<void> load_bloom_cells(const BloomLookup& lookup, const Chunk& chunk, MemoryLimit& limit) {
  if (lookup.found() == nullptr) {
    return lookup.must_be_whole();
  }
  if (chunk.iterator < 1) {
    return refuse(kBadData);
  }
  if (auto* value = lookup.value(); value != nullptr && value->foreign_format()) {
    return value->redisbloom() != nullptr ? load_cells_of_redisbloom(*value->redisbloom(), chunk) : refuse(kBadData);
  }
  MANKAI_TRY(check_room(lookup, limit));
  const auto end = static_cast<std::uint64_t>(chunk.iterator) - 1;
  Assembly* assembly = lookup.found()->assembly();
  const auto added = assembly != nullptr ? assembly->add(end, chunk.data)
                                         : fail(ErrorCode::corrupt, "a chunk for a filter that is complete");
  if (!added) {
    const std::uint64_t total = assembly != nullptr ? assembly->total_bytes() : lookup.value()->parts().cells_bytes();
    return refuse(load_error(added.error(), end, total, chunk.data.size()));
  }
  return {};
}

// By the contract, a header for a filter that exists is bad data. Errors: to be replied.
Result<void> load_bloom_chunk(const Call& call, BloomLookup& lookup, const Chunk& chunk, MemoryLimit& limit) {
  // AOF files of RedisBloom before 2.2.7 have headers at 0.
  const bool is_old_header = chunk.iterator == 0 && lookup.is_absent();
  if (chunk.iterator != kHeaderIterator && !is_old_header) {
    return load_bloom_cells(lookup, chunk, limit);
  }
  if (lookup.found() != nullptr) {
    return refuse(kBadData);
  }
  if (!is_header_of_redisbloom(chunk.data)) {
    return is_old_header ? refuse(kNotFound) : load_header(lookup, chunk.data, limit);
  }
  const auto loaded = load_header_of_redisbloom(call, lookup, chunk.data, limit);
  return loaded || !is_old_header ? loaded : refuse(kNotFound);
}

Answer reply_chunk_of_redisbloom(const Call& call, const takeover::BloomChain& filter, std::uint64_t iterator) {
  if (iterator == 0) {
    return reply_chunk(call, kHeaderIterator, filter.header());
  }
  const auto chunk = filter.chunk(iterator);
  return reply_chunk(call, static_cast<long long>(chunk.iterator), chunk.bytes);
}

}  // namespace

Answer bloom_scandump(Call& call) {
  const BloomLookup lookup(call, kRead);
  MANKAI_TRY(lookup.must_be_whole());
  const auto iterator = call.integer(2);
  if (!iterator) {
    return refuse("Second argument must be numeric");
  }
  const BloomValue& value = *lookup.value();
  if (value.foreign_format() && value.redisbloom() == nullptr) {
    return refuse("ERR filters of valkey-bloom and converted ones have no chunks: copy this one by DUMP and RESTORE");
  }
  if (*iterator < 0) {
    return reply_chunk(call, 0, {});
  }
  return value.redisbloom() != nullptr
             ? reply_chunk_of_redisbloom(call, *value.redisbloom(), static_cast<std::uint64_t>(*iterator))
             : reply_piece(call, BloomValue::kFamily, value.parts());
}

// BF.LOAD key blob: a whole filter of valkey-bloom.
Answer bloom_load(Call& call) {
  MemoryLimit limit(call.context());
  BloomLookup lookup(call, kRead | kWrite);
  if (!lookup.is_absent()) {
    return refuse("BUSYKEY Target key name already exists.");
  }
  lookup.limit(limit);
  auto made = BloomValue::from_valkey(std::as_bytes(std::span(call.text(2))));
  if (!made) {
    return refuse(made.error().code == ErrorCode::out_of_space ? memory_error(kNoMemory)
                                                               : "ERR bloom object decoding failed");
  }
  lookup.set(BloomKey::create(std::move(*made)));
  engine.replicate_verbatim(call.context());
  call.key_changed("bf.load");
  return call.ok();
}

Answer bloom_loadchunk(Call& call) {
  const auto iterator = call.integer(2);
  if (!iterator) {
    return refuse("ERR Second argument must be numeric");
  }
  MemoryLimit limit(call.context());
  BloomLookup lookup(call, kRead | kWrite);
  MANKAI_TRY(
      load_bloom_chunk(call, lookup, {.iterator = *iterator, .data = std::as_bytes(std::span(call.text(3)))}, limit));
  return finish_load(call, lookup, BloomValue::kFamily.load_command);
}

}  // namespace mankai::redis
