#include "mankai/base/error.hpp"

#include <system_error>

namespace mankai {

std::string_view name(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::io: return "io";
    case ErrorCode::corrupt: return "corrupt";
    case ErrorCode::unsupported_version: return "unsupported_version";
    case ErrorCode::out_of_space: return "out_of_space";
    case ErrorCode::locked: return "locked";
  }
  return "unknown";
}

std::string Error::message() const {
  if (os_error == 0) {
    return detail;
  }
  return detail + ": " + std::generic_category().message(os_error);
}

Error Error::within(std::string_view where) const {
  Error placed = *this;
  const std::string prefix = std::string(where) + ": ";
  if (!detail.starts_with(prefix)) {
    placed.detail.insert(0, prefix);
  }
  return placed;
}

}  // namespace mankai
