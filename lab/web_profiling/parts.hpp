#pragma once

/// The parts of the source, one file each; every function measures and adds its claims and figures.

#include "lab/lab.hpp"

namespace mankai::lab::profiling {

/// Figure 1: how skewed visits are.
[[nodiscard]] Result<void> measure_skew(const Context& context, Findings& findings);
/// Equations (1) to (4): what is counted.
[[nodiscard]] Result<void> measure_counts(const Context& context, Findings& findings);
/// Claim 1, that no estimate is too low.
[[nodiscard]] Result<void> measure_undercounts(const Context& context, Findings& findings);
/// Equation (5), false positives, and the Bloom filter in front.
[[nodiscard]] Result<void> measure_false_positives(const Context& context, Findings& findings);
/// Section 4.1: digits, the worked example, the two overflow rules.
[[nodiscard]] Result<void> measure_digits(const Context& context, Findings& findings);
/// Section 1: the exponential filter, a series of filters for digits, as reconstructed.
[[nodiscard]] Result<void> measure_tiers(const Context& context, Findings& findings);
/// Equations (6) and (7): the space of counters under Zipf's law.
[[nodiscard]] Result<void> measure_space(const Context& context, Findings& findings);
/// Figure 3: memory over λ; and the time of creation.
[[nodiscard]] Result<void> measure_memory(const Context& context, Findings& findings);
/// Section 2: error bound, space and time over the length of the stream.
[[nodiscard]] Result<void> measure_goals(const Context& context, Findings& findings);
/// Accuracy of every kind and policy at equal bytes, on drawn visits and on logs.
[[nodiscard]] Result<void> measure_accuracy(const Context& context, Findings& findings);

}  // namespace mankai::lab::profiling
