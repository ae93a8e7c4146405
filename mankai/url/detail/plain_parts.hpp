#pragma once

#include <cstddef>
#include <string_view>

namespace mankai::url {

/// Where the parts of a plain URL (`copy_plain`) begin and end.
struct PlainParts {
  std::size_t host_begin;      ///< 0 if there is no scheme
  std::size_t last_two_begin;  ///< of the host's labels; the host's beginning if it has one label
  std::size_t last_begin;      ///< of the host's labels
  std::size_t host_end;
  std::size_t path_end;
};

/// Returns false if the URL is not plain, or if its host ends after 64 bytes: then parts are undefined.
/// Cost: 5 ns for 60 bytes.
[[nodiscard]] bool find_plain_parts(std::string_view raw, PlainParts& parts) noexcept;

}  // namespace mankai::url
