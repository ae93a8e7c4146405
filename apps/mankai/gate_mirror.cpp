#include "apps/mankai/gate_mirror.hpp"

#include <cstdlib>

namespace mankai::command {

std::vector<Option> mirror_options(MirrorRequest& request) {
  return {text_option("--mirror", "REDIS",
                      "A Redis server with Mankai's module: redis://[USER@]HOST[:PORT][/DATABASE] or unix:/PATH. The "
                      "environment variable MANKAI_REDIS_PASSWORD has the password.",
                      ValueKind::text, request.address),
          text_option("--mirror-key", "KEY", "The key there that has the gate.", ValueKind::text, request.key)};
}

Result<std::optional<RedisMirrorSettings>> mirror_settings(const MirrorRequest& request) {
  if (request.address.empty() && request.key.empty()) {
    return std::nullopt;
  }
  if (request.address.empty() || request.key.empty()) {
    return fail(ErrorCode::invalid_argument, "--mirror and --mirror-key must be given together");
  }
  auto address = parse_redis_address(request.address);
  if (!address) {
    return std::unexpected(address.error().within("--mirror"));
  }
  if (const char* const password = std::getenv("MANKAI_REDIS_PASSWORD"); password != nullptr) {
    address->password = password;
  }
  return RedisMirrorSettings{.address = std::move(*address), .key = request.key};
}

std::string mirror_name(const RedisMirrorSettings& settings) { return to_text(settings.address) + " " + settings.key; }

}  // namespace mankai::command
