#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"

namespace mankai::command::serve {

/// Whether a query may contain other parameters.
enum class OtherParameters : std::uint8_t {
  refused,
  ignored,
};

/// Returns the value of the only parameter `name` of a request's target such as "/check?url=http%3A%2F%2Fa%2F".
///
/// Shape:   a form's encoding: %XX is a byte, '+' a blank; a '%' without two digits after it is literal. The value
///          ends at '&' or '#', so that what is in it has to be encoded.
/// Errors:  invalid_argument if the parameter is missing, empty or repeated, or if there is another one and others are
///          refused: checking one of two URLs, or a part of one, would be worse than an error.
/// Threads: pure.
[[nodiscard]] Result<std::string> query_value(std::string_view target, std::string_view name, OtherParameters others);

/// Returns the Location for a link to `url`, all readings of which passed the guard, or why there is none.
///
/// Shape:   the URL as browsers split it (`url::parse_browser_url`): "http://" or "https://", host and port, and the
///          rest with every byte that could end a header percent-encoded. It has no reading that `url` lacks.
/// Errors:  invalid_argument, with a sentence for the person: another scheme, no scheme, no host; blanks or control
///          characters; a user name or a backslash before the path, which hide from people where a link leads; what
///          no browser opens.
/// Threads: pure.
[[nodiscard]] Result<std::string> redirect_location(std::string_view url);

}  // namespace mankai::command::serve
