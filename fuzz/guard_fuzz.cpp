// A guard's bytes from outside. Byte 0 says how many changes of three bytes each are made to a good image, and whether
// the checksums are made right afterwards; 255 takes the rest as the image. What is left is URLs to check, a line each.
//
// Bytes whose checksums were left alone give an error or the good guard's answers; forged ones give something that
// behaves: it answers, changes, compacts, and comes back the same from its own bytes.

#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/guard/guard.hpp"
#include "mankai/guard/guard_format.hpp"

namespace {

using namespace mankai;
using Bytes = std::vector<std::byte>;

constexpr std::uint8_t kWhole = 255;
constexpr std::uint8_t kForge = 128;
constexpr std::size_t kUrlsMax = 20;

const Bytes& good_image() {
  static const Bytes kImage = [] {
    auto builder = GuardBuilder::create({.seed = {{1, 2}}}).value();
    for (const char* rule : {"evil.example", "other.example/foo", "below.example/q?a=1", "removed.example",
                             "a.b.c.d.e.example", "10.1.2.3/bin", "localhost"}) {
      MANKAI_ASSERT(builder.add_block(rule).value());
    }
    MANKAI_ASSERT(builder.add_allow("good.evil.example").value());
    Guard guard = builder.build().value();
    MANKAI_ASSERT(guard.remove("removed.example").value() == RemoveOutcome::removed);
    MANKAI_ASSERT(guard.add("added.example/here", 7).value());
    return guard.to_bytes();
  }();
  return kImage;
}

void make_right(Bytes& image) {
  GuardHeader header;
  std::memcpy(&header, image.data(), sizeof(header));
  for (std::size_t i = 0; i < kGuardSections; ++i) {
    GuardSection& each = header.sections[i];
    if (each.offset <= image.size() && each.bytes <= image.size() - each.offset) {
      each.checksum = XXH3_64bits_withSeed(image.data() + each.offset, each.bytes, i);
    }
  }
  header.checksum = XXH3_64bits_withSeed(&header, offsetof(GuardHeader, checksum), kGuardHeaderSeed);
  std::memcpy(image.data(), &header, sizeof(header));
}

struct Case {
  Bytes image;
  std::string_view urls{};
  bool is_forged = false;
};

Case case_of(std::span<const std::uint8_t> input) {
  const std::uint8_t mode = input[0];
  input = input.subspan(1);
  if (mode == kWhole) {
    const auto raw = std::as_bytes(input);
    return {.image = {raw.begin(), raw.end()}, .urls = "evil.example", .is_forged = true};
  }
  Case made{.image = good_image(), .is_forged = (mode & kForge) != 0};
  const std::size_t changes = std::min<std::size_t>(mode & (kForge - 1U), input.size() / 3);
  for (std::size_t i = 0; i < changes; ++i) {
    const std::size_t place = (input[3 * i] | std::size_t{input[3 * i + 1]} << 8) % made.image.size();
    made.image[place] = static_cast<std::byte>(input[3 * i + 2]);
  }
  if (made.is_forged) {
    make_right(made.image);
  }
  input = input.subspan(3 * changes);
  made.urls = {reinterpret_cast<const char*>(input.data()), input.size()};
  return made;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty() && lines.size() < kUrlsMax) {
    const std::string_view line = text.substr(0, text.find('\n'));
    lines.push_back(line);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return lines;
}

void check_answers(const Guard& guard, const Guard& good, std::span<const std::string_view> urls, bool is_forged) {
  GuardScratch scratch;
  GuardScratch good_scratch;
  for (const std::string_view url : urls) {
    const Verdict verdict = guard.check(url, scratch);
    const Verdict right = good.check(url, good_scratch);
    MANKAI_ASSERT((verdict.answer == Verdict::Answer::invalid) == (right.answer == Verdict::Answer::invalid));
    MANKAI_ASSERT(is_forged || (verdict.answer == right.answer && verdict.rule == right.rule));
  }
}

// What was added is found, and what was removed is found no more, but by rules above it or by chance.
void change(Guard& guard, std::span<const std::string_view> rules, bool is_forged) {
  GuardScratch scratch;
  for (const std::string_view rule : rules) {
    const auto added = guard.add(rule, 3);
    const auto parsed = GuardRule::parse(rule);
    MANKAI_ASSERT(added.has_value() || !parsed || added.error().code == ErrorCode::corrupt);
    if (added && !is_forged) {
      const std::string url = "http://" + parsed->text();
      const Verdict verdict = guard.check(url, scratch);
      MANKAI_ASSERT(verdict.answer == Verdict::Answer::blocked || verdict.answer == Verdict::Answer::allowed);
      MANKAI_ASSERT(GuardRule::parse(url).value() == *parsed);
    }
  }
  static_cast<void>(guard.compact());
  for (const std::string_view rule : rules) {
    const auto removed = guard.remove(rule);
    MANKAI_ASSERT(removed.has_value() == GuardRule::parse(rule).has_value());
    MANKAI_ASSERT(!removed || guard.remove(rule).value() == RemoveOutcome::not_found);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const Case made = case_of({data, size});
  auto guard = Guard::from_bytes(made.image);
  if (!guard) {
    MANKAI_ASSERT(guard.error().code == ErrorCode::corrupt || guard.error().code == ErrorCode::unsupported_version);
    return 0;
  }
  const auto urls = lines_of(made.urls);
  const Guard good = Guard::from_bytes(good_image()).value();
  check_answers(*guard, good, urls, made.is_forged);
  change(*guard, urls, made.is_forged);
  const Bytes bytes = guard->to_bytes();
  MANKAI_ASSERT(Guard::from_bytes(bytes).value().to_bytes() == bytes);
  return 0;
}
