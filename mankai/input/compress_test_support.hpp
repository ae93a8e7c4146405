#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "mankai/input/source.hpp"

namespace mankai::test {

/// Packs text with the format's own library; plain returns it unchanged.
[[nodiscard]] std::string pack(Compression compression, std::string_view text);
[[nodiscard]] std::string pack_gzip(std::string_view text);
/// Packs without the final block, as a program does that flushes and goes on.
[[nodiscard]] std::string pack_gzip_unfinished(std::string_view text);
[[nodiscard]] std::string pack_zstd(std::string_view text, int window_log = 0);
[[nodiscard]] std::string pack_xz(std::string_view text, unsigned dictionary_bytes = 1U << 20);

/// Everything a source delivers, and the error it ends with, if any.
struct Delivered {
  std::string text;
  std::optional<Error> error;
};
[[nodiscard]] Delivered read_all(Source& source, std::size_t chunk_bytes);
[[nodiscard]] Delivered read_all(std::string_view bytes, std::size_t chunk_bytes);

/// Writes parts one after the other.
[[nodiscard]] std::string join(std::initializer_list<std::string_view> parts);

/// Text that packs badly, so that it spans many blocks.
[[nodiscard]] std::string random_lines(std::size_t bytes, std::uint64_t seed);

}  // namespace mankai::test
