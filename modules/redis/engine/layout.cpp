#include "modules/redis/engine/layout.hpp"

#include <array>

#include "modules/redis/engine/settings.hpp"

namespace mankai::redis {
namespace {

constexpr std::array kLayouts = {"mankai", "redisbloom", "valkey-bloom"};  // as in Layout
constexpr std::array kVersions = {"2", "8"};
constexpr int kVersion2 = 0;
constexpr int kVersion8 = 1;
constexpr int kFirstEngineWithVersion8 = 0x00080000;

constinit ChoiceSetting client_layout{.names = kLayouts, .initial = static_cast<int>(Layout::mankai)};
constinit ChoiceSetting version{.names = kVersions, .initial = kVersion2};

}  // namespace

Layout layout_of_new_bloom_filter(const Call& call) noexcept {
  return call.is_from_client() ? static_cast<Layout>(client_layout.value) : Layout::redisbloom;
}

Layout layout_of_new_value(const Call& call) noexcept {
  const Layout layout = layout_of_new_bloom_filter(call);
  return layout == Layout::valkey_bloom ? Layout::mankai : layout;
}

bool is_redisbloom_8() noexcept { return version.value == kVersion8; }

int register_layout_configs(Context* context) noexcept {
  const bool is_8 = !engine.is_valkey && engine.get_server_version() >= kFirstEngineWithVersion8;
  version.initial = version.value = is_8 ? kVersion8 : kVersion2;
  const bool is_done = register_setting(context, "layout", client_layout) == kOk &&
                       register_setting(context, "redisbloom-version", version) == kOk;
  return is_done ? kOk : kError;
}

}  // namespace mankai::redis
