#pragma once

/// URLs as filters of them see them, a synthetic web of such, and the ways in which an absent key can resemble members.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/random.hpp"
#include "lab/traffic/url_generator.hpp"
#include "mankai/hash/digest.hpp"

namespace mankai::lab::dedup {

/// Many URLs: the digests of their segments one after the other, and where each of them ends.
struct Urls {
  std::vector<Digest> segments{};
  std::vector<std::uint32_t> ends{};

  void add(std::span<const Digest> url) {
    segments.insert(segments.end(), url.begin(), url.end());
    ends.push_back(static_cast<std::uint32_t>(segments.size()));
  }
  [[nodiscard]] std::size_t size() const noexcept { return ends.size(); }
  [[nodiscard]] std::span<const Digest> operator[](std::size_t index) const noexcept {
    const std::uint32_t begin = index == 0 ? 0 : ends[index - 1];
    return std::span(segments).subspan(begin, ends[index] - begin);
  }
};

/// Returns the digest of a whole URL in its order.
[[nodiscard]] Digest whole(std::span<const Digest> url) noexcept;

/// What a URL that was never inserted has in common with those that were.
enum class QueryClass : std::uint8_t {
  all_new,     ///< nothing: every segment is an absent key
  new_last,    ///< host and directories of a member, another last segment: the source's own test
  recombined,  ///< the front of one member and the rest of another
  prefix,      ///< a member without its last segment
  swapped,     ///< a member whose two directories changed places
  cancelled,   ///< a member with twice the same directory, which is another one here
};
inline constexpr std::array<QueryClass, 6> kQueryClasses = {QueryClass::all_new,    QueryClass::new_last,
                                                            QueryClass::recombined, QueryClass::prefix,
                                                            QueryClass::swapped,    QueryClass::cancelled};

/// Returns the words used in reports, such as "all segments new".
[[nodiscard]] std::string_view shown(QueryClass query) noexcept;
/// Returns the word used in ids.
[[nodiscard]] std::string_view id_of(QueryClass query) noexcept;

/// Returns the generator's URLs from one number to another, as text.
[[nodiscard]] std::vector<std::string> urls_of(const UrlGenerator& generator, std::uint64_t first, std::uint64_t last);

/// A web of URLs of four segments: a host drawn by Zipf's law, one for 50 URLs; two directories out of one vocabulary,
/// such as tags and years, which are the same one for every tenth URL; and a page of its own.
class Site {
 public:
  static constexpr std::size_t kLevels = 4;
  using Url = std::array<Digest, kLevels>;

  Site(std::uint64_t urls, std::uint64_t seed) noexcept : urls_(urls), seed_(seed) {}

  [[nodiscard]] Url url(std::uint64_t number) const noexcept;
  /// The URLs from one number to another.
  [[nodiscard]] Urls members(std::uint64_t first, std::uint64_t last) const;
  /// Absent keys of one class, made of the first `known` members and all different; at most so many, fewer where the
  /// members yield no more.
  [[nodiscard]] Urls strangers(QueryClass query, std::uint64_t known, std::uint64_t count) const;

 private:
  [[nodiscard]] Digest word(std::uint64_t vocabulary, std::uint64_t number) const noexcept;
  [[nodiscard]] bool stranger(QueryClass query, std::uint64_t known, std::uint64_t number, Url& url) const noexcept;

  std::uint64_t urls_;
  std::uint64_t seed_;
};

}  // namespace mankai::lab::dedup
