#include <algorithm>
#include <memory>

#include "modules/redis/bloom/commands.hpp"
#include "modules/redis/image/move.hpp"

namespace mankai::redis {
namespace {

constexpr const char* kBadOffset = "ERR invalid offset - no link found";

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
    return "ERR invalid chunk - Too big for current filter";
  }
  return error.code == ErrorCode::corrupt ? kBadData : kBadOffset;
}

// Errors: to be replied.
Result<void> load_bloom_cells(const BloomLookup& lookup, const Chunk& chunk, MemoryLimit& limit) {
  if (lookup.found() == nullptr) {
    return lookup.must_be_whole();
  }
  if (chunk.iterator < 1) {
    return refuse(kBadData);
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
Result<void> load_bloom_chunk(BloomLookup& lookup, const Chunk& chunk, MemoryLimit& limit) {
  if (chunk.iterator != kHeaderIterator) {
    return load_bloom_cells(lookup, chunk, limit);
  }
  return lookup.found() != nullptr ? refuse(kBadData) : load_header(lookup, chunk.data, limit);
}

}  // namespace

Answer bloom_scandump(Call& call) {
  const BloomLookup lookup(call, kRead);
  MANKAI_TRY(lookup.must_be_whole());
  const auto iterator = call.integer(2);
  if (!iterator) {
    return refuse("Second argument must be numeric");
  }
  return *iterator < 0 ? reply_chunk(call, 0, {}) : reply_piece(call, BloomValue::kFamily, lookup.value()->parts());
}

Answer bloom_loadchunk(Call& call) {
  const auto iterator = call.integer(2);
  if (!iterator) {
    return refuse("ERR Second argument must be numeric");
  }
  MemoryLimit limit(call.context());
  BloomLookup lookup(call, kRead | kWrite);
  MANKAI_TRY(load_bloom_chunk(lookup, {.iterator = *iterator, .data = std::as_bytes(std::span(call.text(3)))}, limit));
  return finish_load(call, lookup, BloomValue::kFamily.load_command);
}

}  // namespace mankai::redis
