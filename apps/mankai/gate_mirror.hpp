#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/mankai/subcommand.hpp"
#include "mankai/gate/database/redis_mirror.hpp"

namespace mankai::command {

// The options for a copy of a gate.
struct MirrorRequest {
  std::string address;
  std::string key;
};

[[nodiscard]] std::vector<Option> mirror_options(MirrorRequest& request);

// Returns nothing without --mirror. The password comes from the environment. Errors: invalid_argument.
[[nodiscard]] Result<std::optional<RedisMirrorSettings>> mirror_settings(const MirrorRequest& request);

// Returns server and key, for messages.
[[nodiscard]] std::string mirror_name(const RedisMirrorSettings& settings);

}  // namespace mankai::command
