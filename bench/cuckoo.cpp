// The cuckoo filter beside the limit of the machine (two random cache lines per key, in as much memory), beside
// FastFilter's if it was found (the original, efficient/cuckoofilter, with any number of buckets), and beside
// scalable-counting-bloom. Usage: cuckoo [ROUNDS [KEYS]]
//
// All peers of a row run in turns in one process, and a figure is the median of its turns: compare ratios of one run.
// Keys are 64-bit integers and hashing is included. Additions and removals keep the load at 0.95: each turn removes
// keys and adds them again.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/peers/clock.hpp"
#include "bench/random.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/filter/cuckoo/cuckoo.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"

#ifdef MANKAI_FASTFILTER
// The second header takes names from the first.
// clang-format off
#include <cuckoo/cuckoofilter.h>
#include <cuckoo/cuckoofilter_stable.h>
// clang-format on
#endif

namespace mankai::bench {
namespace {

constexpr std::size_t kTurn = 20'000;  // keys per turn

/// What is timed in turns: a function of a turn's number, which prepares and returns the work.
struct Runner {
  std::string name;
  std::function<double(std::uint64_t)> nanoseconds;  ///< of one turn, per key
};

template <class Work>
double time_per_key(const Work& work) {
  const double start = thread_cpu_ns();
  work();
  return (thread_cpu_ns() - start) / static_cast<double>(kTurn);
}

/// Prints the median of each runner and its ratio to the first one.
void race(const std::string& row, const std::vector<Runner>& runners, std::uint64_t rounds) {
  std::vector<std::vector<double>> times(runners.size());
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < runners.size(); ++i) {
      times[(i + round) % runners.size()].push_back(runners[(i + round) % runners.size()].nanoseconds(round));
    }
  }
  double first = 0;
  for (std::size_t i = 0; i < runners.size(); ++i) {
    std::ranges::nth_element(times[i], times[i].begin() + static_cast<std::ptrdiff_t>(rounds / 2));
    const double median = times[i][rounds / 2];
    first = i == 0 ? median : first;
    std::printf("%-34s %-34s %8.2f ns %6.2f\n", row.c_str(), runners[i].name.c_str(), median, first / median);
  }
  std::fflush(stdout);
}

std::vector<std::uint64_t> keys(std::uint64_t from, std::size_t count = kTurn) {
  std::vector<std::uint64_t> made(count);
  std::ranges::generate(made, [from]() mutable { return random_integer(from++); });
  return made;
}

/// Members of a filter of `total` keys, other ones in each turn.
std::vector<std::uint64_t> members(std::uint64_t total, std::uint64_t turn) {
  return keys(turn * kTurn * 7919 % (total - kTurn));
}
std::vector<std::uint64_t> absent(std::uint64_t total, std::uint64_t turn) { return keys(total + turn * kTurn); }
/// Either at random.
std::vector<std::uint64_t> mixed(std::uint64_t total, std::uint64_t turn) {
  auto made = members(total, turn);
  std::ranges::transform(made, absent(total, turn), made.begin(),
                         [](std::uint64_t member, std::uint64_t other) { return (member & 1U) != 0 ? member : other; });
  return made;
}
using Queries = std::vector<std::uint64_t> (*)(std::uint64_t total, std::uint64_t turn);
constexpr std::array<std::pair<const char*, Queries>, 3> kQueries{
    {{"misses", absent}, {"hits", members}, {"mixed", mixed}}};

/// Reads both lines of each key with as many in flight as our batches have, and nothing else.
class TwoLines {
 public:
  explicit TwoLines(std::uint64_t bytes)
      : lines_(bytes / kCacheLineBytes), words_(std::make_unique<std::uint64_t[]>(lines_ * 8)) {
    for (std::uint64_t i = 0; i < lines_ * 8; ++i) {
      words_[i] = random_integer(i);
    }
  }
  std::uint64_t ask(std::span<const std::uint64_t> asked) const {
    constexpr std::size_t kWindow = 32;
    std::uint64_t found = 0;
    for (std::size_t start = 0; start < asked.size(); start += kWindow) {
      const auto window = asked.subspan(start, std::min(kWindow, asked.size() - start));
      for (const std::uint64_t each : window) {
        prefetch_line(line(each));
        prefetch_line(line(each * 0x9E3779B97F4A7C15));
      }
      for (const std::uint64_t each : window) {
        found += static_cast<std::uint64_t>(*line(each) == each) + (*line(each * 0x9E3779B97F4A7C15) == each ? 1U : 0U);
      }
    }
    return found;
  }

 private:
  [[nodiscard]] const std::uint64_t* line(std::uint64_t hash) const { return &words_[fastrange(hash, lines_) * 8]; }

  std::uint64_t lines_;
  std::unique_ptr<std::uint64_t[]> words_;
};

volatile std::uint64_t sink = 0;

template <class F>
F filled(F filter, std::uint64_t total) {
  constexpr std::size_t kBatch = 100'000;
  for (std::uint64_t from = 0; from < total; from += kBatch) {
    filter.insert(std::span<const std::uint64_t>(keys(from, std::min<std::uint64_t>(kBatch, total - from))));
  }
  return filter;
}

template <class F>
Runner single_lookups(const std::string& name, const F& filter, std::uint64_t total, Queries queries) {
  return {.name = name, .nanoseconds = [&filter, total, queries](std::uint64_t turn) {
            const auto asked = queries(total, turn);
            const Hasher hash = filter.hasher();
            return time_per_key([&] {
              std::uint64_t found = 0;
              for (const std::uint64_t each : asked) {
                found += filter.may_contain(hash(each)) ? 1U : 0U;
              }
              sink = found;
            });
          }};
}

template <class F>
Runner batch_lookups(const std::string& name, const F& filter, std::uint64_t total, Queries queries) {
  return {.name = name, .nanoseconds = [&filter, total, queries](std::uint64_t turn) {
            const auto asked = queries(total, turn);
            const auto outcomes = std::make_unique<bool[]>(kTurn);
            return time_per_key([&] {
              filter.may_contain(std::span<const std::uint64_t>(asked), std::span(outcomes.get(), kTurn));
              sink = static_cast<std::uint64_t>(outcomes[0]);
            });
          }};
}

/// `remove(keys)` and `add(keys)` take members away and bring them back; times one of both.
template <class Remove, class Add>
Runner changes(const std::string& name, std::uint64_t total, bool times_adding, Remove remove, Add add) {
  return {.name = name, .nanoseconds = [=](std::uint64_t turn) {
            const auto changed = members(total, turn);
            const double removing = time_per_key([&] { remove(changed); });
            const double adding = time_per_key([&] { add(changed); });
            return times_adding ? adding : removing;
          }};
}

[[maybe_unused]] Runner single_changes(const std::string& name, Cuckoo& filter, std::uint64_t total,
                                       bool times_adding) {
  return changes(
      name, total, times_adding,
      [&filter, hash = filter.hasher()](std::span<const std::uint64_t> changed) {
        for (const std::uint64_t each : changed) {
          sink = static_cast<std::uint64_t>(filter.erase(hash(each)));
        }
      },
      [&filter, hash = filter.hasher()](std::span<const std::uint64_t> changed) {
        for (const std::uint64_t each : changed) {
          filter.insert(hash(each));
        }
      });
}

[[maybe_unused]] Runner batch_changes(const std::string& name, Cuckoo& filter, std::uint64_t total, bool times_adding) {
  const auto digests = std::make_shared<std::vector<Digest>>(kTurn);
  const auto results = std::make_shared<std::vector<EraseResult>>(kTurn);
  return changes(
      name, total, times_adding,
      [&filter, digests, results](std::span<const std::uint64_t> changed) {
        filter.hasher()(changed, std::span(*digests));
        filter.erase(*digests, *results);
      },
      [&filter, digests](std::span<const std::uint64_t> changed) {
        filter.hasher()(changed, std::span(*digests));
        filter.insert(std::span<const Digest>(*digests));
      });
}

Cuckoo fixed(std::uint64_t total, std::uint32_t counts, std::uint32_t fingerprint) {
  return filled(Cuckoo::create({.keys = total,
                                .growth = 0,
                                .counts = counts,
                                .fingerprint_bits = fingerprint,
                                .hash = {.kind = HashKind::xxh3, .seed = {1, 2}}})
                    .value(),
                total);
}

void lookups_of_one_width(std::uint64_t total, std::uint32_t counts, std::uint32_t fingerprint, std::uint64_t rounds) {
  const Cuckoo filter = fixed(total, counts, fingerprint);
  const TwoLines limit(filter.cells_bytes());
  const Runner two_lines{.name = "limit: two lines", .nanoseconds = [&](std::uint64_t turn) {
                           const auto asked = absent(total, turn);
                           return time_per_key([&] { sink = limit.ask(asked); });
                         }};
  const std::string row = std::to_string(filter.slot().bits()) + "-bit slots, " + std::to_string(total) + " keys";
  race(row + ": misses", {two_lines, batch_lookups("batches", filter, total, absent)}, rounds);
  race(row + ": hits", {two_lines, batch_lookups("batches", filter, total, members)}, rounds);
}

void grown(std::uint64_t rounds) {
  constexpr std::uint64_t kTotal = 5'000'000;
  constexpr std::uint64_t kFirst = 100'000;
  const HashSpec hash{.kind = HashKind::xxh3, .seed = {1, 2}};
  const Cuckoo cuckoo = filled(Cuckoo::create({.keys = kFirst, .hash = hash}).value(), kTotal);
  const auto counting =
      filled(ScalableCountingBloom::create({.keys = kFirst, .fpr = 0.01, .hash = hash}).value(), kTotal);
  std::printf("grown: %.1f bits per key, scalable-counting-bloom %.1f\n",
              static_cast<double>(cuckoo.cells_bytes()) * 8 / kTotal,
              static_cast<double>(counting.cells_bytes()) * 8 / kTotal);
  for (const auto& [sort, queries] : kQueries) {
    const std::string row = std::string("5e6 keys grown from 1e5: ") + sort;
    race(row + ", single",
         {single_lookups("scalable-counting-bloom", counting, kTotal, queries),
          single_lookups("cuckoo", cuckoo, kTotal, queries)},
         rounds);
    race(row + ", batches",
         {batch_lookups("scalable-counting-bloom", counting, kTotal, queries),
          batch_lookups("cuckoo", cuckoo, kTotal, queries)},
         rounds);
  }
}

#ifdef MANKAI_FASTFILTER
template <std::size_t kBits>
void beside_fastfilter(std::uint64_t total, std::uint64_t rounds) {
  cuckoofilter::CuckooFilterStable<std::uint64_t, kBits> peer(total);
  for (std::uint64_t i = 0; i < total; ++i) {
    if (peer.Add(random_integer(i)) != cuckoofilter::Ok || peer.Contain(random_integer(i)) != cuckoofilter::Ok) {
      std::printf("fastfilter refused or lost key %llu\n", static_cast<unsigned long long>(i));
      return;
    }
  }
  Cuckoo plain = fixed(total, 0, kBits);
  Cuckoo counted = fixed(total, 2, kBits);
  const std::string name = std::to_string(kBits) + " bits, " + std::to_string(total) + " keys";
  std::printf("%s: fastfilter %.2f, ours %.2f, with counts %.2f bits per key\n", name.c_str(),
              static_cast<double>(peer.SizeInBytes()) * 8 / static_cast<double>(total),
              static_cast<double>(plain.cells_bytes()) * 8 / static_cast<double>(total),
              static_cast<double>(counted.cells_bytes()) * 8 / static_cast<double>(total));
  for (const auto& [sort, queries] : kQueries) {
    const Runner theirs{.name = "fastfilter", .nanoseconds = [&](std::uint64_t turn) {
                          const auto asked = queries(total, turn);
                          return time_per_key([&] {
                            std::uint64_t found = 0;
                            for (const std::uint64_t each : asked) {
                              found += peer.Contain(each) == cuckoofilter::Ok ? 1U : 0U;
                            }
                            sink = found;
                          });
                        }};
    race(name + ": " + sort,
         {theirs, single_lookups("single", plain, total, queries),
          single_lookups("single, counts", counted, total, queries), batch_lookups("batches", plain, total, queries),
          batch_lookups("batches, counts", counted, total, queries)},
         rounds);
  }
  for (const bool adds : {false, true}) {
    const Runner theirs = changes(
        "fastfilter", total, adds,
        [&peer](std::span<const std::uint64_t> changed) {
          for (const std::uint64_t each : changed) {
            sink = static_cast<std::uint64_t>(peer.Delete(each));
          }
        },
        [&peer](std::span<const std::uint64_t> changed) {
          for (const std::uint64_t each : changed) {
            sink = static_cast<std::uint64_t>(peer.Add(each));
          }
        });
    race(name + ": " + (adds ? "additions" : "removals"),
         {theirs, single_changes("single", plain, total, adds), single_changes("single, counts", counted, total, adds),
          batch_changes("batches", plain, total, adds), batch_changes("batches, counts", counted, total, adds)},
         rounds);
  }
}
#endif

}  // namespace
}  // namespace mankai::bench

int main(int count, char** arguments) {
  using namespace mankai::bench;
  const std::uint64_t rounds = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 101;
  const std::uint64_t most = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 100'000'000;
#ifdef MANKAI_FASTFILTER
  for (const std::uint64_t total : {100'000U, 1'000'000U, 10'000'000U}) {
    if (total <= most) {
      beside_fastfilter<8>(total, rounds);
      beside_fastfilter<12>(total, rounds);
      beside_fastfilter<16>(total, rounds);
    }
  }
#else
  std::printf("MISSING\tfastfilter: no fastfilter_cpp was found; set FASTFILTER_DIR\n");
#endif
  lookups_of_one_width(10'000'000, 4, 12, rounds);
  for (const auto& [counts, fingerprint] : {std::pair{0U, 8U}, {0U, 10U}, {0U, 12U}, {0U, 14U}, {4U, 12U}, {0U, 20U}}) {
    lookups_of_one_width(std::min<std::uint64_t>(60'000'000, most), counts, fingerprint, rounds);
  }
  grown(rounds);
  return 0;
}
