#pragma once

#include <memory>
#include <string_view>

#include "mankai/base/error.hpp"

struct psl_ctx_st;

namespace mankai::url {

/// The Public Suffix List: which suffixes of hosts ("com", "co.uk", "github.io") anybody can register below.
///
/// Threads: const calls are safe together.
/// Source:  [PublicSuffix2025], the algorithm and both parts of the list, ICANN and private.
class PublicSuffixes {
 public:
  /// The list that came with libpsl.
  [[nodiscard]] static const PublicSuffixes& builtin();

  /// Reads a list as the file public_suffix_list.dat has it; the caller has read the file.
  /// Errors: invalid_argument for no bytes at all; corrupt for bytes without a rule, or with a NUL; out_of_space.
  [[nodiscard]] static Result<PublicSuffixes> from_bytes(std::string_view list);

  /// Returns the public suffix and one label more ("a.b.co.uk" gives "b.co.uk"), a view into host; empty where host is
  /// itself a public suffix or an address. A top level that is not listed is one suffix.
  ///
  /// Shape:   host as in CanonicalUrl::host(): lower case, punycode.
  /// Cost:    about 700 ns, all of it libpsl's; no allocation up to 255 bytes.
  /// Errors:  none; total: any other bytes give an empty answer or a suffix of theirs.
  [[nodiscard]] std::string_view registrable_domain(std::string_view host) const;
  /// Whether host is a suffix that the list has: a top level that it does not name is none here.
  ///
  /// Shape, cost, errors: as registrable_domain.
  [[nodiscard]] bool has(std::string_view host) const;

 private:
  struct Free {
    void operator()(psl_ctx_st* list) const noexcept;
  };
  using Owner = std::unique_ptr<psl_ctx_st, Free>;

  explicit PublicSuffixes(Owner owner) noexcept;

  Owner owner_;  ///< null for the list that libpsl owns itself
  const psl_ctx_st* list_ = nullptr;
};

}  // namespace mankai::url
