#pragma once

/// The parts of the source, one file each; every function measures and adds its claims and figures.

#include "lab/lab.hpp"

namespace mankai::lab::forgetting {

/// The first two graphs: survival with exact integers, s fixed and s proportional to log2 n.
[[nodiscard]] Result<void> measure_survival(const Context& context, Findings& findings);
/// The third graph: survival with fingerprints of 8 bits, and of 16.
[[nodiscard]] Result<void> measure_fingerprints(const Context& context, Findings& findings);
/// What the curves end at: false positives, the advice about parameters, and an empty array.
[[nodiscard]] Result<void> measure_plateau(const Context& context, Findings& findings);
/// The code's minHits: several matches for a yes.
[[nodiscard]] Result<void> measure_min_matches(const Context& context, Findings& findings);
/// The code's addressing, on ids in order and at random.
[[nodiscard]] Result<void> measure_addressing(const Context& context, Findings& findings);
/// The code's own test, the shapes it ran, their bytes and the time to write and read them.
[[nodiscard]] Result<void> measure_production(const Context& context, Findings& findings);
/// "Highly concurrent".
[[nodiscard]] Result<void> measure_threads(const Context& context, Findings& findings);
/// Recurring events of a real trace, beside an LRU and a rotating Bloom filter.
[[nodiscard]] Result<void> measure_trace(const Context& context, Findings& findings);
/// The code's ProbablisticLRU: recent values of a key.
[[nodiscard]] Result<void> measure_values(const Context& context, Findings& findings);

}  // namespace mankai::lab::forgetting
