#pragma once

#include <cstddef>
#include <optional>

#include "mankai/base/error.hpp"

namespace mankai::detail {

/// What one call of a decoder did. `failure` may come together with output, which is then still good.
///
/// Every decoder has `DecodeStep decode(std::string_view input, std::span<char> output, bool is_last)`:
/// it uses a prefix of the input, fills a prefix of the output, and with `is_last` and no input left either
/// delivers output, or fails because the data is cut off, or does nothing, which is the proper end.
struct DecodeStep {
  std::size_t consumed = 0;
  std::size_t produced = 0;
  std::optional<Error> failure;
};

}  // namespace mankai::detail
