#include "apps/mankai/dedup_input.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

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

bool has_fields(const DedupInputRequest& request) { return request.field || request.time_field; }

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

void DedupBlock::parse() {
  if (batches_.empty()) {
    lines_.parse();
    take_fields();
  }
  for (std::size_t i = 0; filter_ != nullptr && i < batches_.size(); ++i) {
    if (i == encoders_.size()) {
      encoders_.emplace_back(*filter_);
    }
    batches_[i].change = encoders_[i].insert(batches_[i].keys);
  }
}

void DedupBlock::clear(std::size_t lines) {
  counts_ = {};
  batches_.clear();
  headings_.clear();
  keys_.resize(std::max(keys_.size(), lines));
  times_.resize(std::max(times_.size(), lines));
}

void DedupBlock::add_batch(std::size_t begin, std::size_t end, std::size_t heading) {
  if (begin == end && heading == headings_.size()) {
    return;
  }
  batches_.push_back({.headings = std::span(headings_).subspan(heading),
                      .lines = shown_.subspan(begin, end - begin),
                      .keys = std::span(keys_).subspan(begin, end - begin),
                      .times = std::span(times_).subspan(begin, end - begin)});
}

void DedupBlock::take_fields() {
  shown_ = lines_.lines;
  without_key_.clear();
  for (std::size_t i = 0; has_fields(*request_) && i < shown_.size(); ++i) {
    keys_[i] = shown_[i];
    if (request_->field) {
      const auto key = field_of(shown_[i], *request_->field);
      keys_[i] = key ? *key : without_key_.emplace_back(std::string(kWholeLine).append(shown_[i]));
    }
    if (request_->time_field) {
      const auto time = parse_time(field_of(shown_[i], *request_->time_field).value_or(std::string_view()));
      times_[i] = time ? std::optional(*time) : std::nullopt;
    }
  }
  counts_.without_key = without_key_.size();
  for (std::size_t i = 0; i < shown_.size(); i += kBatchLinesMax) {
    const auto some = shown_.subspan(i, std::min(kBatchLinesMax, shown_.size() - i));
    if (has_fields(*request_)) {
      add_batch(i, i + some.size(), 0);
    } else {
      batches_.push_back({.headings = {}, .lines = some, .keys = some, .times = {}});
    }
  }
}

std::optional<std::string_view> DedupBlock::field_of(std::string_view line, std::uint64_t field) const {
  const char* begin = line.data();
  const char* const end = begin + line.size();
  for (;; --field) {
    const auto* const stop = static_cast<const char*>(
        std::memchr(begin, request_->delimiter.value_or('\t'), static_cast<std::size_t>(end - begin)));
    if (field == 1) {
      return std::string_view(begin, static_cast<std::size_t>((stop == nullptr ? end : stop) - begin));
    }
    if (stop == nullptr) {
      return std::nullopt;
    }
    begin = stop + 1;
  }
}

// Parses all lines of the block at once: the texts of the last call are valid.
void DedupBlock::take_index(CdxParser& legend) {
  const std::size_t lines = lines_.lines.size();
  captures_.resize(std::max(captures_.size(), lines));
  shown_here_.resize(lines);
  headings_.reserve(lines);  // batches have views of it
  index_.continue_after(legend);
  index_.parse(lines_.lines, std::span(captures_).first(lines));
  legend.continue_after(index_);
  shown_ = shown_here_;
  std::size_t count = 0;
  std::size_t batch = 0;
  std::size_t heading = 0;
  for (std::size_t i = 0; i < lines; ++i) {
    const CdxCapture& capture = captures_[i];
    if (capture.what == CdxLine::heading) {
      headings_.push_back(lines_.lines[i]);
    } else {
      const bool has_url = capture.what == CdxLine::capture;
      counts_.without_key += static_cast<std::uint64_t>(!has_url);
      shown_here_[count] = lines_.lines[i];
      keys_[count] = has_url ? capture.url : lines_.lines[i];
      times_[count++] = capture.time;
    }
    if ((i + 1) % kBatchLinesMax == 0 || i + 1 == lines) {
      add_batch(std::exchange(batch, count), count, std::exchange(heading, headings_.size()));
    }
  }
  shown_ = shown_.first(count);
}

void DedupBlock::take_records(std::span<const WarcRecord> records, WarcTypes types) {
  std::size_t bytes = 0;
  for (const WarcRecord& record : records) {
    bytes += record.target_uri.size();
  }
  texts_.clear();
  texts_.reserve(bytes);
  counts_.records = records.size();
  std::size_t count = 0;
  for (const WarcRecord& record : records) {
    if (!types.test(static_cast<std::size_t>(record.type))) {
      ++counts_.other_records;
      continue;
    }
    if (record.target_uri.empty()) {
      ++counts_.without_uri;
      continue;
    }
    const std::size_t begin = texts_.size();
    texts_.append(record.target_uri);
    times_[count] = record.date;
    keys_[count++] = std::string_view(texts_).substr(begin);
  }
  shown_ = std::span(keys_).first(count);
  add_batch(0, count, 0);
}

namespace {

// --field and --time-field imply lines.
Result<DedupFormat> format_of(Source& source, const DedupInputRequest& request) {
  if (request.format != DedupFormat::automatic || has_fields(request)) {
    return request.format == DedupFormat::automatic ? DedupFormat::lines : request.format;
  }
  MANKAI_ASSIGN(const auto line, source.peek_line(kPeekBytes));
  if (looks_like_warc(line)) {
    return DedupFormat::warc;
  }
  return looks_like_cdx(line) ? DedupFormat::cdx : DedupFormat::lines;
}

}  // namespace

Result<DedupReader> DedupReader::open(Source source, const DedupInputRequest& request) {
  MANKAI_ASSIGN(const auto format, format_of(source, request));
  DedupReader reader;
  reader.types_ = request.records.value_or(kCaptures);
  if (format == DedupFormat::warc) {
    MANKAI_ASSIGN(auto records, WarcReader::create(std::move(source)));
    reader.records_ = std::move(records);
    return reader;
  }
  MANKAI_ASSIGN(auto lines, LineReader::create(std::move(source), request.input.lines));
  reader.lines_ = std::move(lines);
  if (format == DedupFormat::cdx) {
    reader.legend_.emplace();
  }
  return reader;
}

Result<std::size_t> DedupReader::read(DedupBlock& block, bool keeps) {
  if (records_) {
    MANKAI_ASSIGN(const auto records, records_->next_batch());
    block.lines_ = {};  // parse() takes them if there are no batches; these are of another input
    block.clear(records.size());
    block.take_records(records, types_);
    return block.texts_.size() + records.size() * kBytesPerLine;
  }
  MANKAI_ASSIGN(const std::size_t bytes, block.lines_.read(*lines_, keeps));
  block.clear(legend_ || has_fields(*block.request_) ? block.lines_.size() : 0);
  if (legend_) {
    block.lines_.parse();
    block.take_index(*legend_);
  }
  return bytes;
}

Result<DedupInput> DedupInput::open(const DedupInputRequest& request, const AnyFilter* filter,
                                    std::function<void()> before_waiting) {
  const PipelineWork<DedupReader> work{
      .open = [&request](Source source) { return DedupReader::open(std::move(source), request); },
      .make_block = [&request, filter] { return DedupBlock(request, filter); }};
  MANKAI_ASSIGN(auto pipeline, Pipeline<DedupReader>::open(request.input, work, std::move(before_waiting)));
  return DedupInput(std::move(pipeline));
}

Result<const DedupBatch*> DedupInput::next_batch() {
  while (batches_.empty()) {
    MANKAI_ASSIGN(const auto* const block, pipeline_->next());
    if (block == nullptr) {
      return nullptr;
    }
    batches_ = block->batches();
    counts_.without_key += block->counts().without_key;
    counts_.records += block->counts().records;
    counts_.other_records += block->counts().other_records;
    counts_.without_uri += block->counts().without_uri;
  }
  const DedupBatch* const batch = &batches_.front();
  batches_ = batches_.subspan(1);
  return stop_signal() == 0 ? batch : nullptr;
}

}  // namespace mankai::command
