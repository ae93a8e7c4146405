#pragma once

/// A rule of a block list: what it covers, the one form that all its spellings share, and its digests.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/hash/digest.hpp"
#include "mankai/hash/hasher.hpp"
#include "mankai/url/canonical_url.hpp"

namespace mankai {

/// No name of the DNS is longer (in text: 253), nor has more labels; a rule about one can match nothing.
inline constexpr std::size_t kRuleHostBytesMax = 255;
inline constexpr std::size_t kRuleLabelsMax = 127;
/// Browsers take no longer URLs from anybody.
inline constexpr std::size_t kRuleBytesMax = std::size_t{64} << 10;

/// A rule in canonical form: a host, and perhaps a path, and perhaps a query.
///
///     evil.example            the host and every host below it, whole
///     evil.example/a/b        on those hosts the path /a/b and everything below it, but not /a/bc
///     evil.example/a?q=1      on those hosts exactly this path with exactly this query
///
/// Scheme and port are no part of a rule. A last '/' makes no difference, nor does an empty query. An address has no
/// hosts below it. A host may be a public suffix, or of one label.
///
/// A rule is read as a line of a list of URLs is (guard/rule_list.hpp): ".evil.example" and "*.evil.example" are
/// evil.example, an IPv6 address needs no brackets. What would cover more or less than it says is none.
///
/// Threads: const calls are safe together.
class GuardRule {
 public:
  /// Brings a rule into canonical form, as mankai/url does with URLs; `url` is overwritten, and keeps its memory.
  /// Errors: invalid_argument, with the reason, when there is no host, or bytes that no name has; for a fragment, which
  /// no server sees; for other wildcards; for a network of addresses; and for what is longer than any name or URL.
  [[nodiscard]] static Result<GuardRule> parse(std::string_view text, url::CanonicalUrl& url);
  [[nodiscard]] static Result<GuardRule> parse(std::string_view text);

  /// "host/path?query", without what it lacks. Parsing it behind "http://" gives the same rule.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] std::string_view host() const noexcept { return view(0, host_end_); }
  /// Begins with '/' and does not end with it; empty where the rule has none.
  [[nodiscard]] std::string_view path() const noexcept { return view(host_end_, path_end_); }
  /// With its '?'; empty where the rule has none.
  [[nodiscard]] std::string_view query() const noexcept { return view(path_end_, text_.size()); }
  [[nodiscard]] bool is_ip() const noexcept { return is_ip_; }

  friend bool operator==(const GuardRule& a, const GuardRule& b) noexcept { return a.text_ == b.text_; }
  friend auto operator<=>(const GuardRule& a, const GuardRule& b) noexcept { return a.text_ <=> b.text_; }

 private:
  [[nodiscard]] std::string_view view(std::size_t begin, std::size_t end) const noexcept {
    return std::string_view(text_).substr(begin, end - begin);
  }

  std::string text_;
  std::size_t host_end_ = 0;
  std::size_t path_end_ = 0;
  bool is_ip_ = false;
};

/// As much of a text as tells, in an error, which of many it is; in quotes.
[[nodiscard]] std::string shown_rule(std::string_view text);

/// Labels of an anchor.
inline constexpr std::size_t kAnchorLabels = 2;

/// Where a rule is in the tables: its digest and those of what a check finds on the way to it.
///
/// A host's digest is the hash of its text. A path's is chained from its host's, segment by segment (`chain`, levels
/// from 1), a query's from its path's at a level of its own. A host's anchor is its last two labels; a host of one
/// label, and an address, is its own.
struct RuleKey {
  Digest anchor;
  Digest host;
  Digest rule;                   ///< the host's, where there is no path and no query
  std::uint16_t host_depth = 0;  ///< labels before the anchor's
  std::uint16_t path_depth = 0;  ///< segments
  bool has_query = false;
  bool is_single_label = false;  ///< the host is a name of one label

  friend bool operator==(const RuleKey&, const RuleKey&) = default;
};

/// The level at which a query is chained: deeper than any path.
inline constexpr std::uint64_t kQueryLevel = std::uint64_t{1} << 32;

/// Errors: none; total. Cost: one hash of the anchor, the host, and each segment.
[[nodiscard]] RuleKey key_of(const GuardRule& rule, const Hasher& hasher);

}  // namespace mankai
