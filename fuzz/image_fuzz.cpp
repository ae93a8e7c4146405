// Any bytes as an image. The first byte chooses what happens to the rest before it is opened: taken as it is, its
// checksums made right, or laid as changes over a good image whose checksums are made right, so that the checks behind
// the checksums are reached. What opens must then behave: answer, keep its promise, and come back from its own bytes.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"
#include "mankai/filter/bloom/bloom.hpp"
#include "tests/support/image_edit.hpp"

namespace {

using Bytes = std::vector<std::byte>;

constexpr mankai::HashSpec kHash{.kind = mankai::HashKind::xxh3, .seed = {1, 2}};

// A good image of each kind, small enough to be changed everywhere.
const Bytes& good_image(unsigned which) {
  static const Bytes kImages[] = {
      mankai::BlockedBloom::create({.keys = 120, .hash = kHash}).value().to_bytes(),
      mankai::Bloom::create({.keys = 120, .hash = kHash}).value().to_bytes(),
      mankai::Bloom::create({.keys = 120, .addressing = mankai::BloomAddressing::fields, .hash = kHash})
          .value()
          .to_bytes(),
  };
  return kImages[which % 3];
}

// Each three bytes of input are a place in the image and a byte to put there; the last ones may cut or extend it.
Bytes changed(Bytes image, std::span<const std::byte> input) {
  if (const auto rest = mankai::test::change_bytes(image, input); rest.size() == 2) {
    image.resize(std::to_integer<std::size_t>(rest[0]) << 2);
  }
  return image;
}

template <class F>
void use(F filter) {
  MANKAI_ASSERT(filter.cells_bytes() + sizeof(mankai::ImageHeader) < filter.image_bytes());
  const mankai::Hasher hash = filter.hasher();
  std::vector<mankai::Digest> digests;
  for (std::uint64_t i = 0; i < 70; ++i) {
    digests.push_back(hash(i * 7919));
  }
  digests.push_back(mankai::Digest{0});
  digests.push_back(mankai::Digest{~std::uint64_t{0}});
  bool outcomes[72];
  filter.may_contain(std::span<const mankai::Digest>(digests), outcomes);
  for (std::size_t i = 0; i < digests.size(); ++i) {
    MANKAI_ASSERT(outcomes[i] == filter.may_contain(digests[i]));
  }
  const double fill = filter.fill_ratio();
  const double fpr = filter.fpr_estimate();
  MANKAI_ASSERT(fill >= 0 && fill <= 1);
  MANKAI_ASSERT(fpr >= 0 && fpr <= 1);
  MANKAI_ASSERT(filter.keys_estimate() >= 0);
  MANKAI_ASSERT(filter.fpr_expected(filter.capacity_keys()) >= 0);

  filter.insert(std::span<const mankai::Digest>(digests));
  for (const mankai::Digest digest : digests) {
    MANKAI_ASSERT(filter.observe(digest));
  }
  const Bytes bytes = filter.to_bytes();
  auto again = F::from_bytes(bytes);
  MANKAI_ASSERT(again.has_value());
  MANKAI_ASSERT(again->merge(filter).has_value());
  MANKAI_ASSERT(again->fill_ratio() == filter.fill_ratio());
  MANKAI_ASSERT(again->keys_inserted() >= filter.keys_inserted());
  again->clear();
  MANKAI_ASSERT(again->fill_ratio() == 0 && again->keys_inserted() == 0);
}

template <class F>
void open(const Bytes& bytes, mankai::Trust trust) {
  mankai::test::open_both<F>(
      bytes, trust, [trust](std::span<std::byte> in_place) { return F::attach(in_place, trust); }, use<F>);
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
  if ((mode & 2U) != 0) {
    mankai::test::fix_header_checksum(bytes);
  }
  if ((mode & 4U) != 0) {
    mankai::test::fix_trailer(bytes);
  }
  const mankai::Trust trust = (mode & 8U) != 0 ? mankai::Trust::fast : mankai::Trust::checked;
  open<mankai::BlockedBloom>(bytes, trust);
  open<mankai::Bloom>(bytes, trust);
  return 0;
}
