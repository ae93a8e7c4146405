// Any bytes as the image of a growing kind. The first byte chooses what happens to the rest before it is opened: taken
// as it is, or laid as changes over a good image whose checksums are made right, of the outer header, the slices and
// their order, so that the checks behind the checksums are reached. What opens must then behave: answer, keep its
// promise, grow, and come back from its own bytes.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/filter/scalable_bloom/scalable_bloom.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"
#include "tests/support/filter_request.hpp"
#include "tests/support/image_edit.hpp"
#include "tests/support/outcomes.hpp"

namespace {

using mankai::ScalableBloom;
using mankai::ScalableCountingBloom;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kHeaderBytes = sizeof(mankai::ImageHeader);
constexpr std::uint64_t kGood = 5;

template <class F>
Bytes good(typename F::Options options) {
  options.hash = mankai::test::kXxh3;
  F filter = F::create(options).value();
  for (std::uint64_t i = 0; filter.slice_count() == 1 || i < 20; ++i) {
    filter.insert(mankai::Digest{i * 0x9e3779b97f4a7c15U});
  }
  return filter.to_bytes();
}

// A good image of each kind, small enough to be changed everywhere.
const Bytes& good_image(unsigned which) {
  static const Bytes kImages[kGood] = {
      good<ScalableBloom>({.keys = 8, .fpr = 0.3}),
      good<ScalableBloom>({.keys = 8, .fpr = 0.3, .growth = {.factor = 1}}),
      good<ScalableCountingBloom>({.keys = 8, .fpr = 0.3}),
      good<ScalableCountingBloom>(
          {.keys = 8, .fpr = 0.3, .growth = {.factor = 1}, .layout = mankai::CountingLayout::partitioned}),
      // Keys have several blocks.
      good<ScalableBloom>({.keys = 64, .fpr = 1e-9, .growth = {.bound = mankai::FprBound::gradual}})};
  return kImages[which % kGood];
}

// Each three bytes of input are a place in the image and a byte to put there; the last ones may cut or extend it.
Bytes changed(Bytes image, std::span<const std::byte> input) {
  if (const auto rest = mankai::test::change_bytes(image, input); rest.size() == 2) {
    image.resize(std::to_integer<std::size_t>(rest[0]) << 3);
  }
  return image;
}

// Makes the checksums right of as many slices as their sizes can be followed, and the outer header name them.
void fix_checksums(std::span<std::byte> image, bool is_order_fixed) {
  std::uint64_t order = 0;
  std::uint64_t count = 0;
  for (std::size_t offset = kHeaderBytes; image.size() - offset >= kHeaderBytes; ++count) {
    const auto rest = image.subspan(offset);
    const std::uint64_t cells = mankai::test::header_of(rest).cells_bytes;
    const std::uint64_t bytes = kHeaderBytes + cells + (cells / mankai::kChunkBytes + 2) * 8;
    if (cells > rest.size() || bytes > rest.size()) {
      break;
    }
    const auto slice = rest.first(static_cast<std::size_t>(bytes));
    mankai::test::fix_header_checksum(slice);
    mankai::test::fix_trailer(slice);
    std::array<std::byte, 16> sums;
    std::ranges::copy(slice.subspan(offsetof(mankai::ImageHeader, checksum), 8), sums.begin());
    std::ranges::copy(slice.last(8), sums.begin() + 8);
    order = XXH3_64bits_withSeed(sums.data(), sums.size(), order);
    offset += static_cast<std::size_t>((bytes + 63) / 64 * 64);
    if (offset > image.size()) {
      break;
    }
  }
  mankai::ImageHeader outer = mankai::test::header_of(image);
  if (is_order_fixed) {
    outer.cells_bytes = image.size() - kHeaderBytes;
    outer.kind_state[0] = count;
    outer.kind_state[1] = order;
    mankai::test::set_header(image, outer);
  }
  mankai::test::fix_header_checksum(image);
}

// A hostile image may ask for slices of 2^48 keys next; what is made here must stay small.
template <class F>
bool may_grow(const F& filter) {
  constexpr std::uint64_t kKeysMax = 1U << 16U;
  return filter.initial_keys() < kKeysMax && filter.growth().factor < 64 && filter.slice_count() < 3;
}

template <class F>
void use(F filter) {
  std::vector<mankai::Digest> digests;
  for (std::uint64_t i = 0; i < 70; ++i) {
    digests.push_back(mankai::Digest{i * 0x9e3779b97f4a7c15U});
  }
  digests.push_back(mankai::Digest{~std::uint64_t{0}});
  const std::vector<bool> answers = mankai::test::batch_answers(filter, digests);
  MANKAI_ASSERT(answers == mankai::test::single_answers(filter, digests));
  const double fill = filter.fill_ratio();
  const double fpr = filter.fpr_estimate();
  MANKAI_ASSERT(fill >= 0 && fill <= 1);
  MANKAI_ASSERT(fpr >= 0 && fpr <= 1);
  MANKAI_ASSERT(filter.keys_estimate() >= 0);
  if constexpr (mankai::NumberedFilter<F>) {
    MANKAI_ASSERT(filter.first_id() <= filter.next_id() && filter.max_id() <= F::kMaxId);
    std::vector<mankai::EraseResult> results(digests.size());
    filter.erase(digests, results);
    for (const mankai::Digest digest : digests) {
      filter.erase(digest, filter.max_id());
      MANKAI_ASSERT(filter.estimate(digest).value <= 15 * mankai::kMaxSlices);
    }
  }
  if (may_grow(filter)) {
    filter.insert(std::span<const mankai::Digest>(digests));
    for (const mankai::Digest digest : digests) {
      MANKAI_ASSERT(filter.observe(digest));
    }
  }
  const Bytes bytes = filter.to_bytes();
  auto again = F::from_bytes(bytes);
  MANKAI_ASSERT(again.has_value() && again->to_bytes() == bytes);
  MANKAI_ASSERT(again->merge(filter).has_value());
  again->clear();
  MANKAI_ASSERT(again->fill_ratio() == 0 && again->keys_inserted() == 0 && again->slice_count() == 1);
}

template <class F>
void open(const Bytes& bytes, mankai::Trust trust) {
  mankai::test::open_both<F>(
      bytes, trust,
      [trust](std::span<std::byte> in_place) { return F::from_region(mankai::Region::borrow(in_place), trust); },
      use<F>);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const unsigned mode = data[0];
  const auto input = std::as_bytes(std::span(data, size)).subspan(1);
  Bytes bytes(input.begin(), input.end());
  if ((mode & 1U) != 0) {
    bytes = changed(good_image(mode >> 4), input);
  }
  if ((mode & 2U) != 0 && bytes.size() >= kHeaderBytes) {
    fix_checksums(bytes, (mode & 4U) != 0);
  }
  const mankai::Trust trust = (mode & 8U) != 0 ? mankai::Trust::fast : mankai::Trust::checked;
  open<ScalableBloom>(bytes, trust);
  open<ScalableCountingBloom>(bytes, trust);
  return 0;
}
