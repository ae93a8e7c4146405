#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"

namespace mankai::command {

/// The kinds of files that Mankai writes; docs/formats has a page for each.
enum class FileKind : std::uint8_t {
  filter,  ///< an image or a store; also any file of no other kind
  journal,
  guard,
  digest_log,
  digest_run,
  gate_counts,
  gate_source,  ///< also the list of leftovers in databases, unless it is empty
};

[[nodiscard]] std::string_view name(FileKind kind) noexcept;
/// Returns words with an article, for messages.
[[nodiscard]] std::string_view description_of(FileKind kind) noexcept;
/// Detects the kind by the magic bytes. Errors: not_found; io.
[[nodiscard]] Result<FileKind> kind_of_file(const std::string& path);

/// Replaces the error of opening another kind of file as a filter: the new one says which commands read that kind.
[[nodiscard]] Error explain_not_a_filter(const std::string& path, Error error);

template <class T>
[[nodiscard]] Result<T> opened_filter(const std::string& path, Result<T> opened) {
  if (!opened) {
    opened = std::unexpected(explain_not_a_filter(path, std::move(opened).error()));
  }
  return opened;
}

}  // namespace mankai::command
