#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "mankai/url/canonical_url.hpp"
#include "mankai/url/public_suffixes.hpp"

namespace mankai::url {

/// Which parent domains of a host a list may contain. An address has no parents.
enum class HostLadder : std::uint8_t {
  exact,             ///< the host itself
  safe_browsing_v4,  ///< also up to 4 suffixes, from the last 5 labels, never the last label alone
  safe_browsing_v5,  ///< also up to 4 suffixes, from the registrable domain upwards
  uncapped,          ///< also every suffix of up to 127 labels, including public suffixes and top-level domains
};

/// Which parents of a path a list may contain.
enum class PathLadder : std::uint8_t {
  safe_browsing,  ///< with query, without, and up to 4 directories from "/" down
  uncapped,       ///< with query, without, and every directory from "/" down
};

/// A host and a path, one from each ladder; their concatenation is a list's key.
struct Expression {
  std::string_view host;
  std::string_view path;

  friend bool operator==(const Expression&, const Expression&) = default;
};

/// Limits of the Safe Browsing ladders.
inline constexpr std::size_t kMaxSafeBrowsingHosts = 5;
inline constexpr std::size_t kMaxSafeBrowsingPaths = 6;

/// Labels of a DNS name: two bytes each, in 255 bytes. The uncapped ladder omits longer suffixes.
inline constexpr std::size_t kMaxNameLabels = 127;

/// Returns the last `labels` labels of a host, or the whole host if it has fewer.
[[nodiscard]] std::string_view last_labels(std::string_view host, std::size_t labels) noexcept;

/// Appends the host and its parents, without duplicates and ports. The host is first; then v4 and uncapped append the
/// longest suffix first, v5 the shortest first. With v5, a public suffix has no parents.
/// Shape:   appended to hosts, views into url. Only v5 uses suffixes; null means libpsl's list.
/// Source:  [SafeBrowsing2025] "Suffix/prefix expressions", v4 and v5.
void append_hosts(const CanonicalUrl& url, HostLadder ladder, std::vector<std::string_view>& hosts,
                  const PublicSuffixes* suffixes = nullptr);

/// Appends the path with its query, unless that is empty or "?"; without it; then "/", "/1/", "/1/2/" and so on.
/// Shape:   appended to paths, views into url.
/// Source:  [SafeBrowsing2025] "Suffix/prefix expressions".
void append_paths(const CanonicalUrl& url, PathLadder ladder, std::vector<std::string_view>& paths);

/// Appends every combination of the two ladders, host by host: at most 30 unless one is uncapped.
/// Shape:   appended to expressions, views into url. A hot loop reuses vectors of hosts and paths instead.
/// Cost:    hosts times paths. Uncapped, at most 128 times the slashes of the URL, and the sum of the paths' lengths is
///          quadratic: bound the length of untrusted URLs, or use `prefix_digests`.
void append_expressions(const CanonicalUrl& url, HostLadder hosts, PathLadder paths,
                        std::vector<Expression>& expressions, const PublicSuffixes* suffixes = nullptr);

}  // namespace mankai::url
