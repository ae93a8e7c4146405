#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/url/browser_url.hpp"
#include "mankai/url/canonical_url.hpp"

namespace mankai::url {

/// All canonical forms of the URLs that different programs read in one text. Programs disagree about backslashes, about
/// escapes before the path, and about names beyond ASCII. To decide whether a URL may be opened, check all readings.
///
///     mankai::url::UrlReadings readings;
///     readings.read("http://good.example%2f@bad.example/");  // "http://good.example/@bad.example/" as in Safe
///                                                            // Browsing; "http://bad.example/" as in browsers
///
/// The readings are those of `canonicalize`, of `parse_browser_url`, and of older programs for a character of
/// `Deviations`. A name that `canonicalize` leaves escaped is also mapped as browsers do.
///
/// Cost:    a canonical URL has one reading and costs as `canonicalize`; others cost twice that, and microseconds more
///          for a name beyond ASCII. Memory is reused.
/// Threads: const calls are safe together.
class UrlReadings {
 public:
  /// Reads any bytes of any length.
  void read(std::string_view raw);

  /// The distinct readings, that of `canonicalize` first if it has one; empty if the text is not a URL with a host.
  [[nodiscard]] std::span<const CanonicalUrl> all() const noexcept { return std::span(forms_).first(count_); }
  /// The readings that a rule can name: omits the first if `canonicalize` leaves its name escaped and browsers map it.
  [[nodiscard]] std::span<const CanonicalUrl> nameable() const noexcept {
    return all().subspan(is_first_mapped_ ? 1 : 0);
  }
  [[nodiscard]] const Error& error() const noexcept { return error_; }

 private:
  static constexpr std::size_t kMost = 7;  // one, and two forms of each of a browser's three

  // Both return whether they added a form that differs from the first one.
  bool add(std::string_view text);
  bool add_as_browsers_do(std::string_view raw);

  std::array<CanonicalUrl, kMost> forms_;
  std::size_t count_ = 0;
  bool is_first_mapped_ = false;
  BrowserUrl browser_;
  Error error_{};
};

}  // namespace mankai::url
