#include "lab/dablooms/filters.hpp"

#include <cmath>

namespace mankai::lab::spam {

Result<Ours> make_ours(const Shape& shape, const Context& context) {
  return make_under_test<ScalableCountingBloom>({.keys = shape.keys,
                                                 .fpr = shape.fpr,
                                                 .growth = shape.growth,
                                                 .layout = shape.layout,
                                                 .memory = shape.memory.value_or(system_memory())},
                                                context);
}

Theirs make_theirs(const Shape& shape, const Context& context) {
  return {Original({.keys = shape.keys, .fpr = shape.fpr, .growth = shape.growth.factor}), context.fault};
}

Result<Counting> make_counting(std::uint64_t keys, double fpr, const Context& context, const Memory& memory) {
  return make_under_test<CountingBloom>(
      {.keys = keys, .fpr = fpr, .layout = CountingLayout::partitioned, .memory = memory}, context);
}

std::vector<std::byte> cells_of(const CountingBloom& filter) {
  const std::vector<std::byte> image = filter.to_bytes();
  const auto cells = std::span(image).subspan(sizeof(ImageHeader), filter.cells_bytes());
  return {cells.begin(), cells.end()};
}

std::vector<std::byte> cells_of(const Original::Slice& slice) {
  const auto cells = std::as_bytes(std::span(slice.bytes));
  return {cells.begin(), cells.end()};
}

Estimate formula_rate(const Part& part) noexcept {
  const double fill = -std::expm1(part.keys * std::log1p(-1 / part.size));
  const double rate = std::pow(fill, part.k);
  const double deviation = fill_deviation(part.keys / part.size, part.size);
  return {.value = rate, .error = fill > 0 ? rate * std::sqrt(part.k) * deviation / fill : 0};
}

Estimate any_of(std::span<const Estimate> rates) noexcept {
  double all_no = 0;
  double squares = 0;
  for (const Estimate& rate : rates) {
    all_no += std::log1p(-rate.value);
    const double share_of_error = rate.error / (1 - rate.value);
    squares += share_of_error * share_of_error;
  }
  return {.value = -std::expm1(all_no), .error = std::exp(all_no) * std::sqrt(squares)};
}

std::vector<Part> parts_of(const ScalableCountingBloom& filter) {
  MANKAI_ASSERT(filter.layout() == CountingLayout::partitioned);
  std::vector<Part> parts;
  for (std::size_t i = 0; i < filter.slice_count(); ++i) {
    parts.push_back(part_of(filter.slice(i), filter.slice(i).capacity_keys()));
  }
  return parts;
}

Estimate formula_rate(std::span<const Part> parts) {
  std::vector<Estimate> rates;
  for (const Part& part : parts) {
    rates.push_back(formula_rate(part));
  }
  return any_of(rates);
}

double poisson_tail(double mean, unsigned least) noexcept {
  // Summed upwards from `least`: 1 - P(fewer) would lose small values.
  double term = std::exp(least * std::log(mean) - mean - std::lgamma(least + 1.0));
  double sum = 0;
  for (unsigned count = least; term > sum * 1e-17; ++count) {
    sum += term;
    term *= mean / (count + 1);
  }
  return sum;
}

}  // namespace mankai::lab::spam
