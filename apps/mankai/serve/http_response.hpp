#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mankai::command::serve {

inline constexpr std::string_view kJson = "application/json";

struct HttpResponse {
  int status = 200;
  std::string_view content_type;  ///< empty where there is no body
  std::string body;
  std::vector<std::pair<std::string_view, std::string>> headers;  ///< beside those that every response has
};

/// The response to a request that is refused: {"error": "…"}.
[[nodiscard]] HttpResponse error_response(int status, const std::string& why);

/// What is sent: the status line, the headers, and the body unless the request was HEAD.
[[nodiscard]] std::string to_bytes(const HttpResponse& response, bool has_body, bool closes);

}  // namespace mankai::command::serve
