#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "mankai/hash/digest.hpp"
#include "mankai/hash/hasher.hpp"
#include "mankai/hash/path_mix.hpp"
#include "mankai/url/canonical_url.hpp"

namespace mankai::url {

/// Splits a URL into its levels: the authority, then the path between its slashes; the query stays with the last level.
/// "http://a.b/x/y/" gives {"a.b", "x", "y", ""}, "http://a/x?p=1/2" gives {"a", "x?p=1/2"}, "http://a.b/" {"a.b", ""}.
/// Joined with '/', they are url.without_scheme(). Shape: at least two; views into url; segments keeps its memory.
void split_segments(const CanonicalUrl& url, std::vector<std::string_view>& segments);

/// Hashes each segment by itself, independent of its level: for filters that have levels of their own.
/// Shape:   digests becomes as long as segments; its memory is reused.
/// Cost:    one batch of the hasher.
void segment_digests(const Hasher& hasher, std::span<const std::string_view> segments, std::vector<Digest>& digests);

/// Hashes each prefix of a path: digests[i] stands for segments[0..i], including their order and level.
/// Shape:   digests becomes as long as segments; the last is the digest of the whole URL.
/// Cost:    one batch of the hasher and `chain` per segment.
void prefix_digests(const Hasher& hasher, std::span<const std::string_view> segments, std::vector<Digest>& digests);

}  // namespace mankai::url
