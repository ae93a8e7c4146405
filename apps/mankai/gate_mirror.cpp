#include "apps/mankai/gate_mirror.hpp"

#include <cstdlib>

namespace mankai::command {

Options mirror_options(MirrorRequest& request) {
  return {text_option("--mirror", "REDIS", std::string(kRedisAddressHelp), ValueKind::text, request.address),
          text_option("--mirror-key", "KEY", "The key there that has the gate.", ValueKind::text, request.key)};
}

Result<RedisAddress> redis_address(std::string_view text, std::string_view option) {
  MANKAI_ASSIGN(auto address, within(option, parse_redis_address(text)));
  if (const char* const password = std::getenv("MANKAI_REDIS_PASSWORD"); password != nullptr) {
    address.password = password;
  }
  return address;
}

Result<std::optional<RedisMirrorSettings>> mirror_settings(const MirrorRequest& request) {
  if (request.address.empty() && request.key.empty()) {
    return std::nullopt;
  }
  if (request.address.empty() || request.key.empty()) {
    return fail(ErrorCode::invalid_argument, "--mirror and --mirror-key must be given together");
  }
  MANKAI_ASSIGN(auto address, redis_address(request.address, "--mirror"));
  return RedisMirrorSettings{.address = std::move(address), .key = request.key};
}

std::string mirror_name(const RedisMirrorSettings& settings) { return to_text(settings.address) + " " + settings.key; }

}  // namespace mankai::command
