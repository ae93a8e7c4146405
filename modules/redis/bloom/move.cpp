#include <algorithm>
#include <memory>
#include <vector>

#include "modules/redis/bloom/commands.hpp"
#include "modules/redis/bloom/lookup.hpp"
#include "modules/redis/engine/memory.hpp"

namespace mankai::redis {
namespace {

constexpr const char* kBadData = "ERR received bad data";
constexpr const char* kBadOffset = "ERR invalid offset - no link found";

int reply_chunk(const Call& call, long long next, std::span<const std::byte> chunk) noexcept {
  engine.reply_with_array(call.context(), 2);
  engine.reply_with_long_long(call.context(), next);
  return engine.reply_with_string_buffer(call.context(), reinterpret_cast<const char*>(chunk.data()), chunk.size());
}

std::span<const std::byte> bytes_of(std::string_view text) noexcept { return std::as_bytes(std::span(text)); }

// Each returns the error to reply, or null.

const char* load_header(const Call& call, BloomLookup& lookup) {
  MemoryLimit limit(call.context());
  lookup.limit(limit);
  if (!lookup.is_absent()) {
    return lookup.found() != nullptr ? kBadData : kWrongType;
  }
  auto assembly = BloomAssembly::begin(bytes_of(call.text(3)));
  if (!assembly) {
    if (limit.is_filter_too_large()) {
      return kTooLarge;
    }
    return assembly.error().code == ErrorCode::out_of_space ? kNoMemory : kBadData;
  }
  auto key = std::make_unique<BloomKey>(std::move(*assembly));
  lookup.key().set_value(bloom_type(), key.release());
  return nullptr;
}

// What is wrong with a chunk that an assembly, if there is one, does not take.
const char* load_error(const Error& error, std::uint64_t end, std::uint64_t total, std::size_t chunk_bytes) noexcept {
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

const char* load_cells(const Call& call, BloomLookup& lookup, long long iterator) {
  if (lookup.found() == nullptr) {
    return lookup.error();
  }
  if (iterator < 1) {
    return kBadData;
  }
  const auto end = static_cast<std::uint64_t>(iterator) - 1;
  const std::string_view chunk = call.text(3);
  BloomAssembly* assembly = lookup.found()->assembly();
  const auto added = assembly != nullptr ? assembly->add(end, bytes_of(chunk))
                                         : fail(ErrorCode::corrupt, "a chunk for a filter that is complete");
  if (!added) {
    const std::uint64_t total = assembly != nullptr ? assembly->total_bytes() : lookup.found()->dump_bytes();
    return load_error(added.error(), end, total, chunk.size());
  }
  if (auto finished = lookup.found()->finish_if_complete(); !finished) {
    lookup.key().remove();
    return kBadData;
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
  if (*iterator == 0) {
    return reply_chunk(call, 1, lookup.found()->header());
  }
  const auto start = static_cast<std::uint64_t>(*iterator) - 1;
  if (*iterator < 0 || start >= lookup.found()->dump_bytes()) {
    return reply_chunk(call, 0, {});
  }
  const std::vector<std::byte> piece = lookup.found()->piece(start);
  return reply_chunk(call, *iterator + static_cast<long long>(piece.size() - kPieceChecksumBytes), piece);
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
  BloomLookup lookup(call, name, kRead | kWrite);
  const char* error = *iterator == 1 ? load_header(call, lookup) : load_cells(call, lookup, *iterator);
  if (error != nullptr) {
    return call.error(error);
  }
  engine.replicate_verbatim(call.context());
  call.key_changed(name, "bf.loadchunk");
  return call.ok();
}

}  // namespace mankai::redis
