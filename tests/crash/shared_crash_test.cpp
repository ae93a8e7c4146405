/// What a SharedFilter promises about a process crash and about power loss, at every moment of a workload on a
/// simulated disk.
///
/// Method: keys are numbered, and observed in this order by two handles in turn. At a moment the file must open for
/// readers, for those that share it, and for a writer that does not, and have all keys before some number: if the
/// processes ended, those whose call has returned; if the machine did, those before the durable sequence.
/// Where keys can be forgotten, one comes and goes in between.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "mankai/store/detail/load_store.hpp"
#include "mankai/store/shared_filter.hpp"
#include "tests/support/crash_rounds.hpp"
#include "tests/support/failing_calls.hpp"
#include "tests/support/requests.hpp"
#include "tests/support/simulated_disk.hpp"

namespace mankai::test {
namespace {

const std::string kPath = "/disk/seen.mk";
constexpr std::size_t kKeys = 120;
constexpr std::uint64_t kSeeds = 8;

class SharedCrash : public testing::TestWithParam<std::string> {};

bool can_forget() { return SharedCrash::GetParam() == "counting-bloom"; }

Result<AnyFilter> made() {
  return create_filter(parse_spec(SharedCrash::GetParam() + ":keys=300,fpr=1e-6,seed=5").value());
}

StoreOptions options_on(FileCalls& calls) { return {.durability = Durability::never, .calls = &calls}; }

std::string key_of(std::size_t number) { return "key " + std::to_string(number); }

void observe(SharedFilter& filter, std::size_t number) {
  const std::string key = key_of(number);
  const std::string_view view = key;
  bool seen = false;
  ASSERT_TRUE(filter.observe({&view, 1}, {&seen, 1}).has_value());
  ASSERT_FALSE(seen);
}

// A key that is not numbered.
void observe_and_forget(SharedFilter& filter) {
  const std::string_view key = "comes and goes";
  bool seen = false;
  ASSERT_TRUE(filter.observe({&key, 1}, {&seen, 1}).has_value());
  ASSERT_FALSE(seen);
  EraseResult result{};
  ASSERT_TRUE(filter.forget({&key, 1}, {&result, 1}).has_value());
  ASSERT_EQ(result, EraseResult::erased);
}

std::size_t keys_in_order(const AnyFilter& filter) {
  std::size_t number = 0;
  for (bool is_there = true; number < kKeys && is_there; number += is_there ? 1 : 0) {
    const std::string key = key_of(number);
    const std::string_view view = key;
    filter.may_contain({&view, 1}, {&is_there, 1});
  }
  return number;
}

/// What was known at a moment.
struct Known {
  std::size_t moment;
  std::size_t observed;
  std::size_t durable;
};

// Handles come and go, so that there are openings, checkpoints, and last closings.
std::vector<Known> run(SimulatedDisk& disk) {
  std::vector<Known> all;
  std::size_t number = 0;
  std::size_t durable = 0;
  std::vector<std::size_t> numbers;  // of the next key, by sequence
  const auto note = [&](const SharedFilter* filter) {
    numbers.resize(filter == nullptr ? numbers.size() : filter->sequence() + 1, number);
    durable = filter == nullptr ? number : std::max(durable, numbers[filter->durable_sequence()]);
    all.push_back({.moment = disk.moment(), .observed = number, .durable = durable});
  };
  for (int session = 0; session < 2; ++session) {
    std::optional<SharedFilter> one(SharedFilter::open(kPath, made, options_on(disk)).value());
    std::optional<SharedFilter> other(SharedFilter::open(kPath, made, options_on(disk)).value());
    note(&*one);
    for (std::size_t i = 0; i < kKeys / 2; ++i) {
      SharedFilter& filter = i % 2 == 0 || !other ? *one : *other;
      observe(filter, number++);
      note(&filter);
      if (can_forget() && i % 3 == 0) {
        observe_and_forget(filter);
        note(&filter);
      }
      if (i % 13 == 12) {
        EXPECT_TRUE(filter.sync().has_value());
        note(&filter);
      }
      if (i == 40) {
        other.reset();
      }
    }
    EXPECT_TRUE(one->close().has_value());
    note(nullptr);
  }
  return all;
}

Known known_at(const std::vector<Known>& all, std::size_t moment) {
  Known known{};
  for (const Known& each : all) {
    known = each.moment <= moment ? each : known;
  }
  return known;
}

void expect_keys(SimulatedDisk& disk, std::size_t least, const std::string& where) {
  const auto names = disk.names();
  if (std::ranges::find(names, kPath) == names.end()) {
    ASSERT_EQ(least, 0U) << where << ": the file is missing";
    return;
  }
  const auto read = detail::load_store(kPath, {.calls = &disk});
  ASSERT_TRUE(read.has_value()) << where << ": " << read.error().message();
  const std::size_t keys = keys_in_order(read->filter);
  ASSERT_GE(keys, least) << where;
  ASSERT_GE(read->report.sequence + 1, keys) << where << ": at most one call had not returned";
  {
    auto shared = SharedFilter::open(kPath, made, options_on(disk));
    ASSERT_TRUE(shared.has_value()) << where << ": " << shared.error().message();
    ASSERT_EQ(keys_in_order(shared->filter()), keys) << where;
    ASSERT_EQ(shared->sequence(), read->report.sequence) << where;
  }
  const auto store = Store::open(kPath, {.durability = Durability::never, .calls = &disk});
  ASSERT_TRUE(store.has_value()) << where << ": " << store.error().message();
  // A key whose call had not returned was not counted, and need not be saved.
  ASSERT_GE(keys_in_order(store->filter()), least) << where;
  ASSERT_GE(keys_in_order(store->filter()) + 1, keys) << where;
}

TEST_P(SharedCrash, what_returned_survives_processes_and_what_is_durable_survives_power_loss) {
  SimulatedDisk disk;
  const std::vector<Known> all = run(disk);
  std::size_t disks = 0;
  for (DiskWalk walk(disk); !walk.is_at_end(); walk.step()) {
    if (walk.moment() % kMomentStep != 0) {
      continue;
    }
    const Known known = known_at(all, walk.moment());
    const std::string where = "moment " + std::to_string(walk.moment());
    for (const Loss loss : kLosses) {
      for (std::uint64_t seed = 0; seed < (loss == Loss::some ? crash_rounds(kSeeds) : 1); ++seed) {
        expect_keys(*walk.machine_ends(loss, seed), known.durable, where + ", power loss");
        ++disks;
      }
    }
    expect_keys(*walk.process_ends(walk.moment()), known.observed, where + ", process crash");
    ++disks;
    if (testing::Test::HasFatalFailure()) {
      return;
    }
  }
  EXPECT_GT(disks, 500U) << "with the fewer seeds and moments of a sanitizer";
}

// Power is lost after a writer has opened a file that killed processes left.
TEST_P(SharedCrash, cells_of_dead_processes_are_saved_before_they_are_removed) {
  SimulatedDisk disk;
  std::size_t observed = 0;
  SharedFilter filter = SharedFilter::open(kPath, made, options_on(disk)).value();
  for (; observed < 20; ++observed) {
    observe(filter, observed);
  }
  DiskWalk walk(disk);
  while (walk.moment() < disk.moment()) {
    walk.step();
  }
  const auto left = walk.process_ends(0);
  ASSERT_TRUE(Store::open(kPath, {.durability = Durability::never, .calls = left.get()}).has_value());
  DiskWalk later(*left);
  while (!later.is_at_end()) {
    later.step();
  }
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    expect_keys(*later.machine_ends(Loss::some, seed), observed, "after the writer");
  }
}

// Ten keys, with one call of sync() between them that may fail. Counts those of which the caller was told.
void observe_ten(SharedFilter& filter, std::size_t& observed) {
  for (; observed < 10; ++observed) {
    observe(filter, observed);
    if (observed == 5) {
      static_cast<void>(filter.sync());
    }
  }
}

TEST_P(SharedCrash, calls_that_fail_lose_nothing_that_was_told) {
  for (const Failure failure : {Failure::io, Failure::no_space, Failure::interrupted, Failure::short_transfer}) {
    bool has_failed = true;
    for (std::size_t number = 0; has_failed; ++number) {
      SimulatedDisk disk;
      FailingCalls calls(disk);
      std::size_t observed = 0;
      std::size_t durable = 0;
      calls.fail(failure, number);
      if (auto filter = SharedFilter::open(kPath, made, options_on(calls))) {
        observe_ten(*filter, observed);
        durable = filter->durable_sequence();
        if (filter->close()) {
          durable = observed;
        }
      }
      calls.stop();
      has_failed = calls.has_failed();
      DiskWalk walk(disk);
      while (!walk.is_at_end()) {
        walk.step();
      }
      const std::string where = std::string(calls.failed()) + " " + std::to_string(number);
      expect_keys(*walk.process_ends(0), observed, where);
      expect_keys(*walk.machine_ends(Loss::all, 0), durable, where + ", power loss");
      if (testing::Test::HasFatalFailure()) {
        return;
      }
      EXPECT_EQ(disk.in_use(), 0U) << where;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, SharedCrash, testing::Values("blocked-bloom", "counting-bloom"));

}  // namespace
}  // namespace mankai::test
