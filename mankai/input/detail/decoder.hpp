#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "mankai/input/detail/gzip_decoder.hpp"
#include "mankai/input/detail/xz_decoder.hpp"
#include "mankai/input/detail/zstd_decoder.hpp"
#include "mankai/input/source.hpp"

namespace mankai::detail {

/// No magic number is longer, and none contains a line end: waiting for it holds back no complete line.
inline constexpr std::size_t kMagicBytesMax = 6;

/// Tells the format from the first bytes; nothing while a longer prefix could still become a magic number.
[[nodiscard]] std::optional<Compression> detect_compression(std::string_view prefix, bool is_whole_input) noexcept;

/// One decoder of the detected format. It stays where it is built: zlib's state points back at its stream.
class Decoder {
 public:
  /// Pre: `compression` is not plain.
  [[nodiscard]] static std::unique_ptr<Decoder> create(Compression compression);

  [[nodiscard]] DecodeStep decode(std::string_view input, std::span<char> output, bool is_last);
  [[nodiscard]] Compression compression() const noexcept;
  [[nodiscard]] std::uint64_t ignored_bytes() const noexcept;

 private:
  std::variant<std::monostate, GzipDecoder, ZstdDecoder, XzDecoder> decoder_;
};

}  // namespace mankai::detail
