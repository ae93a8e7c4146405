#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"

namespace mankai::detail {

/// One piece of a load blocks other clients for less than a millisecond.
inline constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;
/// An abandoned load expires after this time, which restarts every kBytesWithinLife bytes.
inline constexpr std::string_view kLoadLives = "600000";  // milliseconds
inline constexpr std::size_t kBytesWithinLife = std::size_t{64} << 20U;

/// Returns a name in the same cluster slot as the key: a value can be loaded under it and renamed to the key.
[[nodiscard]] std::string name_beside(const std::string& key, const std::string& what);
/// Errors: invalid_argument for a key with a } without a { before it: no other key can share its slot.
[[nodiscard]] Result<void> check_has_names_beside(const std::string& key);

}  // namespace mankai::detail
