#pragma once

/// What tables of rules are made of, in memory and in bytes.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace mankai::detail {

/// What a node stands for. The values are part of the format.
enum class NodeKind : std::uint8_t {
  single = 0,  ///< a host that is a name of one label; its own anchor
  anchor = 1,  ///< a host of two labels, or an address
  host = 2,    ///< a host below its anchor
  path = 3,
  query = 4,
};
inline constexpr std::uint32_t kNodeKinds = 5;

[[nodiscard]] constexpr bool is_anchor(NodeKind kind) noexcept { return kind <= NodeKind::anchor; }
[[nodiscard]] constexpr bool is_host(NodeKind kind) noexcept { return kind <= NodeKind::host; }

/// A mask has a bit for each depth from 1 on; the last one stands for that depth and all deeper ones.
inline constexpr unsigned kMaskBits = 16;
using DepthMask = std::uint16_t;

[[nodiscard]] constexpr DepthMask mask_of(std::uint32_t depth) noexcept {
  return static_cast<DepthMask>(1U << (std::min<std::uint32_t>(depth, kMaskBits) - 1));
}
[[nodiscard]] constexpr bool has_depth(DepthMask mask, std::size_t depth) noexcept {
  return (mask >> (std::min<std::size_t>(depth, kMaskBits) - 1) & 1U) != 0;
}
/// The deepest of at most so many depths that a mask may name; 0 when it names none of them.
[[nodiscard]] constexpr std::size_t deepest(DepthMask mask, std::size_t limit) noexcept {
  const auto width = static_cast<std::size_t>(std::bit_width(mask));
  return width == kMaskBits ? limit : std::min(width, limit);
}

/// What there may be at a host and below it.
struct HostEntry {
  bool is_rule = false;     ///< the host itself
  bool has_query = false;   ///< rules with a query, at any path
  DepthMask host_mask = 0;  ///< hosts below an anchor
  DepthMask path_mask = 0;  ///< rules with a path at this host

  friend auto operator<=>(const HostEntry&, const HostEntry&) = default;
};

}  // namespace mankai::detail
