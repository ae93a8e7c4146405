#include "mankai/input/detail/gzip_decoder.hpp"

#include <algorithm>
#include <limits>
#include <new>

#include "mankai/base/assert.hpp"

namespace mankai::detail {
namespace {

// zlib: a window of 2^15, plus 16 for "a gzip header and trailer, nothing else".
constexpr int kGzipWindowBits = 15 + 16;

uInt clamp_length(std::size_t length) {
  return static_cast<uInt>(std::min<std::size_t>(length, std::numeric_limits<uInt>::max()));
}

// zlib's interface predates const.
Bytef* as_input(std::string_view input) { return reinterpret_cast<Bytef*>(const_cast<char*>(input.data())); }

}  // namespace

GzipDecoder::GzipDecoder() {
  if (inflateInit2(&stream_, kGzipWindowBits) != Z_OK) {
    throw std::bad_alloc();
  }
}

GzipDecoder::~GzipDecoder() { inflateEnd(&stream_); }

DecodeStep GzipDecoder::decode(std::string_view input, std::span<char> output, bool is_last) {
  return state_ == State::member ? inflate_member(input, output, is_last) : look_for_member(input, output, is_last);
}

DecodeStep GzipDecoder::inflate_member(std::string_view input, std::span<char> output, bool is_last) {
  stream_.next_in = as_input(input);
  stream_.avail_in = clamp_length(input.size());
  stream_.next_out = reinterpret_cast<Bytef*>(output.data());
  stream_.avail_out = clamp_length(output.size());
  const uInt offered = stream_.avail_in;
  const uInt room = stream_.avail_out;
  const int outcome = inflate(&stream_, Z_NO_FLUSH);
  DecodeStep step{.consumed = offered - stream_.avail_in, .produced = room - stream_.avail_out, .failure = {}};
  switch (outcome) {
    case Z_STREAM_END: state_ = State::after_member; break;
    case Z_OK: break;
    case Z_BUF_ERROR:  // no progress was possible
      if (is_last && input.empty()) {
        step.failure = Error{.code = ErrorCode::corrupt, .detail = "the data ends inside a member; it is truncated"};
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
      return {.consumed = used, .produced = 0, .failure = {}};
    }
    if (used == input.size()) {
      return {.consumed = used, .produced = 0, .failure = {}};
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
  return {.consumed = input.size(), .produced = 0, .failure = {}};
}

// The magic may have arrived in two pieces, so the decoder gets our own copy of it.
void GzipDecoder::start_member(std::span<char> output) {
  inflateReset(&stream_);
  magic_matched_ = 0;
  state_ = State::member;
  const DecodeStep step = inflate_member(kGzipMagic, output, false);
  MANKAI_ASSERT(step.consumed == kGzipMagic.size() && step.produced == 0);
}

}  // namespace mankai::detail
