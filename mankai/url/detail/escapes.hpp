#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "mankai/url/canonical_url.hpp"

namespace mankai::url {

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
