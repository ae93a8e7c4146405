#include "mankai/kernel/count_ops.hpp"
#include "mankai/kernel/count_ops_reference.hpp"
#include "mankai/kernel/detail/watched_counts.hpp"

namespace mankai::kernel {

const CountOps& stepped_count_ops() noexcept { return WatchedCounts<reference::SteppedCounters>::kOps; }

}  // namespace mankai::kernel
