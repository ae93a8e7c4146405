// Any bytes as replies of a server, in one piece and byte by byte, and as addresses of filters.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "mankai/base/assert.hpp"
#include "mankai/remote/redis_address.hpp"
#include "mankai/remote/redis_reply.hpp"

namespace {

std::size_t nodes_of(const mankai::RedisReply& reply) {
  std::size_t nodes = 1;
  for (const mankai::RedisReply& member : reply.members) {
    nodes += nodes_of(member);
  }
  return nodes;
}

// Number of values that can be read before the end or an error.
std::size_t nodes_in(mankai::RedisReplyReader& reader) {
  std::size_t nodes = 0;
  for (;;) {
    const auto reply = reader.next();
    if (!reply || !*reply) {
      return nodes;
    }
    nodes += nodes_of(**reply);
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer looks for this name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  mankai::RedisReplyReader whole;
  static_cast<void>(whole.feed(text));
  const std::size_t nodes = nodes_in(whole);
  mankai::RedisReplyReader pieces;
  std::size_t nodes_of_pieces = 0;
  for (std::size_t i = 0; i < size; ++i) {
    static_cast<void>(pieces.feed(text.substr(i, 1)));
    nodes_of_pieces += nodes_in(pieces);
  }
  MANKAI_ASSERT(nodes == nodes_of_pieces);
  if (const auto address = mankai::parse_redis_address(text)) {
    MANKAI_ASSERT(mankai::parse_redis_address(mankai::to_text(*address)) == *address);
  }
  if (const auto address = mankai::parse_remote_address(text)) {
    MANKAI_ASSERT(!address->key.empty());
  }
  return 0;
}
