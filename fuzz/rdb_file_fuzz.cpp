// Any bytes as an RDB file. The first byte chooses the size of the reads, on which nothing may depend: keys, verdicts,
// and the error at the end. A checksum of 0 is none, so changed files are read on.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "mankai/base/assert.hpp"
#include "mankai/takeover/takeover_survey.hpp"

namespace {

using mankai::takeover::RdbFileReader;

// Keys, findings and the error in one text.
std::string survey(std::span<const std::byte> bytes, std::size_t part) {
  RdbFileReader file([=](std::span<std::byte> into) mutable -> mankai::Result<std::size_t> {
    const std::size_t count = std::min({part, into.size(), bytes.size()});
    std::ranges::copy(bytes.first(count), into.begin());
    bytes = bytes.subspan(count);
    return count;
  });
  const auto found = mankai::takeover::survey_rdb(file);
  if (!found) {
    MANKAI_ASSERT(!file.next());
    return std::to_string(static_cast<int>(found.error().code));
  }
  std::string text = found->file.engine;
  for (const auto& [name, type] : found->types) {
    MANKAI_ASSERT(type.refused + type.doubtful <= type.keys && type.bytes <= found->bytes);
    text += name + " " + std::to_string(type.items) + " " + std::to_string(type.bytes);
  }
  for (const auto& finding : found->findings) {
    text += finding.key + finding.reason;
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  MANKAI_ASSERT(survey(bytes, std::size_t{1} + data[0]) == survey(bytes, std::size_t{1} << 20));
  return 0;
}
