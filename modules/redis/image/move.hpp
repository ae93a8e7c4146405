#pragma once

/// The commands that move a value of any family in pieces: SCANDUMP key iterator, LOADCHUNK key iterator data.
///
/// Iterator 0 requests the header; iterator i > 0 requests the piece that begins at cell byte i - 1. Each reply has an
/// iterator, which LOADCHUNK needs together with the piece, and SCANDUMP to continue: 1 for the header, 0 at the end.

#include <cstdint>
#include <memory>
#include <utility>

#include "mankai/takeover/cells.hpp"
#include "modules/redis/engine/commands.hpp"
#include "modules/redis/image/key.hpp"

namespace mankai::redis {

inline constexpr long long kHeaderIterator = 1;
inline constexpr const char* kNoChunks =
    "ERR the value is in RedisBloom's layout, which has no chunks: copy it by DUMP and RESTORE";

struct Chunk {
  long long iterator = 0;
  std::span<const std::byte> data;
};

/// Replicas and AOF files may have a header as the only word about an empty filter, which is to be filled.
[[nodiscard]] inline takeover::CellsOfHeader cells_of_header(const Call& call) noexcept {
  return call.is_from_client() ? takeover::CellsOfHeader::arriving : takeover::CellsOfHeader::all;
}

int reply_chunk(const Call& call, long long next, std::span<const std::byte> chunk) noexcept;
Answer reply_piece(const Call& call, const ImageFamily& family, const ImageParts& parts);
[[nodiscard]] Result<Chunk> read_chunk(const Call& call);
/// Adds cells to a value; `assembly` is null if it is complete.
[[nodiscard]] Result<void> load_piece(Assembly* assembly, std::uint64_t received, const Chunk& chunk);

/// Pieces are of our own layout.
template <ImageValue Value>
Result<void> must_be_ours(const Value& value) {
  if constexpr (TakenOverValue<Value>) {
    return value.foreign_format() ? refuse(kNoChunks) : Result<void>();
  } else {
    return {};
  }
}

template <ImageValue Value>
Answer image_scandump(Call& call) {
  const ImageLookup<Value> lookup(call, kRead);
  MANKAI_TRY(lookup.must_be_whole());
  MANKAI_TRY(must_be_ours(*lookup.value()));
  return reply_piece(call, Value::kFamily, lookup.value()->parts());
}

/// Creates a key that waits for its cells.
template <ImageValue Value>
Result<void> load_header(ImageLookup<Value>& lookup, std::span<const std::byte> header, MemoryLimit& limit) {
  MANKAI_TRY(lookup.must_be_absent());
  auto assembly = Assembly::begin(Value::kFamily, header);
  if (!assembly) {
    return refuse(kBadData);
  }
  lookup.limit(limit);
  if (!limit.would_grant(assembly->image_bytes())) {
    return refuse(memory_error(kNoMemory));
  }
  lookup.set(std::make_unique<ImageKey<Value>>(std::move(*assembly)));
  return {};
}

/// Checks that the limit has room for the complete filter.
template <ImageValue Value>
Result<void> check_room(const ImageLookup<Value>& lookup, MemoryLimit& limit) {
  const Assembly* assembly = lookup.found()->assembly();
  return assembly == nullptr || limit.has_room(assembly->image_bytes()) ? Result<void>()
                                                                        : refuse(memory_error(kNoMemory));
}

template <ImageValue Value>
Result<void> load_cells(ImageLookup<Value>& lookup, const Chunk& chunk, MemoryLimit& limit) {
  if (lookup.found() == nullptr) {
    return lookup.must_be_whole();
  }
  MANKAI_TRY(check_room(lookup, limit));
  MANKAI_TRY(lookup.value() != nullptr ? must_be_ours(*lookup.value()) : Result<void>());
  const std::uint64_t cells_bytes = lookup.value() != nullptr ? lookup.value()->parts().cells_bytes() : 0;
  return load_piece(lookup.found()->assembly(), cells_bytes, chunk);
}

/// Makes the value after the last piece, replicates, notifies and replies.
template <class KeyValue>
Answer finish_load(const Call& call, Lookup<KeyValue>& lookup, const char* event) {
  const auto finished = guarded([&] { return lookup.found()->finish_if_complete(); },
                                [] { return Result<void>(fail(ErrorCode::out_of_space, {})); });
  if (!finished) {
    // The pieces are lost. Replicas may still wait for the last one, so they delete the key, too.
    lookup.remove();
    engine.replicate(call.context(), "DEL", "s", call.key());
    call.key_changed("del");
    return refuse(finished.error().code == ErrorCode::out_of_space ? kNoMemoryForValue : kBadData);
  }
  fit_key(lookup);
  engine.replicate_verbatim(call.context());
  call.key_changed(event);
  return call.ok();
}

template <ImageValue Value>
Answer image_loadchunk(Call& call) {
  MANKAI_ASSIGN(const auto chunk, read_chunk(call));
  MemoryLimit limit(call.context());
  ImageLookup<Value> lookup(call, kRead | kWrite);
  MANKAI_TRY(chunk.iterator == kHeaderIterator ? load_header(lookup, chunk.data, limit)
                                               : load_cells(lookup, chunk, limit));
  return finish_load(call, lookup, Value::kFamily.load_command);
}

template <ImageValue Value, Answer (*Work)(Call&) = image_scandump<Value>>
constexpr Command scandump(const char* name) {
  return command<3, Work>(name, "readonly", "Returns the next piece of a filter's bytes, which LOADCHUNK takes",
                          "O(N), N bytes of piece", kReadsSeed, kDumpArguments);
}
template <ImageValue Value, Answer (*Work)(Call&) = image_loadchunk<Value>>
constexpr Command loadchunk() {
  return command<4, Work>(Value::kFamily.load_command, "write deny-oom", "Restores a filter piece by piece",
                          "O(N), N bytes of piece", kCreates, kLoadArguments);
}

}  // namespace mankai::redis
