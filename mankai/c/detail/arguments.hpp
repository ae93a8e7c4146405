#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "mankai/base/bits.hpp"
#include "mankai/base/time.hpp"
#include "mankai/c/detail/errors.hpp"
#include "mankai/c/mankai.h"

namespace mankai::c {

inline constexpr auto kMostBytes = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());

/// The error of a key that key_of refuses.
[[nodiscard, gnu::cold]] std::unexpected<Error> refused_key(const mankai_key& key, std::size_t index);

[[nodiscard]] inline bool is_key(const void* data, std::size_t bytes) noexcept {
  return (data != nullptr || bytes == 0) && bytes <= kMostBytes;
}

/// Errors: invalid_argument for a key that is NULL and has bytes, or more bytes than memory has.
[[nodiscard]] inline Result<std::string_view> key_of(const void* data, std::size_t bytes) {
  if (!is_key(data, bytes)) [[unlikely]] {
    return refused_key({data, bytes}, 0);
  }
  return std::string_view(static_cast<const char*>(data), bytes);
}

/// The keys of a call, which were checked.
class CheckedKeys {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return packed_.count; }
  /// Writes the keys from `begin` on to views, and leaves out skipped ones. Returns the number of views.
  std::size_t read(std::size_t begin, std::size_t count, std::string_view* views) const noexcept;
  /// Moves elements that are in the order of `read` to the places of their keys. Those of skipped keys become `absent`.
  template <class T>
  void spread(std::size_t begin, std::size_t count, std::size_t filled, T* elements, T absent) const noexcept {
    for (std::size_t i = count; filled < i;) {
      --i;
      elements[i] = is_skipped(begin + i) ? absent : elements[--filled];
    }
  }
  /// The times and ids of the keys that `read` writes. Shape: an element per key.
  [[nodiscard]] std::vector<Time> times(const std::int64_t* times_us) const {
    return kept<Time>(times_us, [](std::int64_t time_us) { return Time(Duration(time_us)); });
  }
  [[nodiscard]] std::vector<std::uint64_t> ids(const std::uint64_t* ids) const {
    return kept<std::uint64_t>(ids, [](std::uint64_t id) { return id; });
  }

 private:
  friend class KeySource;

  CheckedKeys(const mankai_key* keys, std::size_t count) noexcept : keys_(keys) { packed_.count = count; }
  explicit CheckedKeys(const mankai_packed& packed) noexcept : packed_(packed) {}

  template <class Made, class Element, class Convert>
  [[nodiscard]] std::vector<Made> kept(const Element* elements, const Convert& convert) const {
    std::vector<Made> kept;
    kept.reserve(size());
    for (std::size_t i = 0; i < size(); ++i) {
      if (!is_skipped(i)) {
        kept.push_back(convert(elements[i]));
      }
    }
    return kept;
  }
  [[nodiscard]] bool is_skipped(std::size_t index) const noexcept {
    constexpr std::size_t kBits = 8;
    const std::size_t bit = packed_.first + index;
    return packed_.validity != nullptr && (packed_.validity[bit / kBits] >> (bit % kBits) & 1U) == 0;
  }

  const mankai_key* keys_ = nullptr;
  mankai_packed packed_{};  // of an array, only the count
};

/// The keys of a call as the caller passes them: an array of mankai_key, or a mankai_packed.
class KeySource {
 public:
  KeySource(const mankai_key* keys, std::size_t count) noexcept : keys_(keys), count_(count) {}
  explicit KeySource(const mankai_packed* packed) noexcept : packed_(packed), is_packed_(true) {}

  /// Cost: a pass over the keys or offsets. Errors: invalid_argument for NULL, and for a key that is not in memory or
  /// in the data.
  [[nodiscard]] Result<CheckedKeys> checked() const;

 private:
  const mankai_key* keys_ = nullptr;
  std::size_t count_ = 0;
  const mankai_packed* packed_ = nullptr;
  bool is_packed_ = false;
};

/// All keys of a call as views. A few keys need no allocation.
class KeyViews {
 public:
  explicit KeyViews(const CheckedKeys& keys) {
    if (keys.size() > few_.size()) {
      many_.resize(keys.size());
    }
    std::string_view* views = many_.empty() ? few_.data() : many_.data();
    views_ = {views, keys.read(0, keys.size(), views)};
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
  std::span<const std::string_view> views_;
};

/// Uses all keys at once: `use(views, outcomes)` returns a Result<void>. Shape: outcomes has an element per key.
template <class T, class Use>
[[nodiscard]] Result<void> use_at_once(const CheckedKeys& keys, T* outcomes, const char* argument, T absent,
                                       const Use& use) {
  MANKAI_TRY(check_array(outcomes, keys.size(), argument));
  const KeyViews views(keys);
  MANKAI_TRY(use(views.views(), std::span(outcomes, views.views().size())));
  keys.spread(0, keys.size(), views.views().size(), outcomes, absent);
  return {};
}

inline constexpr std::size_t kQuestionWindow = 1024;

/// Room on the stack for a window's elements, which are initialized as far as they are needed.
template <class T>
class Window {
 public:
  [[nodiscard]] T* first(std::size_t count) noexcept {
    auto* elements = reinterpret_cast<T*>(bytes_.data());
    std::uninitialized_value_construct_n(elements, count);
    return elements;
  }

 private:
  static_assert(std::is_trivially_destructible_v<T>);
  alignas(T) std::array<std::byte, kQuestionWindow * sizeof(T)> bytes_;
};

/// As use_at_once, window by window; stops at the first error.
template <class T, class Use>
[[nodiscard]] Result<void> use_in_windows(const KeySource& source, T* outcomes, const char* argument, T absent,
                                          const Use& use) {
  MANKAI_ASSIGN(const auto keys, source.checked());
  MANKAI_TRY(check_array(outcomes, keys.size(), argument));
  Window<std::string_view> window;
  for (std::size_t begin = 0; begin < keys.size(); begin += kQuestionWindow) {
    const std::size_t count = std::min(kQuestionWindow, keys.size() - begin);
    std::string_view* views = window.first(count);
    const std::size_t filled = keys.read(begin, count, views);
    MANKAI_TRY(use(std::span<const std::string_view>(views, filled), std::span(outcomes + begin, filled)));
    keys.spread(begin, count, filled, outcomes + begin, absent);
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
/// program lacks are 0. Errors: invalid_argument for an invalid size, and for non-zero fields that this library lacks,
/// also in the place of `reserved`.
template <class Struct>
Result<Struct> read_sized(const Struct* given) {
  Struct known{};
  if (given == nullptr) {
    return known;
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  const std::size_t size = given->size;
  MANKAI_TRY(check_size(size));
  std::copy_n(bytes, std::min(size, sizeof(Struct)), reinterpret_cast<unsigned char*>(&known));
  bool knows_all = is_zero(std::span(bytes, size).subspan(std::min(size, sizeof(Struct))));
  if constexpr (requires { known.reserved; }) {
    knows_all = knows_all && known.reserved == 0;
  }
  if (!knows_all) {
    return fail(ErrorCode::invalid_argument,
                "the options have fields that this library does not support; use a newer one");
  }
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

[[nodiscard]] inline void* bytes_for_caller(std::span<const std::byte> bytes) {
  void* copy = allocate_for_caller(bytes.size());
  std::ranges::copy(bytes, static_cast<std::byte*>(copy));
  return copy;
}

/// Copies a text to new memory, with a zero at its end.
[[nodiscard]] inline char* text_for_caller(std::string_view text) {
  auto* copy = static_cast<char*>(allocate_for_caller(text.size() + 1));
  *std::ranges::copy(text, copy).out = '\0';
  return copy;
}

/// Writes a text whose length the caller does not know, as far as there is room for all of it.
inline void write_text(std::string_view text, char* to, std::size_t room) noexcept {
  if (text.size() <= room) {
    std::ranges::copy(text, to);
  }
}

/// Copies texts to new memory. Shape: text i ends at ends[i] of data.
[[nodiscard]] mankai_texts* texts_for_caller(std::string_view data, std::span<const std::size_t> ends);
/// Shape: texts is a range of texts.
template <class Texts>
[[nodiscard]] mankai_texts* texts_for_caller(const Texts& texts) {
  std::string data;
  std::vector<std::size_t> ends;
  for (const std::string_view text : texts) {
    data += text;
    ends.push_back(data.size());
  }
  return texts_for_caller(data, ends);
}

}  // namespace mankai::c
