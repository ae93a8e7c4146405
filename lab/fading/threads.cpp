#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "lab/fading/arrays.hpp"
#include "lab/outside.hpp"
#include "lab/parts.hpp"

namespace mankai::lab::forgetting {
namespace {

constexpr std::size_t kThreads = 2;

// Inserts as concurrent writers do; `context.fault` loses some inserts.
void insert_concurrent(Array& array, const Context& context, std::span<const Digest> digests) noexcept {
  for (const Digest digest : digests) {
    if (!loses_insert(context.fault, digest.value)) {
      array.filter().insert_concurrent(digest);
    }
  }
}

template <class Work>
void in_threads(std::size_t threads, const Work& work) {
  std::vector<std::jthread> running;
  for (std::size_t thread = 0; thread < threads; ++thread) {
    running.emplace_back([&work, thread] { work(thread); });
  }
}

// With 2^22 places, 8 per event, the probability that any of 65,536 events loses all its places is 0.0004. So missing
// events were lost by concurrent writes, not overwritten.
Result<void> measure_lost(const Context& context, Findings& findings) {
  const Shape shape{.s = std::uint64_t{1} << 22U, .n = 8, .b = 16};
  constexpr std::uint64_t kEvents = 32'768;
  MANKAI_ASSIGN(auto array, make_array(shape, context));
  std::vector<std::vector<Digest>> digests(kThreads);
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    const Events events(context.seed + thread);
    for (std::uint64_t i = 0; i < kEvents; ++i) {
      digests[thread].push_back(events[i]);
    }
  }
  std::atomic<std::uint64_t> unseen = 0;
  in_threads(kThreads, [&](std::size_t thread) {
    for (const Digest& digest : digests[thread]) {
      insert_concurrent(array, context, std::span(&digest, 1));
      unseen += static_cast<std::uint64_t>(!array.may_contain(digest));
    }
  });
  std::uint64_t lost = 0;
  for (const std::vector<Digest>& written : digests) {
    for (const Digest digest : written) {
      lost += static_cast<std::uint64_t>(!array.may_contain(digest));
    }
  }
  findings.judged("concurrent-writes", equals(0), exact(lost + unseen.load()));
  return {};
}

Result<void> measure_speed(const Context& context, Findings& findings) {
  const Shape shape{.s = std::uint64_t{1} << 20U, .n = 2, .b = 8};
  constexpr std::uint64_t kTimed = 4'000'000;
  MANKAI_ASSIGN(auto array, make_array(shape, context));
  std::vector<Digest> digests;
  const Events stream(context.seed);
  for (std::uint64_t i = 0; i < kTimed; ++i) {
    digests.push_back(stream[i]);
  }
  const std::span all(digests);
  // Seconds of the processor, all threads together: waiting in a loop or in the system's calls would add to them.
  const auto seconds_with = [&](std::size_t threads) {
    const std::size_t each = all.size() / threads;
    std::vector<double> seconds(threads);
    in_threads(threads, [&](std::size_t thread) {
      const double before = thread_cpu_seconds();
      array.filter().insert_concurrent(all.subspan(thread * each, each));
      seconds[thread] = thread_cpu_seconds() - before;
    });
    return std::accumulate(seconds.begin(), seconds.end(), 0.0);
  };
  std::vector<double> alone;
  std::vector<double> together;
  for (int round = 0; round < 15; ++round) {
    alone.push_back(seconds_with(1));
    together.push_back(seconds_with(kThreads));
  }
  const double nanoseconds = 1e9 / static_cast<double>(kTimed);
  findings.judged({"concurrent-speed", mean(alone).value * nanoseconds, mean(together).value * nanoseconds}, at_most(1),
                  ratio_of_sums(together, alone));
  return {};
}

}  // namespace

Result<void> measure_threads(const Context& context, Findings& findings) {
  MANKAI_TRY(measure_lost(context, findings));
  return context.quick ? Result<void>{} : measure_speed(context, findings);
}

}  // namespace mankai::lab::forgetting
