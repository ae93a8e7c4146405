#pragma once

/// Mirrors a gate to Redis, where many servers can ask it with the module of this project (docs/redis/gate.md).
///
///     auto address = mankai::parse_redis_address("redis://10.0.0.5:6379");
///     mankai::RedisMirror mirror({.address = *address, .key = "baskets"});
///     mankai::GateSync sync(*gate, *settings, {.mirror = &mirror});

#include <memory>
#include <optional>
#include <string>

#include "mankai/base/time.hpp"
#include "mankai/gate/database/gate_mirror.hpp"
#include "mankai/gate/gate_position.hpp"
#include "mankai/remote/redis_address.hpp"

namespace mankai {

class RedisConnection;

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

  [[nodiscard]] Result<RedisConnection*> connected();
  [[nodiscard]] Result<std::optional<Place>> place();
  [[nodiscard]] Result<MirrorState> bring_or_fail(const Gate& gate);
  [[nodiscard]] Result<MirrorState> apply_or_fail(const Gate& gate, const GateChanges& changes,
                                                  const GatePosition& from);
  [[nodiscard]] Result<MirrorState> load(const Gate& gate);
  [[nodiscard]] Result<MirrorState> take_away_litter(const Gate& gate);
  template <class T>
  [[nodiscard]] Result<T> without_broken_connection(Result<T> result);

  RedisMirrorSettings settings_;
  std::unique_ptr<RedisConnection> connection_;
  bool has_given_up_ = false;  // a load, whose pieces may be left over
};

}  // namespace mankai
