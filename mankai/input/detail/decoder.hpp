#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "mankai/input/source.hpp"

namespace mankai::detail {

/// The result of one call of a decoder. Output is valid even with a `failure`.
struct DecodeStep {
  std::size_t consumed = 0;
  std::size_t produced = 0;
  std::optional<Error> failure = {};
};

class Decoder {
 public:
  explicit Decoder(Compression compression) noexcept : compression_(compression) {}
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  virtual ~Decoder() = default;

  /// Uses a prefix of the input and fills a prefix of the output. With `is_last` and no input left, it delivers output,
  /// fails because the data is truncated, or does nothing, which is the regular end.
  [[nodiscard]] virtual DecodeStep decode(std::string_view input, std::span<char> output, bool is_last) = 0;
  [[nodiscard]] virtual std::uint64_t ignored_bytes() const noexcept { return 0; }
  [[nodiscard]] Compression compression() const noexcept { return compression_; }

 private:
  Compression compression_;
};

[[nodiscard]] std::unique_ptr<Decoder> make_gzip_decoder();
[[nodiscard]] std::unique_ptr<Decoder> make_zstd_decoder();
[[nodiscard]] std::unique_ptr<Decoder> make_xz_decoder();
[[nodiscard]] std::unique_ptr<Decoder> make_decoder(Compression compression);

inline constexpr std::string_view kGzipMagic = "\x1f\x8b";
/// The longest magic number. None contains a line end, so waiting for one delays no complete line.
inline constexpr std::size_t kMagicBytesMax = 6;

/// Returns the format of the first bytes; nothing while a longer prefix could still become a magic number.
[[nodiscard]] std::optional<Compression> detect_compression(std::string_view prefix, bool is_whole_input) noexcept;

}  // namespace mankai::detail
