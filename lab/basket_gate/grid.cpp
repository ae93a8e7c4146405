#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "lab/basket_gate/gate.hpp"
#include "lab/parts.hpp"
#include "mankai/filter/parts/image_format.hpp"
#include "mankai/hash/probes.hpp"

namespace mankai::lab::basket {
namespace {

constexpr std::array<double, 3> kSaturations = {0.25, 0.5, 0.75};
// Hits are counted if at least this many are expected, so that the error is at most a tenth of the rate.
constexpr double kHitsAtLeast = 100;
// More hits add no precision that matters.
constexpr double kHitsEnough = 1e4;

struct Point {
  GateShape shape;
  double saturation = 0;
};

struct Measured {
  Estimate rate;
  double formula = 0;
  std::string how;
};

std::vector<Point> grid() {
  std::vector<Point> points;
  for (const BloomAddressing addressing : kAddressings) {
    for (const double saturation : kSaturations) {
      for (const std::uint32_t phase : kPhases) {
        points.push_back({.shape = {.phase = phase, .addressing = addressing}, .saturation = saturation});
      }
    }
  }
  return points;
}

class Cells {
 public:
  explicit Cells(const Bloom& filter) : bytes_(filter.to_bytes()), params_(filter.params()) {}

  template <class Visit>
  void for_each_probe(Digest digest, const Visit& visit) const {
    probes::FieldSequence fields(digest);
    probes::CellSequence range(digest);
    for (std::uint32_t i = 0; i < params_.k; ++i) {
      visit(i, is_set(params_.field_bits != 0 ? fields.next(params_.field_bits) : range.next(params_.cell_count)));
    }
  }

 private:
  [[nodiscard]] bool is_set(std::uint64_t cell) const {
    constexpr std::uint64_t kByteBits = 8;
    const auto byte = std::to_integer<unsigned>(bytes_[sizeof(ImageHeader) + cell / kByteBits]);
    return (byte >> (cell % kByteBits) & 1U) != 0;
  }

  std::vector<std::byte> bytes_;
  Bloom::Params params_;
};

// Returns the product of each probe's hit rate, for rates too small to count.
Estimate rate_per_probe(const Gate& gate, std::uint64_t trials, Random& random) {
  const Cells cells(gate.filter());
  std::vector<std::uint64_t> hits(gate.filter().phase());
  for (std::uint64_t i = 0; i < trials; ++i) {
    cells.for_each_probe({random.next()}, [&hits](std::uint32_t probe, bool is_set) {
      hits[probe] += static_cast<std::uint64_t>(is_set);
    });
  }
  double product = 1;
  double squares = 0;
  for (const std::uint64_t count : hits) {
    const Estimate probe = share(count, trials);
    product *= probe.value;
    squares += probe.error * probe.error / (probe.value * probe.value);
  }
  return {.value = product, .error = product * std::sqrt(squares)};
}

Result<Measured> measure_point(const Point& point, const Context& context, Random& random) {
  MANKAI_ASSIGN(auto gate, make_gate(point.shape, context));
  fill_to(gate, point.saturation, random);
  const double formula = gate.filter().fpr_estimate();
  const auto most = static_cast<double>(context.trials(std::uint64_t{1} << 22, std::uint64_t{1} << 27));
  const std::uint64_t probed = context.trials(200'000, 4'000'000);
  if (formula * most < kHitsAtLeast) {
    return Measured{rate_per_probe(gate, probed, random), formula, fmt::format("per probe, {} absent keys", probed)};
  }
  const auto trials = static_cast<std::uint64_t>(std::clamp(kHitsEnough / formula, most / 4, most));
  return Measured{absent_let_through(gate, trials, random), formula, fmt::format("counted, {} absent keys", trials)};
}

Entry claim_of(const Point& point, const Measured& measured) {
  return {"rate-{}-{:.0f}-{}",       name(point.shape.addressing),  100 * point.saturation, point.shape.phase,
          percent(point.saturation), shown(point.shape.addressing), point.saturation,       measured.how};
}

}  // namespace

Result<void> measure_grid(const Context& context, Findings& findings) {
  Random random(context.seed);
  Figure figure = findings.figure("saturation-phase");
  for (const Point& point : grid()) {
    MANKAI_ASSIGN(const auto measured, measure_point(point, context, random));
    findings.judged(claim_of(point, measured), equals(measured.formula), measured.rate);
    figure.rows.push_back({shown(point.shape.addressing), percent(point.saturation), point.shape.phase,
                           measured.formula, measured.rate.value, measured.rate.error, measured.how});
  }
  findings.add(std::move(figure));
  return {};
}

}  // namespace mankai::lab::basket
