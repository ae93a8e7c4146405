// Counts that fade and are kept in pieces. Bit 0 of the first byte chooses: operations on pooled and tiered counts
// beside basic ones, or bytes as an image, as they are, with right checksums, or laid as changes over a good image.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/filter/time_decaying_counts/time_decaying_counts.hpp"
#include "tests/support/decayed_pieces.hpp"

namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t kOperationsMax = 200;
// k is 4; a line's worth of basic cells.
constexpr std::uint64_t kCounters = 32;

// The same positions and decay in all of them.
struct Filters {
  mankai::TimeDecayingCounts basic;
  mankai::TimeDecayingPooledCounts pooled;
  mankai::TimeDecayingPooledCounts waiting;
  mankai::TimeDecayingTieredCounts tiered;
};

mankai::TimeDecayingPooledCounts pooled_of(std::uint8_t choice, mankai::OverflowRule rule, const mankai::Decay& decay) {
  return mankai::TimeDecayingPooledCounts::create({.counters = kCounters,
                                                   .pool_share = (choice & 8U) != 0 ? 0.0 : 0.5,
                                                   .decay = decay,
                                                   .lookup = static_cast<mankai::PoolLookup>((choice >> 4) % 3),
                                                   .overflow = rule,
                                                   .hash = mankai::test::kPiecesHash})
      .value();
}

Filters filters_of(std::uint8_t choice) {
  constexpr std::uint64_t kLambdas[] = {mankai::kLambdaOne, mankai::kLambdaOne - (mankai::kLambdaOne >> 7),
                                        mankai::kLambdaOne / 2, mankai::kLambdaOne / 10};
  const mankai::Decay decay{.lambda_q32 = kLambdas[(choice >> 1) & 3U], .epoch = mankai::Duration(1000)};
  return {
      .basic = mankai::TimeDecayingCounts::create({.bytes = 4 * kCounters,
                                                   .decay = decay,
                                                   .width_bits = 32,
                                                   .policy = mankai::DecayPolicy::floor,
                                                   .fraction_bits = {},
                                                   .hash = mankai::test::kPiecesHash})
                   .value(),
      .pooled = pooled_of(choice, mankai::OverflowRule::per_counter, decay),
      .waiting = pooled_of(choice, mankai::OverflowRule::all, decay),
      .tiered =
          mankai::TimeDecayingTieredCounts::create(
              {.counters = kCounters, .shrink_bits = choice / 64U, .decay = decay, .hash = mankai::test::kPiecesHash})
              .value()};
}

void expect_agreement(const Filters& filters) {
  for (std::uint64_t key = 0; key < 16; ++key) {
    const mankai::Digest digest = mankai::test::piece_key(key);
    const mankai::DecayedCount count = filters.basic.estimate(digest);
    MANKAI_ASSERT(filters.pooled.estimate(digest) == count);
    MANKAI_ASSERT(filters.waiting.estimate(digest).raw <= count.raw);
    MANKAI_ASSERT(filters.tiered.estimate(digest).raw >= count.raw);
  }
  MANKAI_ASSERT(filters.waiting.use().digits_in_use <= filters.pooled.use().digits_in_use);
}

void run(std::uint8_t choice, std::span<const std::uint8_t> input) {
  Filters filters = filters_of(choice);
  const auto all = [&filters](const auto& act) {
    act(filters.basic);
    act(filters.pooled);
    act(filters.waiting);
    act(filters.tiered);
  };
  for (std::size_t i = 0; i + 2 <= input.size() && i < 2 * kOperationsMax; i += 2) {
    const unsigned verb = input[i] >> 4;
    if (verb == 0) {
      all([&](auto& filter) { filter.advance({filter.tick().value + input[i + 1]}); });
    } else if (verb == 1 && input[i + 1] == 0) {
      all([](auto& filter) { filter.clear(); });
    } else {
      // 1 to 256 times, more with higher verbs.
      const std::vector<mankai::Digest> times(1U + (input[i + 1] >> (verb & 7U)),
                                              mankai::test::piece_key(input[i] & 15U));
      all([&](auto& filter) { filter.insert(std::span<const mankai::Digest>(times)); });
    }
    expect_agreement(filters);
  }
  MANKAI_ASSERT(mankai::TimeDecayingPooledCounts::from_bytes(filters.pooled.to_bytes()).has_value());
  MANKAI_ASSERT(mankai::TimeDecayingPooledCounts::from_bytes(filters.waiting.to_bytes()).has_value());
  MANKAI_ASSERT(mankai::TimeDecayingTieredCounts::from_bytes(filters.tiered.to_bytes()).has_value());
}

const Bytes& good_image(std::size_t which) {
  static const std::vector<Bytes> kImages = [] {
    std::vector<Bytes> images = mankai::test::pooled_images();
    for (Bytes& image : mankai::test::tiered_images()) {
      images.push_back(std::move(image));
    }
    return images;
  }();
  return kImages[which % kImages.size()];
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const unsigned mode = data[0];
  const std::span<const std::uint8_t> input = std::span(data, size).subspan(1);
  if ((mode & 1U) == 0) {
    run(data[0], input);
    return 0;
  }
  const auto raw = std::as_bytes(input);
  Bytes bytes(raw.begin(), raw.end());
  if ((mode & 2U) != 0) {
    bytes = good_image(mode >> 4);
    mankai::test::change_bytes(bytes, raw);
  }
  if ((mode & 4U) != 0) {
    mankai::test::fix_header_checksum(bytes);
    mankai::test::fix_trailer(bytes);
  }
  const mankai::Trust trust = (mode & 8U) != 0 ? mankai::Trust::fast : mankai::Trust::checked;
  mankai::test::open_pieces<mankai::TimeDecayingPooledCounts>(bytes, trust);
  mankai::test::open_pieces<mankai::TimeDecayingTieredCounts>(bytes, trust);
  return 0;
}
