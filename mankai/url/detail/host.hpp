#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mankai/url/canonical_url.hpp"

namespace mankai::url {

/// A host and port as they stand between "//" and the path, without the user and password before an '@'.
struct Authority {
  std::string_view host;  ///< in lower case, without leading, trailing and repeated dots; may be empty
  std::optional<std::uint16_t> port;
};

/// Splits an authority into its parts, in place: its bytes are moved and put into lower case.
///
/// Shape:   of several ports, as in "a:1:2", the first counts. What is no port (letters, more than 65535) stays a part
///          of the host.
/// Errors:  none; total.
[[nodiscard]] Authority split_authority(char* begin, char* end) noexcept;

/// Appends the canonical form of a host that `split_authority` gave: an address in its shortest form, a name in
/// punycode, or else its bytes, escaped as the rules say. Returns whether it is an address. Appends nothing when no
/// host is left.
[[nodiscard]] bool append_host(std::string_view host, UrlRules rules, std::string& text);

}  // namespace mankai::url
