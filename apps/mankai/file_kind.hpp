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
/// What a file is, as its magic says. Errors: not_found; io.
[[nodiscard]] Result<FileKind> kind_of_file(const std::string& path);

/// Returns the error of a file that was opened as a filter, or that it is another file of Mankai and which commands
/// read that.
[[nodiscard]] Error explain_not_a_filter(const std::string& path, Error error);

/// The result of opening a file as a filter; its error is explained.
template <class T>
[[nodiscard]] Result<T> opened_filter(const std::string& path, Result<T> opened) {
  if (!opened) {
    opened = std::unexpected(explain_not_a_filter(path, std::move(opened).error()));
  }
  return opened;
}

}  // namespace mankai::command
