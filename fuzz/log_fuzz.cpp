// Any bytes as an access log in every format, and as a time. The first byte chooses the format. Every line has an
// outcome; of a record every text lies in the line, or is a copy that holds until the next call; a batch says what
// single lines say; the counts add up; a time that is understood is understood again as it is written.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/input/detail/time_scan.hpp"
#include "mankai/input/log_parser.hpp"
#include "mankai/input/test_support.hpp"
#include "mankai/input/time_text.hpp"

namespace mankai {
namespace {

constexpr unsigned kFormats = 6;

bool is_within(std::string_view text, std::string_view line) {
  const std::less_equal<> before;
  return text.empty() ||
         (before(line.data(), text.data()) && before(text.data() + text.size(), line.data() + line.size()));
}

void check_record(std::string_view line, const LogRecord& record, LogFormat format) {
  const bool may_be_copied = format == LogFormat::json || format == LogFormat::w3c;
  std::size_t bytes = 0;
  for (const std::string_view text :
       {record.client, record.host, record.method, record.target, record.referrer, record.agent}) {
    MANKAI_ASSERT(may_be_copied || is_within(text, line));
    for (const char byte : text) {  // the sanitizer sees whether it is there
      bytes += static_cast<unsigned char>(byte);
    }
  }
  MANKAI_ASSERT(bytes < SIZE_MAX);
  MANKAI_ASSERT(!record.status || (*record.status > 0 && *record.status < 1000));
  MANKAI_ASSERT(record.target.empty() || format != LogFormat::combined || !record.method.empty());
}

bool are_equal(const LogRecord& a, const LogRecord& b) {
  return a.time == b.time && a.client == b.client && a.host == b.host && a.method == b.method && a.target == b.target &&
         a.referrer == b.referrer && a.agent == b.agent && a.status == b.status && a.bytes == b.bytes;
}

void check_log(LogFormat format, const std::vector<std::string>& lines) {
  const LogParserOptions options{.format = format, .names = {}};
  LogParser batched = LogParser::create(options).value();
  const std::vector<std::string_view> views(lines.begin(), lines.end());
  std::vector<LogRecord> records(lines.size());
  std::vector<LogLine> outcomes(lines.size());
  batched.parse(views, records, outcomes);
  LogParser single = LogParser::create(options).value();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    LogRecord record;
    const LogLine outcome = single.parse(lines[i], record);
    MANKAI_ASSERT(outcome != LogLine::skipped || lines[i].empty() || lines[i].front() == '#');
    if (outcome == LogLine::record) {
      check_record(lines[i], record, single.format() == LogFormat::automatic ? LogFormat::keys : single.format());
    }
    // What automatic takes before it has decided depends on what comes at once.
    if (format != LogFormat::automatic) {
      MANKAI_ASSERT(outcome == outcomes[i]);
      MANKAI_ASSERT(outcome != LogLine::record || are_equal(record, records[i]));
    }
  }
  MANKAI_ASSERT(single.counts().lines() == lines.size() && batched.counts().lines() == lines.size());
}

void check_time(std::string_view text) {
  if (const auto time = parse_time(text); time) {
    const std::string written = format_time(*time);
    const auto again = parse_time(written);
    MANKAI_ASSERT(again.has_value() && format_time(*again) == written);
  }
  detail::LogClock clock;
  for (int i = 0; i < 2; ++i) {  // the second time from memory
    const detail::ScannedTime fast = clock.scan(text);
    const detail::ScannedTime plain = detail::scan_log_time(text);
    MANKAI_ASSERT(fast.shape == plain.shape && fast.time == plain.time && fast.length == plain.length);
    MANKAI_ASSERT(fast.length <= text.size());
  }
}

}  // namespace
}  // namespace mankai

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto format = static_cast<mankai::LogFormat>(data[0] % mankai::kFormats);
  mankai::check_log(format, mankai::test::split_model(text));
  mankai::check_time(text);
  return 0;
}
