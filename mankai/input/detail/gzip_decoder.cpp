#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "mankai/input/detail/decoder.hpp"

namespace mankai::detail {
namespace {

constexpr std::uint32_t kReservedFlags = 0xE0;  // RFC 1952, section 2.3.1.2

// RFC 1952, section 2.3.1: little-endian, as all that is copied in this library.
struct GzipTrailer {
  std::uint32_t crc = 0;
  std::uint32_t length = 0;
};

// ISA-L counts in 32 bits, and adds to a count before it compares it.
std::uint32_t clamp_length(std::size_t length) {
  return static_cast<std::uint32_t>(std::min(length, std::size_t{1} << 30));
}

const char* describe(int outcome) {
  switch (outcome) {
    case ISAL_UNSUPPORTED_METHOD: return "unknown compression method";
    case ISAL_INCORRECT_CHECKSUM: return "the checksum of the header does not match";
    default: return "invalid data";
  }
}

// ISA-L parses headers and inflates. It is not asked for checksums and trailers (`crc_flag`): on ARM64, before 2.32, it
// could then take any block for the last one.
class GzipDecoder final : public Decoder {
 public:
  GzipDecoder() : Decoder(Compression::gzip) { isal_inflate_init(&stream_); }

  void begin_member() override;
  DecodeStep decode(std::string_view input, std::span<char> output) override;

 private:
  enum class State : std::uint8_t { header, content, trailer, end, failed };

  [[nodiscard]] DecodeStep read_header(std::string_view input);
  [[nodiscard]] DecodeStep inflate(std::string_view input, std::span<char> output);
  [[nodiscard]] DecodeStep read_trailer(std::string_view input);
  [[nodiscard]] DecodeStep inflate_some(std::string_view input, std::span<char> output);
  [[nodiscard]] std::size_t take_rest(std::span<char> output);
  [[nodiscard]] std::uint32_t offer(std::string_view input);
  void remember(std::string_view taken);
  void fail(const char* problem);

  State state_ = State::header;
  const char* problem_ = nullptr;
  GzipTrailer expected_;
  std::string trailer_;  // what was read of it; while inflating, the last bytes that ISA-L took
  isal_gzip_header header_{};
  inflate_state stream_;  // 90 KiB; isal_inflate_init sets what is read before it is written
  inflate_state before_;  // what stream_ was before it inflated the last input
};

void GzipDecoder::begin_member() {
  isal_inflate_reset(&stream_);
  header_ = {};
  expected_ = {};
  trailer_.clear();
  state_ = State::header;
}

DecodeStep GzipDecoder::decode(std::string_view input, std::span<char> output) {
  DecodeStep step;
  switch (state_) {
    case State::header: step = read_header(input); break;
    case State::content: step = inflate(input, output); break;
    case State::trailer: step = read_trailer(input); break;
    case State::end:
    case State::failed: break;
  }
  step.is_end = state_ == State::end;
  if (state_ == State::failed) {
    step.produced += take_rest(output.subspan(step.produced));
    if (stream_.tmp_out_processed == stream_.tmp_out_valid) {
      step.failure = Error{.code = ErrorCode::corrupt, .detail = problem_};
    }
  }
  return step;
}

DecodeStep GzipDecoder::read_header(std::string_view input) {
  const std::uint32_t offered = offer(input);
  const int outcome = isal_read_gzip_header(&stream_, &header_);
  if (outcome < 0) {
    fail(describe(outcome));
  } else if (outcome == ISAL_DECOMP_OK) {
    state_ = State::content;
    if ((header_.flags & kReservedFlags) != 0) {
      fail("unknown flags in the header");
    }
  }
  return {.consumed = offered - stream_.avail_in};
}

// ISA-L's fast loop has counted a match before it finds its distance invalid. So invalid input is inflated once more,
// byte by byte, which the slow loop does.
DecodeStep GzipDecoder::inflate(std::string_view input, std::span<char> output) {
  const bool is_first = trailer_.empty();  // no need to copy it: many files have small members
  if (!is_first) {
    before_ = stream_;
  }
  DecodeStep step = inflate_some(input, output);
  if (state_ == State::failed) {
    if (is_first) {
      isal_inflate_reset(&stream_);
    } else {
      stream_ = before_;
    }
    state_ = State::content;
    step = {};
    while (state_ == State::content && step.consumed < input.size() && step.produced < output.size()) {
      const DecodeStep next = inflate_some(input.substr(step.consumed, 1), output.subspan(step.produced));
      step.consumed += next.consumed;
      step.produced += next.produced;
    }
  }
  expected_.crc = crc32_gzip_refl(expected_.crc, reinterpret_cast<const std::uint8_t*>(output.data()), step.produced);
  expected_.length += static_cast<std::uint32_t>(step.produced);
  return step;
}

DecodeStep GzipDecoder::inflate_some(std::string_view input, std::span<char> output) {
  const auto offered = static_cast<std::int32_t>(offer(input));
  auto* const begin = reinterpret_cast<std::uint8_t*>(output.data());
  stream_.next_out = begin;
  stream_.avail_out = clamp_length(output.size());
  if (const int outcome = isal_inflate(&stream_); outcome < 0) {
    fail(describe(outcome));
  }
  DecodeStep step{.produced = static_cast<std::size_t>(stream_.next_out - begin)};
  // At the end, ISA-L has taken up to 7 bytes of the trailer. Since 2.32 it returns them, also those of earlier calls.
  std::int32_t consumed = offered - static_cast<std::int32_t>(stream_.avail_in);
  if (stream_.block_state == ISAL_BLOCK_FINISH) {
    state_ = State::trailer;
    consumed -= stream_.read_in_length / 8;
    trailer_.erase(0, trailer_.size() - static_cast<std::size_t>(std::max(-consumed, 0)));
    step.consumed = static_cast<std::size_t>(std::max(consumed, 0));
  } else {
    step.consumed = static_cast<std::size_t>(std::min(consumed, offered));  // more after invalid input
    remember(input.substr(0, step.consumed));
  }
  return step;
}

DecodeStep GzipDecoder::read_trailer(std::string_view input) {
  const std::string_view used = input.substr(0, sizeof(GzipTrailer) - trailer_.size());
  trailer_ += used;
  if (trailer_.size() == sizeof(GzipTrailer)) {
    GzipTrailer trailer;
    std::memcpy(&trailer, trailer_.data(), sizeof trailer);
    state_ = State::end;
    if (trailer.crc != expected_.crc) {
      fail("the checksum does not match");
    } else if (trailer.length != expected_.length) {
      fail("the length does not match");
    }
  }
  return {.consumed = used.size()};
}

// Returns what was inflated before the failure and did not fit into the output.
std::size_t GzipDecoder::take_rest(std::span<char> output) {
  const auto rest = std::span(stream_.tmp_out_buffer)
                        .first(static_cast<std::size_t>(stream_.tmp_out_valid))
                        .subspan(static_cast<std::size_t>(stream_.tmp_out_processed));
  const std::size_t length = std::min(rest.size(), output.size());
  std::memcpy(output.data(), rest.data(), length);
  stream_.tmp_out_processed += static_cast<int>(length);
  return length;
}

std::uint32_t GzipDecoder::offer(std::string_view input) {
  stream_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(input.data()));  // the interface lacks const
  stream_.avail_in = clamp_length(input.size());
  return stream_.avail_in;
}

void GzipDecoder::remember(std::string_view taken) {
  trailer_ += taken.substr(taken.size() - std::min(taken.size(), sizeof(GzipTrailer)));
  trailer_.erase(0, trailer_.size() - std::min(trailer_.size(), sizeof(GzipTrailer)));
}

void GzipDecoder::fail(const char* problem) {
  state_ = State::failed;
  problem_ = problem;
}

}  // namespace

std::unique_ptr<Decoder> make_gzip_decoder() { return std::make_unique<GzipDecoder>(); }

}  // namespace mankai::detail
