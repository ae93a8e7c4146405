#include "apps/mankai/dedup_input.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "apps/mankai/output.hpp"
#include "apps/mankai/signals.hpp"
#include "mankai/input/time_text.hpp"

namespace mankai::command {
namespace {

constexpr std::array<std::string_view, 4> kDedupFormats = {"auto", "lines", "warc", "cdx"};
/// Bytes for format detection: more than the longest CDX legend.
constexpr std::size_t kPeekBytes = 4096;
// Prefix of a line that is compared as a whole. No field contains a line feed, so it equals equal lines only;
// --canonical leaves it unchanged because it is not a URL with a host.
constexpr std::string_view kWholeLine = "file:///\n";

}  // namespace

std::span<const std::string_view> dedup_format_names() noexcept { return kDedupFormats; }

Result<DedupFormat> parse_dedup_format(std::string_view name) {
  const auto* const found = std::ranges::find(kDedupFormats, name);
  if (found == kDedupFormats.end()) {
    return fail(ErrorCode::invalid_argument,
                "'" + std::string(name) + "' is not a format; give auto, lines, warc or cdx");
  }
  return static_cast<DedupFormat>(found - kDedupFormats.begin());
}

Result<WarcTypes> parse_warc_types(std::string_view text) {
  if (text == "all") {
    return WarcTypes().set();
  }
  WarcTypes types;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    std::size_t type = 0;
    while (type < types.size() && name(static_cast<WarcType>(type)) != word) {
      ++type;
    }
    if (type == types.size()) {
      return fail(ErrorCode::invalid_argument,
                  "'" + std::string(word) +
                      "' is not a type of WARC records; give all, or some of response, resource, revisit, request, "
                      "metadata, conversion and other, separated by commas");
    }
    types.set(type);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return types;
}

LineFields::LineFields(const DedupInputRequest& request)
    : key_field_(request.field), time_field_(request.time_field), delimiter_(request.delimiter.value_or('\t')) {}

std::size_t LineFields::read(std::span<const std::string_view> lines, std::span<std::string_view> keys,
                             std::span<std::optional<Time>> times) {
  without_key_.clear();
  without_key_.reserve(lines.size());  // keys point into its strings
  for (std::size_t i = 0; i < lines.size(); ++i) {
    keys[i] = lines[i];
    times[i].reset();
    if (key_field_) {
      const auto key = field_of(lines[i], *key_field_);
      keys[i] = key ? *key : without_key_.emplace_back(std::string(kWholeLine).append(lines[i]));
    }
    if (time_field_) {
      const auto time = parse_time(field_of(lines[i], *time_field_).value_or(std::string_view()));
      times[i] = time ? std::optional(*time) : std::nullopt;
    }
  }
  return without_key_.size();
}

std::optional<std::string_view> LineFields::field_of(std::string_view line, std::uint64_t field) const {
  const char* begin = line.data();
  const char* const end = begin + line.size();
  for (;; --field) {
    const auto* const stop =
        static_cast<const char*>(std::memchr(begin, delimiter_, static_cast<std::size_t>(end - begin)));
    if (field == 1) {
      return std::string_view(begin, static_cast<std::size_t>((stop == nullptr ? end : stop) - begin));
    }
    if (stop == nullptr) {
      return std::nullopt;
    }
    begin = stop + 1;
  }
}

DedupInput::DedupInput(Sources sources, const DedupInputRequest& request)
    : sources_(std::move(sources)),
      format_(request.format),
      records_(request.records.value_or(kCaptures)),
      max_line_bytes_(request.input.max_line_bytes),
      has_fields_(request.field || request.time_field),
      fields_(request),
      progress_(sources_.total_bytes()) {}

Result<DedupInput> DedupInput::open(const DedupInputRequest& request, std::function<void()> before_waiting) {
  MANKAI_ASSIGN(auto sources, Sources::open(request.input, std::move(before_waiting)));
  return DedupInput(std::move(sources), request);
}

Result<DedupBatch> DedupInput::next_batch() {
  while (stop_signal() == 0) {
    if (source() == nullptr) {
      const auto opened = open_next();
      if (!opened && stop_signal() == 0) {
        return std::unexpected(opened.error());
      }
      if (!opened || !*opened) {
        break;
      }
    }
    auto batch = read();
    if (!batch && stop_signal() == 0) {
      progress_.clear();
      return batch;
    }
    if (batch && (!batch->lines.empty() || !batch->headings.empty())) {
      read_ += batch->lines.size();
      progress_.advance(bytes_read(), read_);
      return batch;
    }
    if (!batch || is_at_end_) {
      close_current();
    }
  }
  progress_.clear();
  return DedupBatch{};
}

std::uint64_t DedupInput::bytes_read() const noexcept {
  return bytes_before_ + (source() == nullptr ? 0 : source()->raw_bytes_consumed());
}

const Source* DedupInput::source() const noexcept {
  if (lines_reader_) {
    return &lines_reader_->source();
  }
  return warc_reader_ ? &warc_reader_->source() : nullptr;
}

Result<bool> DedupInput::open_next() {
  MANKAI_ASSIGN(auto source, sources_.next());
  if (!source) {
    return false;
  }
  MANKAI_TRY(open_reader(std::move(*source)));
  return true;
}

Result<void> DedupInput::open_reader(Source source) {
  MANKAI_ASSIGN(const auto format, format_of(source));
  is_at_end_ = false;
  is_index_ = format == DedupFormat::cdx;
  index_.restart();
  if (format == DedupFormat::warc) {
    MANKAI_ASSIGN(auto reader, WarcReader::create(std::move(source)));
    warc_reader_ = std::move(reader);
    return {};
  }
  LineReaderOptions options;
  options.max_line_bytes = max_line_bytes_.value_or(options.max_line_bytes);
  MANKAI_ASSIGN(auto reader, LineReader::create(std::move(source), options));
  lines_reader_ = std::move(reader);
  return {};
}

// --field and --time-field imply lines.
Result<DedupFormat> DedupInput::format_of(Source& source) const {
  if (format_ != DedupFormat::automatic || has_fields_) {
    return format_ == DedupFormat::automatic ? DedupFormat::lines : format_;
  }
  MANKAI_ASSIGN(const auto line, source.peek_line(kPeekBytes));
  if (looks_like_warc(line)) {
    return DedupFormat::warc;
  }
  return looks_like_cdx(line) ? DedupFormat::cdx : DedupFormat::lines;
}

Result<DedupBatch> DedupInput::read() { return warc_reader_ ? read_records() : read_lines(); }

Result<DedupBatch> DedupInput::read_lines() {
  MANKAI_ASSIGN(const auto lines, lines_reader_->next_batch());
  is_at_end_ = lines.empty();
  return is_index_ ? take_index(lines) : take_lines(lines);
}

DedupBatch DedupInput::take_lines(std::span<const std::string_view> lines) {
  const auto times = std::span(times_).first(lines.size());
  if (!has_fields_) {
    std::ranges::fill(times, std::nullopt);
    return {.headings = {}, .lines = lines, .keys = lines, .times = times};
  }
  counts_.without_key += fields_.read(lines, keys_, times_);
  return {.headings = {}, .lines = lines, .keys = std::span(keys_).first(lines.size()), .times = times};
}

DedupBatch DedupInput::take_index(std::span<const std::string_view> lines) {
  index_.parse(lines, captures_);
  headings_.clear();
  std::size_t count = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (captures_[i].what == CdxLine::heading) {
      headings_.push_back(lines[i]);
      continue;
    }
    const bool has_url = captures_[i].what == CdxLine::capture;
    counts_.without_key += static_cast<std::uint64_t>(!has_url);
    shown_[count] = lines[i];
    keys_[count] = has_url ? captures_[i].url : lines[i];
    times_[count++] = captures_[i].time;
  }
  return batch_of(count);
}

Result<DedupBatch> DedupInput::read_records() {
  MANKAI_ASSIGN(const auto records, warc_reader_->next_batch());
  is_at_end_ = records.empty();
  headings_.clear();
  counts_.records += records.size();
  std::size_t count = 0;
  for (const WarcRecord& record : records) {
    if (!records_.test(static_cast<std::size_t>(record.type))) {
      ++counts_.other_records;
      continue;
    }
    if (record.target_uri.empty()) {
      ++counts_.without_uri;
      continue;
    }
    shown_[count] = keys_[count] = record.target_uri;
    times_[count++] = record.date;
  }
  return batch_of(count);
}

DedupBatch DedupInput::batch_of(std::size_t count) const {
  return {.headings = headings_,
          .lines = std::span(shown_).first(count),
          .keys = std::span(keys_).first(count),
          .times = std::span(times_).first(count)};
}

void DedupInput::close_current() {
  warn_of_ignored_bytes(*source(), progress_);
  bytes_before_ = bytes_read();
  lines_reader_.reset();
  warc_reader_.reset();
}

}  // namespace mankai::command
