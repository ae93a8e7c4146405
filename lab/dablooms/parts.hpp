#pragma once

/// The parts of the source, one file each; every function measures and adds its claims and figures.

#include "lab/lab.hpp"

namespace mankai::lab::spam {

/// The introduction: a listed domain or path marks what is below it.
[[nodiscard]] Result<void> measure_roll_up(const Context& context, Findings& findings);
/// "Bloom Filter Basics" and "Counting Bloom Filters": one filter of bits, one of counters.
[[nodiscard]] Result<void> measure_basics(const Context& context, Findings& findings);
/// "Scalable Bloom Filters": rates that add up, and what the tightening ratio does about it.
[[nodiscard]] Result<void> measure_compounding(const Context& context, Findings& findings);
/// "Scalable Bloom Filters", last paragraph: what constant and geometric growth cost.
[[nodiscard]] Result<void> measure_growth(const Context& context, Findings& findings);
/// "Problems with Mixing": removal from the wrong filter, by id, and of what is not in.
[[nodiscard]] Result<void> measure_removal(const Context& context, Findings& findings);
/// "Enter dablooms": when a new filter opens, and ids that are equal.
[[nodiscard]] Result<void> measure_ids(const Context& context, Findings& findings);
/// "Enter dablooms": old filters that are added to, and that are removed from.
[[nodiscard]] Result<void> measure_old_filters(const Context& context, Findings& findings);
/// "Enter dablooms": counters of four bits.
[[nodiscard]] Result<void> measure_counters(const Context& context, Findings& findings);
/// "Enter dablooms" and the introduction: a restart from a file and from a database; damaged files.
[[nodiscard]] Result<void> measure_restart(const Context& context, Findings& findings);
/// The 98.8 %: a filter beside a hash table.
[[nodiscard]] Result<void> measure_memory(const Context& context, Findings& findings);

}  // namespace mankai::lab::spam
