#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace mankai::detail {

/// A string or a number in a JSON object.
struct JsonValue {
  const std::string& path;  ///< names of the enclosing members, joined by "."
  std::string_view text;    ///< valid during the call
  bool is_string;
  std::size_t depth;  ///< number of enclosing objects and arrays
};

/// Calls `take` for each string and number of a JSON object, in order. Returns false if the text is not a JSON object
/// or is nested more than 32 deep; `take` may have been called before.
[[nodiscard]] bool for_each_json_value(std::string_view json, const std::function<void(const JsonValue&)>& take);

}  // namespace mankai::detail
