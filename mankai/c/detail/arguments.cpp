#include "mankai/c/detail/arguments.hpp"

#include <limits>

namespace mankai::c {

Result<void> check_keys(const mankai_key* keys, std::size_t count) {
  MANKAI_TRY(check_array(keys, count, "keys"));
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
  if (count > kMost / sizeof(mankai_key)) {
    return fail(ErrorCode::invalid_argument, std::to_string(count) + " keys exceed the size of any array");
  }
  const mankai_key* wrong =
      std::find_if(keys, keys + count, [](const mankai_key& key) { return key.data == nullptr && key.bytes != 0; });
  if (wrong != keys + count) {
    return fail(ErrorCode::invalid_argument, "key " + std::to_string(wrong - keys) + " is NULL, with a length above 0");
  }
  const mankai_key* long_one =
      std::find_if(keys, keys + count, [](const mankai_key& key) { return key.bytes > kMost; });
  if (long_one != keys + count) {
    return fail(ErrorCode::invalid_argument, "key " + std::to_string(long_one - keys) + " has " +
                                                 std::to_string(long_one->bytes) + " bytes, more than memory has");
  }
  return {};
}

Result<void> check_size(std::size_t size) {
  if (size < sizeof(size) || size > kMostStructBytes) {
    return fail(ErrorCode::invalid_argument, "the struct's size is not set: set it to sizeof the struct");
  }
  return {};
}

}  // namespace mankai::c
