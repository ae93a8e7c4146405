// The only file that includes RE2.

#include "apps/mankai/hot_keys.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "apps/mankai/store_options.hpp"
#include "apps/mankai/subcommand.hpp"
#include "mankai/hash/hasher.hpp"
#include "mankai/input/time_text.hpp"

namespace mankai::command {
namespace {

constexpr std::int64_t kMemoryBytes = std::int64_t{1} << 20;

re2::RE2::Options options() {
  re2::RE2::Options options(re2::RE2::Latin1);  // lines are bytes: a dot matches one byte, even within UTF-8
  options.set_log_errors(false);
  options.set_max_mem(kMemoryBytes);
  return options;
}

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

constexpr std::array<std::string_view, 7> kFieldNames = {"path",   "url",    "host", "referrer",
                                                         "status", "client", "agent"};
constexpr std::size_t kStatusDigits = 10;

std::string_view without_query(std::string_view target) noexcept { return target.substr(0, target.find('?')); }

}  // namespace

Result<LineMatch> LineMatch::create(std::string_view expression) {
  auto compiled = std::make_shared<const re2::RE2>(piece(expression), options());
  if (!compiled->ok()) {
    return fail(ErrorCode::invalid_argument,
                "'" + std::string(expression) + "' is not a regular expression (RE2): " + compiled->error());
  }
  return LineMatch(std::move(compiled));
}

std::optional<std::string_view> LineMatch::find(std::string_view line) const {
  std::array<re2::StringPiece, 2> groups;
  const int wanted = compiled_->NumberOfCapturingGroups() > 0 ? 2 : 1;
  if (!compiled_->Match(piece(line), 0, line.size(), re2::RE2::UNANCHORED, groups.data(), wanted)) {
    return std::nullopt;
  }
  const re2::StringPiece& found = groups[static_cast<std::size_t>(wanted - 1)];
  if (found.data() == nullptr) {
    return std::nullopt;
  }
  return std::string_view(found.data(), found.size());
}

std::span<const std::string_view> hot_field_names() noexcept { return kFieldNames; }

Result<HotField> parse_hot_field(std::string_view name) {
  const auto* const found = std::ranges::find(kFieldNames, name);
  if (found != kFieldNames.end()) {
    return static_cast<HotField>(found - kFieldNames.begin());
  }
  return fail(ErrorCode::invalid_argument,
              "'" + std::string(name) +
                  "' is not a field; give path, url, host, referrer, status, client or agent; --match REGEX " +
                  "counts anything else in a line");
}

namespace {

// A tag: 1 + the field, or kMatchTag and 48 bits of the expression's hash.
constexpr std::uint64_t kFieldMask = 0xff;
constexpr std::uint64_t kMatchTag = 0xff;
constexpr std::uint64_t kQueryTag = 0x100;
constexpr unsigned kMatchShift = 16;

}  // namespace

std::uint64_t keys_tag(const HotKeyRequest& request) noexcept {
  if (request.match) {
    const Hasher hasher({.kind = HashKind::xxh3, .seed = {}});
    return kMatchTag | hasher(*request.match).value >> kMatchShift << kMatchShift;
  }
  const bool has_query = request.by == HotField::path || request.by == HotField::url;
  return 1 + static_cast<std::uint64_t>(request.by) + (has_query && request.keep_query ? kQueryTag : 0);
}

std::string options_of_tag(std::uint64_t tag) {
  if ((tag & kFieldMask) == kMatchTag) {
    return "another --match";
  }
  const std::uint64_t field = (tag & kFieldMask) - 1;
  if (field >= kFieldNames.size()) {
    return "an option of a newer version";
  }
  return "--by " + std::string(kFieldNames[field]) + ((tag & kQueryTag) != 0 ? " --query" : "");
}

Result<LogFieldNames> parse_log_field_names(std::string_view text) {
  LogFieldNames names;
  const std::array<std::pair<std::string_view, std::string*>, 8> fields = {{{"time", &names.time},
                                                                            {"client", &names.client},
                                                                            {"host", &names.host},
                                                                            {"method", &names.method},
                                                                            {"target", &names.target},
                                                                            {"referrer", &names.referrer},
                                                                            {"agent", &names.agent},
                                                                            {"status", &names.status}}};
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view pair = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    const std::size_t equals = pair.find('=');
    const auto* const field =
        std::ranges::find(fields, pair.substr(0, equals), [](const auto& each) { return each.first; });
    if (equals == std::string_view::npos || equals + 1 == pair.size() || field == fields.end()) {
      return fail(ErrorCode::invalid_argument,
                  "'" + std::string(pair) +
                      "' is not valid; give FIELD=NAME, where FIELD is time, client, host, method, " +
                      "target, referrer, agent or status");
    }
    *field->second = pair.substr(equals + 1);
  }
  return names;
}

HotKeys::HotKeys(const HotKeyRequest& request, LogParser parser, std::optional<LineMatch> match)
    : options_(request.parser),
      by_(request.by),
      keep_query_(request.keep_query),
      parser_(std::move(parser)),
      match_(std::move(match)),
      records_(kLinesMax) {}

Result<HotKeys> HotKeys::create(const HotKeyRequest& request) {
  MANKAI_ASSIGN(auto parser, LogParser::create(request.parser));
  std::optional<LineMatch> match;
  if (request.match) {
    MANKAI_ASSIGN(auto compiled, within("--match", LineMatch::create(*request.match)));
    match = std::move(compiled);
  }
  return HotKeys(request, std::move(parser), std::move(match));
}

HotKeys HotKeys::another() const {
  HotKeyRequest request{.by = by_, .keep_query = keep_query_, .match = {}, .parser = options_};
  return {request, LogParser::create(options_).value(), match_};
}

void HotLineCounts::add(const HotLineCounts& later) {
  lines += later.lines;
  skipped += later.skipped;
  malformed += later.malformed;
  without_key += later.without_key;
  without_time += later.without_time;
  in_future += later.in_future;
  if (first_malformed.empty()) {
    first_malformed = later.first_malformed;
  }
  if (first_in_future.empty()) {
    first_in_future = later.first_in_future;
  }
}

void HotKeys::add(const HotKeys& later) {
  counts_.add(later.counts_);
  parser_.continue_after(later.parser_);
}

void HotKeys::Batch::begin_at(Time before) const {
  std::fill(times.begin(), std::ranges::find_if(times, [](Time time) { return time != kNoTime; }), before);
}

void HotKeys::read(std::span<const std::string_view> lines, const std::string& label, std::uint64_t first_line) {
  counts_ = {};
  counts_.lines = lines.size();
  batches_.clear();
  keys_.resize(std::max(keys_.size(), lines.size()));
  times_.resize(keys_.size());
  for (std::size_t begin = 0; begin < lines.size(); begin += kLinesMax) {
    const auto some = lines.subspan(begin, std::min(kLinesMax, lines.size() - begin));
    batches_.push_back(read_batch(some, label, first_line + begin, begin));
  }
}

HotKeys::Batch HotKeys::read_batch(std::span<const std::string_view> lines, const std::string& label,
                                   std::uint64_t first_line, std::size_t place) {
  const auto records = std::span(records_).first(lines.size());
  const bool is_first = batches_.empty();
  parser_.parse(lines, records, std::span(outcomes_).first(lines.size()), !is_first);
  made_ = batches_.size() < all_made_.size() ? &all_made_[batches_.size()] : &all_made_.emplace_back();
  make_room(lines.size());
  const auto keys = std::span(keys_).subspan(place);
  const auto times = std::span(times_).subspan(place);
  Time before = kNoTime;
  std::size_t found = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (outcomes_[i] != LogLine::record) {
      note_malformed(outcomes_[i], label, first_line + i);
      continue;
    }
    counts_.without_time += static_cast<std::uint64_t>(!records[i].time.has_value());
    if (records[i].time > latest_) {
      note_in_future(*records[i].time, label, first_line + i);
      continue;
    }
    before = records[i].time.value_or(before);
    const std::string_view key = key_of(lines[i], records[i]);
    if (key.empty()) {
      ++counts_.without_key;
      continue;
    }
    keys[found] = key;
    times[found++] = before;
  }
  return {.keys = keys.first(found), .times = times.first(found)};
}

void HotKeys::note_malformed(LogLine outcome, const std::string& label, std::uint64_t line) {
  if (!is_malformed(outcome)) {
    ++counts_.skipped;
    return;
  }
  if (++counts_.malformed == 1) {
    counts_.first_malformed = label + ":" + std::to_string(line) + ": " + std::string(name(outcome));
  }
}

void HotKeys::note_in_future(Time time, const std::string& label, std::uint64_t line) {
  if (++counts_.in_future == 1) {
    counts_.first_in_future = label + ":" + std::to_string(line) + ": " + format_time(time);
  }
}

// Returns an empty key if the record has none.
std::string_view HotKeys::key_of(std::string_view line, const LogRecord& record) {
  if (match_) {
    return match_->find(line).value_or(std::string_view());
  }
  switch (by_) {
    case HotField::path: return path_of(record);
    case HotField::url: return url_of(record);
    case HotField::host: return record.host;
    case HotField::referrer: return record.referrer;
    case HotField::status: return status_of(record);
    case HotField::client: return record.client;
    case HotField::agent: return record.agent;
  }
  return {};
}

// LogFormat::keys has no query to remove.
std::string_view HotKeys::path_of(const LogRecord& record) const noexcept {
  const bool is_whole = keep_query_ || format() == LogFormat::keys;
  return is_whole ? record.target : without_query(record.target);
}

std::string_view HotKeys::url_of(const LogRecord& record) {
  const std::string_view path = path_of(record);
  if (record.host.empty() || !path.starts_with('/')) {
    return path;
  }
  const std::size_t begin = made_->size();
  made_->append(record.host).append(path);
  return std::string_view(*made_).substr(begin);
}

std::string_view HotKeys::status_of(const LogRecord& record) {
  if (!record.status) {
    return {};
  }
  std::array<char, kStatusDigits> digits{};
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), *record.status);
  const std::size_t begin = made_->size();
  made_->append(digits.data(), written.ptr);
  return std::string_view(*made_).substr(begin);
}

// Reserves the maximum: keys are views of made_, which must not reallocate.
void HotKeys::make_room(std::size_t lines) {
  made_->clear();
  std::size_t most = lines * kStatusDigits;
  if (by_ == HotField::url && !match_) {
    for (std::size_t i = 0; i < lines; ++i) {
      most += outcomes_[i] == LogLine::record ? records_[i].host.size() + records_[i].target.size() : 0;
    }
  }
  made_->reserve(most);
}

void HotReader::Block::parse() {
  if (!is_parsed) {
    lines.parse();
    keys.accept_until(clock_now() + future);
    keys.read(lines.lines, lines.label, lines.first_line_number);
    is_parsed = true;
  }
}

Result<std::unique_ptr<Pipeline<HotReader>>> HotReader::open(const InputRequest& request, const HotKeys& keys,
                                                             Duration future, std::function<void()> before_waiting) {
  const auto open = [&keys, options = request.lines](Source source) -> Result<HotReader> {
    MANKAI_ASSIGN(auto lines, LineReader::create(std::move(source), options));
    return HotReader(std::move(lines), keys.another());
  };
  const auto make_block = [&keys, future] { return Block{.keys = keys.another(), .future = future}; };
  return Pipeline<HotReader>::open(request, {.open = open, .make_block = make_block}, std::move(before_waiting));
}

Result<std::size_t> HotReader::read(Block& block, bool keeps) {
  MANKAI_ASSIGN(const std::size_t bytes, block.lines.read(lines_, keeps));
  block.keys.continue_after(last_);
  block.is_parsed = false;
  if (last_.depends_on_order()) {
    block.parse();
    last_.continue_after(block.keys);
  }
  return bytes;
}

}  // namespace mankai::command
