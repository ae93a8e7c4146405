#include "mankai/c/detail/forks.hpp"

#include <pthread.h>

namespace mankai::c {

constinit std::atomic<std::uint32_t> fork_count{0};

namespace {

[[maybe_unused]] const int kCountsForks =
    ::pthread_atfork(nullptr, nullptr, [] { fork_count.fetch_add(1, std::memory_order_relaxed); });

}  // namespace
}  // namespace mankai::c
