#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "lab/basket_gate/gate.hpp"
#include "lab/parts.hpp"

namespace mankai::lab::basket {
namespace {

Result<void> measure_certainty(const Context& context, Findings& findings) {
  const std::uint64_t baskets = context.trials(20'000, 100'000);
  for (const BloomAddressing addressing : kAddressings) {
    std::uint64_t lost = 0;
    for (const std::uint32_t phase : kPhases) {
      MANKAI_ASSIGN(auto gate, make_gate({.phase = phase, .addressing = addressing}, context));
      Random cookies(context.seed + phase);
      insert_absent(gate, baskets, cookies);
      cookies = Random(context.seed + phase);
      lost += count_of(0, baskets, [&](std::uint64_t /*i*/) { return !gate.may_contain({cookies.next()}); });
    }
    findings.judged({"zero-bit-is-certain-{}", name(addressing), shown(addressing), baskets}, equals(0), exact(lost));
  }
  return {};
}

Result<void> measure_collisions(const Context& context, Findings& findings) {
  constexpr std::uint32_t kPhase = 10;
  MANKAI_ASSIGN(auto gate, make_gate({.phase = kPhase}, context));
  Random random(context.seed);
  const auto cells = static_cast<double>(kCells);
  const double probes = kPhase * static_cast<double>(fill_to(gate, 0.5, random));
  const double set = gate.filter().saturation() * cells;
  // The number of probes to half full varies by twice the saturation's deviation.
  findings.judged("bits-set-again", equals(1 - 0.5 / std::numbers::ln2),
                  Estimate{.value = 1 - set / probes,
                           .error = set / probes * 2 * fill_deviation(probes / cells, cells) * cells / probes});
  return {};
}

// A hashed number of 160 bits, as SHA-1's, whose fields of 20 bits are the indexes. It has eight; beyond them it starts
// again.
class HashedNumber {
 public:
  explicit HashedNumber(Random& random) {
    for (std::uint64_t& word : words_) {
      word = random.next();
    }
  }
  [[nodiscard]] std::uint64_t field(std::uint32_t number) const {
    constexpr std::uint64_t kWordBits = 64;
    constexpr std::uint64_t kFieldBits = 20;
    constexpr std::uint64_t kDigestBits = 160;
    static_assert(kCells == std::uint64_t{1} << kFieldBits);
    std::uint64_t field = 0;
    for (std::uint64_t i = 0; i < kFieldBits; ++i) {
      const std::uint64_t bit = (number * kFieldBits + i) % kDigestBits;
      field |= (words_.at(bit / kWordBits) >> bit % kWordBits & 1U) << i;
    }
    return field;
  }

 private:
  std::array<std::uint64_t, 3> words_{};
};

// Fills half of an array through such numbers. Returns the rate of false positives beside the formula's.
Side one_hash(std::uint32_t phase, const Context& context) {
  Random random(context.seed + phase);
  std::vector<bool> array(kCells);
  for (std::uint64_t set = 0; set < kCells / 2;) {
    const HashedNumber number(random);
    for (std::uint32_t i = 0; i < phase; ++i) {
      set += array[number.field(i)] ? 0U : 1U;
      array[number.field(i)] = true;
    }
  }
  const std::uint64_t trials = context.trials(400'000, 4'000'000);
  const std::uint64_t yes = count_of(0, trials, [&](std::uint64_t /*i*/) {
    const HashedNumber number(random);
    std::uint32_t probe = 0;
    while (probe < phase && array[number.field(probe)]) {
      ++probe;
    }
    return probe == phase;
  });
  return {equals(std::pow(0.5, phase)), share(yes, trials)};
}

}  // namespace

Result<void> measure_addressing(const Context& context, Findings& findings) {
  MANKAI_TRY(measure_certainty(context, findings));
  findings.depends("one-hash-is-enough", one_hash(8, context), one_hash(20, context));
  return measure_collisions(context, findings);
}

}  // namespace mankai::lab::basket
