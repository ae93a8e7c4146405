#pragma once

#include <atomic>
#include <cstdint>

namespace mankai::c {

/// The forks that led to this process. Handles compare it with what it was: reading it takes a load, getpid() a system
/// call.
extern std::atomic<std::uint32_t> fork_count;  // NOLINT(*-avoid-non-const-global-variables): set after fork()

}  // namespace mankai::c
