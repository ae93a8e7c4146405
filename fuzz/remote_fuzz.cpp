// Any bytes as replies of a server, in one piece and byte by byte, with and without a limit, and as addresses of
// filters.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "mankai/base/assert.hpp"
#include "mankai/remote/redis_address.hpp"
#include "mankai/remote/redis_reply.hpp"

namespace {

// Memory of a reply.
std::size_t bytes_of(const mankai::RedisReply& reply) {
  std::size_t bytes = sizeof(reply) + reply.text.size();
  for (const mankai::RedisReply& member : reply.members) {
    bytes += bytes_of(member);
  }
  return bytes;
}

// Memory of the replies that can be read before the end or an error.
std::size_t bytes_in(mankai::RedisReplyReader& reader, std::size_t max_bytes) {
  std::size_t bytes = 0;
  for (;;) {
    const auto reply = reader.next(max_bytes);
    if (!reply || !*reply) {
      return bytes;
    }
    const std::size_t more = bytes_of(**reply);
    MANKAI_ASSERT(more <= max_bytes);
    bytes += more;
  }
}

void read_replies(std::string_view text, std::size_t max_bytes) {
  mankai::RedisReplyReader whole;
  static_cast<void>(whole.feed(text));
  const std::size_t bytes = bytes_in(whole, max_bytes);
  mankai::RedisReplyReader pieces;
  std::size_t bytes_of_pieces = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    static_cast<void>(pieces.feed(text.substr(i, 1)));
    bytes_of_pieces += bytes_in(pieces, max_bytes);
  }
  MANKAI_ASSERT(bytes == bytes_of_pieces);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  constexpr std::size_t kLimit = 1000;
  read_replies(text, mankai::kMaxReplyBytes);
  read_replies(text, kLimit);
  if (auto address = mankai::parse_redis_address(text)) {
    // to_text encodes no user, and has no options.
    address->user = address->ca_certificates = address->certificate = address->certificate_key = {};
    MANKAI_ASSERT(mankai::parse_redis_address(mankai::to_text(*address)) == *address);
  }
  if (const auto address = mankai::parse_remote_address(text)) {
    MANKAI_ASSERT(!address->key.empty());
  }
  return 0;
}
