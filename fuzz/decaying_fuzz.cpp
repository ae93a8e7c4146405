// time-decaying-counts: operations in time beside an exact model, and images from outside. Byte 0 says which; for
// operations byte 1 chooses the filter, then three bytes are an operation. For images bytes are changes of a good one,
// or a whole image, with checksums made right or not.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/filter/time_decaying_counts/time_decaying_counts.hpp"
#include "tests/support/filter_request.hpp"
#include "tests/support/image_edit.hpp"

namespace {

using mankai::TimeDecayingCounts;
using Bytes = std::vector<std::byte>;

// Longer sequences find nothing that these cannot, and slow the search down.
constexpr std::size_t kOperationsMax = 200;
// The model's doubles are rounded, too.
constexpr double kModelError = 1e-9;

TimeDecayingCounts::Options options_of(std::uint8_t choice) {
  constexpr double kLambdas[] = {0, 0.5, 0.97, 1};
  constexpr std::uint64_t kKeys[] = {1, 50};
  return {.keys = kKeys[choice & 1U],
          .fpr = 0.1,
          .decay = mankai::Decay::of(kLambdas[choice >> 1 & 3U], mankai::Duration(1)).value(),
          .width_bits = (choice & 8U) != 0 ? 32U : 8U,
          .policy = static_cast<mankai::DecayPolicy>(choice >> 4 & 3U),
          .rule = (choice & 64U) != 0 ? mankai::IncrementRule::minimum : mankai::IncrementRule::all,
          .forced = true,
          .hash = mankai::test::kXxh3};
}

// The filter beside Σ λ^age for each key.
class Checked {
 public:
  explicit Checked(const TimeDecayingCounts::Options& options)
      : filter_(TimeDecayingCounts::create(options).value()), lambda_(filter_.decay().lambda()) {}

  void apply(std::uint8_t verb, std::uint8_t key, std::uint8_t amount) {
    const mankai::Digest digest = filter_.hasher()(std::uint64_t{key});
    switch (verb % 6) {
      case 0:
        filter_.insert(digest, amount);
        truth_[key] += amount;
        break;
      case 1:
        filter_.insert_late(digest,
                            mankai::Tick{filter_.tick().value - std::min<std::uint64_t>(filter_.tick().value, amount)});
        truth_[key] += std::pow(lambda_, static_cast<double>(std::min<std::uint64_t>(filter_.tick().value, amount)));
        break;
      case 2: advance(amount); break;
      case 3: advance(std::uint64_t{amount} << 24U); break;
      case 4: filter_ = TimeDecayingCounts::from_bytes(filter_.to_bytes()).value(); break;
      default: merge(amount);
    }
  }

  void check() const {
    const bool is_strict =
        filter_.policy() == mankai::DecayPolicy::fixed_point || filter_.policy() == mankai::DecayPolicy::ceil;
    for (const auto& [key, truth] : truth_) {
      const mankai::DecayedCount count = filter_.estimate(filter_.hasher()(std::uint64_t{key}));
      MANKAI_ASSERT(count.raw >= 0 && count.raw <= filter_.largest_count());
      MANKAI_ASSERT(!is_strict || filter_.saturations() != 0 || count.raw >= truth * (1 - kModelError));
    }
    MANKAI_ASSERT(filter_.fill_ratio() >= 0 && filter_.fill_ratio() <= 1);
  }

 private:
  // At once and one by one.
  void advance(std::uint64_t epochs) {
    auto stepping = TimeDecayingCounts::from_bytes(filter_.to_bytes()).value();
    filter_.advance(mankai::Tick{filter_.tick().value + epochs});
    for (std::uint64_t i = 0; i < epochs && epochs < 256; ++i) {
      stepping.advance(mankai::Tick{stepping.tick().value + 1});
    }
    MANKAI_ASSERT(epochs >= 256 || stepping.to_bytes() == filter_.to_bytes());
    for (auto& [key, truth] : truth_) {
      truth *= std::pow(lambda_, static_cast<double>(epochs));
    }
  }

  // With itself as it was so many epochs ago.
  void merge(std::uint8_t epochs) {
    const auto before = TimeDecayingCounts::from_bytes(filter_.to_bytes()).value();
    const std::map<std::uint8_t, double> old_truth = truth_;
    advance(epochs);
    MANKAI_ASSERT(filter_.merge(before).has_value());
    for (const auto& [key, truth] : old_truth) {
      truth_[key] += truth * std::pow(lambda_, static_cast<double>(epochs));
    }
  }

  TimeDecayingCounts filter_;
  double lambda_;
  std::map<std::uint8_t, double> truth_;
};

void run_operations(std::span<const std::uint8_t> input) {
  Checked checked(options_of(input[0]));
  std::size_t count = 0;
  for (std::size_t i = 1; i + 3 <= input.size() && count < kOperationsMax; i += 3, ++count) {
    checked.apply(input[i], input[i + 1], input[i + 2]);
    checked.check();
  }
}

const Bytes& good_image(unsigned which) {
  static const Bytes kImages[] = {
      TimeDecayingCounts::create(options_of(0b0000'1101)).value().to_bytes(),
      TimeDecayingCounts::create(options_of(0b0111'0010)).value().to_bytes(),
  };
  return kImages[which % 2];
}

void use(TimeDecayingCounts filter) {
  const mankai::Hasher hash = filter.hasher();
  std::vector<mankai::Digest> digests;
  for (std::uint64_t i = 0; i < 70; ++i) {
    digests.push_back(hash(i));
  }
  filter.insert(std::span<const mankai::Digest>(digests));
  filter.advance(mankai::Tick{filter.tick().value + 1});
  std::vector<mankai::DecayedCount> counts(digests.size());
  filter.estimate(digests, counts);
  for (std::size_t i = 0; i < digests.size(); ++i) {
    MANKAI_ASSERT(counts[i] == filter.estimate(digests[i]));
  }
  auto again = TimeDecayingCounts::from_bytes(filter.to_bytes());
  MANKAI_ASSERT(again.has_value() && again->merge(filter).has_value());
  again->clear();
  MANKAI_ASSERT(again->fill_ratio() == 0 && again->tick() == filter.tick());
}

void run_image(unsigned mode, std::span<const std::uint8_t> input) {
  const auto raw = std::as_bytes(input);
  Bytes bytes(raw.begin(), raw.end());
  if ((mode & 2U) != 0) {
    bytes = good_image(mode >> 5);
    mankai::test::change_bytes(bytes, raw);
  }
  if ((mode & 4U) != 0) {
    mankai::test::fix_header_checksum(bytes);
  }
  if ((mode & 8U) != 0) {
    mankai::test::fix_trailer(bytes);
  }
  const mankai::Trust trust = (mode & 16U) != 0 ? mankai::Trust::fast : mankai::Trust::checked;
  auto opened = TimeDecayingCounts::from_bytes(bytes, trust);
  if (opened) {
    use(std::move(*opened));
  } else {
    MANKAI_ASSERT(opened.error().code == mankai::ErrorCode::corrupt ||
                  opened.error().code == mankai::ErrorCode::unsupported_version);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) {
    return 0;
  }
  const std::span<const std::uint8_t> input(data + 1, size - 1);
  if ((data[0] & 1U) != 0) {
    run_operations(input);
  } else {
    run_image(data[0], input);
  }
  return 0;
}
