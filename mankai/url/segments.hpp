#pragma once

#include <string_view>
#include <vector>

#include "mankai/url/canonical_url.hpp"

namespace mankai::url {

/// Splits a URL into its levels: the authority, then the path between its slashes; the query stays with the last one.
/// "http://a.b/x/y/" gives {"a.b", "x", "y", ""}, "http://a/x?p=1/2" gives {"a", "x?p=1/2"}, "http://a.b/" {"a.b", ""}.
/// Joined with '/', they are url.without_scheme().
///
/// Shape:   segments is overwritten and keeps its memory; at least two; views into url.
/// Errors:  none; total.
/// Threads: const on url.
void split_segments(const CanonicalUrl& url, std::vector<std::string_view>& segments);

}  // namespace mankai::url
