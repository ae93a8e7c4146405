// Any bytes as a WARC file. The first byte chooses the chunk size, so that everything falls between two reads sooner or
// later. What is read must not depend on that, records must lie one behind the other, and an error must stay.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/input/detail/decoder.hpp"
#include "mankai/input/line_reader.hpp"
#include "mankai/input/warc_reader.hpp"

namespace {

// A few bytes can unpack to gigabytes; reading those would find nothing more.
constexpr std::size_t kRecordsMax = 4096;

struct Found {
  mankai::WarcType type;
  std::string uri;
  std::optional<mankai::Time> date;
  std::uint64_t offset;
  std::uint64_t bytes;

  friend bool operator==(const Found&, const Found&) = default;
};

struct Read {
  std::vector<Found> records;
  std::string error;
};

Read read(std::string_view bytes, std::size_t chunk) {
  auto reader = mankai::WarcReader::create(mankai::Source::from_memory(bytes, "fuzz", {.buffer_bytes = chunk}),
                                           {.buffer_bytes = chunk, .max_header_bytes = std::size_t{1} << 16});
  Read read;
  std::uint64_t end = 0;
  while (read.records.size() < kRecordsMax) {
    const auto batch = reader->next_batch();
    if (!batch) {
      read.error = batch.error().message();
      MANKAI_ASSERT(reader->next_batch().error().message() == read.error);
      break;
    }
    if (batch->empty()) {
      break;
    }
    MANKAI_ASSERT(batch->size() <= mankai::kBatchLinesMax);
    for (const mankai::WarcRecord& record : *batch) {
      MANKAI_ASSERT(record.offset >= end);
      MANKAI_ASSERT(record.target_uri.find('\n') == std::string_view::npos);
      end = record.offset + record.block_bytes;
      read.records.push_back({.type = record.type,
                              .uri = std::string(record.target_uri),
                              .date = record.date,
                              .offset = record.offset,
                              .bytes = record.block_bytes});
    }
  }
  return read;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::size_t chunk = std::size_t{1} + data[0];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  // A tar file is refused only by a reader whose buffer has room for the magic number, which is behind the name.
  if (mankai::detail::is_tar(bytes)) {
    return 0;
  }
  const Read small = read(bytes, chunk);
  const Read large = read(bytes, std::size_t{1} << 16);
  if (small.records.size() < kRecordsMax && large.records.size() < kRecordsMax) {
    MANKAI_ASSERT(small.records == large.records);
    MANKAI_ASSERT(small.error.empty() == large.error.empty());
  }
  return 0;
}
