#include <lzma.h>

#include <cstdint>
#include <new>
#include <string>

#include "mankai/input/detail/decoder.hpp"

namespace mankai::detail {
namespace {

// `xz -9` needs 65 MiB to decode; four times that leaves room for larger custom dictionaries.
constexpr std::uint64_t kMemoryLimitBytes = std::uint64_t{256} << 20;

class XzDecoder final : public Decoder {
 public:
  XzDecoder() : Decoder(Compression::xz) {}
  ~XzDecoder() override { lzma_end(&stream_); }

  void begin_member() override {
    if (lzma_stream_decoder(&stream_, kMemoryLimitBytes, 0) != LZMA_OK) {
      throw std::bad_alloc();
    }
  }
  DecodeStep decode(std::string_view input, std::span<char> output) override;

 private:
  [[nodiscard]] Error describe(lzma_ret outcome) const;

  lzma_stream stream_ = LZMA_STREAM_INIT;
};

DecodeStep XzDecoder::decode(std::string_view input, std::span<char> output) {
  stream_.next_in = reinterpret_cast<const std::uint8_t*>(input.data());
  stream_.avail_in = input.size();
  stream_.next_out = reinterpret_cast<std::uint8_t*>(output.data());
  stream_.avail_out = output.size();
  const lzma_ret outcome = lzma_code(&stream_, LZMA_RUN);
  DecodeStep step{.consumed = input.size() - stream_.avail_in,
                  .produced = output.size() - stream_.avail_out,
                  .is_end = outcome == LZMA_STREAM_END};
  if (outcome != LZMA_OK && outcome != LZMA_STREAM_END && outcome != LZMA_BUF_ERROR) {
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
    case LZMA_OPTIONS_ERROR:
      return {
          .code = ErrorCode::unsupported_version,
          .detail =
              "compressed with options that liblzma does not support; decompress it with the program that wrote it"};
    default: return {.code = ErrorCode::corrupt, .detail = "invalid data, or a checksum that does not match"};
  }
}

}  // namespace

std::unique_ptr<Decoder> make_xz_decoder() { return std::make_unique<XzDecoder>(); }

}  // namespace mankai::detail
