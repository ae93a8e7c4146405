#pragma once

/// The commands that move a value of any family in pieces: SCANDUMP key iterator, LOADCHUNK key iterator data.
///
/// Iterator 0 asks for the header, which goes with iterator 1; iterator i > 0 asks for the piece that begins at i - 1
/// of the cells. Each answer has the iterator that the piece goes to LOADCHUNK with, and that asks for the next one. At
/// the end it is 0.

#include <cstdint>
#include <memory>
#include <utility>

#include "modules/redis/engine/call.hpp"
#include "modules/redis/image/lookup.hpp"

namespace mankai::redis {

inline constexpr const char* kBadData = "ERR received bad data";
inline constexpr long long kHeaderIterator = 1;

/// The arguments of LOADCHUNK.
struct Chunk {
  long long iterator = 0;
  std::span<const std::byte> data;
};

/// Replies with a chunk, and the iterator behind it.
int reply_chunk(const Call& call, long long next, std::span<const std::byte> chunk) noexcept;
/// Replies with what the iterator asks for. Errors: std::bad_alloc.
int reply_piece(const Call& call, const ImageFamily& family, const ImageParts& parts);
/// Reads the arguments. Returns the error to reply, or null.
[[nodiscard]] const char* read_chunk(const Call& call, Chunk& chunk) noexcept;
/// Adds cells to a value that is `received` or being put together. Returns the error to reply, or null.
[[nodiscard]] const char* load_piece(Assembly* assembly, std::uint64_t received, const Chunk& chunk);

template <ImageValue Value>
int image_scandump(Call& call) {
  if (call.size() != 3) {
    return call.wrong_arity();
  }
  const ImageLookup<Value> lookup(call, call.arguments()[1], kRead);
  if (lookup.value() == nullptr) {
    return call.error(lookup.error());
  }
  return reply_piece(call, Value::kFamily, lookup.value()->parts());
}

/// Makes a key that waits for its cells. Returns the error to reply, or null.
template <ImageValue Value>
const char* load_header(ImageLookup<Value>& lookup, const Chunk& chunk, MemoryLimit& limit) {
  if (!lookup.is_absent()) {
    return lookup.found() != nullptr ? kItemExists : kWrongType;
  }
  auto assembly = Assembly::begin(Value::kFamily, chunk.data);
  if (!assembly) {
    return kBadData;
  }
  lookup.limit(limit);
  if (!limit.would_grant(assembly->image_bytes())) {
    return memory_error(kNoMemory);
  }
  lookup.set(std::make_unique<ImageKey<Value>>(std::move(*assembly)));
  return nullptr;
}

/// Takes cells. Returns the error to reply, or null.
template <ImageValue Value>
const char* load_cells(ImageLookup<Value>& lookup, const Chunk& chunk, MemoryLimit& limit) {
  if (lookup.found() == nullptr) {
    return lookup.error();
  }
  const Assembly* assembly = lookup.found()->assembly();
  if (assembly != nullptr && !limit.has_room(assembly->image_bytes())) {
    return memory_error(kNoMemory);
  }
  const std::uint64_t cells_bytes = lookup.value() != nullptr ? lookup.value()->parts().cells_bytes() : 0;
  return load_piece(lookup.found()->assembly(), cells_bytes, chunk);
}

/// Makes the value when this was the last piece, tells everybody and replies.
template <ImageValue Value>
int finish_load(const Call& call, ImageLookup<Value>& lookup) {
  String* name = call.arguments()[1];
  const bool is_whole = lookup.found()->finish_if_complete().has_value();
  if (!is_whole) {
    // The cells are no filter's. Replicas, which may still wait for the last piece, drop theirs, too.
    lookup.remove();
    engine.replicate(call.context(), "DEL", "s", name);
  } else {
    engine.replicate_verbatim(call.context());
  }
  call.key_changed(name, is_whole ? Value::kFamily.load_event : "del");
  return is_whole ? call.ok() : call.error(kBadData);
}

template <ImageValue Value>
int image_loadchunk(Call& call) {
  constexpr std::size_t kArguments = 4;
  if (call.size() != kArguments) {
    return call.wrong_arity();
  }
  Chunk chunk;
  if (const char* error = read_chunk(call, chunk); error != nullptr) {
    return call.error(error);
  }
  MemoryLimit limit(call.context());
  ImageLookup<Value> lookup(call, call.arguments()[1], kRead | kWrite);
  const char* error =
      chunk.iterator == kHeaderIterator ? load_header(lookup, chunk, limit) : load_cells(lookup, chunk, limit);
  if (error != nullptr) {
    return call.error(error);
  }
  return finish_load(call, lookup);
}

}  // namespace mankai::redis
