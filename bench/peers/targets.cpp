#include "bench/peers/targets.hpp"

#include <array>
#include <cstdint>
#include <span>

namespace mankai::bench {
namespace {

enum class Caller : std::uint8_t { any, plain, native };

// An operation of every peer whose name begins so.
struct Rival {
  std::string_view name;
  Operation operation;
};

struct Target {
  std::string_view workload;
  Caller caller;
  std::string_view text;
  Operation ours;
  std::vector<Rival> rivals;
  double at_least;  ///< their time over ours
};

constexpr std::string_view kOurs = "blocked-bloom";
// Within 1.15 times the limit.
constexpr double kNearLimit = 1 / 1.15;

const std::vector<Target>& targets() {
  using enum Operation;
  static const std::vector<Target> kAll{
      {"int-1e5",
       Caller::any,
       "batch vs the best of Boost, single or bulk",
       batch_mixed,
       {{"boost", mixed}, {"boost", batch_mixed}},
       1.3},
      {"int-1e5", Caller::native, "single vs fast_multiblock32", mixed, {{"boost fast_multiblock32<8>", mixed}}, 1.0},
      {"int-1e5", Caller::plain, "single vs fast_multiblock32", mixed, {{"boost fast_multiblock32<8>", mixed}}, 1.3},
      {"int-1e5", Caller::plain, "batch vs Boost's bulk", batch_mixed, {{"boost", batch_mixed}}, 2.0},
      {"int-1e7", Caller::any, "batch vs Boost's bulk (aim 1.15)", batch_mixed, {{"boost", batch_mixed}}, 1.0},
      {"int-1e7", Caller::any, "batch vs RocksDB's", batch_mixed, {{"rocksdb", batch_mixed}}, 1.5},
      {"int-2e8", Caller::any, "batch vs the line limit", batch_mixed, {{"limit", batch_mixed}}, kNearLimit},
      {"int-2e8", Caller::any, "bulk build vs Boost's bulk insert", build, {{"boost", insert_batch}}, 1.5},
      {"url-1e7",
       Caller::any,
       "batch vs Boost's bulk, XXH3 in both (aim 1.1)",
       batch_mixed,
       {{"boost", batch_mixed}},
       0.95},
  };
  return kAll;
}

// Bits per key, at most, by class.
struct Ceiling {
  double fpr_class;
  double bits_per_key;
};
constexpr std::array kCeilings{Ceiling{0.01, 10.15}, Ceiling{0.001, 15.9}};

Verdict hold(const Target& target, const Table& table, const Measured& ours) {
  Verdict verdict{.workload = ours.workload,
                  .fpr_class = ours.fpr_class,
                  .target = std::string(target.text),
                  .rival = {},
                  .wanted = target.at_least};
  for (const Rival& rival : target.rivals) {
    for (const Measured& peer : table) {
      if (!peer.peer.starts_with(rival.name) || peer.of(rival.operation).empty()) {
        continue;
      }
      const double speedup = paired_speedup(ours.of(target.ours), peer.of(rival.operation));
      if (verdict.is_missing() || speedup < verdict.measured) {
        verdict.measured = speedup;
        verdict.rival = peer.peer + ' ' + std::string(name(rival.operation));
      }
    }
  }
  return verdict;
}

}  // namespace

std::vector<Verdict> judge(const Table& table, bool is_native) {
  const Measured* const ours = find(table, kOurs);
  if (ours == nullptr) {
    return {};
  }
  std::vector<Verdict> verdicts;
  for (const Ceiling& ceiling : kCeilings) {
    if (ceiling.fpr_class == ours->fpr_class) {
      verdicts.push_back({.workload = ours->workload,
                          .fpr_class = ours->fpr_class,
                          .target = "bits per key",
                          .rival = {},
                          .wanted = ceiling.bits_per_key,
                          .measured = ours->bits_per_key,
                          .is_ceiling = true});
    }
  }
  for (const Target& target : targets()) {
    const bool is_called = target.caller == Caller::any || (target.caller == Caller::native) == is_native;
    if (target.workload == ours->workload && is_called) {
      verdicts.push_back(hold(target, table, *ours));
    }
  }
  return verdicts;
}

}  // namespace mankai::bench
