#include <zstd.h>

#include <string>

#include "bench/layers/support.hpp"
#include "mankai/stream/line_reader.hpp"
#include "mankai/stream/url_generator.hpp"

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

}  // namespace
}  // namespace mankai::bench
