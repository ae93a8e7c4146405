#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "mankai/base/error.hpp"

namespace mankai::url {

/// Which percent-escapes canonicalization decodes. The number is the version that files store beside keys made from
/// canonical URLs: such keys are only comparable within one version.
enum class UrlRules : std::uint8_t {
  /// Decodes every escape until none is left, so that no spelling of a listed URL evades a block list. Guards compare
  /// by these rules, and so do filters that were created before version 2.
  safe_browsing = 1,
  /// Decodes only escapes that cannot change what the URL identifies, and each only once: those of reserved bytes and
  /// of '%' stay, so that `/a%2Fb` is not `/a/b`. For keys.
  keys = 2,
};

/// The version of the rules by which new filters make keys canonical.
inline constexpr unsigned kCanonicalVersion = std::to_underlying(UrlRules::keys);
/// The version of the rules by which guards compare URLs.
inline constexpr unsigned kSafeBrowsingVersion = std::to_underlying(UrlRules::safe_browsing);

/// Returns the rules of a stored version, or nothing for one that this library does not implement.
[[nodiscard]] constexpr std::optional<UrlRules> url_rules(unsigned version) noexcept {
  const bool is_known = version == kCanonicalVersion || version == kSafeBrowsingVersion;
  return is_known ? std::optional(static_cast<UrlRules>(version)) : std::nullopt;
}

class CanonicalUrl;

/// Brings a URL into the one form that all its spellings share; docs/url.md has the rules as a table.
///
/// Shape:   raw is any bytes of any length; out is overwritten, keeps its memory, and is empty after an error.
/// Cost:    a URL that is canonical already is scanned and copied, 75 ns for 53 bytes; others are rewritten, about
///          600 ns. Linear in the length, however its escapes are nested. Allocates only while out grows, and for hosts
///          beyond ASCII, which go through libidn2 (microseconds).
/// Errors:  invalid_argument when there is no host: nothing before the path, or a scheme such as mailto: that is
///          followed by none. Everything else has an answer, and canonicalizing an answer again by the same rules
///          gives the same. Which URLs have no host depends on the rules: `%2Fa` has none by safe_browsing, and one by
///          keys. So `rules` has no default.
/// Threads: safe on different `out`.
/// Source:  [SafeBrowsing2025] "URLs and hashing". Differs: the port and an empty query ("?") are kept in the text, a
///          last "." or ".." leaves its slash, ports and dots are stripped until none is left. Which escapes
///          UrlRules::keys decodes: [RFC3986] §2.2 and §6.2.2.
[[nodiscard]] Result<void> canonicalize(std::string_view raw, CanonicalUrl& out, UrlRules rules);
/// Returns the canonical form of one URL; a loop is better served by the function above.
[[nodiscard]] Result<CanonicalUrl> canonicalize(std::string_view raw, UrlRules rules);

/// A URL in canonical form, and its parts as views into it, valid until it is changed, moved or destroyed.
///
/// Shape:   scheme "://" host [":" port] path [query]; `text` has no byte outside 0x21..0x7e and no '#'.
/// Threads: const calls are safe together.
class CanonicalUrl {
 public:
  /// The whole, such as "http://www.example.com:1234/a/b?q".
  [[nodiscard]] std::string_view text() const noexcept { return text_; }
  /// In lower case, without "://"; "http" where the raw URL named none.
  [[nodiscard]] std::string_view scheme() const noexcept { return part(0, scheme_end_); }
  /// The host and, where it is not the scheme's default, ":port".
  [[nodiscard]] std::string_view authority() const noexcept { return part(host_begin_, authority_end_); }
  /// A name in lower case (punycode where IDN allows it), a dotted IPv4 address or an IPv6 address in brackets.
  [[nodiscard]] std::string_view host() const noexcept { return part(host_begin_, host_end_); }
  /// Begins with '/'.
  [[nodiscard]] std::string_view path() const noexcept { return part(authority_end_, path_end_); }
  /// With its leading '?', or empty.
  [[nodiscard]] std::string_view query() const noexcept { return part(path_end_, text_.size()); }
  /// Authority, path and query: what tells pages apart when http and https are held to be the same.
  [[nodiscard]] std::string_view without_scheme() const noexcept { return part(host_begin_, text_.size()); }
  /// Whether the host is an IPv4 or IPv6 address, which has no parent domains.
  [[nodiscard]] bool is_ip() const noexcept { return is_ip_; }

  friend bool operator==(const CanonicalUrl& a, const CanonicalUrl& b) noexcept { return a.text_ == b.text_; }

 private:
  friend struct Canonicalizer;

  [[nodiscard]] std::string_view part(std::size_t begin, std::size_t end) const noexcept {
    return {text_.data() + begin, end - begin};
  }

  std::string text_;
  std::string decoded_;  ///< the raw URL without escapes, while canonicalizing; kept for its memory only
  std::size_t scheme_end_ = 0;
  std::size_t host_begin_ = 0;
  std::size_t host_end_ = 0;
  std::size_t authority_end_ = 0;
  std::size_t path_end_ = 0;
  bool is_ip_ = false;
};

}  // namespace mankai::url
