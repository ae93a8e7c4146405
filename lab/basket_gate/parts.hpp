#pragma once

/// The parts of the source, one file each; every function measures and adds its claims and figures.

#include "lab/lab.hpp"

namespace mankai::lab::basket {

/// "The Scenario" and "Bloom's way": bit arrays, and hyphenation by a rule and an exception list.
[[nodiscard]] Result<void> measure_hyphenation(const Context& context, Findings& findings);
/// "What we want to do": shoppers' sessions behind the gate.
[[nodiscard]] Result<void> measure_sessions(const Context& context, Findings& findings);
/// "What we want to do": the database's load and the pages' latency.
[[nodiscard]] Result<void> measure_database(const Context& context, Findings& findings);
/// "How it works": what is certain, what fills up, and how many bits of hash that takes.
[[nodiscard]] Result<void> measure_addressing(const Context& context, Findings& findings);
/// "Tuning the Bloom filter": saturation to the power of the phase.
[[nodiscard]] Result<void> measure_grid(const Context& context, Findings& findings);
/// "Tuning the Bloom filter": the optimum, and what array and phase do.
[[nodiscard]] Result<void> measure_tuning(const Context& context, Findings& findings);
/// What the paper leaves out: baskets get emptied.
[[nodiscard]] Result<void> measure_drift(const Context& context, Findings& findings);

}  // namespace mankai::lab::basket
