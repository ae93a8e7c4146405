// Any bytes through Source and LineReader. The first byte chooses the chunk size, so that a format's every boundary
// falls between two reads sooner or later. Plain input must come out as the model splits it, unless it is refused as of
// a format that is not supported; packed input may fail, but only with an error, and what does come out must be lines
// whose numbers and offsets add up. Blocks have the lines of batches.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/input/line_reader.hpp"
#include "mankai/input/test_support.hpp"

namespace {

// A few bytes can unpack to gigabytes; reading those would find nothing more.
constexpr std::uint64_t kUnpackedBytesMax = std::uint64_t{1} << 22;

constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;
constexpr std::size_t kShortLineBytes = 40;

struct ReadLines {
  std::vector<std::string> lines;
  bool is_complete = false;
  std::string error;
};

ReadLines read_lines(mankai::LineReader& reader) {
  ReadLines read;
  std::uint64_t line_bytes = 0;
  while (line_bytes < kUnpackedBytesMax) {
    const auto batch = reader.next_batch();
    MANKAI_ASSERT(reader.first_line_number() == read.lines.size() + 1);
    if (!batch) {
      MANKAI_ASSERT(!reader.next_batch().has_value());
      read.error = batch.error().detail;
      return read;
    }
    if (batch->empty()) {
      read.is_complete = true;
      return read;
    }
    MANKAI_ASSERT(batch->size() <= mankai::kBatchLinesMax);
    for (const std::string_view line : *batch) {
      MANKAI_ASSERT(line.size() <= kMaxLineBytes && line.find('\n') == std::string_view::npos);
      line_bytes += line.size();
      read.lines.emplace_back(line);
    }
  }
  return read;
}

// The same lines by next_block; stops after so many.
std::vector<std::string> read_blocks(mankai::LineReader& reader, std::size_t most_lines) {
  std::vector<std::string> read;
  mankai::LineBlock block;
  while (read.size() < most_lines) {
    const auto count = reader.next_block(block);
    if (!count || *count == 0) {
      break;
    }
    MANKAI_ASSERT(reader.first_line_number() == read.size() + 1);
    const auto lines = block.lines();
    MANKAI_ASSERT(lines.size() == *count);
    read.insert(read.end(), lines.begin(), lines.end());
  }
  return read;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::size_t chunk = data[0] < 128 ? std::size_t{1} + data[0] : std::size_t{1} << (data[0] % 18);
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t max_line_bytes = data[0] % 3 == 0 ? kShortLineBytes : kMaxLineBytes;
  const auto open = [&] {
    return mankai::LineReader::create(mankai::Source::from_memory(bytes, "fuzz", {.buffer_bytes = chunk}),
                                      {.buffer_bytes = chunk, .max_line_bytes = max_line_bytes});
  };
  auto reader = open();
  const ReadLines read = read_lines(reader.value());
  auto again = open();
  const auto blocks = read_blocks(again.value(), read.lines.size());
  MANKAI_ASSERT(blocks.size() >= read.lines.size());
  MANKAI_ASSERT(std::equal(read.lines.begin(), read.lines.end(), blocks.begin()));
  if (reader->source().compression() == mankai::Compression::plain && bytes.size() < max_line_bytes) {
    const bool is_refused = read.error.contains("is not supported");
    MANKAI_ASSERT(read.is_complete || is_refused);
    MANKAI_ASSERT(read.lines == (is_refused ? std::vector<std::string>() : mankai::test::split_model(bytes)));
  }
  return 0;
}
