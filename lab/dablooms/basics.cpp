#include <cmath>
#include <vector>

#include "lab/counted_memory.hpp"
#include "lab/dablooms/filters.hpp"
#include "lab/parts.hpp"
#include "mankai/filter/bloom/bloom.hpp"

namespace mankai::lab::spam {
namespace {

Result<UnderTest<Bloom>> make_bloom(std::uint64_t keys, const Context& context,
                                    const Memory& memory = system_memory()) {
  return make_under_test<Bloom>({.keys = keys, .fpr = kRate, .memory = memory}, context);
}

// The bytes that a filter for so many keys allocates.
Result<double> bloom_bytes(std::uint64_t keys, const Context& context) {
  CountedMemory memory;
  MANKAI_ASSIGN(const auto filter, make_bloom(keys, context, memory.memory()));
  return memory.bytes();
}
Result<double> counting_bytes(std::uint64_t keys, const Context& context) {
  CountedMemory memory;
  MANKAI_ASSIGN(const auto filter, make_counting(keys, kRate, context, memory.memory()));
  return memory.bytes();
}

// Clears the bits of a removed key, which the article warns of. Only in this lab.
class UnsetBits {
 public:
  UnsetBits(std::uint64_t size, std::uint32_t k) : size_(size), k_(k), bits_(size * k) {}
  void insert(Digest digest) { set(digest, true); }
  void erase(Digest digest) { set(digest, false); }
  [[nodiscard]] bool may_contain(Digest digest) const {
    Random fields(digest.value);
    bool is_in = true;
    for (std::uint32_t i = 0; i < k_; ++i) {
      is_in = bits_[i * size_ + fields.below(size_)] && is_in;
    }
    return is_in;
  }

 private:
  void set(Digest digest, bool value) {
    Random fields(digest.value);
    for (std::uint32_t i = 0; i < k_; ++i) {
      bits_[i * size_ + fields.below(size_)] = value;
    }
  }

  std::uint64_t size_;
  std::uint32_t k_;
  std::vector<bool> bits_;
};

Result<void> measure_bits(const Context& context, Findings& findings) {
  const std::uint64_t keys = context.trials(50'000, 500'000);
  const Keys numbers(context.seed);
  MANKAI_ASSIGN(auto bloom, make_bloom(keys, context));
  insert_members(bloom, numbers, 0, keys);
  const Bloom& filter = bloom.filter();
  // All k probes share one array, so its rate deviates k times as far as its fill does.
  const auto k = static_cast<double>(filter.phase());
  const Estimate fill = formula_rate(
      Part{.keys = k * static_cast<double>(keys), .size = static_cast<double>(filter.cell_count()), .k = 1});
  findings.judged("zero-bit-is-certain", equals(0), exact(count_missed(bloom, numbers, {.end = keys})));
  findings.judged("false-positives", equals(filter.fpr_expected(keys)),
                  widened(rate_of(bloom, numbers, context.trials(400'000, 4'000'000)),
                          filter.fpr_expected(keys) * k * fill.error / fill.value));
  MANKAI_ASSIGN(const double small, bloom_bytes(keys, context));
  MANKAI_ASSIGN(const double large, bloom_bytes(10 * keys, context));
  findings.judged("linear-size", equals(10), exact(large / small));
  return {};
}

Result<void> measure_ballooning(const Context& context, Findings& findings) {
  const std::uint64_t keys = context.trials(20'000, 200'000);
  MANKAI_ASSIGN(auto filter, make_counting(keys, kRate, context));
  const Keys numbers(context.seed);
  std::uint64_t inserted = 0;
  for (const std::uint64_t times : {1U, 2U, 4U, 8U}) {
    insert_members(filter, numbers, inserted, times * keys);
    inserted = times * keys;
    const Estimate formula = formula_rate(part_of(filter.filter(), inserted));
    findings.judged({"ballooning-{}", times}, equals(formula.value),
                    widened(rate_of(filter, numbers, context.trials(100'000, 4'000'000)), formula.error));
  }
  return {};
}

Result<void> measure_removals(const Context& context, Findings& findings) {
  const std::uint64_t keys = context.trials(20'000, 200'000);
  const Keys numbers(context.seed);
  MANKAI_ASSIGN(auto counting, make_counting(keys, kRate, context));
  const auto params = counting.filter().params();
  UnsetBits bits(params.size, params.k);
  insert_members(counting, numbers, 0, keys);
  insert_members(bits, numbers, 0, keys);
  for (std::uint64_t number = 0; number < keys; number += 2) {
    bits.erase(numbers.member(number));
    static_cast<void>(counting.filter().erase(numbers.member(number)));
  }
  const Range rest = Range{.end = keys, .step = 2}.others();
  const double removed = static_cast<double>(keys) / 2;
  const double kept_bit = std::exp(removed * std::log1p(-1 / static_cast<double>(params.size)));
  findings.judged("unset-bits-lose-members", equals(1 - std::pow(kept_bit, params.k)),
                  share(count_missed(bits, numbers, rest), rest.count()));
  findings.judged("counters-lose-none", equals(0), exact(count_missed(counting, numbers, rest)));
  MANKAI_ASSIGN(const double with_counters, counting_bytes(keys, context));
  MANKAI_ASSIGN(const double with_bits, bloom_bytes(keys, context));
  findings.judged("counters-take-space", equals(4), exact(with_counters / with_bits));
  return {};
}

// The code's sizing at the rate of its own test, where k = 5 is rounded up from 4.3.
Result<void> measure_own_rate(const Context& context, Findings& findings) {
  constexpr double kTested = 0.05;
  constexpr std::uint64_t kWords = 500'000;
  const Keys numbers(context.seed);
  // Its first filter is sized for half of the rate, and it opens the second one a key early.
  auto theirs = make_theirs({.keys = kWords + 2, .fpr = 2 * kTested}, context);
  MANKAI_ASSIGN(auto ours, make_counting(kWords, kTested, context));
  insert_members(theirs, numbers, 0, kWords);
  insert_members(ours, numbers, 0, kWords);
  const Original::Slice& slice = theirs.filter().slice(0);
  const Estimate formula = formula_rate(part_of(slice, kWords));
  const std::uint64_t trials = context.trials(3'000'000, 30'000'000);
  const Estimate rate = widened(rate_of(theirs, numbers, trials), formula.error);
  findings.judged({"counting-keeps-its-rate-original", formula.value}, at_most(kTested), rate);
  findings.judged("counting-keeps-its-rate-ours", at_most(kTested),
                  widened(rate_of(ours, numbers, trials), formula.error));
  return {};
}

}  // namespace

Result<void> measure_basics(const Context& context, Findings& findings) {
  return measure_all({measure_bits, measure_removals, measure_ballooning, measure_own_rate}, context, findings);
}

}  // namespace mankai::lab::spam
