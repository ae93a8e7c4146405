#include "mankai/gate/database/redis_guard.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <string_view>

#include "mankai/gate/database/detail/redis_load.hpp"
#include "mankai/hash/hasher.hpp"
#include "mankai/remote/redis_connection.hpp"

namespace mankai {
namespace {

using detail::kBytesWithinLife;
using detail::kLoadLives;
using detail::kPieceBytes;

std::string random_name() {
  constexpr std::size_t kTextBytes = 32;
  std::array<char, kTextBytes> text;
  std::snprintf(text.data(), text.size(), "load-%016" PRIx64, HashSpec::random().seed[0]);
  return text.data();
}

class Load {
 public:
  Load(RedisConnection& connection, const std::string& key, std::span<const std::byte> guard)
      : connection_(connection), key_(key), name_(detail::name_beside(key, random_name())), guard_(guard) {}

  Result<void> run(const std::function<void(std::uint64_t)>& sent) {
    MANKAI_TRY(check_key());
    const auto loaded = send_all(sent);
    if (!loaded) {
      // If this fails too, the name expires.
      static_cast<void>(must("DEL", name_));
    }
    return loaded;
  }

 private:
  template <class... Words>
  Result<void> must(const Words&... words) {
    MANKAI_TRY(connection_.must(std::array<std::string_view, sizeof...(words)>{words...}));
    return {};
  }

  // A missing key or one with a guard, complete or not, is replaced.
  Result<void> check_key() {
    MANKAI_ASSIGN(const auto reply, connection_.call(std::array<std::string_view, 2>{"GUARD.INFO", key_}));
    if (reply.error().starts_with("WRONGTYPE")) {
      return fail(ErrorCode::invalid_argument,
                  "the key " + key_ + " holds no guard: choose another key, or delete it with DEL");
    }
    const bool is_ready = reply.error().empty() || reply.error() == "ERR not found" ||
                          reply.error().starts_with("ERR the filter is not complete");
    return is_ready ? Result<void>() : refused_by_redis(reply.error());
  }

  Result<void> send_all(const std::function<void(std::uint64_t)>& sent) {
    for (std::size_t start = 0; start < guard_.size(); start += kPieceBytes) {
      MANKAI_TRY(start == 0 ? send_first() : send_piece(start));
      if (sent) {
        sent(std::min(start + kPieceBytes, guard_.size()));
      }
    }
    // In one transaction: otherwise a guard without expiry could stay under the temporary name.
    MANKAI_TRY(must("MULTI"));
    MANKAI_TRY(must("PERSIST", name_));
    MANKAI_TRY(must("RENAME", name_, key_));
    return must("EXEC");
  }

  // In one transaction with its time to live: a command that arrives after it was given up leaves nothing permanent.
  Result<void> send_first() {
    MANKAI_TRY(must("MULTI"));
    MANKAI_TRY(send_bytes(0));
    MANKAI_TRY(must("PEXPIRE", name_, kLoadLives));
    return must("EXEC");
  }
  Result<void> send_piece(std::size_t start) {
    if (start % kBytesWithinLife == 0) {
      MANKAI_TRY(must("PEXPIRE", name_, kLoadLives));
    }
    return send_bytes(start);
  }
  Result<void> send_bytes(std::size_t start) {
    const auto piece = guard_.subspan(start, std::min(kPieceBytes, guard_.size() - start));
    const std::string offset = std::to_string(start);
    const std::string total = std::to_string(guard_.size());
    const std::string_view data(reinterpret_cast<const char*>(piece.data()), piece.size());
    return must("GUARD.LOADCHUNK", name_, offset, total, data);
  }

  RedisConnection& connection_;
  const std::string& key_;
  std::string name_;
  std::span<const std::byte> guard_;
};

Result<void> load(const RedisGuardSettings& settings, std::span<const std::byte> guard,
                  const std::function<void(std::uint64_t)>& sent) {
  MANKAI_TRY(detail::check_has_names_beside(settings.key));
  MANKAI_ASSIGN(auto connection, RedisConnection::open(settings.address, settings.patience));
  return Load(connection, settings.key, guard).run(sent);
}

}  // namespace

Result<void> load_guard_into_redis(const RedisGuardSettings& settings, std::span<const std::byte> guard,
                                   const std::function<void(std::uint64_t)>& sent) {
  auto loaded = load(settings, guard, sent);
  return loaded ? loaded : std::unexpected(loaded.error().within(to_text(settings.address)));
}

}  // namespace mankai
