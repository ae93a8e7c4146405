#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/input/detail/decoder.hpp"

namespace mankai::detail {
namespace {

// zlib: a window of 2^15, plus 16 for "a gzip header and trailer, nothing else".
constexpr int kGzipWindowBits = 15 + 16;

uInt clamp_length(std::size_t length) {
  return static_cast<uInt>(std::min<std::size_t>(length, std::numeric_limits<uInt>::max()));
}

// zlib's interface lacks const.
Bytef* as_input(std::string_view input) { return reinterpret_cast<Bytef*>(const_cast<char*>(input.data())); }

// Decodes consecutive gzip members; Source documents what may be between and after them.
class GzipDecoder final : public Decoder {
 public:
  GzipDecoder() : Decoder(Compression::gzip) {
    if (inflateInit2(&stream_, kGzipWindowBits) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~GzipDecoder() override { inflateEnd(&stream_); }

  DecodeStep decode(std::string_view input, std::span<char> output, bool is_last) override {
    return state_ == State::member ? inflate_member(input, output, is_last) : look_for_member(input, output, is_last);
  }
  [[nodiscard]] std::uint64_t ignored_bytes() const noexcept override { return ignored_bytes_; }

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

DecodeStep GzipDecoder::inflate_member(std::string_view input, std::span<char> output, bool is_last) {
  stream_.next_in = as_input(input);
  stream_.avail_in = clamp_length(input.size());
  stream_.next_out = reinterpret_cast<Bytef*>(output.data());
  stream_.avail_out = clamp_length(output.size());
  const uInt offered = stream_.avail_in;
  const uInt room = stream_.avail_out;
  const int outcome = inflate(&stream_, Z_NO_FLUSH);
  DecodeStep step{.consumed = offered - stream_.avail_in, .produced = room - stream_.avail_out};
  switch (outcome) {
    case Z_STREAM_END: state_ = State::after_member; break;
    case Z_OK: break;
    case Z_BUF_ERROR:  // no progress was possible
      if (is_last && input.empty()) {
        step.failure = Error{.code = ErrorCode::corrupt, .detail = "the data is truncated inside a gzip member"};
      }
      break;
    case Z_MEM_ERROR:
      step.failure = Error{.code = ErrorCode::out_of_space, .detail = "no memory for the decoder"};
      break;
    default:
      step.failure =
          Error{.code = ErrorCode::corrupt, .detail = stream_.msg != nullptr ? stream_.msg : "invalid gzip data"};
  }
  return step;
}

DecodeStep GzipDecoder::look_for_member(std::string_view input, std::span<char> output, bool is_last) {
  if (is_last && input.empty()) {
    ignored_bytes_ += std::exchange(magic_matched_, 0);
    return {};
  }
  std::size_t used = 0;
  if (state_ == State::after_member) {
    while (used < input.size() && magic_matched_ < kGzipMagic.size() && input[used] == kGzipMagic[magic_matched_]) {
      ++used;
      ++magic_matched_;
    }
    if (magic_matched_ == kGzipMagic.size()) {
      start_member(output);
      return {.consumed = used};
    }
    if (used == input.size()) {
      return {.consumed = used};
    }
    state_ = magic_matched_ == 0 && input[used] == '\0' ? State::padding : State::garbage;
    ignored_bytes_ += std::exchange(magic_matched_, 0);
  }
  if (state_ == State::padding) {
    const std::size_t first = input.find_first_not_of('\0', used);
    used = first == std::string_view::npos ? input.size() : first;
    state_ = used == input.size() ? State::padding : State::garbage;
  }
  ignored_bytes_ += input.size() - used;
  return {.consumed = input.size()};
}

// The magic number may have arrived in two pieces, so zlib gets our copy of it.
void GzipDecoder::start_member(std::span<char> output) {
  inflateReset(&stream_);
  magic_matched_ = 0;
  state_ = State::member;
  const DecodeStep step = inflate_member(kGzipMagic, output, false);
  MANKAI_ASSERT(step.consumed == kGzipMagic.size() && step.produced == 0);
}

}  // namespace

std::unique_ptr<Decoder> make_gzip_decoder() { return std::make_unique<GzipDecoder>(); }

}  // namespace mankai::detail
