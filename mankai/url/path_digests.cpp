#include "mankai/url/path_digests.hpp"

namespace mankai::url {

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
