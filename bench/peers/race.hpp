#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <vector>

#include "bench/peers/clock.hpp"
#include "bench/peers/keys.hpp"
#include "bench/peers/peer.hpp"
#include "bench/peers/samples.hpp"

namespace mankai::bench {

/// How much of what is measured.
struct Plan {
  std::string_view workload;
  std::uint64_t keys = 0;
  std::size_t fills = 0;        ///< times that all keys are inserted
  std::size_t repetitions = 0;  ///< of asking
  std::size_t pool = 0;         ///< different queries of each sort, all used to measure the rate
  std::size_t chunk = 0;        ///< of them are timed at once: few where they shall stay in cache beside the filter
};

/// Runs the rows side by side: in every repetition each peer has its turn, in rotating order, so that no peer always
/// has the quiet moments; times are the thread's own.
template <class Key>
class Race {
 public:
  Race(const Plan& plan, const KeySet<Key>& set, const Peers<Key>& peers, double fpr) : plan_(plan), set_(set) {
    for (const Peer<Key>& peer : peers) {
      if (peer.create != nullptr && plan.keys <= peer.max_keys) {
        runners_.push_back({&peer, peer.create(plan.keys, fpr), {}});
        Measured& result = runners_.back().result;
        result.workload = plan.workload;
        result.fpr_class = fpr;
        result.peer = peer.name;
        result.side = peer.side;
      }
    }
  }

  /// Returns what was measured, or nothing if a peer is wrong.
  Table run() {
    for (std::size_t i = 0; i < plan_.fills; ++i) {
      take_turns(i, [&](Runner& runner) { fill(runner, i); });
    }
    Table table;
    for (Runner& runner : runners_) {
      if (!examine(runner)) {
        return {};
      }
    }
    for (std::size_t i = 0; i < plan_.repetitions * kChunksPerRepetition; ++i) {
      take_turns(i, [&](Runner& runner) { ask(runner, i); });
    }
    for (Runner& runner : runners_) {
      table.push_back(std::move(runner.result));
    }
    return table;
  }

 private:
  static constexpr std::size_t kChunksPerRepetition = 4;
  static constexpr std::size_t kWarmUpMin = 50'000;
  static constexpr std::size_t kWarmUpMax = 1'000'000;
  static constexpr std::uint64_t kManyKeys = 1'000'000;

  struct Runner {
    const Peer<Key>* peer;
    std::unique_ptr<Subject<Key>> subject;
    Measured result;
  };

  template <class Turn>
  void take_turns(std::size_t round, const Turn& turn) {
    for (std::size_t i = 0; i < runners_.size(); ++i) {
      turn(runners_[(i + round) % runners_.size()]);
    }
  }

  void fill(Runner& runner, std::size_t round) {
    if (round > 0 && runner.peer->slowness > 1 && plan_.keys > kManyKeys) {
      return;
    }
    for (const Operation how : kFilling) {
      if (!runner.subject->offers(how)) {
        continue;
      }
      runner.subject->clear();
      const double start = thread_cpu_ns();
      runner.subject->fill(how, set_.keys);
      record(runner, how, thread_cpu_ns() - start, set_.keys.size());
    }
  }

  // What the numbers are worth: nothing may be lost, batches must agree with single calls; and the measured rate.
  bool examine(Runner& runner) {
    const auto hits = part(set_.hits, runner, 0, set_.hits.size());
    const auto misses = part(set_.misses, runner, 0, set_.misses.size());
    const std::uint64_t found = yes_answers(runner, hits);
    const std::uint64_t false_positives = yes_answers(runner, misses);
    runner.result.fpr = static_cast<double>(false_positives) / static_cast<double>(misses.size());
    runner.result.bits_per_key = runner.subject->bits() / static_cast<double>(plan_.keys);
    const bool batches_agree =
        !runner.subject->offers(Operation::batch_miss) || yes_answers_in_batch(runner, misses) == false_positives;
    if (found != hits.size() || !batches_agree) {
      std::fprintf(stderr, "%s: %s found %zu of %zu keys%s\n", runner.result.workload.c_str(),
                   runner.result.peer.c_str(), static_cast<std::size_t>(found), hits.size(),
                   batches_agree ? "" : "; its batches disagree with its single calls");
      return false;
    }
    return true;
  }

  void ask(Runner& runner, std::size_t round) {
    const std::size_t warm_up = std::clamp<std::size_t>(plan_.keys / 10, kWarmUpMin, kWarmUpMax);
    static_cast<void>(yes_answers(runner, part(set_.mixed, runner, 0, std::min(warm_up, set_.mixed.size()))));
    const std::size_t chunks = plan_.pool / plan_.chunk;
    for (const Operation operation : kAsking) {
      if (!runner.subject->offers(operation)) {
        continue;
      }
      // Batches get other queries than single calls, or they would find the bytes of URLs in cache.
      const std::size_t chunk = (round + (is_batch(operation) ? chunks / 2 : 0)) % chunks;
      const auto queries = part(set_.queries(operation), runner, chunk * plan_.chunk, plan_.chunk);
      touch(queries);
      const double start = thread_cpu_ns();
      if (is_batch(operation)) {
        runner.subject->ask_in_batch(queries, {outcomes_.get(), queries.size()});
      } else {
        sink_ = sink_ + runner.subject->ask_singly(queries);
      }
      record(runner, operation, thread_cpu_ns() - start, queries.size());
    }
  }

  // Brings the queries near: how fast they stream in is not the filter's business. Not the bytes of URLs: whoever asks
  // has to hash them.
  void touch(std::span<const Key> queries) {
    std::uint64_t sum = 0;
    for (const Key& key : queries) {
      if constexpr (std::same_as<Key, Url>) {
        sum += key.size();
      } else {
        sum += key;
      }
    }
    sink_ = sink_ + sum;
  }

  std::uint64_t yes_answers(const Runner& runner, std::span<const Key> queries) {
    if (runner.subject->offers(Operation::mixed)) {
      return runner.subject->ask_singly(queries);
    }
    return yes_answers_in_batch(runner, queries);
  }

  std::uint64_t yes_answers_in_batch(const Runner& runner, std::span<const Key> queries) {
    runner.subject->ask_in_batch(queries, {outcomes_.get(), queries.size()});
    return static_cast<std::uint64_t>(std::count(outcomes_.get(), outcomes_.get() + queries.size(), true));
  }

  static std::span<const Key> part(const std::vector<Key>& all, const Runner& runner, std::size_t start,
                                   std::size_t count) {
    return std::span<const Key>(all).subspan(start, std::max<std::size_t>(count / runner.peer->slowness, 1));
  }

  static void record(Runner& runner, Operation operation, double ns, std::size_t keys) {
    runner.result.ns[index(operation)].push_back(ns / static_cast<double>(keys));
  }

  Plan plan_;
  const KeySet<Key>& set_;
  std::vector<Runner> runners_;
  std::unique_ptr<bool[]> outcomes_ = std::make_unique<bool[]>(plan_.pool);
  volatile std::uint64_t sink_ = 0;
};

}  // namespace mankai::bench
