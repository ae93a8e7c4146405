#pragma once

/// Options and requests of the C interface as the library's own.

#include <array>
#include <cstdint>
#include <optional>

#include "mankai/base/time.hpp"
#include "mankai/c/mankai.h"
#include "mankai/file/new_file.hpp"
#include "mankai/hash/hasher.hpp"
#include "mankai/seen/seen.hpp"
#include "mankai/store/store.hpp"

namespace mankai::c {

struct FileRequest {
  StoreOptions options;
  Existing existing = Existing::refuse;
};

/// Errors: invalid_argument.
[[nodiscard]] Result<FileRequest> request_of(const mankai_file_options* given);
/// As request_of, for a file that is created only if it is missing.
[[nodiscard]] Result<StoreOptions> options_to_open(const mankai_file_options* given);
/// Reads who changes a file, and sets the field to its default, since only memories can be shared. Errors:
/// invalid_argument.
[[nodiscard]] Result<Sharing> take_sharing(mankai_file_options& options);

/// Errors: invalid_argument above 1000 years.
[[nodiscard]] Result<Duration> duration_of(std::uint64_t microseconds, const char* what);

/// 0 means nothing.
[[nodiscard]] Result<std::optional<Duration>> duration_if_set(std::uint64_t microseconds, const char* what);
template <class T>
[[nodiscard]] std::optional<T> if_set(T value) {
  return value == T() ? std::nullopt : std::optional(value);
}

/// NULL means nothing. Errors: as parse_hash and parse_seed.
[[nodiscard]] Result<std::optional<HashKind>> hash_of_name(const char* name);
[[nodiscard]] Result<std::optional<std::array<std::uint64_t, 2>>> seed_of_text(const char* text);
/// Of MANKAI_ANY, MANKAI_YES and MANKAI_NO. Errors: invalid_argument.
[[nodiscard]] Result<std::optional<bool>> choice_of(std::uint32_t choice, const char* field);

[[nodiscard]] inline Time time_of_us(std::int64_t time_us) noexcept { return Time(Duration(time_us)); }
[[nodiscard]] inline std::int64_t us_of(Time time) noexcept { return time.time_since_epoch().count(); }

}  // namespace mankai::c
