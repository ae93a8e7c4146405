#include "lab/fading/formulas.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace mankai::lab::forgetting {
namespace {

constexpr std::uint32_t kExactBits = 32;

double binomial(double n, double i) noexcept {
  return std::exp(std::lgamma(n + 1) - std::lgamma(i + 1) - std::lgamma(n - i + 1));
}

double matched_at_least(std::uint32_t r, std::uint32_t n, double chance) noexcept {
  if (r == 1) {
    return -std::expm1(n * std::log1p(-chance));
  }
  double sum = 0;
  for (std::uint32_t i = r; i <= n; ++i) {
    sum += binomial(n, i) * std::pow(chance, i) * std::pow(1 - chance, n - i);
  }
  return sum;
}

// Returns the distribution of the number of different places among n draws.
std::vector<double> different_places(const Shape& shape) {
  const auto s = static_cast<double>(shape.s);
  std::vector<double> chances(shape.n + 1);
  chances[0] = 1;
  for (std::uint32_t drawn = 0; drawn < shape.n; ++drawn) {
    for (std::uint32_t d = drawn + 1; d > 0; --d) {
      chances[d] = chances[d] * d / s + chances[d - 1] * (s - d + 1) / s;
    }
    chances[0] = 0;
  }
  return chances;
}

double all_written(const Shape& shape, std::uint32_t d, double t) noexcept {
  double sum = 0;
  for (std::uint32_t i = 0; i <= d; ++i) {
    const double none_of_i = std::exp(shape.n * t * std::log1p(-static_cast<double>(i) / static_cast<double>(shape.s)));
    sum += (i % 2 == 0 ? 1 : -1) * binomial(d, i) * none_of_i;
  }
  return std::clamp(sum, 0.0, 1.0);
}

// Returns the expected number of different events among the last writers of d places after t events.
double different_writers(const Shape& shape, std::uint32_t d, double t) noexcept {
  const double stays = untouched(shape, 1);
  const double all = -std::expm1(t * std::log(stays));
  double writers = 0;
  double weight = (1 - stays) / all;
  constexpr double kNothing = 1e-12;
  for (double a = 0; a < t && weight > kNothing; ++a) {
    writers += -std::expm1(d * std::log1p(-std::min(weight, 1 - kNothing)));
    weight *= stays;
  }
  return writers;
}

}  // namespace

double untouched(const Shape& shape, double t) noexcept {
  return std::exp(shape.n * t * std::log1p(-1 / static_cast<double>(shape.s)));
}

double chance_match(std::uint32_t b) noexcept { return b >= kExactBits ? 0 : std::exp2(-static_cast<double>(b)); }

double chance_match_reserved(std::uint32_t b) noexcept {
  return b >= kExactBits ? 0 : 1 / (std::exp2(static_cast<double>(b)) - 1);
}

double text_survival(const Shape& shape, double t) noexcept {
  const double p = untouched(shape, t);
  const double match = p + (1 - p) * chance_match(shape.b);
  return match >= 1 ? 1 : matched_at_least(shape.r, shape.n, match);
}

double text_plateau(const Shape& shape) noexcept { return matched_at_least(shape.r, shape.n, chance_match(shape.b)); }

double text_half_life(const Shape& shape) noexcept {
  const double n = shape.n;
  return -static_cast<double>(shape.s) / n * std::log(-std::expm1(-std::numbers::ln2 / n));
}

double text_capacity(const Shape& shape) noexcept {
  double harmonic = 0;
  for (std::uint32_t i = 1; i <= shape.n; ++i) {
    harmonic += 1.0 / i;
  }
  return static_cast<double>(shape.s) * harmonic / shape.n;
}

double age_by(Formula formula, const Shape& shape, double share) {
  constexpr int kSteps = 60;
  constexpr double kOldest = 50;
  double young = 0;
  double old = kOldest * static_cast<double>(shape.s);
  for (int step = 0; step < kSteps; ++step) {
    const double middle = (young + old) / 2;
    (formula(shape, middle) > share ? young : old) = middle;
  }
  return old;
}

double glossed_survival(const Shape& shape, double t) noexcept {
  const std::vector<double> different = different_places(shape);
  double forgotten = 0;
  for (std::uint32_t d = 1; d <= shape.n; ++d) {
    forgotten += different[d] * std::pow(1 - untouched(shape, t), d);
  }
  return 1 - forgotten;
}

double full_survival(const Shape& shape, double t) noexcept {
  if (t <= 0) {
    return 1;
  }
  const double absent_key = std::log1p(-chance_match_reserved(shape.b));
  const std::vector<double> different = different_places(shape);
  double forgotten = 0;
  for (std::uint32_t d = 1; d <= shape.n; ++d) {
    constexpr double kNothing = 1e-12;
    if (different[d] > kNothing) {
      forgotten += different[d] * all_written(shape, d, t) * std::exp(absent_key * different_writers(shape, d, t));
    }
  }
  return 1 - forgotten;
}

}  // namespace mankai::lab::forgetting
