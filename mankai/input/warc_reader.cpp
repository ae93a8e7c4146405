#include "mankai/input/warc_reader.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "mankai/input/detail/warc_header.hpp"
#include "mankai/input/line_reader.hpp"

namespace mankai {

WarcReader::WarcReader(Source source, const WarcReaderOptions& options)
    : source_(std::move(source)),
      max_header_bytes_(options.max_header_bytes),
      data_(std::make_unique_for_overwrite<char[]>(options.buffer_bytes)),
      capacity_(options.buffer_bytes) {}

Result<WarcReader> WarcReader::create(Source source, const WarcReaderOptions& options) {
  if (options.buffer_bytes == 0 || options.max_header_bytes == 0) {
    return fail(ErrorCode::invalid_argument, "a WARC reader needs a buffer and a header limit of at least 1 byte");
  }
  return WarcReader(std::move(source), options);
}

Result<std::span<const WarcRecord>> WarcReader::next_batch() {
  batch_.clear();
  texts_.reset();
  for (;;) {
    if (!failure_) {
      take_records();
    }
    if (!batch_.empty()) {
      return std::span<const WarcRecord>(batch_);
    }
    if (is_ended_ && !failure_) {
      check_end();
    }
    if (failure_) {
      return std::unexpected(*failure_);
    }
    if (is_ended_) {
      return std::span<const WarcRecord>();
    }
    fill();
  }
}

void WarcReader::take_records() {
  while (batch_.size() < kBatchLinesMax && take_record() == Step::took) {
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
  const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(block_left_, end_ - begin_));
  begin_ += length;
  scanned_ = begin_;
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
  const char* const end = data_.get() + end_;
  const char* const text = std::find_if(static_cast<const char*>(data_.get()) + begin_, end,
                                        [](char character) { return character != '\r' && character != '\n'; });
  const auto begin = static_cast<std::size_t>(text - data_.get());
  scanned_ = std::max(scanned_, begin);
  begin_ = begin;
  return text == end ? Step::wants_more : Step::took;
}

// The length up to the empty line, and that line.
WarcReader::Step WarcReader::find_header_end(std::size_t& length) {
  const std::string_view magic = buffered().substr(0, detail::kWarcMagic.size());
  if (!detail::kWarcMagic.starts_with(magic)) {
    return fail_at(here(), "no record begins there: this is no WARC file, or the length of the record before is wrong");
  }
  const char* const end = data_.get() + end_;
  for (const char* line = data_.get() + scanned_; line < end;) {
    const auto* const line_feed =
        static_cast<const char*>(std::memchr(line, '\n', static_cast<std::size_t>(end - line)));
    if (line_feed == nullptr) {
      break;
    }
    scanned_ = static_cast<std::size_t>(line_feed + 1 - data_.get());
    const auto line_bytes = static_cast<std::size_t>(line_feed - line);
    if (line_bytes == 0 || (line_bytes == 1 && *line == '\r')) {
      length = scanned_ - begin_;
      break;
    }
    line = line_feed + 1;
  }
  const bool is_whole = length > 0;
  if ((is_whole ? length : end_ - begin_) > max_header_bytes_) {
    return fail_at(here(), "the header of the record is longer than " + std::to_string(max_header_bytes_) + " bytes");
  }
  return is_whole ? Step::took : Step::wants_more;
}

WarcReader::Step WarcReader::take_header() {
  std::size_t length = 0;
  if (const Step step = find_header_end(length); step != Step::took) {
    return step;
  }
  std::string_view header = buffered().substr(0, length);
  while (header.ends_with('\n') || header.ends_with('\r')) {
    header.remove_suffix(1);
  }
  auto record = detail::parse_warc_header(header, pending_uri_);
  if (!record) {
    return fail_at(here(), "the record " + record.error().detail, record.error().code);
  }
  record->offset = here();
  block_left_ = record->block_bytes;
  pending_ = *record;
  begin_ += length;
  return Step::took;
}

void WarcReader::fill() {
  make_room();
  const Result<std::size_t> got = source_.read({data_.get() + end_, capacity_ - end_});
  if (!got) {
    failure_ = got.error();
    return;
  }
  end_ += *got;
  is_ended_ = *got == 0;
}

// Only an unfinished header is left when this is called.
void WarcReader::make_room() {
  std::memmove(data_.get(), data_.get() + begin_, end_ - begin_);
  data_offset_ += begin_;
  end_ -= begin_;
  scanned_ -= begin_;
  begin_ = 0;
  if (end_ == capacity_) {
    auto larger = std::make_unique_for_overwrite<char[]>(capacity_ * 2);
    std::memcpy(larger.get(), data_.get(), end_);
    data_ = std::move(larger);
    capacity_ *= 2;
  }
}

void WarcReader::check_end() {
  if (pending_) {
    fail_at(pending_->offset, "the input ends " + std::to_string(block_left_) + " bytes before the record does");
  } else if (begin_ < end_) {
    fail_at(here(), "the input ends within the header of the record");
  }
}

WarcReader::Step WarcReader::fail_at(std::uint64_t offset, std::string_view problem, ErrorCode code) {
  failure_ = Error{.code = code, .detail = "byte " + std::to_string(offset) + ": " + std::string(problem)}.within(
      source_.label());
  return Step::failed;
}

}  // namespace mankai
