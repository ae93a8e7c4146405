#include "mankai/url/segments.hpp"

#include <cstddef>

namespace mankai::url {

void split_segments(const CanonicalUrl& url, std::vector<std::string_view>& segments) {
  segments.clear();
  segments.push_back(url.authority());
  // The query follows the path, so the last segment can be extended in place.
  std::string_view rest = url.without_scheme().substr(url.authority().size());
  std::size_t path_bytes = url.path().size();
  while (path_bytes != 0) {
    rest.remove_prefix(1);  // the slash
    const std::size_t slash = rest.substr(0, path_bytes - 1).find('/');
    const std::string_view segment = rest.substr(0, slash);
    segments.push_back(segment);
    path_bytes = slash == std::string_view::npos ? 0 : path_bytes - 1 - segment.size();
    rest.remove_prefix(segment.size());
  }
}

void segment_digests(const Hasher& hasher, std::span<const std::string_view> segments, std::vector<Digest>& digests) {
  digests.resize(segments.size());
  hasher(segments, digests);
}

void prefix_digests(const Hasher& hasher, std::span<const std::string_view> segments, std::vector<Digest>& digests) {
  segment_digests(hasher, segments, digests);
  Digest previous{};
  std::uint64_t level = 0;
  for (Digest& digest : digests) {
    digest = chain(previous, digest, level);
    previous = digest;
    ++level;
  }
}

}  // namespace mankai::url
