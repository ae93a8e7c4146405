#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/url/browser_url.hpp"
#include "mankai/url/canonical_url.hpp"

namespace mankai::url {

/// Every URL, in canonical form, that a text stands for to some program: programs disagree about backslashes, about
/// escapes in front of the path, and about names beyond ASCII. Whoever decides whether a URL may be opened asks about
/// all of them.
///
///     mankai::url::UrlReadings readings;
///     readings.read("http://good.example%2f@bad.example/");  // "http://good.example/@bad.example/" as in Safe
///                                                            // Browsing; "http://bad.example/" as in browsers
///
/// The readings are that of `canonicalize`, that of `parse_browser_url`, and, where the name has one of the characters
/// of `Deviations`, those of older programs. A name that `canonicalize` leaves escaped is read as browsers map it, too.
///
/// Cost:    a URL that is canonical already has one reading, and costs what `canonicalize` does; others twice that, and
///          a name beyond ASCII microseconds more. Memory is kept from URL to URL.
/// Threads: const calls are safe together.
class UrlReadings {
 public:
  /// Takes another URL: any bytes, of any length.
  void read(std::string_view raw);

  /// The different readings, that of `canonicalize` first if it has one. None where the text is no URL with a host.
  [[nodiscard]] std::span<const CanonicalUrl> all() const noexcept { return std::span(forms_).first(count_); }
  /// These without the first, where that is a name which `canonicalize` leaves escaped and browsers map: no rule can
  /// name it, so it must not keep exceptions from covering the others.
  [[nodiscard]] std::span<const CanonicalUrl> nameable() const noexcept {
    return all().subspan(is_first_mapped_ ? 1 : 0);
  }
  /// Why there is none.
  [[nodiscard]] const Error& error() const noexcept { return error_; }

 private:
  static constexpr std::size_t kMost = 7;  // one, and twice a browser's three

  // Both return whether they have a form that is not the first one.
  bool add(std::string_view text);
  bool add_as_browsers_do(std::string_view raw);

  std::array<CanonicalUrl, kMost> forms_;
  std::size_t count_ = 0;
  bool is_first_mapped_ = false;
  BrowserUrl browser_;
  Error error_{};
};

}  // namespace mankai::url
