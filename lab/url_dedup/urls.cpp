#include "lab/url_dedup/urls.hpp"

#include <cmath>
#include <utility>

#include "mankai/hash/hasher.hpp"
#include "mankai/hash/path_mix.hpp"

namespace mankai::lab::dedup {
namespace {

constexpr std::uint64_t kUrlsPerHost = 50;
constexpr std::uint64_t kDirectories = 2000;
constexpr std::uint64_t kRepeatsEvery = 10;
constexpr std::uint64_t kMostRounds = 64;

constexpr std::uint64_t kHost = 0;
constexpr std::uint64_t kDirectory = 1;
constexpr std::uint64_t kPage = 2;
constexpr std::uint64_t kUnseen = 3;

constexpr std::array<std::pair<std::string_view, std::string_view>, kQueryClasses.size()> kNames = {
    {{"all-new", "all segments new"},
     {"new-last", "seen directories, new last segment"},
     {"recombined", "recombined"},
     {"prefix", "proper prefix"},
     {"swapped", "swapped levels"},
     {"cancelled", "canceled repeats"}}};

}  // namespace

Digest whole(std::span<const Digest> url) noexcept {
  Digest digest{};
  std::uint64_t level = 0;
  for (const Digest segment : url) {
    digest = chain(digest, segment, level++);
  }
  return digest;
}

std::vector<std::string> urls_of(const UrlGenerator& generator, std::uint64_t first, std::uint64_t last) {
  std::vector<std::string> urls(last - first);
  for (std::string& url : urls) {
    generator.append_url(first++, url);
  }
  return urls;
}

std::string_view shown(QueryClass query) noexcept { return kNames.at(static_cast<std::size_t>(query)).second; }
std::string_view id_of(QueryClass query) noexcept { return kNames.at(static_cast<std::size_t>(query)).first; }

Digest Site::word(std::uint64_t vocabulary, std::uint64_t number) const noexcept {
  return mix_integer(number << 2 | vocabulary, seed_);
}

Site::Url Site::url(std::uint64_t number) const noexcept {
  Random random(mix_integer(number, ~seed_).value);
  const std::uint64_t whole_hosts = urls_ / kUrlsPerHost + 1;
  const auto hosts = static_cast<double>(whole_hosts);
  const auto host = static_cast<std::uint64_t>(std::exp(random.uniform() * std::log(hosts + 1)));  // Zipf, exponent 1
  const Digest first = word(kDirectory, random.below(kDirectories));
  const Digest other = word(kDirectory, random.below(kDirectories));
  return {word(kHost, host), first, number % kRepeatsEvery == 0 ? first : other, word(kPage, number)};
}

Urls Site::members(std::uint64_t first, std::uint64_t last) const {
  Urls urls;
  urls.segments.reserve((last - first) * kLevels);
  urls.ends.reserve(last - first);
  for (std::uint64_t number = first; number < last; ++number) {
    urls.add(url(number));
  }
  return urls;
}

// Turns member `number` into an absent key; returns false if that member yields none.
bool Site::absent_key(QueryClass query, std::uint64_t known, std::uint64_t number, Url& url) const noexcept {
  // Depends on `known`, so that filters of different fill are tested independently.
  constexpr unsigned kNumberBits = 28;
  const std::uint64_t drawn = known << kNumberBits | number;
  Random random(mix_integer(drawn, seed_ + static_cast<std::uint64_t>(query) + 1).value);
  url = this->url(number % known);
  const Url other = this->url(random.below(known));
  const bool repeats = url[1] == url[2];
  switch (query) {
    case QueryClass::all_new:
      for (std::size_t level = 0; level < kLevels; ++level) {
        url[level] = word(kUnseen, drawn * kLevels + level);
      }
      return true;
    // In a/x/x the XOR leaves host and page alone, which ties the answers of the last level and the last array.
    case QueryClass::new_last: url[3] = word(kUnseen, drawn * kLevels + 3); return !repeats;
    case QueryClass::recombined: {
      const bool is_member = url[0] == other[0] && url[1] == other[1];
      url[2] = other[2];
      url[3] = other[3];
      return !is_member;
    }
    case QueryClass::prefix: return !repeats;  // a/x/x has the XOR of its host, and hosts are few
    case QueryClass::swapped: std::swap(url[1], url[2]); return !repeats;
    case QueryClass::canceled: {
      const bool is_member = url[1] == other[1];
      url[1] = other[1];
      url[2] = other[1];
      return repeats && !is_member;
    }
  }
  return false;
}

Urls Site::absent_keys(QueryClass query, std::uint64_t known, std::uint64_t count) const {
  Urls urls;
  Url url;
  // Prefix and swap yield one key per member; other classes yield a new one in each round.
  const bool is_single = query == QueryClass::prefix || query == QueryClass::swapped;
  const std::uint64_t rounds = is_single ? 1 : kMostRounds;
  for (std::uint64_t number = 0; number < rounds * known && urls.size() < count; ++number) {
    if (absent_key(query, known, number, url)) {
      urls.add(std::span(url).first(query == QueryClass::prefix ? kLevels - 1 : kLevels));
    }
  }
  return urls;
}

Pages::Pages(std::uint64_t half, unsigned fresh, std::uint64_t seed) noexcept
    : half_(half),
      fresh_(fresh),
      seed_(seed),
      per_directory_(static_cast<std::uint64_t>(std::sqrt(static_cast<double>(half) / 2)) + 1) {}

Pages::Url Pages::url(bool is_second_half, std::uint64_t number) const noexcept {
  const auto word = [this](std::uint64_t vocabulary, std::uint64_t name) {
    return mix_integer(name << 2 | vocabulary, seed_);
  };
  const std::uint64_t own = is_second_half ? half_ + number : number;
  // Of a directory with an even number the first half has the even pages, of one with an odd number the odd ones.
  const std::uint64_t directory = number / per_directory_;
  const std::uint64_t page = 2 * (number % per_directory_) + (directory + (is_second_half ? 1 : 0)) % 2;
  return {word(kHost, 0),
          word(kDirectory, fresh_ == 2   ? own
                           : fresh_ == 1 ? 0
                                         : directory),
          word(kPage, fresh_ > 0 ? own : page)};
}

Urls Pages::urls(bool is_second_half) const {
  Urls urls;
  urls.segments.reserve(half_ * kLevels);
  urls.ends.reserve(half_);
  for (std::uint64_t number = 0; number < half_; ++number) {
    urls.add(url(is_second_half, number));
  }
  return urls;
}

}  // namespace mankai::lab::dedup
