#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "mankai/base/error.hpp"

namespace mankai::url {

/// Which percent-escapes to decode. Files store the number as a version: keys of different versions do not compare.
enum class UrlRules : std::uint8_t {
  /// Decodes every escape until none is left, so that no spelling of a listed URL evades a block list. For guards, and
  /// for filters that were created before version 2.
  safe_browsing = 1,
  /// Decodes each escape once, unless it is of a reserved byte or '%': `/a%2Fb` is not `/a/b`. For keys.
  keys = 2,
};

/// The rules of keys in new filters.
inline constexpr unsigned kCanonicalVersion = std::to_underlying(UrlRules::keys);
/// The rules of guards.
inline constexpr unsigned kSafeBrowsingVersion = std::to_underlying(UrlRules::safe_browsing);

/// Returns the rules of a stored version; nothing if this library does not implement it.
[[nodiscard]] constexpr std::optional<UrlRules> url_rules(unsigned version) noexcept {
  const bool is_known = version == kCanonicalVersion || version == kSafeBrowsingVersion;
  return is_known ? std::optional(static_cast<UrlRules>(version)) : std::nullopt;
}

class CanonicalUrl;

/// Converts a URL to the one form that all its spellings share; docs/url.md has the rules as a table.
/// Shape:   raw is any bytes of any length; out is overwritten, keeps its memory, and is empty after an error.
/// Cost:    a canonical URL is scanned and copied (`copy_plain`), 40 ns for 59 bytes; others are rewritten, about
///          600 ns. Linear in the length, however its escapes are nested. Allocates only while out grows, and for hosts
///          beyond ASCII, which are passed to libidn2 (microseconds).
/// Errors:  invalid_argument if there is no host: nothing before the path, or a scheme without one, such as mailto:.
///          All other input has a result, and canonicalizing that again by the same rules gives the same. `rules` has
///          no default, because it decides which URLs have a host: `%2Fa` has none by safe_browsing, and one by keys.
/// Threads: safe with different `out`.
/// Source:  [SafeBrowsing2025] "URLs and hashing". Differs: the port and an empty query ("?") are kept in the text, a
///          last "." or ".." leaves its slash, ports and dots are stripped until none is left. Which escapes
///          UrlRules::keys decodes: [RFC3986] §2.2 and §6.2.2.
[[nodiscard]] Result<void> canonicalize(std::string_view raw, CanonicalUrl& out, UrlRules rules);
/// As above, for a single URL; in a loop, the function above is faster.
[[nodiscard]] Result<CanonicalUrl> canonicalize(std::string_view raw, UrlRules rules);

/// Fast path of `canonicalize`: copies a URL that is canonical already, or lacks only "http://" or the path's "/". Its
/// host is a name of small letters, digits, '-' and '_', the last label of which begins with no digit, and it has
/// neither '%' nor a backslash: it is canonical by any rules, and all programs read it alike.
/// Shape:   returns false for all others, with out unchanged.
/// Cost:    40 ns for 59 bytes.
[[nodiscard]] bool copy_plain(std::string_view raw, CanonicalUrl& out);

/// A URL in canonical form, with views of its parts that are valid until it is changed, moved or destroyed.
/// Shape:   scheme "://" host [":" port] path [query]; `text` has no byte outside 0x21..0x7e and no '#'.
/// Threads: const calls are safe together.
class CanonicalUrl {
 public:
  /// The whole URL, such as "http://www.example.com:1234/a/b?q".
  [[nodiscard]] std::string_view text() const noexcept { return text_; }
  /// In lower case, without "://"; "http" if the raw URL has none.
  [[nodiscard]] std::string_view scheme() const noexcept { return part(0, scheme_end_); }
  /// The host, and ":port" unless it is the scheme's default.
  [[nodiscard]] std::string_view authority() const noexcept { return part(host_begin_, authority_end_); }
  /// A name in lower case (punycode where IDN allows it), a dotted IPv4 address or an IPv6 address in brackets.
  [[nodiscard]] std::string_view host() const noexcept { return part(host_begin_, host_end_); }
  /// The host's last label and its last two; the whole host if it has no more or is an address.
  [[nodiscard]] std::string_view last_label() const noexcept { return part(last_begin_, host_end_); }
  [[nodiscard]] std::string_view last_two_labels() const noexcept { return part(last_two_begin_, host_end_); }
  /// Begins with '/'.
  [[nodiscard]] std::string_view path() const noexcept { return part(authority_end_, path_end_); }
  /// With its leading '?'; empty if there is none.
  [[nodiscard]] std::string_view query() const noexcept { return part(path_end_, text_.size()); }
  /// Authority, path and query: identifies a page when http and https count as the same.
  [[nodiscard]] std::string_view without_scheme() const noexcept { return part(host_begin_, text_.size()); }
  [[nodiscard]] bool is_ip() const noexcept { return is_ip_; }

  friend bool operator==(const CanonicalUrl& a, const CanonicalUrl& b) noexcept { return a.text_ == b.text_; }

 private:
  friend struct Canonicalizer;
  friend bool copy_plain(std::string_view raw, CanonicalUrl& out);

  [[nodiscard]] std::string_view part(std::size_t begin, std::size_t end) const noexcept {
    return {text_.data() + begin, end - begin};
  }

  std::string text_;
  std::string decoded_;  ///< the raw URL without escapes; a member to reuse its memory
  std::size_t scheme_end_ = 0;
  std::size_t host_begin_ = 0;
  std::size_t last_two_begin_ = 0;
  std::size_t last_begin_ = 0;
  std::size_t host_end_ = 0;
  std::size_t authority_end_ = 0;
  std::size_t path_end_ = 0;
  bool is_ip_ = false;
};

}  // namespace mankai::url
