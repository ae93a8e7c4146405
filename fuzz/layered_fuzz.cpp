// Any bytes as operations on a layered filter, in both modes, beside an exact set; or as changes over a good image
// whose checksums are made right, so that the checks behind the checksums are reached. What opens must then behave.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/filter/parts/sliced_image.hpp"
#include "tests/support/image_edit.hpp"
#include "tests/support/path_operations.hpp"

namespace {

using mankai::LayeredUrlBloom;
using Bytes = std::vector<std::byte>;

constexpr mankai::HashSpec kHash{.kind = mankai::HashKind::xxh3, .seed = {1, 2}};

void run(const mankai::test::UrlShape& shape, std::span<const std::uint8_t> input) {
  std::vector<mankai::test::PathOperation> operations;
  constexpr std::size_t kBytes = 4;
  constexpr std::size_t kMost = 60;
  for (std::size_t i = 0; i + kBytes <= input.size() && operations.size() < kMost; i += kBytes) {
    operations.push_back({.verb = static_cast<mankai::test::PathVerb>(input[i] % mankai::test::kPathVerbs),
                          .seed = input[i + 1],
                          .depth = static_cast<std::uint8_t>(input[i + 2] % 72),
                          .count = static_cast<std::uint8_t>(input[i + 3] % 40)});
  }
  mankai::test::run_path_operations(shape, {.keys = 50, .fpr = 0.05, .hash = kHash}, operations);
}

// Both modes, with some levels, as many as there can be, and one.
void run(unsigned kind, std::span<const std::uint8_t> input) {
  switch (kind % 6) {
    case 0: return run(mankai::test::kRepaired, input);
    case 1: return run(mankai::test::kFaithful, input);
    case 2: return run(mankai::test::kRepairedDeep, input);
    case 3: return run(mankai::test::kFaithfulDeep, input);
    case 4: return run(mankai::test::kRepairedOneLevel, input);
    default: return run(mankai::test::kFaithfulOneLevel, input);
  }
}

const Bytes& good_image(mankai::UrlLayering layering) {
  const auto make = [](mankai::UrlLayering mode) {
    auto filter = LayeredUrlBloom::create({.keys = 60, .fpr = 0.05, .layering = mode, .hash = kHash}).value();
    mankai::test::Random random(1);
    for (const auto& path : mankai::test::random_paths(random, 40, 3, 20)) {
      filter.insert(path);
    }
    return filter.to_bytes();
  };
  static const Bytes kRepaired = make(mankai::UrlLayering::repaired);
  static const Bytes kFaithful = make(mankai::UrlLayering::faithful);
  return layering == mankai::UrlLayering::repaired ? kRepaired : kFaithful;
}

// Makes the checksums of the slices right, as long as their sizes are, and then the outer header's.
void fix(Bytes& bytes) {
  std::size_t offset = sizeof(mankai::ImageHeader);
  while (bytes.size() - offset >= sizeof(mankai::ImageHeader)) {
    const std::uint64_t cells = mankai::test::header_of(std::span(bytes).subspan(offset)).cells_bytes;
    const std::uint64_t size = cells < bytes.size() ? mankai::image_bytes_for(cells) : bytes.size() + 1;
    if (size > bytes.size() - offset) {
      break;
    }
    const auto slice = std::span(bytes).subspan(offset, static_cast<std::size_t>(size));
    mankai::test::fix_header_checksum(slice);
    mankai::test::fix_trailer(slice);
    offset += static_cast<std::size_t>(std::min<std::uint64_t>(mankai::slice_bytes(size), bytes.size() - offset));
  }
  mankai::test::fix_header_checksum(bytes);
}

void use(LayeredUrlBloom filter) {
  mankai::test::Random random(2);
  const auto paths = mankai::test::random_paths(random, 30, 70, 20);
  const auto answers = mankai::test::path_answers(filter, paths);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    MANKAI_ASSERT(answers[i] == filter.may_contain(paths[i]));
  }
  MANKAI_ASSERT(filter.fpr_estimate() >= 0 && filter.fpr_estimate() <= 1 && filter.keys_estimate() >= 0);
  for (const auto& path : paths) {
    filter.insert(path);
    MANKAI_ASSERT(filter.may_contain(path));
  }
  const Bytes bytes = filter.to_bytes();
  auto again = LayeredUrlBloom::from_bytes(bytes);
  MANKAI_ASSERT(again.has_value() && again->to_bytes() == bytes);
  MANKAI_ASSERT(again->merge(filter).has_value());
  again->clear();
  MANKAI_ASSERT(again->fill_ratio() == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const unsigned mode = data[0];
  const auto input = std::span(data, size).subspan(1);
  if ((mode & 1U) == 0) {
    run(mode >> 1U, input);
    return 0;
  }
  Bytes bytes = good_image((mode & 2U) == 0 ? mankai::UrlLayering::repaired : mankai::UrlLayering::faithful);
  mankai::test::change_bytes(bytes, std::as_bytes(input));
  if ((mode & 4U) != 0) {
    fix(bytes);
  }
  const mankai::Trust trust = (mode & 8U) != 0 ? mankai::Trust::fast : mankai::Trust::checked;
  if (auto opened = LayeredUrlBloom::from_bytes(bytes, trust)) {
    use(std::move(*opened));
  } else {
    MANKAI_ASSERT(opened.error().code == mankai::ErrorCode::corrupt ||
                  opened.error().code == mankai::ErrorCode::unsupported_version);
  }
  return 0;
}
