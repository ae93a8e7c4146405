#pragma once

#include <lzma.h>

#include <span>
#include <string_view>

#include "mankai/input/detail/decode_step.hpp"

namespace mankai::detail {

/// Decodes xz streams one after the other, with padding between and after them.
class XzDecoder {
 public:
  XzDecoder();
  XzDecoder(const XzDecoder&) = delete;
  XzDecoder& operator=(const XzDecoder&) = delete;
  ~XzDecoder();

  [[nodiscard]] DecodeStep decode(std::string_view input, std::span<char> output, bool is_last);

 private:
  [[nodiscard]] Error describe(lzma_ret outcome) const;

  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool is_ended_ = false;
};

}  // namespace mankai::detail
