#pragma once

#include <cstddef>
#include <string_view>

#include "modules/redis/engine/call.hpp"

namespace mankai::redis {

/// The longest URL or rule that a client may send: browsers and servers take fewer bytes, and reading a URL of 20 MB
/// holds up everybody for 0.1 s and more.
inline constexpr std::size_t kMostUrlBytes = std::size_t{64} << 10;
inline constexpr const char* kUrlTooLong = "ERR the URL is too long: at most 65536 bytes";

/// What primaries and AOF files say may be longer: it was taken before.
[[nodiscard]] inline bool is_too_long(const Call& call, std::string_view text) noexcept {
  return text.size() > kMostUrlBytes && call.is_from_client();
}

}  // namespace mankai::redis
