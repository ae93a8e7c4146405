#pragma once

/// Mirrors a gate to Redis, where many servers can ask it with the module of this project (docs/redis/gate.md).
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

/// Address and credentials of a Redis server.
struct RedisAddress {
  std::string host = {};    ///< a name or an address; empty if `socket` is set
  std::string socket = {};  ///< path of a unix socket
  std::uint16_t port = 6379;
  std::uint32_t database = 0;
  std::string user = {};      ///< empty: the server's default user
  std::string password = {};  ///< empty: no password is sent

  friend bool operator==(const RedisAddress&, const RedisAddress&) = default;
};

/// Parses redis://[USER@]HOST[:PORT][/DATABASE] or unix:/PATH. Errors: invalid_argument, also if there is a password.
[[nodiscard]] Result<RedisAddress> parse_redis_address(std::string_view text);

/// Formats an address as parse_redis_address reads it, without the password.
[[nodiscard]] std::string to_text(const RedisAddress& address);

/// Settings of a RedisMirror.
struct RedisMirrorSettings {
  RedisAddress address;
  std::string key;
  Duration patience = std::chrono::seconds(5);  ///< maximum time per reply of the server
};

/// The copy is one key of the module's type, which includes the position. The server accepts a change only at the
/// position before it; a whole gate is loaded as {KEY}:SOURCE and renamed. Late commands cannot make an answer wrong: a
/// change fits one position, a piece one content. Cost: the keys of a change, or the bytes of the gate in 1 MiB pieces.
class RedisMirror final : public GateMirror {
 public:
  /// Does not connect yet.
  explicit RedisMirror(RedisMirrorSettings settings);
  ~RedisMirror() override;

  /// Errors: invalid_argument for a key of another type, or with a } without a { before it (check_has_names_beside), a
  /// gate without a source id, a server without the module, and refused credentials.
  [[nodiscard]] Result<MirrorState> bring(const Gate& gate) override;
  [[nodiscard]] Result<MirrorState> apply(const Gate& gate, const GateChanges& changes,
                                          const GatePosition& from) override;

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
  bool has_given_up_ = false;  // a load, whose pieces may be left over
};

}  // namespace mankai
