#pragma once

#include <zlib.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "mankai/input/detail/decode_step.hpp"

namespace mankai::detail {

inline constexpr std::string_view kGzipMagic = "\x1f\x8b";

/// Decodes gzip members one after the other; see Source for what may stand between and after them.
class GzipDecoder {
 public:
  GzipDecoder();
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;
  ~GzipDecoder();

  [[nodiscard]] DecodeStep decode(std::string_view input, std::span<char> output, bool is_last);
  [[nodiscard]] std::uint64_t ignored_bytes() const noexcept { return ignored_bytes_; }

 private:
  enum class State : std::uint8_t { member, after_member, padding, garbage };

  [[nodiscard]] DecodeStep inflate_member(std::string_view input, std::span<char> output, bool is_last);
  [[nodiscard]] DecodeStep look_for_member(std::string_view input, std::span<char> output, bool is_last);
  void start_member(std::span<char> output);

  z_stream stream_{};
  State state_ = State::member;
  std::size_t magic_matched_ = 0;
  std::uint64_t ignored_bytes_ = 0;
};

}  // namespace mankai::detail
