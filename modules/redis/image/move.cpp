#include "modules/redis/image/move.hpp"

#include <vector>

#include "modules/redis/engine/memory.hpp"

namespace mankai::redis {
int reply_chunk(const Call& call, long long next, std::span<const std::byte> chunk) noexcept {
  engine.reply_with_array(call.context(), 2);
  engine.reply_with_long_long(call.context(), next);
  return engine.reply_with_string_buffer(call.context(), reinterpret_cast<const char*>(chunk.data()), chunk.size());
}

Answer reply_piece(const Call& call, const ImageFamily& family, const ImageParts& parts) {
  const auto iterator = call.integer(2);
  if (!iterator || *iterator < 0) {
    return refuse("ERR the iterator must be a number, not below 0");
  }
  if (*iterator == 0) {
    return reply_chunk(call, kHeaderIterator, header_of(family, parts));
  }
  const std::vector<std::byte> piece = piece_of(parts, static_cast<std::uint64_t>(*iterator) - 1);
  if (piece.empty()) {
    return reply_chunk(call, 0, {});
  }
  return reply_chunk(call, *iterator + static_cast<long long>(piece.size() - kPieceChecksumBytes), piece);
}

Result<Chunk> read_chunk(const Call& call) {
  const auto iterator = call.integer(2);
  if (!iterator || *iterator < kHeaderIterator) {
    return refuse("ERR the iterator must be a number, and above 0");
  }
  return Chunk{.iterator = *iterator, .data = std::as_bytes(std::span(call.text(3)))};
}

Result<void> load_piece(Assembly* assembly, std::uint64_t received, const Chunk& chunk) {
  constexpr const char* kBeyond = "ERR the chunk goes beyond the end of the filter";
  const auto end = static_cast<std::uint64_t>(chunk.iterator) - 1;
  if (assembly == nullptr) {
    return refuse(end > received ? kBeyond : kItemExists);
  }
  const auto added = assembly->add(end, chunk.data);
  if (added) {
    return {};
  }
  switch (added.error().code) {
    case ErrorCode::corrupt: return refuse(kBadData);
    case ErrorCode::out_of_space: return refuse(memory_error(kNoMemory));
    default: return refuse(end > assembly->total_bytes() ? kBeyond : "ERR the chunk before this one is missing");
  }
}

}  // namespace mankai::redis
