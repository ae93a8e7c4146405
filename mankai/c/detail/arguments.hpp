#pragma once

/// What C gives, as the library takes it.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/c/detail/errors.hpp"
#include "mankai/c/mankai.h"

namespace mankai::c {

/// Errors: invalid_argument for an array that is NULL and has elements.
[[nodiscard]] inline Result<void> check_array(const void* array, std::size_t count, const char* argument) {
  return array == nullptr && count != 0 ? missing(argument) : Result<void>{};
}

[[nodiscard]] inline std::string_view view_of(const mankai_key& key) noexcept {
  return {static_cast<const char*>(key.data), key.bytes};
}

/// Errors: invalid_argument for a key that is NULL and has bytes; it is named.
[[nodiscard]] Result<void> check_keys(const mankai_key* keys, std::size_t count);

/// Keys as views, all of them at once, since a change is one batch. A few need no memory.
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

/// Keys of questions go through in windows of so many.
inline constexpr std::size_t kQuestionWindow = 1024;

/// Calls `use(start, views)`, which returns a Result<void>, until one fails.
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

/// No struct of the interface will ever be larger; what claims to be was not set.
inline constexpr std::size_t kMostStructBytes = 4096;

/// Checks the size with which a struct begins. Errors: invalid_argument.
[[nodiscard]] Result<void> check_size(std::size_t size);

/// Reads a struct whose first field is its size, given by a program of any age: what that program does not know is 0.
/// Errors: invalid_argument for no size, and for fields of a newer header that are not 0.
template <class Struct>
Result<Struct> read_sized(const Struct* given) {
  Struct known{};
  if (given == nullptr) {
    return known;
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  const std::size_t size = given->size;
  MANKAI_TRY(check_size(size));
  if (std::any_of(bytes + std::min(size, sizeof(Struct)), bytes + size, [](unsigned char byte) { return byte != 0; })) {
    return fail(ErrorCode::invalid_argument,
                "the options have fields that this library does not support; use a newer one");
  }
  std::copy_n(bytes, std::min(size, sizeof(Struct)), reinterpret_cast<unsigned char*>(&known));
  return known;
}

/// Writes a struct whose first field is its size to a program of any age: as much of it as that program knows.
template <class Struct>
Result<void> write_sized(const Struct& from, Struct* to) {
  const std::size_t size = to->size;
  MANKAI_TRY(check_size(size));
  auto* bytes = reinterpret_cast<unsigned char*>(to);
  std::copy_n(reinterpret_cast<const unsigned char*>(&from), std::min(size, sizeof(Struct)), bytes);
  to->size = size;
  return {};
}

}  // namespace mankai::c
