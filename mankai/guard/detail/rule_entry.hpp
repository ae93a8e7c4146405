#pragma once

/// Reads a host or a URL of a list: gives the text of a rule, or the reason why it is not one.

#include <optional>
#include <string_view>

#include "mankai/guard/rule_list.hpp"
#include "mankai/url/canonical_url.hpp"

namespace mankai::detail {

/// A rule's text, or a reason.
struct RuleEntry {
  std::string_view text{};
  std::optional<RuleSkip> skipped{};
  bool is_widened = false;
  bool is_narrowed = false;
  /// May be wrong until the text is in canonical form.
  bool may_have_port = false;
  bool may_be_single_label = false;
  /// Adblock: the name of the option for which it is skipped.
  std::string_view option{};
};

/// Whether a URL may have spaces in its path, as in a CSV field.
enum class Spaces : bool { refused, allowed };

[[nodiscard]] constexpr bool is_blank(char byte) noexcept { return byte == ' ' || byte == '\t' || byte == '\r'; }
/// Without blanks at both ends.
[[nodiscard]] std::string_view trim(std::string_view text) noexcept;
/// Without blanks and a trailing comment: '#' at the start or after a blank.
[[nodiscard]] std::string_view without_comment(std::string_view line) noexcept;
/// Removes and returns the first word; empty at the end.
[[nodiscard]] std::string_view next_word(std::string_view& text) noexcept;
/// Compares ASCII letters in any case.
[[nodiscard]] bool is_same_word(std::string_view a, std::string_view b) noexcept;

/// Whether a trimmed line is empty or a comment.
[[nodiscard]] constexpr bool is_comment(std::string_view line) noexcept {
  return line.empty() || line.starts_with('#') || line.starts_with('!') || line.starts_with(';');
}
/// Whether an address is a sinkhole in a hosts file.
[[nodiscard]] bool is_nowhere(std::string_view address) noexcept;
/// Whether a line has an address and a name: "0.0.0.0 ads.example".
[[nodiscard]] bool is_hosts_line(std::string_view line) noexcept;

/// Whether a word looks like an IPv4 or IPv6 address, perhaps with a zone.
[[nodiscard]] bool looks_like_address(std::string_view word) noexcept;
/// Whether a text is a URL, an address, or a name of several labels that ends with a letter: not "1.5" or "url".
[[nodiscard]] bool looks_like_rule(std::string_view text) noexcept;

/// Whether a text is an IPv6 address without brackets and zone.
[[nodiscard]] bool is_bare_ipv6(std::string_view text) noexcept;
/// The reason why no rule can have a URL's host, which may be escaped. Errors: none; total.
[[nodiscard]] std::optional<RuleSkip> check_rule_host(std::string_view host) noexcept;
/// Whether the last segment is "*": its author means everything below, but in a URL it is a name.
[[nodiscard]] bool ends_with_star(std::string_view path) noexcept;

/// Canonicalizes the text of a rule that `read_url` accepted, with the host that browsers open: they accept names that
/// `canonicalize` leaves escaped, and other spellings of addresses.
///
/// Shape:   url is overwritten, and its memory reused.
/// Cost:    that of `canonicalize`; more than twice that unless the host is a plain name.
/// Errors:  as `canonicalize`.
[[nodiscard]] Result<void> canonicalize_rule(std::string_view text, url::CanonicalUrl& url);

/// Whether the URL has a port that is not its scheme's default.
[[nodiscard]] inline bool has_port(const url::CanonicalUrl& url) noexcept {
  return url.authority().size() != url.host().size();
}

/// Reads "ads.example", ".ads.example", "*.ads.example", and addresses. Errors: none; total.
[[nodiscard]] RuleEntry read_host(std::string_view text) noexcept;
/// Reads the same, also with scheme, user, port, path and query. "http://192.0.2.0/24" is a page, "192.0.2.0/24" a
/// network. Errors: none; total.
[[nodiscard]] RuleEntry read_url(std::string_view text, Spaces spaces) noexcept;

}  // namespace mankai::detail
