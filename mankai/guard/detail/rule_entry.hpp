#pragma once

/// What stands in a list where a host or a URL should stand -> a rule's text, or why it is none.

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
  /// As far as can be seen before it is in canonical form.
  bool may_have_port = false;
  bool may_be_single_label = false;
  /// Adblock: the name of the option for which it is skipped.
  std::string_view option{};
};

/// Whether a URL in a text may have spaces in its path, as in a field of a CSV.
enum class Spaces : bool { refused, allowed };

[[nodiscard]] constexpr bool is_blank(char byte) noexcept { return byte == ' ' || byte == '\t' || byte == '\r'; }
/// Without blanks at both ends.
[[nodiscard]] std::string_view trim(std::string_view text) noexcept;
/// Without blanks and a comment, '#' at the start or behind a blank, at the end.
[[nodiscard]] std::string_view without_comment(std::string_view line) noexcept;
/// The text up to the first blank, which is taken off with what divides it from the next; empty at the end.
[[nodiscard]] std::string_view next_word(std::string_view& text) noexcept;
/// Compares ASCII letters in any case.
[[nodiscard]] bool is_same_word(std::string_view a, std::string_view b) noexcept;

/// Whether a line without blanks at its ends says nothing.
[[nodiscard]] constexpr bool is_comment(std::string_view line) noexcept {
  return line.empty() || line.starts_with('#') || line.starts_with('!') || line.starts_with(';');
}
/// Whether an address means "nowhere" in a hosts file.
[[nodiscard]] bool is_nowhere(std::string_view address) noexcept;
/// Whether it is an address and more that is no comment: "0.0.0.0 ads.example".
[[nodiscard]] bool is_hosts_line(std::string_view line) noexcept;

/// Whether it is written as an IPv4 or IPv6 address, with a zone perhaps.
[[nodiscard]] bool looks_like_address(std::string_view word) noexcept;
/// Whether it is a URL, an address, or a name of more than one label that ends with a letter: not "1.5", nor "url".
[[nodiscard]] bool looks_like_rule(std::string_view text) noexcept;

/// Whether it is an IPv6 address without the brackets that it has in a URL, and without a zone.
[[nodiscard]] bool is_bare_ipv6(std::string_view text) noexcept;
/// Why a URL's host, which may be escaped, is none that a rule can have. Errors: none; total.
[[nodiscard]] std::optional<RuleSkip> check_rule_host(std::string_view host) noexcept;
/// Whether the last segment is a star alone, which means "everything below" to who writes it, and is a name in a URL.
[[nodiscard]] bool ends_with_star(std::string_view path) noexcept;

/// Brings a rule's text, which `read_url` has taken, into canonical form, with the host that today's browsers open
/// where they open it: they take names that `canonicalize` leaves escaped, and other spellings of addresses.
///
/// Shape:   url is overwritten, and keeps its memory.
/// Cost:    that of `canonicalize`; twice that and more where the host is no plain name.
/// Errors:  as `canonicalize`.
[[nodiscard]] Result<void> canonicalize_rule(std::string_view text, url::CanonicalUrl& url);

/// Whether a port is left in canonical form: it is not the scheme's own.
[[nodiscard]] inline bool has_port(const url::CanonicalUrl& url) noexcept {
  return url.authority().size() != url.host().size();
}

/// Reads "ads.example", ".ads.example", "*.ads.example", and addresses. Errors: none; total.
[[nodiscard]] RuleEntry read_host(std::string_view text) noexcept;
/// Reads those, and with a scheme, user, port, path, query. What has a scheme is a URL, so "http://192.0.2.0/24" is a
/// page and "192.0.2.0/24" a network. Errors: none; total.
[[nodiscard]] RuleEntry read_url(std::string_view text, Spaces spaces) noexcept;

}  // namespace mankai::detail
