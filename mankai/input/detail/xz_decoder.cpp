#include <lzma.h>

#include <cstdint>
#include <new>
#include <string>

#include "mankai/input/detail/decoder.hpp"

namespace mankai::detail {
namespace {

// `xz -9` needs 65 MiB to decode; four times that leaves room for larger custom dictionaries.
constexpr std::uint64_t kMemoryLimitBytes = std::uint64_t{256} << 20;

// Decodes consecutive xz streams, with padding between and after them.
class XzDecoder final : public Decoder {
 public:
  XzDecoder() : Decoder(Compression::xz) {
    if (lzma_stream_decoder(&stream_, kMemoryLimitBytes, LZMA_CONCATENATED) != LZMA_OK) {
      throw std::bad_alloc();
    }
  }
  ~XzDecoder() override { lzma_end(&stream_); }

  DecodeStep decode(std::string_view input, std::span<char> output, bool is_last) override;

 private:
  [[nodiscard]] Error describe(lzma_ret outcome) const;

  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool is_ended_ = false;
};

DecodeStep XzDecoder::decode(std::string_view input, std::span<char> output, bool is_last) {
  if (is_ended_) {
    return {};
  }
  stream_.next_in = reinterpret_cast<const std::uint8_t*>(input.data());
  stream_.avail_in = input.size();
  stream_.next_out = reinterpret_cast<std::uint8_t*>(output.data());
  stream_.avail_out = output.size();
  const lzma_ret outcome = lzma_code(&stream_, is_last ? LZMA_FINISH : LZMA_RUN);
  DecodeStep step{.consumed = input.size() - stream_.avail_in, .produced = output.size() - stream_.avail_out};
  is_ended_ = outcome == LZMA_STREAM_END;
  const bool is_cut_off = is_last && input.empty() && step.produced == 0 && !is_ended_;
  if (is_cut_off && (outcome == LZMA_OK || outcome == LZMA_BUF_ERROR)) {
    step.failure = Error{.code = ErrorCode::corrupt, .detail = "the data is truncated inside an xz stream"};
  } else if (outcome != LZMA_OK && outcome != LZMA_STREAM_END && outcome != LZMA_BUF_ERROR) {
    step.failure = describe(outcome);
  }
  return step;
}

Error XzDecoder::describe(lzma_ret outcome) const {
  switch (outcome) {
    case LZMA_MEMLIMIT_ERROR:
      return {.code = ErrorCode::out_of_space,
              .detail = "decoding needs " + std::to_string(lzma_memusage(&stream_) >> 20) +
                        " MiB and the limit is 256 MiB; pipe through xz -dc"};
    case LZMA_MEM_ERROR: return {.code = ErrorCode::out_of_space, .detail = "no memory for the decoder"};
    case LZMA_FORMAT_ERROR: return {.code = ErrorCode::corrupt, .detail = "not the xz format"};
    case LZMA_OPTIONS_ERROR:
      return {.code = ErrorCode::corrupt, .detail = "filters or options that this liblzma does not know"};
    default: return {.code = ErrorCode::corrupt, .detail = "invalid data, or a checksum that does not match"};
  }
}

}  // namespace

std::unique_ptr<Decoder> make_xz_decoder() { return std::make_unique<XzDecoder>(); }

}  // namespace mankai::detail
