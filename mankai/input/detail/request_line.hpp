#pragma once

#include <string_view>

#include "mankai/input/log_record.hpp"

namespace mankai::detail {

/// Takes "METHOD target HTTP/x" apart into `out.method` and `out.target`, and into `out.host` if the target is an
/// absolute URL and no host is known. "GET target", as HTTP/0.9 has it, is a request too. A target may contain blanks,
/// since some servers log what they got. Anything else is no request and leaves both empty.
void split_request(std::string_view request, LogRecord& out) noexcept;

/// Sets the host to that of an absolute target, or of CONNECT's host:port, unless one is known.
void take_host_of_target(LogRecord& record) noexcept;

/// Returns a host without the port behind it: "example.org:80", "[::1]:80".
[[nodiscard]] std::string_view without_port(std::string_view host) noexcept;

}  // namespace mankai::detail
