#pragma once

/// An end of memory: who links failing_memory.cpp has its operator new.

#include <optional>

namespace mankai::test {

/// The allocation, counted from now on, that finds no memory; empty again after it. Threads: one.
extern std::optional<int> failing_allocation;

}  // namespace mankai::test
