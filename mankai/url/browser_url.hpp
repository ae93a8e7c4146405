#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/url/detail/domain.hpp"

namespace mankai::url {

class BrowserUrl;

/// Splits a URL as browsers do, and converts its host to the form that they connect to; see also docs/url.md.
/// Shape:   raw is any bytes of any length, with or without a scheme; out is overwritten, its memory is reused, and it
///          is empty after an error. A host beyond ASCII that is too long for a name loses its first bytes, and keeps
///          more than kNameBytesMax.
/// Cost:    linear, about 1 ns per byte; a host beyond ASCII costs as `append_domain`, at most about 0.8 ms.
/// Errors:  invalid_argument if no browser opens the URL: no host, an invalid byte in the host, an invalid address or
///          port. A host that browsers refuse only because of IDNA is accepted.
/// Threads: safe with different `out`.
/// Source:  [WhatwgUrl]. Differs: no base URL; user, password and fragment are dropped; other schemes are split as http
///          if "//" follows; a blank or a mapped escape (a wide "%") in a host is accepted, as in Chromium.
[[nodiscard]] Result<void> parse_browser_url(std::string_view raw, Deviations deviations, BrowserUrl& out);

/// A URL as a browser opens it, with views of its parts that are valid until it is changed, moved or destroyed. Only
/// the host is rewritten; in the path, backslashes become '/' and dot segments are resolved.
/// Shape:   scheme "://" host [":" port] path [query].
/// Threads: const calls are safe together.
class BrowserUrl {
 public:
  /// The whole URL, without user, password and fragment.
  [[nodiscard]] std::string_view text() const noexcept { return text_; }
  /// In lower case, without "://"; "http" if the raw URL has none.
  [[nodiscard]] std::string_view scheme() const noexcept { return part(0, scheme_end_); }
  /// A name in lower case and punycode, a dotted IPv4 address or an IPv6 address in brackets.
  [[nodiscard]] std::string_view host() const noexcept { return part(host_begin_, host_end_); }
  /// The host, and ":port" unless it is the scheme's default.
  [[nodiscard]] std::string_view authority() const noexcept { return part(host_begin_, authority_end_); }
  /// Begins with '/'.
  [[nodiscard]] std::string_view path_and_query() const noexcept { return part(authority_end_, text_.size()); }
  /// Whether `Deviations::mapped` gives a different host than the other values.
  [[nodiscard]] bool has_deviations() const noexcept { return has_deviations_; }
  /// Whether `Deviations::kept` and `capital_mapped` give different hosts.
  [[nodiscard]] bool has_capital_sharp_s() const noexcept { return has_capital_sharp_s_; }

 private:
  friend struct BrowserUrlParser;

  [[nodiscard]] std::string_view part(std::size_t begin, std::size_t end) const noexcept {
    return std::string_view(text_).substr(begin, end - begin);
  }

  std::string text_;
  std::string input_;  ///< the raw URL without what browsers drop; this and the next are members to reuse memory
  std::string host_;   ///< without escapes
  std::size_t scheme_end_ = 0;
  std::size_t host_begin_ = 0;
  std::size_t host_end_ = 0;
  std::size_t authority_end_ = 0;
  bool has_deviations_ = false;
  bool has_capital_sharp_s_ = false;
};

}  // namespace mankai::url
