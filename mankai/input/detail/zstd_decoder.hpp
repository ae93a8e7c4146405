#pragma once

#include <zstd.h>

#include <memory>
#include <span>
#include <string_view>

#include "mankai/input/detail/decode_step.hpp"

namespace mankai::detail {

/// Decodes zstd frames one after the other; skippable frames produce nothing.
///
/// ZSTD_decompressStream forgets how much it has written when it meets an error, which would lose up to a whole
/// output buffer of good lines. So it is fed one block or one header at a time, and nothing while it still holds
/// output: then a call that fails has produced nothing.
class ZstdDecoder {
 public:
  ZstdDecoder();

  [[nodiscard]] DecodeStep decode(std::string_view input, std::span<char> output, bool is_last);

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const noexcept { ZSTD_freeDStream(stream); }
  };
  [[nodiscard]] DecodeStep decode_block(std::string_view input, std::span<char> output);

  std::unique_ptr<ZSTD_DStream, Free> stream_;
  std::size_t wanted_bytes_;
  bool may_hold_output_ = false;
  bool is_between_frames_ = true;
};

}  // namespace mankai::detail
