#pragma once

#include <memory>
#include <string_view>

#include "mankai/base/error.hpp"

struct psl_ctx_st;

namespace mankai::url {

/// The Public Suffix List: host suffixes ("com", "co.uk", "github.io") under which anyone can register names.
/// Threads: const calls are safe together.
/// Source:  [PublicSuffix2025], the algorithm and both parts of the list, ICANN and private.
class PublicSuffixes {
 public:
  /// The list that libpsl was built with.
  [[nodiscard]] static const PublicSuffixes& builtin();

  /// Parses public_suffix_list.dat. Errors: invalid_argument if empty; corrupt without rules or with NUL; out_of_space.
  [[nodiscard]] static Result<PublicSuffixes> from_bytes(std::string_view list);

  /// Returns the public suffix and one more label ("a.b.co.uk" gives "b.co.uk"), a view into host; empty if host is a
  /// public suffix or an address. A top-level domain that is not listed is a public suffix.
  /// Shape:   host as in CanonicalUrl::host(): lower case, punycode. Other bytes give an empty result or a suffix.
  /// Cost:    about 700 ns in libpsl; no allocation up to 255 bytes.
  [[nodiscard]] std::string_view registrable_domain(std::string_view host) const;
  /// Whether the list has host as a suffix; an unlisted top-level domain does not count here. Shape and cost as above.
  [[nodiscard]] bool has(std::string_view host) const;

 private:
  struct Free {
    void operator()(psl_ctx_st* list) const noexcept;
  };
  using Owner = std::unique_ptr<psl_ctx_st, Free>;

  explicit PublicSuffixes(Owner owner) noexcept;

  Owner owner_;  ///< null for libpsl's own list
  const psl_ctx_st* list_ = nullptr;
};

}  // namespace mankai::url
