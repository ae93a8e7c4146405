#pragma once

#include <cstdint>
#include <string>

#include "lab/traffic/zipf_table.hpp"

namespace mankai::detail {

class UrlText;
struct Site;

/// An endless web: URL `number` is a pure function of (seed, number), so nothing is stored.
///
/// A host is two words, joined or with a hyphen, and from the 65537th host on a counter: `www.amberlake.com`,
/// `amber-lake7.org`. A host has a tree of directories with 16 children each. The first children are far more frequent,
/// so URLs share long prefixes as real ones do.
///
/// Different numbers give different URLs: the last run of decimal digits in path and query is `public_id(number)`,
/// which is injective, and nothing after it contains a digit.
class SyntheticWeb {
 public:
  SyntheticWeb(std::uint64_t host_count, double zipf_exponent, std::uint64_t seed);

  /// Returns the rank of the URL's host; 0 is the most popular.
  [[nodiscard]] std::uint64_t host_rank(std::uint64_t number) const noexcept;
  /// Returns the number that the URL shows: of similar size, but not in sequence.
  [[nodiscard]] std::uint64_t public_id(std::uint64_t number) const noexcept;

  void append_host(std::uint64_t rank, std::string& out) const;
  void append_url(std::uint64_t number, std::string& out) const;

 private:
  [[nodiscard]] Site site(std::uint64_t rank) const noexcept;
  [[nodiscard]] std::uint64_t url_seed(std::uint64_t number) const noexcept;
  void write_host(const Site& site, std::uint64_t rank, UrlText& text) const;

  ZipfTable hosts_;
  std::uint64_t host_seed_;
  std::uint64_t url_seed_;
  std::uint64_t id_seed_;
};

}  // namespace mankai::detail
