#pragma once

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
  bool is_end = false;  ///< of the member; all of it was produced
  std::optional<Error> failure = {};
};

/// Decodes one member after the other: a gzip member, a zstd frame, an xz stream.
class Decoder {
 public:
  explicit Decoder(Compression compression) noexcept : compression_(compression) {}
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  virtual ~Decoder() = default;

  /// Called before each member, also the first.
  virtual void begin_member() = 0;
  /// Uses a prefix of the input and fills a prefix of the output. The detail of a failure that is corrupt is the cause.
  [[nodiscard]] virtual DecodeStep decode(std::string_view input, std::span<char> output) = 0;
  [[nodiscard]] Compression compression() const noexcept { return compression_; }

 private:
  Compression compression_;
};

[[nodiscard]] std::unique_ptr<Decoder> make_gzip_decoder();
[[nodiscard]] std::unique_ptr<Decoder> make_zstd_decoder();
[[nodiscard]] std::unique_ptr<Decoder> make_xz_decoder();
[[nodiscard]] std::unique_ptr<Decoder> make_decoder(Compression compression);

/// The format of an input.
struct InputFormat {
  Compression compression = Compression::plain;
  /// Of a format that is not supported: its name, and the command that unpacks it.
  std::string_view name = {};
  std::string_view unpacker = {};
};

/// The longest magic number. None contains a line end, so waiting for one delays no complete line.
inline constexpr std::size_t kMagicBytesMax = 10;

/// Returns the format of the first bytes; nothing while a longer prefix could still become a magic number.
[[nodiscard]] std::optional<InputFormat> detect_format(std::string_view prefix, bool is_whole_input) noexcept;

/// Whether this begins with the header of a tar file (POSIX ustar, GNU).
[[nodiscard]] bool is_tar(std::string_view prefix) noexcept;
/// Whether more bytes could make it one.
[[nodiscard]] bool may_be_tar(std::string_view prefix) noexcept;

}  // namespace mankai::detail
