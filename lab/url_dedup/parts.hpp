#pragma once

/// The parts of the source, one file each; every function measures and adds its claims and figures.

#include "lab/lab.hpp"

namespace mankai::lab::dedup {

/// "Introduction": comparisons and moves of the exact searches.
[[nodiscard]] Result<void> measure_exact(const Context& context, Findings& findings);
/// "Bloom filter & analysis": fill, rate and optimum of one Bloom filter, and Algorithms 1 and 2 as they are printed.
[[nodiscard]] Result<void> measure_bloom(const Context& context, Findings& findings);
/// "Multi layer bloom filter", "Analysis", "Conclusion": rates for each class of absent keys.
[[nodiscard]] Result<void> measure_classes(const Context& context, Findings& findings);
/// What XOR and shared hash functions make certain.
[[nodiscard]] Result<void> measure_certain(const Context& context, Findings& findings);
/// Figure 3, and the conference paper's: false positives over the number of URLs.
[[nodiscard]] Result<void> measure_growth(const Context& context, Findings& findings);
/// The figures of the program's repository.
[[nodiscard]] Result<void> measure_repository(const Context& context, Findings& findings);
/// Real URLs, with --data.
[[nodiscard]] Result<void> measure_real(const Context& context, Findings& findings);
/// Figures 4 and 5: time and memory of every structure.
[[nodiscard]] Result<void> measure_times(const Context& context, Findings& findings);

}  // namespace mankai::lab::dedup
