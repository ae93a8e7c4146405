#pragma once

#include <optional>
#include <string_view>

#include "mankai/guard/rule.hpp"
#include "mankai/guard/rule_list.hpp"
#include "mankai/url/canonical_url.hpp"

namespace mankai::detail {

struct RuleEntry {
  std::string_view text{};
  std::optional<RuleSkip> skipped{};
  bool is_widened = false;
  bool is_narrowed = false;
  /// The next two may be wrong until the text is canonicalized.
  bool may_have_port = false;
  bool may_be_single_label = false;
  std::string_view option{};
};

/// Whether the path of a URL may have spaces, as in a CSV field.
enum class Spaces : bool { refused, allowed };

[[nodiscard]] constexpr bool is_blank(char byte) noexcept { return byte == ' ' || byte == '\t' || byte == '\r'; }
[[nodiscard]] std::string_view trim(std::string_view text) noexcept;
/// Removes blanks and a trailing comment: '#' at the start or after a blank.
[[nodiscard]] std::string_view without_comment(std::string_view line) noexcept;
/// Removes and returns the first word; empty at the end.
[[nodiscard]] std::string_view next_word(std::string_view& text) noexcept;
[[nodiscard]] bool is_same_word(std::string_view a, std::string_view b) noexcept;

/// Pre: the line is trimmed.
[[nodiscard]] constexpr bool is_comment(std::string_view line) noexcept {
  return line.empty() || line.starts_with('#') || line.starts_with('!') || line.starts_with(';');
}
[[nodiscard]] bool is_nowhere(std::string_view address) noexcept;
/// Whether a line has an address and a name: "0.0.0.0 ads.example".
[[nodiscard]] bool is_hosts_line(std::string_view line) noexcept;

/// Whether a word looks like an IPv4 or IPv6 address, possibly with a zone.
[[nodiscard]] bool looks_like_address(std::string_view word) noexcept;
/// Whether a text is a URL, an address, or a name of several labels that ends with a letter: not "1.5" or "url".
[[nodiscard]] bool looks_like_rule(std::string_view text) noexcept;

[[nodiscard]] bool is_bare_ipv6(std::string_view text) noexcept;
/// Returns why a URL's host, which may be escaped, cannot be in a rule; nothing if it can.
[[nodiscard]] std::optional<RuleSkip> check_rule_host(std::string_view host) noexcept;
/// Whether the last segment is "*": list authors mean everything below, but in a URL it is a name.
[[nodiscard]] bool ends_with_star(std::string_view path) noexcept;

/// Canonicalizes the text of a rule as browsers do: they accept names that `canonicalize` leaves escaped, and other
/// spellings of addresses. Cost: at least that of `canonicalize`; twice unless a plain name. Errors: as `canonicalize`.
[[nodiscard]] Result<void> canonicalize_rule(std::string_view text, url::CanonicalUrl& url);

/// Whether the URL has a port other than its scheme's default.
[[nodiscard]] inline bool has_port(const url::CanonicalUrl& url) noexcept {
  return url.authority().size() != url.host().size();
}

/// Reads "ads.example", ".ads.example", "*.ads.example", and addresses.
[[nodiscard]] RuleEntry read_host(std::string_view text) noexcept;
/// As read_host, or a URL with or without scheme: "http://192.0.2.0/24" is a page, "192.0.2.0/24" a network.
[[nodiscard]] RuleEntry read_url(std::string_view text, Spaces spaces) noexcept;

/// Whether a text is a canonical name of several labels, the last of which begins with a letter: true of most rules.
[[nodiscard]] bool is_plain_name(std::string_view text) noexcept;

/// The parts of a GuardRule, as views into a canonical URL.
struct RuleParts {
  std::string_view host;
  std::string_view path;
  std::string_view query;
  bool is_ip = false;
};
/// As GuardRule::parse, without a copy.
[[nodiscard]] Result<RuleParts> read_rule(std::string_view text, url::CanonicalUrl& url);
[[nodiscard]] RuleKey key_of(const RuleParts& rule, const Hasher& hasher);

}  // namespace mankai::detail
