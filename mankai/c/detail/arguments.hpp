#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/bits.hpp"
#include "mankai/c/detail/errors.hpp"
#include "mankai/c/mankai.h"

namespace mankai::c {

[[nodiscard]] inline std::string_view view_of(const mankai_key& key) noexcept {
  return {static_cast<const char*>(key.data), key.bytes};
}

/// Errors: invalid_argument, with the key's number, for a key that is NULL and has bytes.
[[nodiscard]] inline Result<void> check_keys(const mankai_key* keys, std::size_t count) {
  MANKAI_TRY(check_array(keys, count, "keys"));
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
  if (count > kMost / sizeof(mankai_key)) {
    return fail(ErrorCode::invalid_argument, std::to_string(count) + " keys are more than any array has");
  }
  const mankai_key* wrong =
      std::find_if(keys, keys + count, [](const mankai_key& key) { return key.data == nullptr && key.bytes != 0; });
  if (wrong != keys + count) {
    return fail(ErrorCode::invalid_argument, "key " + std::to_string(wrong - keys) + " is NULL and has bytes");
  }
  const mankai_key* long_one =
      std::find_if(keys, keys + count, [](const mankai_key& key) { return key.bytes > kMost; });
  if (long_one != keys + count) {
    return fail(ErrorCode::invalid_argument, "key " + std::to_string(long_one - keys) + " has " +
                                                 std::to_string(long_one->bytes) + " bytes, more than memory has");
  }
  return {};
}

/// All keys of a call as views. A few keys need no allocation.
class KeyViews {
 public:
  KeyViews(const mankai_key* keys, std::size_t count) {
    if (count > few_.size()) {
      many_.resize(count);
      views_ = many_;
    } else {
      views_ = std::span(few_).first(count);
    }
    std::transform(keys, keys + count, views_.begin(), view_of);
  }
  KeyViews(const KeyViews&) = delete;
  KeyViews& operator=(const KeyViews&) = delete;
  KeyViews(KeyViews&&) = delete;
  KeyViews& operator=(KeyViews&&) = delete;
  ~KeyViews() = default;

  [[nodiscard]] std::span<const std::string_view> views() const noexcept { return views_; }

 private:
  static constexpr std::size_t kFew = 16;
  std::array<std::string_view, kFew> few_;
  std::vector<std::string_view> many_;
  std::span<std::string_view> views_;
};

inline constexpr std::size_t kQuestionWindow = 1024;

/// Calls `use(start, views)`, which returns a Result<void>, per window; stops at the first error.
template <class Use>
Result<void> for_each_key_window(const mankai_key* keys, std::size_t count, const Use& use) {
  std::array<std::string_view, kQuestionWindow> views;
  for (std::size_t start = 0; start < count; start += kQuestionWindow) {
    const std::size_t window = std::min(kQuestionWindow, count - start);
    std::transform(keys + start, keys + start + window, views.begin(), view_of);
    MANKAI_TRY(use(start, std::span<const std::string_view>(views).first(window)));
  }
  return {};
}

[[nodiscard]] inline Result<void> check_size(std::size_t size) {
  constexpr std::size_t kMostStructBytes = 4096;  // no struct of the interface will ever be larger
  if (size < sizeof(size) || size > kMostStructBytes) {
    return fail(ErrorCode::invalid_argument, "the struct's size is not set: set it to sizeof the struct");
  }
  return {};
}

/// Reads a struct that begins with its size, from a program built with any version of the header. Fields that the
/// program lacks are 0. Errors: invalid_argument for an invalid size, and for non-zero fields that this library lacks.
template <class Struct>
Result<Struct> read_sized(const Struct* given) {
  Struct known{};
  if (given == nullptr) {
    return known;
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  const std::size_t size = given->size;
  MANKAI_TRY(check_size(size));
  if (!is_zero(std::span(bytes, size).subspan(std::min(size, sizeof(Struct))))) {
    return fail(ErrorCode::invalid_argument,
                "the options have fields that this library does not support; use a newer one");
  }
  std::copy_n(bytes, std::min(size, sizeof(Struct)), reinterpret_cast<unsigned char*>(&known));
  return known;
}

/// Writes the fields that the program's version has to a struct that begins with its size. Errors: invalid_argument for
/// NULL and for an invalid size.
template <class Struct>
Result<void> write_sized(const Struct& from, Struct* to, const char* argument) {
  MANKAI_TRY(check_given(to, argument));
  const std::size_t size = to->size;
  MANKAI_TRY(check_size(size));
  auto* bytes = reinterpret_cast<unsigned char*>(to);
  std::copy_n(reinterpret_cast<const unsigned char*>(&from), std::min(size, sizeof(Struct)), bytes);
  to->size = size;
  return {};
}

/// Throws bad_alloc.
[[nodiscard]] inline void* allocate_for_caller(std::size_t bytes) {
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

}  // namespace mankai::c
