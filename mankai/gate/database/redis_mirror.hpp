#pragma once

/// One gate in Redis for many servers to ask, with the module of this project (docs/redis/gate.md).
///
///     auto address = mankai::parse_redis_address("redis://10.0.0.5:6379");
///     mankai::RedisMirror mirror({.address = *address, .key = "baskets"});
///     mankai::GateSync sync(*gate, *settings, {.mirror = &mirror});

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "mankai/base/time.hpp"
#include "mankai/gate/database/gate_mirror.hpp"
#include "mankai/gate/gate_position.hpp"

namespace mankai {

namespace detail {
class RedisConnection;
}

/// Where a Redis server is, and who asks it.
struct RedisAddress {
  std::string host = {};    ///< a name or an address; empty where a socket is given
  std::string socket = {};  ///< the path of a unix socket
  std::uint16_t port = 6379;
  std::uint32_t database = 0;
  std::string user = {};      ///< empty: the server's default one
  std::string password = {};  ///< empty: none is sent

  friend bool operator==(const RedisAddress&, const RedisAddress&) = default;
};

/// Reads redis://[USER@]HOST[:PORT][/DATABASE] or unix:/PATH. Errors: invalid_argument, also for a password, which must
/// not stand where everybody sees it.
[[nodiscard]] Result<RedisAddress> parse_redis_address(std::string_view text);

/// As parse_redis_address reads it, without the password.
[[nodiscard]] std::string to_text(const RedisAddress& address);

/// What to keep where.
struct RedisMirrorSettings {
  RedisAddress address;
  std::string key;
  Duration patience = std::chrono::seconds(5);  ///< for each answer of the server
};

/// The copy is one key of the module's type, position included, so that nobody sees one without the other: changes are
/// one command that the server takes only at the position before them; a whole gate is loaded under a name beside it,
/// {KEY}:SOURCE, and renamed. No command that comes late, after it was given up, makes an answer wrong: a change fits
/// one position, and a piece the load of one content. See GateMirror.
///
/// Cost:    of a change the bytes of its keys, and one answer; of a whole gate its bytes, in pieces of a mebibyte.
class RedisMirror final : public GateMirror {
 public:
  /// Connects to nothing yet.
  explicit RedisMirror(RedisMirrorSettings settings);
  ~RedisMirror() override;

  /// Errors: invalid_argument for a key that holds something else, or has a brace that closes none (nothing could be
  /// loaded beside it in a cluster), a gate without the id of its source, a server without the module, and who is not
  /// let in.
  [[nodiscard]] Result<MirrorState> bring(const Gate& gate) override;
  [[nodiscard]] Result<MirrorState> apply(const Gate& gate, const GateChanges& changes,
                                          const GatePosition& from) override;

  /// Where the copy stands; nothing if there is none.
  [[nodiscard]] Result<std::optional<GatePosition>> position();

 private:
  struct Place;

  [[nodiscard]] Result<detail::RedisConnection*> connected();
  [[nodiscard]] Result<std::optional<Place>> place();
  [[nodiscard]] Result<MirrorState> bring_or_fail(const Gate& gate);
  [[nodiscard]] Result<MirrorState> apply_or_fail(const Gate& gate, const GateChanges& changes,
                                                  const GatePosition& from);
  [[nodiscard]] Result<MirrorState> load(const Gate& gate);
  [[nodiscard]] Result<MirrorState> take_away_litter(const Gate& gate);
  template <class T>
  [[nodiscard]] Result<T> without_broken_connection(Result<T> result);

  RedisMirrorSettings settings_;
  std::unique_ptr<detail::RedisConnection> connection_;
  bool has_given_up_ = false;  // a load
};

}  // namespace mankai
