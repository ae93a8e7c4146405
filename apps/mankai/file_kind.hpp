#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"

namespace mankai::command {

/// The files that Mankai writes: docs/formats has a page for each.
enum class FileKind : std::uint8_t {
  filter,  ///< an image or a store; and whatever is none of the others
  journal,
  guard,
  digest_log,
  digest_run,
  gate_counts,
  gate_source,  ///< also the list of what is left in databases, unless it is empty
};

/// For programs.
[[nodiscard]] std::string_view name(FileKind kind) noexcept;
/// For people, with its article.
[[nodiscard]] std::string_view description_of(FileKind kind) noexcept;
/// The command that describes one.
[[nodiscard]] std::string_view describer_of(FileKind kind) noexcept;

/// What a file is, as its magic says. Errors: not_found; io.
[[nodiscard]] Result<FileKind> kind_of_file(const std::string& path);

}  // namespace mankai::command
