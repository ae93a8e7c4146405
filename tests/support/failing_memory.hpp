#pragma once

/// An end of memory: who links mankai_failing_memory has its operator new.

#include <cstddef>
#include <optional>

namespace mankai::test {

/// The allocation, counted from now on, that finds no memory; empty again after it, or negative if `fails_on`. Threads:
/// one.
extern std::optional<int> failing_allocation;
/// Whether all later allocations find none, either.
extern bool fails_on;
/// By that operator new: now, and at most since it was last set.
extern std::size_t allocated_bytes;
extern std::size_t most_allocated_bytes;

}  // namespace mankai::test
