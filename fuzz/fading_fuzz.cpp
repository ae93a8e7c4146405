// fading-fingerprints and recent-values: operations beside exact models, and images from outside. Byte 0 says which,
// byte 1 the shape; then two bytes are an operation, or three a change to a good image, whose checksums are made right
// or not, or all bytes are the image.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/hash/probes.hpp"
#include "tests/support/fading_filters.hpp"
#include "tests/support/image_edit.hpp"

namespace {

using namespace mankai;
using Bytes = std::vector<std::byte>;
using Input = std::span<const std::uint8_t>;

// Longer sequences find nothing that these cannot, and slow the search down.
constexpr std::size_t kOperationsMax = 300;

constexpr FadingShape kShapes[] = {{.slots = 1, .k = 1, .bits = 8},
                                   {.slots = 61, .k = 2, .bits = 8},
                                   {.slots = 101, .k = 3, .bits = 4},
                                   {.slots = 40, .k = 4, .bits = 16, .min_matches = 2},
                                   {.slots = 300, .k = 64, .bits = 4, .min_matches = 8},
                                   {.slots = 15, .k = 16, .bits = 32, .min_matches = 16}};

const FadingShape& shape_of(std::uint8_t choice) { return kShapes[choice % std::size(kShapes)]; }

/// The array as its format says, a word for each slot.
class FadingModel {
 public:
  explicit FadingModel(const FadingShape& shape) : shape_(shape), slots_(shape.slots) {}

  void insert(Digest digest) {
    probes::CellSequence positions(digest);
    for (std::uint32_t i = 0; i < shape_.k; ++i) {
      slots_[positions.next(shape_.slots)] = probes::fingerprint(digest, shape_.bits);
    }
  }
  [[nodiscard]] bool knows(Digest digest) const {
    probes::CellSequence positions(digest);
    std::uint32_t matches = 0;
    for (std::uint32_t i = 0; i < shape_.k; ++i) {
      matches += slots_[positions.next(shape_.slots)] == probes::fingerprint(digest, shape_.bits) ? 1U : 0U;
    }
    return matches >= shape_.min_matches;
  }
  [[nodiscard]] double fill() const {
    return static_cast<double>(std::ranges::count_if(slots_, [](std::uint32_t slot) { return slot != 0; })) /
           static_cast<double>(shape_.slots);
  }
  void clear() { std::ranges::fill(slots_, 0); }

 private:
  FadingShape shape_;
  std::vector<std::uint32_t> slots_;
};

void check_fading(const FadingFingerprints& filter, const FadingModel& model, const Hasher& hash) {
  constexpr std::size_t kKeys = 256;
  std::vector<Digest> digests;
  for (std::uint64_t key = 0; key < kKeys; ++key) {
    digests.push_back(hash(key));
  }
  const auto outcomes = std::make_unique<bool[]>(kKeys);
  filter.may_contain(digests, std::span(outcomes.get(), kKeys));
  for (std::size_t i = 0; i < kKeys; ++i) {
    MANKAI_ASSERT(outcomes[i] == model.knows(digests[i]) && outcomes[i] == filter.may_contain(digests[i]));
  }
  MANKAI_ASSERT(filter.fill_ratio() == model.fill());
}

// Byte 0 of an operation is what to do, byte 1 the key.
void run_fading(const FadingShape& shape, Input input) {
  FadingFingerprints filter = test::filled_fading(shape).create_like().value();
  FadingModel model(shape);
  const Hasher hash = filter.hasher();
  for (std::size_t i = 0; i + 2 <= input.size() && i < 2 * kOperationsMax; i += 2) {
    const Digest digest = hash(std::uint64_t{input[i + 1]});
    switch (input[i] % 6) {
      case 0:
        filter.insert(digest);
        model.insert(digest);
        break;
      case 1:
        filter.insert_concurrent(digest);
        model.insert(digest);
        break;
      case 2:
        MANKAI_ASSERT(filter.observe(digest) == model.knows(digest));
        model.insert(digest);
        break;
      case 3: MANKAI_ASSERT(filter.may_contain(digest) == model.knows(digest)); break;
      case 4: filter = FadingFingerprints::from_bytes(filter.to_bytes()).value(); break;
      default:
        if (input[i + 1] == 0) {
          filter.clear();
          model.clear();
        }
    }
  }
  check_fading(filter, model, hash);
}

// Byte 0 of an operation is the key and what to do, byte 1 the value.
void run_values(std::uint8_t choice, Input input) {
  constexpr double kStrengths[] = {0.01, 0.5, 0.9, 1};
  const double strength = kStrengths[choice & 3U];
  auto filter =
      RecentValues::create({.cells_per_probe = 1 + choice / 16U, .k = 1 + (choice >> 2 & 3U) * 7U, .hash = test::kXxh3})
          .value();
  auto batched = filter.create_like().value();
  std::vector<Digest> keys;
  std::vector<std::uint32_t> values;
  for (std::size_t i = 0; i + 2 <= input.size() && i < 2 * kOperationsMax; i += 2) {
    keys.push_back(filter.hasher()(std::uint64_t{input[i]} % 8));
    values.push_back(input[i + 1]);
    const std::uint32_t before = filter.count(keys.back(), values.back());
    filter.put(keys.back(), values.back(), strength);
    const double taken = std::ceil(static_cast<double>(filter.params().k - before) * strength);
    MANKAI_ASSERT(filter.count(keys.back(), values.back()) == before + static_cast<std::uint32_t>(taken));
    if (input[i] >= 248) {
      filter = RecentValues::from_bytes(filter.to_bytes()).value();
    }
  }
  batched.put(keys, values, strength);
  MANKAI_ASSERT(batched.to_bytes() == filter.to_bytes());
  for (const Digest key : keys) {
    std::uint32_t total = 0;
    for (const ValueMatches& each : filter.get(key, 1)) {
      MANKAI_ASSERT(each.matches <= filter.count(key, each.value));
      total += each.matches;
    }
    MANKAI_ASSERT(total >= 1 && total <= filter.params().k);
  }
}

bool is_rate(double value) { return value >= 0 && value <= 1; }

void use(FadingFingerprints filter) {
  const Hasher hash = filter.hasher();
  for (std::uint64_t key = 0; key < 40; ++key) {
    filter.observe(hash(key));
    MANKAI_ASSERT(filter.shape().min_matches != 1 || filter.may_contain(hash(key)));
  }
  MANKAI_ASSERT(is_rate(filter.fill_ratio()) && is_rate(filter.fpr_estimate()) && is_rate(filter.fpr_expected(100)));
  MANKAI_ASSERT(is_rate(filter.survival(0)) && is_rate(filter.survival(1e18)));
  MANKAI_ASSERT(filter.keys_estimate() >= 0 && filter.half_life() >= 0);
  MANKAI_ASSERT(FadingFingerprints::from_bytes(filter.to_bytes()).has_value());
  filter.clear();
  MANKAI_ASSERT(filter.fill_ratio() == 0);
}

void use(RecentValues filter) {
  for (std::uint32_t i = 0; i < 40; ++i) {
    const Digest key = filter.hasher()(std::uint64_t{i});
    filter.put(key, i, 1);
    MANKAI_ASSERT(filter.count(key, i) == filter.params().k);
    MANKAI_ASSERT(filter.get(key, 1).size() <= filter.params().k);
  }
  MANKAI_ASSERT(is_rate(filter.fill_ratio()) && is_rate(filter.fpr_estimate()) && is_rate(filter.fpr_expected(100)));
  MANKAI_ASSERT(filter.keys_estimate() >= 0);
  MANKAI_ASSERT(RecentValues::from_bytes(filter.to_bytes()).has_value());
}

template <class F>
void open(std::uint8_t mode, const Bytes& good, Input input) {
  const auto raw = std::as_bytes(input);
  Bytes bytes(raw.begin(), raw.end());
  if ((mode & 4U) == 0) {
    bytes = good;
    test::change_bytes(bytes, raw);
  }
  if ((mode & 8U) != 0) {
    test::fix_header_checksum(bytes);
  }
  if ((mode & 16U) != 0) {
    test::fix_trailer(bytes);
  }
  // Not one byte longer than the image, so that a step past its end is seen.
  test::AlignedBytes standing(bytes);
  auto opened = F::attach(standing.span(), (mode & 32U) != 0 ? Trust::fast : Trust::checked);
  if (opened) {
    use(std::move(*opened));
  } else {
    MANKAI_ASSERT(opened.error().code == ErrorCode::corrupt || opened.error().code == ErrorCode::unsupported_version);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) {
    return 0;
  }
  static const Bytes kValues = test::filled_values().to_bytes();
  const Input input = Input(data, size).subspan(2);
  switch (data[0] & 3U) {
    case 0: run_fading(shape_of(data[1]), input); break;
    case 1: run_values(data[1], input); break;
    case 2: open<FadingFingerprints>(data[0], test::filled_fading(shape_of(data[1])).to_bytes(), input); break;
    default: open<RecentValues>(data[0], kValues, input);
  }
  return 0;
}
