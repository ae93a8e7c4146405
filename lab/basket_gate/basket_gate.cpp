#include "lab/random.hpp"
#include "lab/sources.hpp"
#include "lab/under_test.hpp"
#include "mankai/filter/bloom.hpp"

namespace mankai::lab {
namespace {

Result<void> run_basket_gate(const Context& context, Findings& findings) {
  auto filter = Bloom::create({.keys = 1000, .fpr = 0.01, .hash = {.seed = {context.seed, 0}}});
  if (!filter) {
    return std::unexpected(filter.error());
  }
  UnderTest<Bloom> gate(std::move(*filter), context.fault);
  std::uint64_t lost = 0;
  for (std::uint64_t key = 0; key < 1000; ++key) {
    gate.insert(gate.filter().hasher()(key));
    lost += static_cast<std::uint64_t>(!gate.may_contain(gate.filter().hasher()(key)));
  }
  findings.judged({.id = "empty-is-certain",
                   .place = "How it works",
                   .claim = "Where any bit is zero, the basket is empty for certain.",
                   .formula = "no key that was inserted is denied",
                   .expected = {.value = 0},
                   .measured = {.value = static_cast<double>(lost)}});
  constexpr std::uint64_t kStrangers = 100'000;
  Random random(context.seed);
  std::uint64_t yes = 0;
  for (std::uint64_t i = 0; i < kStrangers; ++i) {
    yes += static_cast<std::uint64_t>(gate.may_contain({random.next()}));
  }
  findings.judged({.id = "false-positives",
                   .place = "Tuning the Bloom filter",
                   .claim = "A false positive has the chance of the saturation to the power of the phase.",
                   .formula = "saturation^phase",
                   .expected = {.value = gate.filter().fpr_estimate()},
                   .measured = share(yes, kStrangers)});
  return {};
}

}  // namespace

Source basket_gate() {
  return {.name = "basket-gate",
          .title = "A Bloom filter as a gate in front of a database",
          .origin = "Beach Software, white paper of a seminar on web caching with dynamic content, 2000",
          .essay = "",
          .readings = {},
          .run = run_basket_gate};
}

}  // namespace mankai::lab
