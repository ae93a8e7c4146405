#pragma once

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

}  // namespace mankai::url
