#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/url/canonical_url.hpp"

namespace mankai::url {

/// What `canonicalize` is made of; tests hold the two ways against each other.
struct Canonicalizer {
  /// Copies a URL that is canonical already, or lacks nothing but the path's "/". Returns false, with `out` unchanged,
  /// for every other: this is the meaning's shortcut, not a part of it. Such a URL is canonical by either rules, since
  /// it has no '%'.
  [[nodiscard]] static bool copy(std::string_view raw, CanonicalUrl& out);

  /// Applies every rule in its order.
  [[nodiscard]] static Result<void> rewrite(std::string_view raw, CanonicalUrl& out, UrlRules rules);

  static void clear(CanonicalUrl& out) noexcept;

 private:
  /// Appends scheme, authority, path and query from `out.decoded_`.
  [[nodiscard]] static Result<void> assemble(CanonicalUrl& out, UrlRules rules);
};

/// A host and port as they stand between "//" and the path, without the user and password before an '@'.
struct Authority {
  std::string_view host;  ///< in lower case, without leading, trailing and repeated dots; may be empty
  std::optional<std::uint16_t> port;
};

/// Splits an authority into its parts, in place: its bytes are moved and put into lower case.
///
/// Shape:   of several ports, as in "a:1:2", the first counts. What is no port (letters, more than 65535) stays a part
///          of the host.
/// Errors:  none; total.
[[nodiscard]] Authority split_authority(char* begin, char* end) noexcept;

/// Appends the canonical form of a host that `split_authority` gave: an address in its shortest form, a name in
/// punycode, or else its bytes, escaped as the rules say. Returns whether it is an address. Appends nothing when no
/// host is left.
[[nodiscard]] bool append_host(std::string_view host, UrlRules rules, std::string& text);

/// "%XX".
inline constexpr std::size_t kEscapeBytes = 3;

/// Returns the byte that the escape at the beginning of `text` stands for, or nothing where there is none.
[[nodiscard]] std::optional<char> escaped_byte(std::string_view text) noexcept;

/// Overwrites `decoded` with the raw URL without the white space around it, its fragment, every TAB, CR and LF, and its
/// percent-escapes: under UrlRules::safe_browsing all of them, those that only appear by decoding others too; under
/// UrlRules::keys each once, except those of bytes that `is_kept_escaped`.
///
/// Cost:    linear: each byte is appended once and each escape decoded once.
/// Errors:  none; total. A '%' that begins no escape ("%", "%4", "%zz") stays under UrlRules::safe_browsing and becomes
///          "%25" under UrlRules::keys, so that there every '%' of the result begins an escape.
void decode(std::string_view raw, UrlRules rules, std::string& decoded);

/// Appends `bytes`, as `decode` gives them, with %XX for every byte that is not `is_plain`. Under UrlRules::keys the
/// escapes that `decode` kept stay, with upper-case digits.
void append_escaped(std::string_view bytes, UrlRules rules, std::string& text);

/// Whether UrlRules::keys keeps the escape of this byte: what [RFC3986] §2.2 reserves, since "URIs that differ in the
/// replacement of a reserved character with its corresponding percent-encoded octet are not equivalent"; '%', since
/// decoding it could complete another escape; and '\\', which browsers take for '/' unless it is escaped.
[[nodiscard]] constexpr bool is_kept_escaped(char byte) noexcept {
  return std::string_view(":/?#[]@!$&'()*+,;=%\\").find(byte) != std::string_view::npos;
}

/// Whether a canonical URL holds the byte as it is.
[[nodiscard]] constexpr bool is_plain(char byte) noexcept {
  return byte > ' ' && byte < '\x7f' && byte != '#' && byte != '%';
}

}  // namespace mankai::url
