#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/url/canonical_url.hpp"

namespace mankai::url {

/// What `canonicalize` does unless `copy_plain` can copy the URL; tests compare their results.
struct Canonicalizer {
  [[nodiscard]] static Result<void> rewrite(std::string_view raw, CanonicalUrl& out, UrlRules rules);

  static void clear(CanonicalUrl& out) noexcept;

 private:
  [[nodiscard]] static Result<void> assemble(CanonicalUrl& out, UrlRules rules);
};

/// A host and port as written between "//" and the path, without the user and password before an '@'.
struct Authority {
  std::string_view host;  ///< in lower case, without leading, trailing and repeated dots; may be empty
  std::optional<std::uint16_t> port;
};

/// Splits an authority in place: moves its bytes and converts them to lower case. Of several ports, as in "a:1:2", the
/// first counts. An invalid port (letters, more than 65535) stays a part of the host.
[[nodiscard]] Authority split_authority(char* begin, char* end) noexcept;

/// Appends the canonical form of a host from `split_authority`: an address in its shortest form, a name in punycode, or
/// else its bytes, escaped by the rules. Returns whether it is an address. Appends nothing if the host is empty.
[[nodiscard]] bool append_host(std::string_view host, UrlRules rules, std::string& text);

inline constexpr std::size_t kEscapeBytes = 3;

/// Returns the byte of the escape at the beginning of `text`; nothing if there is none.
[[nodiscard]] std::optional<char> escaped_byte(std::string_view text) noexcept;

/// Overwrites `decoded` with the raw URL, without the white space around it, its fragment, and every TAB, CR and LF.
/// UrlRules::safe_browsing decodes all escapes, repeatedly; UrlRules::keys decodes each once, unless its byte
/// `is_kept_escaped`. A '%' that begins no escape ("%", "%4", "%zz") stays under safe_browsing, and becomes "%25" under
/// keys, where every '%' of the result begins an escape. Cost: linear, however escapes are nested.
void decode(std::string_view raw, UrlRules rules, std::string& decoded);

/// Appends `bytes` from `decode`, with %XX for every byte that is not `is_plain`. Under UrlRules::keys the escapes that
/// `decode` kept stay, with upper-case digits.
void append_escaped(std::string_view bytes, UrlRules rules, std::string& text);

/// Whether UrlRules::keys keeps the escape of this byte. That holds for what [RFC3986] §2.2 reserves, since "URIs that
/// differ in the replacement of a reserved character with its corresponding percent-encoded octet are not equivalent".
/// It also holds for '%', since decoding it could complete another escape, and for '\\', which browsers read as '/'
/// unless it is escaped.
[[nodiscard]] constexpr bool is_kept_escaped(char byte) noexcept {
  return std::string_view(":/?#[]@!$&'()*+,;=%\\").find(byte) != std::string_view::npos;
}

/// Whether a canonical URL contains the byte unescaped.
[[nodiscard]] constexpr bool is_plain(char byte) noexcept {
  return byte > ' ' && byte < '\x7f' && byte != '#' && byte != '%';
}

}  // namespace mankai::url
