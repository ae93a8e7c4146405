/// A Store when the process or the machine ends at any moment.
///
/// Goal: what is found is a whole number of batches, byte for byte what the same changes make in memory, and all that
/// were acknowledged as surviving this end; a reader sees the same and changes nothing; continuing from there and
/// ending again recovers again; and each sync is needed for that. Method: random work on a simulated disk (its fault
/// model: tests/support/simulated_disk.hpp) beside an exact model (store_workload.hpp); then, for every moment of the
/// trace, disks that may be left.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string>

#include "tests/crash/store_ends.hpp"
#include "tests/support/crash_rounds.hpp"

namespace mankai::test {
namespace {

using Fate = SimulatedDisk::Fate;

constexpr std::array kDurabilities = {Durability::always, Durability::interval, Durability::never};
constexpr std::string_view kSpec = "counting-bloom:keys=300,seed=7";

class StoreCrashOf : public testing::TestWithParam<std::string> {};

TEST_P(StoreCrashOf, whole_batches_are_found_at_every_moment) {
  constexpr std::size_t kSteps = 9;
  const std::string& spec = GetParam();
  const std::uint64_t number = parse_spec(spec).value().seed.value()[0];  // so that all policies have their turn
  Tally all;
  for (std::uint64_t round = 0; round < crash_rounds(1); ++round) {
    const WorkloadOptions options{
        .spec = spec, .durability = kDurabilities[(number + round) % kDurabilities.size()], .seed = round};
    SimulatedDisk disk;
    StoreWorkload workload(disk, options);
    const std::size_t first = disk.moment();
    workload.run(kSteps);
    StoreEnds ends(options, {});
    ends.try_all(disk, workload, first);
    EXPECT_EQ(ends.tally().text(), "") << "round " << round;
    all.add(ends.tally(), "");
  }
  say_tried(all, spec);
}

INSTANTIATE_TEST_SUITE_P(every_example, StoreCrashOf, testing::ValuesIn(example_specs()), SpecNames{});

// All that can be done, under each policy.
Tally try_each_thing(const std::function<Fate(const SyncCall&)>& decide, const StoreEnds::Sampling& sampling) {
  Tally all;
  for (const Durability durability : kDurabilities) {
    const WorkloadOptions options{.spec = kSpec, .durability = durability, .seed = 1, .decide = decide};
    SimulatedDisk disk;
    StoreWorkload workload(disk, options);
    const std::size_t first = disk.moment();
    workload.run_each();
    StoreEnds ends(options, sampling);
    ends.try_all(disk, workload, first);
    all.add(ends.tally(), "");
    if (ends.is_done()) {
      break;
    }
  }
  return all;
}

// Changes that are in the journal, and in the filter only later, with others.
TEST(StoreCrash, pending_changes_are_found_at_every_moment) {
  for (const Durability durability : kDurabilities) {
    const WorkloadOptions options{.spec = kSpec, .durability = durability, .seed = 3};
    SimulatedDisk disk;
    StoreWorkload workload(disk, options);
    const std::size_t first = disk.moment();
    workload.later(40);
    workload.checkpoint();
    workload.later(20);
    workload.request(options.most_keys);
    workload.later(3);
    workload.sync();
    workload.later(20);
    workload.reopen();
    workload.later(20);
    workload.batch(BatchMode::in_memory, 2);
    workload.later(20);
    workload.batch(BatchMode::journaled, 2);
    workload.later(20);
    workload.merge();
    workload.later(20);
    workload.close();
    StoreEnds ends(options, {});
    ends.try_all(disk, workload, first);
    EXPECT_EQ(ends.tally().text(), "");
  }
}

// What a sync is for: the call, the file, and which names of the folder have changed since they were made to last.
std::string purpose_of(const SyncCall& call) {
  std::string purpose = call.path.substr(call.path.rfind('/') + 1);
  purpose.resize(std::min(purpose.find(".mankai.tmp-"), purpose.size()));
  for (const NameChange& change : call.names) {
    if (call.kind == SyncCall::Kind::folder || change.name == call.path) {
      constexpr std::array kWords = {" created", " linked", " renamed"};
      // What was removed may come back.
      const std::string word =
          change.kind == NameChange::Kind::remove ? "" : kWords.at(static_cast<std::size_t>(change.kind));
      purpose += purpose.find(word) == std::string::npos ? word : "";
    }
  }
  return std::to_string(static_cast<int>(call.kind)) + " " + purpose;
}

// Goal: no sync is there in vain, and one that is missing is caught. Method: those of one purpose after the other are
// ignored. (tools/mutants.py does the same to each call in the source.)
TEST(StoreCrash, each_sync_is_needed) {
  std::set<std::string> purposes;
  const Tally none_ignored = try_each_thing(
      [&](const SyncCall& call) {
        purposes.insert(purpose_of(call));
        return Fate::done;
      },
      {});
  EXPECT_EQ(none_ignored.text(), "");
  EXPECT_GE(purposes.size(), 6U);
  say_tried(none_ignored, "each thing that can be done");
  if (kMomentStep != 1) {
    return;  // what a missing sync loses, it may lose at one moment only, and a sanitizer has seen the same calls by
             // now
  }
  // Some are needed only by what goes on after a process that ended in the middle of something.
  const StoreEnds::Sampling once{.seeds = 1, .again = 0, .to_first_wrong = true};
  const StoreEnds::Sampling twice{
      .machine_ends = false, .again = 1, .seeds_again = 6, .steps_again = 1, .to_first_wrong = true};
  for (const std::string& purpose : purposes) {
    const auto without = [&](const SyncCall& call) { return purpose_of(call) == purpose ? Fate::ignored : Fate::done; };
    Tally tally = try_each_thing(without, once);
    if (tally.complaints.empty()) {
      tally.add(try_each_thing(without, twice), "");
    }
    EXPECT_NE(tally.text(), "") << "without the sync \"" << purpose << "\" nothing was found amiss on " << tally.disks
                                << " disks";
  }
}

}  // namespace
}  // namespace mankai::test
