#include "mankai/input/warc_reader.hpp"

#include <algorithm>
#include <utility>

#include "mankai/input/detail/text_fields.hpp"
#include "mankai/input/detail/warc_header.hpp"
#include "mankai/input/line_reader.hpp"

namespace mankai {

WarcReader::WarcReader(Source source, const WarcReaderOptions& options)
    : buffer_(std::move(source)), max_header_bytes_(options.max_header_bytes) {}

Result<WarcReader> WarcReader::create(Source source, const WarcReaderOptions& options) {
  if (options.buffer_bytes == 0 || options.max_header_bytes == 0) {
    return fail(ErrorCode::invalid_argument, "a WARC reader needs a buffer and a header limit of at least 1 byte");
  }
  WarcReader reader(std::move(source), options);
  if (!reader.buffer_.reallocate(options.buffer_bytes)) {
    return fail(ErrorCode::out_of_space,
                "no memory for a buffer of " + std::to_string(options.buffer_bytes) + " bytes");
  }
  return reader;
}

Result<std::span<const WarcRecord>> WarcReader::next_batch() {
  batch_.clear();
  texts_.reset();
  for (;;) {
    while (!failure_ && batch_.size() < kBatchLinesMax && take_record() == Step::took) {
    }
    if (!batch_.empty()) {
      return std::span<const WarcRecord>(batch_);
    }
    if (buffer_.is_ended() && !failure_) {
      check_end();
    }
    if (failure_) {
      return std::unexpected(*failure_);
    }
    if (buffer_.is_ended()) {
      return std::span<const WarcRecord>();
    }
    fill();
  }
}

WarcReader::Step WarcReader::take_record() {
  if (!pending_) {
    if (const Step step = skip_empty_lines(); step != Step::took) {
      return step;
    }
    if (const Step step = take_header(); step != Step::took) {
      return step;
    }
  }
  return skip_block();
}

WarcReader::Step WarcReader::skip_block() {
  const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(block_left_, buffer_.bytes().size()));
  const char* const begin = buffer_.begin() + length;
  buffer_.consume(begin, begin);
  block_left_ -= length;
  if (block_left_ > 0) {
    return Step::wants_more;
  }
  pending_->target_uri = texts_.copy(pending_uri_);
  batch_.push_back(*pending_);
  pending_.reset();
  return Step::took;
}

WarcReader::Step WarcReader::skip_empty_lines() {
  const char* const text = std::find_if(buffer_.begin(), buffer_.end(),
                                        [](char character) { return character != '\r' && character != '\n'; });
  buffer_.consume(text, std::max(buffer_.scanned(), text));
  return text == buffer_.end() ? Step::wants_more : Step::took;
}

// The length includes the empty line that ends the header.
WarcReader::Step WarcReader::find_header_end(std::size_t& length) {
  if (!detail::kWarcMagic.starts_with(buffer_.bytes().substr(0, detail::kWarcMagic.size()))) {
    return fail_at(buffer_.offset(),
                   "no record begins here: this is not a WARC file, or the length of the record before is wrong");
  }
  const char* const end = buffer_.end();
  const char* line = buffer_.scanned();
  while (length == 0) {
    const char* const line_feed = detail::find(line, end, '\n');
    if (line_feed == end) {
      break;
    }
    const bool is_empty = line_feed == line || (line_feed == line + 1 && *line == '\r');
    line = line_feed + 1;
    length = is_empty ? static_cast<std::size_t>(line - buffer_.begin()) : 0;
  }
  buffer_.consume(buffer_.begin(), line);
  if ((length > 0 ? length : buffer_.bytes().size()) > max_header_bytes_) {
    return fail_at(buffer_.offset(),
                   "the header of the record is longer than " + std::to_string(max_header_bytes_) + " bytes");
  }
  return length > 0 ? Step::took : Step::wants_more;
}

WarcReader::Step WarcReader::take_header() {
  std::size_t length = 0;
  if (const Step step = find_header_end(length); step != Step::took) {
    return step;
  }
  std::string_view header = buffer_.bytes().substr(0, length);
  while (header.ends_with('\n') || header.ends_with('\r')) {
    header.remove_suffix(1);
  }
  auto record = detail::parse_warc_header(header, pending_uri_);
  if (!record) {
    return fail_at(buffer_.offset(), "the record " + record.error().detail, record.error().code);
  }
  record->offset = buffer_.offset();
  block_left_ = record->block_bytes;
  pending_ = *record;
  buffer_.consume(buffer_.begin() + length, buffer_.scanned());
  return Step::took;
}

void WarcReader::fill() {
  if (!buffer_.make_room()) {
    fail_at(buffer_.offset(), "no memory for the header of the record", ErrorCode::out_of_space);
  } else if (auto outcome = buffer_.read(); !outcome) {
    failure_ = std::move(outcome).error();
  }
}

void WarcReader::check_end() {
  if (pending_) {
    fail_at(pending_->offset, "the input ends " + std::to_string(block_left_) + " bytes before the record does");
  } else if (!buffer_.bytes().empty()) {
    fail_at(buffer_.offset(), "the input ends within the header of the record");
  }
}

WarcReader::Step WarcReader::fail_at(std::uint64_t offset, std::string_view problem, ErrorCode code) {
  failure_ = Error{.code = code, .detail = "byte " + std::to_string(offset) + ": " + std::string(problem)}.within(
      buffer_.source().label());
  return Step::failed;
}

}  // namespace mankai
