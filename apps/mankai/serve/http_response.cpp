#include "apps/mankai/serve/http_response.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "apps/mankai/report.hpp"

namespace mankai::command::serve {
namespace {

std::string_view reason_of(int status) noexcept {
  using Reason = std::pair<int, std::string_view>;
  constexpr std::array kReasons = {Reason{200, "OK"},
                                   Reason{302, "Found"},
                                   Reason{400, "Bad Request"},
                                   Reason{403, "Forbidden"},
                                   Reason{404, "Not Found"},
                                   Reason{405, "Method Not Allowed"},
                                   Reason{411, "Length Required"},
                                   Reason{413, "Payload Too Large"},
                                   Reason{414, "URI Too Long"},
                                   Reason{415, "Unsupported Media Type"},
                                   Reason{431, "Request Header Fields Too Large"},
                                   Reason{500, "Internal Server Error"},
                                   Reason{501, "Not Implemented"},
                                   Reason{505, "HTTP Version Not Supported"}};
  const auto found = std::ranges::find(kReasons, status, &Reason::first);
  return found == kReasons.end() ? "Unknown" : found->second;
}

}  // namespace

HttpResponse error_response(int status, const std::string& why) {
  Report report;
  report.add("error", why);
  return {.status = status, .content_type = kJson, .body = report.json(), .headers = {}};
}

std::string to_bytes(const HttpResponse& response, bool has_body, bool closes) {
  std::string bytes = fmt::format(
      "HTTP/1.1 {} {}\r\nCache-Control: no-store\r\nContent-Length: {}\r\nReferrer-Policy: no-referrer\r\n"
      "X-Content-Type-Options: nosniff\r\n",
      response.status, reason_of(response.status), response.body.size());
  if (!response.content_type.empty()) {
    fmt::format_to(std::back_inserter(bytes), "Content-Type: {}\r\n", response.content_type);
  }
  for (const auto& [name, value] : response.headers) {
    fmt::format_to(std::back_inserter(bytes), "{}: {}\r\n", name, value);
  }
  bytes += closes ? "Connection: close\r\n\r\n" : "\r\n";
  return has_body ? bytes + response.body : bytes;
}

}  // namespace mankai::command::serve
