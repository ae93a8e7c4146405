#include <zstd.h>
#include <zstd_errors.h>

#include <new>

#include "mankai/base/assert.hpp"
#include "mankai/input/detail/decoder.hpp"

namespace mankai::detail {
namespace {

// The windows of `zstd --long` and `--long=27`, and the largest that zstd(1) itself decodes by default.
constexpr int kMaxWindowLog = 27;

// The smallest header from which the decoder can tell what it needs next.
constexpr std::size_t kFrameStartBytes = 5;

// The size that the decoder asks for includes the next block's header, if one follows.
std::size_t without_next_header(std::size_t asked_bytes) {
  constexpr std::size_t kBlockHeaderBytes = 3;
  return asked_bytes > kBlockHeaderBytes ? asked_bytes - kBlockHeaderBytes : asked_bytes;
}

Error describe(std::size_t outcome) {
  switch (ZSTD_getErrorCode(outcome)) {
    case ZSTD_error_frameParameter_windowTooLarge:
      return {.code = ErrorCode::out_of_space,
              .detail =
                  "the window is larger than 128 MiB; recompress with --long=27, or pipe through "
                  "zstd -dc --long=31"};
    case ZSTD_error_memory_allocation:
      return {.code = ErrorCode::out_of_space, .detail = "no memory for the decoder's window"};
    case ZSTD_error_dictionary_wrong:
      return {.code = ErrorCode::unsupported_version,
              .detail = "compressed with a dictionary; pipe through zstd -dc -D DICTIONARY"};
    case ZSTD_error_checksum_wrong: return {.code = ErrorCode::corrupt, .detail = "the checksum does not match"};
    default: return {.code = ErrorCode::corrupt, .detail = "invalid data"};
  }
}

// Skippable frames produce nothing. On an error, ZSTD_decompressStream does not report how much it has written, which
// could lose good lines. So it gets one block or one header at a time, and nothing while it still holds output: a
// failing call has then produced nothing.
class ZstdDecoder final : public Decoder {
 public:
  ZstdDecoder() : Decoder(Compression::zstd), stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) {
      throw std::bad_alloc();
    }
    const std::size_t outcome = ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kMaxWindowLog);
    MANKAI_ASSERT(ZSTD_isError(outcome) == 0);
  }

  void begin_member() override {}  // the library begins a frame after each frame
  DecodeStep decode(std::string_view input, std::span<char> output) override;

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const noexcept { ZSTD_freeDStream(stream); }
  };
  [[nodiscard]] DecodeStep decode_block(std::string_view input, std::span<char> output);

  std::unique_ptr<ZSTD_DStream, Free> stream_;
  std::size_t wanted_bytes_ = kFrameStartBytes;
  bool may_hold_output_ = false;
};

DecodeStep ZstdDecoder::decode(std::string_view input, std::span<char> output) {
  if (may_hold_output_) {
    DecodeStep step = decode_block({}, output);
    if (step.produced > 0 || step.is_end || step.failure) {
      return step;
    }
  }
  return decode_block(input.substr(0, wanted_bytes_), output);
}

DecodeStep ZstdDecoder::decode_block(std::string_view input, std::span<char> output) {
  ZSTD_inBuffer in{.src = input.data(), .size = input.size(), .pos = 0};
  ZSTD_outBuffer out{.dst = output.data(), .size = output.size(), .pos = 0};
  if (input.empty() && !may_hold_output_) {
    return {};  // the decoder would count calls without progress and fail
  }
  const std::size_t outcome = ZSTD_decompressStream(stream_.get(), &out, &in);
  if (ZSTD_isError(outcome) != 0) {
    return {.failure = describe(outcome)};
  }
  may_hold_output_ = out.pos == out.size;
  wanted_bytes_ = outcome == 0 ? kFrameStartBytes : without_next_header(outcome);
  return {.consumed = in.pos, .produced = out.pos, .is_end = outcome == 0};
}

}  // namespace

std::unique_ptr<Decoder> make_zstd_decoder() { return std::make_unique<ZstdDecoder>(); }

}  // namespace mankai::detail
