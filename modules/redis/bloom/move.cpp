#include <algorithm>
#include <memory>

#include "modules/redis/bloom/commands.hpp"
#include "modules/redis/bloom/lookup.hpp"
#include "modules/redis/engine/memory.hpp"
#include "modules/redis/image/move.hpp"

namespace mankai::redis {
namespace {

constexpr const char* kBadOffset = "ERR invalid offset - no link found";

// By the contract, a header for a filter that exists is bad data. Returns the error to reply, or null.
const char* load_bloom_header(const Call& call, BloomLookup& lookup, MemoryLimit& limit) {
  if (lookup.found() != nullptr) {
    return kBadData;
  }
  return load_header(lookup, {.iterator = kHeaderIterator, .data = std::as_bytes(std::span(call.text(3)))}, limit);
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
    return "ERR invalid chunk - Too big for current filter";
  }
  return error.code == ErrorCode::corrupt ? kBadData : kBadOffset;
}

// Returns the error to reply, or null.
const char* load_bloom_cells(const Call& call, BloomLookup& lookup, long long iterator, MemoryLimit& limit) {
  if (lookup.found() == nullptr) {
    return lookup.error();
  }
  if (iterator < 1) {
    return kBadData;
  }
  const auto end = static_cast<std::uint64_t>(iterator) - 1;
  const std::string_view chunk = call.text(3);
  Assembly* assembly = lookup.found()->assembly();
  if (assembly != nullptr && !limit.has_room(assembly->image_bytes())) {
    return memory_error(kNoMemory);
  }
  const auto added = assembly != nullptr ? assembly->add(end, std::as_bytes(std::span(chunk)))
                                         : fail(ErrorCode::corrupt, "a chunk for a filter that is complete");
  if (!added) {
    const std::uint64_t total = assembly != nullptr ? assembly->total_bytes() : lookup.value()->parts().cells_bytes();
    return load_error(added.error(), end, total, chunk.size());
  }
  return nullptr;
}

}  // namespace

int bloom_scandump(Call& call) {
  if (call.size() != 3) {
    return call.wrong_arity();
  }
  const BloomLookup lookup(call, call.arguments()[1], kRead);
  if (lookup.value() == nullptr) {
    return call.error(lookup.error());
  }
  const auto iterator = call.integer(2);
  if (!iterator) {
    return call.error("Second argument must be numeric");
  }
  return *iterator < 0 ? reply_chunk(call, 0, {}) : reply_piece(call, BloomValue::kFamily, lookup.value()->parts());
}

int bloom_loadchunk(Call& call) {
  constexpr std::size_t kArguments = 4;
  if (call.size() != kArguments) {
    return call.wrong_arity();
  }
  const auto iterator = call.integer(2);
  if (!iterator) {
    return call.error("ERR Second argument must be numeric");
  }
  String* name = call.arguments()[1];
  MemoryLimit limit(call.context());
  BloomLookup lookup(call, name, kRead | kWrite);
  const char* error = *iterator == kHeaderIterator ? load_bloom_header(call, lookup, limit)
                                                   : load_bloom_cells(call, lookup, *iterator, limit);
  if (error != nullptr) {
    return call.error(error);
  }
  return finish_load(call, lookup);
}

}  // namespace mankai::redis
