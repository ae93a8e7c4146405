#pragma once

/// URLs as sequences of segments, a synthetic web of such URLs, and ways in which absent keys can resemble members.

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

/// Many URLs: the digests of all their segments, and the end of each URL among these.
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

/// The digest of a whole URL; depends on the order of segments.
[[nodiscard]] Digest whole(std::span<const Digest> url) noexcept;

/// How an absent URL resembles members.
enum class QueryClass : std::uint8_t {
  all_new,     ///< not at all: every segment is an absent key
  new_last,    ///< host and directories of a member, a new last segment: the source's own test
  recombined,  ///< the front of one member and the rest of another
  prefix,      ///< a member without its last segment
  swapped,     ///< a member with its two directories swapped
  canceled,    ///< a member with the same directory twice, but another one
};
inline constexpr std::array<QueryClass, 6> kQueryClasses = {QueryClass::all_new,    QueryClass::new_last,
                                                            QueryClass::recombined, QueryClass::prefix,
                                                            QueryClass::swapped,    QueryClass::canceled};

/// Returns the text used in reports, such as "all segments new".
[[nodiscard]] std::string_view shown(QueryClass query) noexcept;
[[nodiscard]] std::string_view id_of(QueryClass query) noexcept;

[[nodiscard]] std::vector<std::string> urls_of(const UrlGenerator& generator, std::uint64_t first, std::uint64_t last);

/// A web of URLs with four segments. The host is drawn by Zipf's law; there is one per 50 URLs. The two directories are
/// from one vocabulary, such as tags and years, and equal in every tenth URL. The page is unique.
class Site {
 public:
  static constexpr std::size_t kLevels = 4;
  using Url = std::array<Digest, kLevels>;

  Site(std::uint64_t urls, std::uint64_t seed) noexcept : urls_(urls), seed_(seed) {}

  [[nodiscard]] Url url(std::uint64_t number) const noexcept;
  [[nodiscard]] Urls members(std::uint64_t first, std::uint64_t last) const;
  /// Distinct absent keys of one class, made from the first `known` members: `count`, or fewer if the members yield no
  /// more.
  [[nodiscard]] Urls absent_keys(QueryClass query, std::uint64_t known, std::uint64_t count) const;

 private:
  [[nodiscard]] Digest word(std::uint64_t vocabulary, std::uint64_t number) const noexcept;
  [[nodiscard]] bool absent_key(QueryClass query, std::uint64_t known, std::uint64_t number, Url& url) const noexcept;

  std::uint64_t urls_;
  std::uint64_t seed_;
};

/// URLs of a host, a directory and a page, in two halves that share no URL. What is new in an absent URL, one of the
/// other half, is its last `fresh` segments, 0 to 2: they occur in no other URL. With none, every directory and every
/// page occurs in both halves.
class Pages {
 public:
  static constexpr std::size_t kLevels = 3;
  using Url = std::array<Digest, kLevels>;

  Pages(std::uint64_t half, unsigned fresh, std::uint64_t seed) noexcept;

  [[nodiscard]] Url url(bool is_second_half, std::uint64_t number) const noexcept;
  [[nodiscard]] Urls urls(bool is_second_half) const;
  [[nodiscard]] std::uint64_t half() const noexcept { return half_; }

 private:
  std::uint64_t half_;
  unsigned fresh_;
  std::uint64_t seed_;
  std::uint64_t per_directory_;  ///< pages of a half in a directory
};

}  // namespace mankai::lab::dedup
