#pragma once

/// A rule of a block list: what it covers, its canonical form, and its digests.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/hash/digest.hpp"
#include "mankai/hash/hasher.hpp"
#include "mankai/url/canonical_url.hpp"

namespace mankai {

/// Limits of a DNS name; a rule with a longer name cannot match anything.
inline constexpr std::size_t kRuleHostBytesMax = 255;
inline constexpr std::size_t kRuleLabelsMax = 127;
/// Browsers do not accept longer URLs.
inline constexpr std::size_t kRuleBytesMax = std::size_t{64} << 10;

/// A rule in canonical form: a host, an optional path, an optional query. Threads: const calls are safe together.
///
///     evil.example            this host and every host below it, with all paths
///     evil.example/a/b        on those hosts the path /a/b and everything below it, but not /a/bc
///     evil.example/a?q=1      on those hosts exactly this path with exactly this query
///
/// Scheme, port, a trailing '/' and an empty query are not part of a rule. An address has no hosts below it. A host may
/// be a public suffix or have one label.
///
/// A rule is read like a line of a list of URLs (guard/rule_list.hpp): ".evil.example" and "*.evil.example" are
/// evil.example, and an IPv6 address needs no brackets. A text that would cover more or less than it says is invalid.
class GuardRule {
 public:
  /// Canonicalizes a rule; overwrites `url` and reuses its memory. Errors: invalid_argument, with the rule and the
  /// reason: no host, bytes that are invalid in a name, a fragment, other wildcards, a network, or a text over the
  /// limits.
  [[nodiscard]] static Result<GuardRule> parse(std::string_view text, url::CanonicalUrl& url);
  [[nodiscard]] static Result<GuardRule> parse(std::string_view text);

  /// "host/path?query". Parsing "http://" followed by this gives the same rule.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] std::string_view host() const noexcept { return view(0, host_end_); }
  /// Begins with '/' and does not end with it; empty if the rule has no path.
  [[nodiscard]] std::string_view path() const noexcept { return view(host_end_, path_end_); }
  /// With its '?'; empty if the rule has no query.
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

/// Returns the start of a rule in quotes, for an error message.
[[nodiscard]] std::string shown_rule(std::string_view text);

/// Maximum number of labels of an anchor.
inline constexpr std::size_t kAnchorLabels = 2;

/// Digests of a rule and of its parents in the tables.
///
/// A host's digest is the hash of its text. A path's digest is chained from its host's, segment by segment (`chain`,
/// from level 1); a query's from its path's at kQueryLevel. The anchor of a host is its last two labels; an address or
/// a host of one label is its own anchor.
struct RuleKey {
  Digest anchor;
  Digest host;
  Digest rule;                   ///< the host's if there is no path and no query
  std::uint16_t host_depth = 0;  ///< number of labels before the anchor's
  std::uint16_t path_depth = 0;  ///< number of segments
  bool has_query = false;
  bool is_single_label = false;  ///< the host is a name of one label

  friend bool operator==(const RuleKey&, const RuleKey&) = default;
};

/// The level of queries: deeper than any path.
inline constexpr std::uint64_t kQueryLevel = std::uint64_t{1} << 32;

/// Cost: one hash each of the anchor, the host, and each segment.
[[nodiscard]] RuleKey key_of(const GuardRule& rule, const Hasher& hasher);
/// The same of GuardRule::parse(text, url), whose text is not made. Errors: as parse, without the rule.
[[nodiscard]] Result<RuleKey> key_of(std::string_view text, url::CanonicalUrl& url, const Hasher& hasher);

}  // namespace mankai
