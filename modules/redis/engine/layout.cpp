#include "modules/redis/engine/layout.hpp"

#include <array>

namespace mankai::redis {
namespace {

constexpr int kFirstEngineWithVersion8 = 0x00080000;

int client_layout = static_cast<int>(Layout::mankai);
long long version = 2;

}  // namespace

Layout layout_of_new_value(const Call& call) noexcept {
  return call.is_from_client() ? static_cast<Layout>(client_layout) : Layout::redisbloom;
}

bool is_redisbloom_8() noexcept { return version == 8; }

int register_layout_configs(Context* context) noexcept {
  static std::array names = {"mankai", "redisbloom"};
  static constexpr std::array kValues = {static_cast<int>(Layout::mankai), static_cast<int>(Layout::redisbloom)};
  constexpr long long kOldest = 2;
  constexpr long long kNewest = 8;
  version = engine.is_valkey || engine.get_server_version() < kFirstEngineWithVersion8 ? kOldest : kNewest;
  const bool is_done = register_choice(context, "layout", client_layout, names, kValues) == kOk &&
                       register_number(context, "redisbloom-version", version, kConfigDefault, kOldest, kNewest) == kOk;
  return is_done ? kOk : kError;
}

}  // namespace mankai::redis
