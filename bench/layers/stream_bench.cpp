#include <zstd.h>

#include <string>

#include "bench/layers/support.hpp"
#include "lab/traffic/log_generator.hpp"
#include "lab/traffic/url_generator.hpp"
#include "mankai/input/line_reader.hpp"
#include "mankai/input/log_parser.hpp"

namespace mankai::bench {
namespace {

constexpr std::uint64_t kUrls = 500'000;

std::string url_lines() {
  auto web = UrlGenerator::create({.count = kUrls}).value();
  std::string text;
  while (web.has_next()) {
    web.append_next(text);
    text += '\n';
  }
  return text;
}

std::string zstd(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

void read_lines(benchmark::State& state, const std::string& bytes, std::size_t text_bytes) {
  for (auto _ : state) {
    auto reader = LineReader::create(Source::from_memory(bytes, "memory")).value();
    std::size_t lines = 0;
    for (auto batch = reader.next_batch(); batch && !batch->empty(); batch = reader.next_batch()) {
      lines += batch->size();
    }
    if (lines != kUrls) {
      state.SkipWithError("lines went missing");
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text_bytes));
  count_keys(state, kUrls);
}

void stream_lines_plain(benchmark::State& state) {
  const std::string text = url_lines();
  read_lines(state, text, text.size());
}
BENCHMARK(stream_lines_plain);

void stream_lines_zstd(benchmark::State& state) {
  const std::string text = url_lines();
  read_lines(state, zstd(text), text.size());
}
BENCHMARK(stream_lines_zstd);

void stream_generate_urls(benchmark::State& state) {
  auto web = UrlGenerator::create({.count = 1'000'000'000'000}).value();
  std::string url;
  for (auto _ : state) {
    web.next(url);
    benchmark::DoNotOptimize(url.data());
  }
  count_keys(state, 1);
}
BENCHMARK(stream_generate_urls);

constexpr std::uint64_t kRecords = 100'000;

LogGenerator log_of(LogFormat format, std::uint64_t count) {
  LogGeneratorOptions options;
  options.format = format;
  options.count = count;
  return LogGenerator::create(options).value();
}

std::string log_lines(LogFormat format) {
  LogGenerator log = log_of(format, kRecords);
  std::string text;
  log.append_header(text);
  while (log.has_next()) {
    log.append_next(text);
    text += '\n';
  }
  return text;
}

// Reading and parsing, as a command does.
void parse_log(benchmark::State& state, LogFormat format) {
  const std::string text = log_lines(format);
  for (auto _ : state) {
    auto reader = LineReader::create(Source::from_memory(text, "memory")).value();
    LogParser parser = LogParser::create({.format = format, .names = {}}).value();
    LogRecord record;
    std::size_t target_bytes = 0;
    for (auto batch = reader.next_batch(); batch && !batch->empty(); batch = reader.next_batch()) {
      for (const std::string_view line : *batch) {
        target_bytes += parser.parse(line, record) == LogLine::record ? record.target.size() : 0;
      }
    }
    benchmark::DoNotOptimize(target_bytes);
    if (parser.counts().of(LogLine::record) != kRecords) {
      state.SkipWithError("records went missing");
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
  count_keys(state, kRecords);
}
BENCHMARK_CAPTURE(parse_log, combined, LogFormat::combined)->Name("stream_parse_combined");
BENCHMARK_CAPTURE(parse_log, squid, LogFormat::squid)->Name("stream_parse_squid");
BENCHMARK_CAPTURE(parse_log, w3c, LogFormat::w3c)->Name("stream_parse_w3c");
BENCHMARK_CAPTURE(parse_log, json, LogFormat::json)->Name("stream_parse_json");
BENCHMARK_CAPTURE(parse_log, keys, LogFormat::keys)->Name("stream_parse_keys");

void stream_generate_log(benchmark::State& state) {
  LogGenerator log = log_of(LogFormat::combined, 200'000'000'000);
  std::string line;
  for (auto _ : state) {
    line.clear();
    log.append_next(line);
    benchmark::DoNotOptimize(line.data());
  }
  count_keys(state, 1);
}
BENCHMARK(stream_generate_log);

}  // namespace
}  // namespace mankai::bench
