#include "modules/redis/image/move.hpp"

#include <algorithm>
#include <vector>

#include "modules/redis/engine/memory.hpp"

namespace mankai::redis {
namespace {

constexpr const char* kBadIterator = "ERR the iterator must be a number, not below 0";

}  // namespace

int reply_chunk(const Call& call, long long next, std::span<const std::byte> chunk) noexcept {
  engine.reply_with_array(call.context(), 2);
  engine.reply_with_long_long(call.context(), next);
  return engine.reply_with_string_buffer(call.context(), reinterpret_cast<const char*>(chunk.data()), chunk.size());
}

int reply_piece(const Call& call, const ImageFamily& family, const ImageParts& parts) {
  const auto iterator = call.integer(2);
  if (!iterator || *iterator < 0) {
    return call.error(kBadIterator);
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

const char* read_chunk(const Call& call, Chunk& chunk) noexcept {
  const auto iterator = call.integer(2);
  if (!iterator || *iterator < kHeaderIterator) {
    return "ERR the iterator must be a number, and above 0";
  }
  chunk = {.iterator = *iterator, .data = std::as_bytes(std::span(call.text(3)))};
  return nullptr;
}

const char* load_piece(Assembly* assembly, std::uint64_t received, const Chunk& chunk) {
  const auto end = static_cast<std::uint64_t>(chunk.iterator) - 1;
  if (assembly == nullptr) {
    return end > received ? "ERR the chunk goes beyond the end of the filter" : kItemExists;
  }
  if (const auto added = assembly->add(end, chunk.data); !added) {
    if (added.error().code == ErrorCode::corrupt) {
      return kBadData;
    }
    if (added.error().code == ErrorCode::out_of_space) {
      return memory_error(kNoMemory);
    }
    return end > assembly->total_bytes() ? "ERR the chunk goes beyond the end of the filter"
                                         : "ERR the chunk before this one is missing";
  }
  return nullptr;
}

}  // namespace mankai::redis
