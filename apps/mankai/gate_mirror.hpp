#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/mankai/subcommand.hpp"
#include "mankai/gate/database/redis_mirror.hpp"

namespace mankai::command {

// Where a copy of a gate is, as options say it.
struct MirrorRequest {
  std::string address;
  std::string key;
};

[[nodiscard]] std::vector<Option> mirror_options(MirrorRequest& request);

// Nothing when no mirror is asked for. The password is that of the environment. Errors: invalid_argument.
[[nodiscard]] Result<std::optional<RedisMirrorSettings>> mirror_settings(const MirrorRequest& request);

// The server and the key, for a person.
[[nodiscard]] std::string mirror_name(const RedisMirrorSettings& settings);

}  // namespace mankai::command
