/// How a store's file comes to be and is kept up, when the process or the machine ends: made where there is nothing,
/// over another store with changes in its journal, from a plain image; long batches; checkpoints and syncs that the
/// store makes by itself; and what an error leaves.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "mankai/file/file.hpp"
#include "mankai/store/store_footer.hpp"
#include "mankai/store/store_footer_format.hpp"
#include "tests/crash/store_ends.hpp"
#include "tests/support/crash_rounds.hpp"
#include "tests/support/failing_calls.hpp"

#ifdef __SANITIZE_THREAD__
#define MANKAI_UNDER_TSAN 1
#else
#define MANKAI_UNDER_TSAN 0
#endif

namespace mankai::test {
namespace {

constexpr std::string_view kSpec = "counting-bloom:keys=300,seed=7";
constexpr std::string_view kOther = "rotating-bloom:keys=500,window=3h,seed=31";
constexpr std::array kDurabilities = {Durability::always, Durability::interval, Durability::never};
constexpr std::uint64_t kSeeds = 20;

StoreState first_state(std::string_view spec) { return {.image = image_of(filter_of(spec))}; }

// What is found from one moment to another is a state that may be; or nothing, where that may be, too.
Tally look_between(const SimulatedDisk& disk, const StoreHistory& history, std::size_t first, std::size_t last,
                   bool may_be_missing) {
  Tally tally;
  const auto look = [&](SimulatedDisk& found, End end, std::size_t moment) {
    const auto names = found.names();
    if (std::ranges::find(names, kStorePath) != names.end()) {
      recover(found, history, end, moment, tally);
    } else if (!may_be_missing || moment == last) {
      tally.complain("is missing");
    }
  };
  const auto look_at_moment = [&](DiskWalk& walk) {
    for (const Loss loss : kLosses) {
      for (std::uint64_t seed = 0; seed < (loss == Loss::some ? kSeeds : 1); ++seed) {
        look(*walk.machine_ends(loss, seed), End::machine, walk.moment());
      }
    }
    look(*walk.process_ends(walk.moment()), End::process, walk.moment());
  };
  DiskWalk walk(disk);
  while (walk.moment() < first) {
    walk.step();
  }
  for (look_at_moment(walk); walk.moment() < last; look_at_moment(walk)) {
    walk.step();
  }
  return tally;
}

// Makes a store, where there may be one in the state of the history.
Tally make_and_look(SimulatedDisk& disk, StoreHistory history, Existing existing, bool may_be_missing) {
  disk.tear_sectors(kStorePath);
  const std::size_t begun = disk.moment();
  {
    const auto made = Store::create(kStorePath, filter_of(kOther), {.calls = &disk}, existing);
    EXPECT_TRUE(made.has_value()) << made.error().message();
  }
  const std::size_t ended = disk.moment();
  history.add(first_state(kOther), begun);
  history.acknowledge(End::process, ended);
  history.acknowledge(End::machine, ended);
  return look_between(disk, history, begun, ended, may_be_missing);
}

TEST(StoreStart, a_new_store_is_there_or_not) {
  SimulatedDisk disk;
  const Tally tally = make_and_look(disk, StoreHistory(first_state(kOther)), Existing::refuse, true);
  EXPECT_EQ(tally.text(), "");
  EXPECT_GT(tally.disks, 20U);
}

// Goal: whoever replaces a store gets the old one with all its changes, or the new one, whatever is left of the
// journal.
TEST(StoreStart, a_store_that_replaces_another_one_is_there_or_the_other_one_is) {
  for (const Durability durability : kDurabilities) {
    SimulatedDisk before;
    const WorkloadOptions options{.spec = kSpec, .durability = durability, .seed = 3};
    StoreWorkload workload(before, options);
    workload.request(20);
    workload.checkpoint();
    workload.request(20);
    workload.batch(BatchMode::journaled, 2);
    DiskWalk walk(before);
    while (walk.moment() < before.moment()) {
      walk.step();
    }
    // Its process is killed, and all that it wrote is on the disk.
    const auto disk = walk.machine_ends(Loss::none, 0);
    const Tally tally = make_and_look(*disk, StoreHistory(workload.history().last()), Existing::replace, false);
    EXPECT_EQ(tally.text(), "");
    EXPECT_GT(tally.disks, 50U);
  }
}

TEST(StoreStart, a_store_replaces_a_plain_image) {
  SimulatedDisk disk;
  ASSERT_TRUE(write_file(kStorePath, image_of(filter_of(kSpec)), Existing::refuse, nullptr, disk).has_value());
  const Tally tally = make_and_look(disk, StoreHistory(first_state(kSpec)), Existing::replace, false);
  EXPECT_EQ(tally.text(), "");
}

TEST(StoreStart, a_plain_image_becomes_a_store) {
  for (const Durability durability : kDurabilities) {
    const WorkloadOptions options{.spec = kSpec, .durability = durability, .seed = 5};
    SimulatedDisk disk;
    const AnyFilter filter = filter_of(kSpec);
    ASSERT_TRUE(write_file(kStorePath, image_of(filter), Existing::refuse, nullptr, disk).has_value());
    const std::size_t first = disk.moment();
    StoreWorkload workload(disk, options, StoreHistory(first_state(kSpec)), RequestMaker(filter, options.seed));
    workload.request(12);
    workload.sync();
    workload.request(12);
    workload.reopen();
    workload.request(12);
    StoreEnds ends(options, {.again = 41});
    ends.try_all(disk, workload, first);
    EXPECT_EQ(ends.tally().text(), "");
    say_tried(ends.tally(), "a plain image becomes a store");
  }
}

// Goal: who opens a store that another process was just closing may believe its file only when the disk has it. Method:
// the process ends at each moment of closing, and the machine at each moment of the next one's opening and first
// change.
TEST(StoreStart, what_goes_on_after_a_close_that_was_cut_short_loses_nothing) {
  for (const bool has_all : {false, true}) {
    const WorkloadOptions options{.spec = kSpec, .durability = Durability::never, .seed = 4};
    SimulatedDisk disk;
    StoreWorkload workload(disk, options);
    workload.request(12);
    if (has_all) {
      // Then closing writes a mark only, and no new file.
      workload.checkpoint();
    }
    const std::size_t first = disk.moment();
    workload.close();
    StoreEnds ends(options, {.machine_ends = false, .again = 1, .seeds_again = 12, .steps_again = 1});
    ends.try_all(disk, workload, first);
    EXPECT_EQ(ends.tally().text(), "");
    say_tried(ends.tally(), "after a close that was cut short");
  }
}

// Damages a copy of the footer of the store's file for good.
void damage_footer(SimulatedDisk& disk, std::uint64_t copy) {
  const auto file = OpenFile::open(kStorePath, OpenFile::Mode::write, disk);
  ASSERT_TRUE(file.has_value()) << file.error().message();
  const std::uint64_t first = file->size() - store_bytes(0);
  const std::array<std::byte, sizeof(StoreFooter)> noise{std::byte{1}};
  ASSERT_TRUE(file->write(first + copy * kFooterPage, noise).has_value());
  ASSERT_TRUE(file->sync().has_value());
}

// Ends the machine at each moment of opening a store, going on and closing it.
void try_opening(SimulatedDisk& disk, const StoreWorkload& first, const WorkloadOptions& options, const char* what) {
  const std::size_t begun = disk.moment();
  StoreWorkload second(disk, options, StoreHistory(first.history().last()), first.requests());
  second.request(12);
  second.close();
  StoreEnds ends(options, {.step = kMomentStep, .seeds = 100, .again = 0});
  ends.try_all(disk, second, begun);
  EXPECT_EQ(ends.tally().text(), "") << what;
  say_tried(ends.tally(), what);
}

// A machine that ended at the end of what was done on this disk.
std::unique_ptr<SimulatedDisk> machine_ended(SimulatedDisk& disk, Loss loss) {
  const std::size_t left = disk.moment();
  DiskWalk walk(disk);
  while (walk.moment() < left) {
    walk.step();
  }
  return walk.machine_ends(loss, 0);
}

// Goal: where a crash has torn one copy of the footer, the next writer's writes never take the other one as well.
// Method: each copy in turn is damaged, of a store that is open and of one that is closed.
TEST(StoreStart, what_opens_with_one_copy_of_the_footer_never_loses_both) {
  for (const bool is_closed : {false, true}) {
    for (std::uint64_t copy = 0; copy < kFooterCopies; ++copy) {
      const WorkloadOptions options{.spec = kSpec, .durability = Durability::always, .seed = 6};
      SimulatedDisk before;
      StoreWorkload first(before, options);
      first.request(12);
      if (is_closed) {
        first.close();
      }
      const auto disk = machine_ended(before, Loss::none);
      damage_footer(*disk, copy);
      try_opening(*disk, first, options, is_closed ? "one copy of the footer, closed" : "one copy of the footer, open");
    }
  }
}

// Goal: where a crash has kept the second copy of the footer from the disk, the next writer's writes never take the
// only one that knows the journal.
TEST(StoreStart, what_opens_with_a_stale_copy_of_the_footer_never_loses_the_new_one) {
  const WorkloadOptions options{.spec = kSpec, .durability = Durability::always, .seed = 7};
  SimulatedDisk before;
  StoreWorkload first(before, options);
  first.request(12);
  const auto disk = machine_ended(before, Loss::all);
  const auto file = OpenFile::open(kStorePath, OpenFile::Mode::read, *disk);
  const auto footer = file ? read_footer(*file) : std::unexpected(file.error());
  ASSERT_TRUE(footer && *footer && (*footer)->is_other_copy_stale) << "the disk has both copies";
  try_opening(*disk, first, options, "a stale copy of the footer");
}

// Goal: nor do they if a process was killed while it marked the file, so that the disk may lack the copy that counts.
// Method: the process ends at each moment of closing, and the machine at each moment of the next one's opening.
TEST(StoreStart, what_opens_after_a_mark_that_was_cut_short_never_loses_both_copies_of_the_footer) {
  constexpr std::uint64_t kDrawn = 400;
  SimulatedDisk disk;
  disk.tear_sectors(kStorePath);
  const StoreOptions options{.durability = Durability::never, .calls = &disk};
  Store store = Store::create(kStorePath, filter_of(kSpec), options).value();
  ASSERT_TRUE(store.insert(std::vector<std::string_view>{"a"}));
  ASSERT_TRUE(store.checkpoint());
  const std::size_t first = disk.moment();
  ASSERT_TRUE(store.close());
  for (DiskWalk walk(disk); !walk.is_at_end(); walk.step()) {
    if (walk.moment() < first) {
      continue;
    }
    const auto found = walk.process_ends(0);
    found->tear_sectors(kStorePath);
    ASSERT_TRUE(Store::open(kStorePath, {.durability = Durability::never, .calls = found.get()}).has_value());
    std::size_t lost = 0;
    for (DiskWalk again(*found); !again.is_at_end(); again.step()) {
      for (std::uint64_t seed = 0; seed < kDrawn; ++seed) {
        lost += read_store(*again.machine_ends(Loss::some, seed)) ? 0U : 1U;
      }
    }
    EXPECT_EQ(lost, 0U) << walk.moment() - first;
  }
}

// Batches of several windows, for which the journal grows: all of the keys are there, or none.
TEST(StoreStart, long_batches_are_there_as_a_whole) {
  constexpr std::size_t kKeys = 11'000;
  for (const Durability durability : kDurabilities) {
    const WorkloadOptions options{.spec = "blocked-bloom:keys=500,seed=4", .durability = durability, .seed = 9};
    SimulatedDisk disk;
    StoreWorkload workload(disk, options);
    const std::size_t first = disk.moment();
    workload.request(kKeys);
    workload.request(10);
    workload.request(kKeys);
    workload.checkpoint();
    workload.request(10);
    workload.request(kKeys);
    workload.reopen();
    StoreEnds ends(options, {.seeds = 6, .again = 0});
    ends.try_all(disk, workload, first);
    EXPECT_EQ(ends.tally().text(), "");
    say_tried(ends.tally(), "long batches");
  }
}

// Goal: checkpoints and syncs beside changes, which come when they come, keep the promises at every moment.
TEST(StoreStart, what_a_store_does_by_itself_loses_nothing) {
  if (MANKAI_UNDER_TSAN != 0) {
    GTEST_SKIP() << "SKIPPED: the simulated disk looks at memory while it is written, as disks do";
  }
  constexpr std::size_t kSteps = 30;
  for (std::uint64_t round = 0; round < crash_rounds(kDurabilities.size()); ++round) {
    const WorkloadOptions options{.spec = kSpec,
                                  .durability = kDurabilities[round % kDurabilities.size()],
                                  .seed = round,
                                  .checkpoint_bytes = 700,
                                  .interval = std::chrono::milliseconds(1)};
    SimulatedDisk disk;
    StoreWorkload workload(disk, options);
    const std::size_t first = disk.moment();
    workload.run(kSteps);
    workload.close();
    StoreEnds ends(options, {});
    ends.try_all(disk, workload, first);
    EXPECT_EQ(ends.tally().text(), "") << "round " << round;
    say_tried(ends.tally(), "checkpoints beside changes");
  }
}

// Goal: what comes within a checkpoint, at each of its steps, is neither lost nor in the way of what came before.
// Method: each sync of the thread that makes checkpoints waits until one more change was made.
Tally change_within_checkpoints(std::uint64_t checkpoint_bytes, std::size_t keys) {
  constexpr int kChanges = 12;
  constexpr int kMostTries = 10'000;
  SimulatedDisk disk;
  FailingCalls calls(disk);
  const WorkloadOptions options{
      .spec = kSpec, .durability = Durability::never, .seed = 2, .checkpoint_bytes = checkpoint_bytes, .calls = &calls};
  StoreWorkload workload(disk, options);
  const std::size_t first = disk.moment();
  std::mutex working;
  std::atomic<int> changes = 0;
  calls.when_syncing([&, here = std::this_thread::get_id()] {
    if (std::this_thread::get_id() != here && changes < kChanges) {
      const std::scoped_lock lock(working);
      workload.later(3);
      workload.request(4);
      workload.later(3);
      ++changes;
    }
  });
  // Until enough checkpoints were due.
  for (int tries = 0; tries < kMostTries && changes < kChanges; ++tries) {
    {
      const std::scoped_lock lock(working);
      workload.request(keys);
      workload.later(3);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(changes, kChanges);
  workload.close();
  StoreEnds ends({.spec = kSpec, .durability = Durability::never}, {.seeds = 12, .again = 0});
  ends.try_all(disk, workload, first);
  return ends.tally();
}

// Goal: a journal that is cut at its recovery is never shorter than the disk's superblocks say.
// Method: the last superblock that moved the records' beginning forward is on the disk, the one that moved it back is
// in memory only when the process ends; then the machine ends within the recovery.
TEST(StoreStart, a_journal_is_cut_only_when_the_disk_knows_where_it_begins) {
  SimulatedDisk disk;
  FailingCalls calls(disk);
  const WorkloadOptions options{
      .spec = kSpec, .durability = Durability::never, .seed = 3, .checkpoint_bytes = 300, .calls = &calls};
  StoreWorkload workload(disk, options);
  std::mutex working;
  bool is_over = false;
  std::atomic<int> within = 0;
  calls.when_syncing([&, here = std::this_thread::get_id()] {
    if (std::this_thread::get_id() != here) {
      const std::scoped_lock lock(working);
      if (!is_over) {
        workload.request(4);
        ++within;
      }
    }
  });
  while (within < 2) {
    {
      const std::scoped_lock lock(working);
      workload.request(12);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  // Without the lock, since a checkpoint of the other thread may wait for it, and this one for that.
  {
    const std::scoped_lock lock(working);
    is_over = true;
  }
  const std::size_t first = disk.moment();
  workload.checkpoint();
  StoreEnds ends({.spec = kSpec, .durability = Durability::never},
                 {.step = 1, .machine_ends = false, .again = 1, .seeds_again = 12, .steps_again = 1});
  ends.try_all(disk, workload, first);
  EXPECT_EQ(ends.tally().text(), "");
  say_tried(ends.tally(), "a journal that is cut");
}

TEST(StoreStart, changes_within_a_checkpoint_lose_nothing) {
  const Tally small = change_within_checkpoints(300, 12);
  EXPECT_EQ(small.text(), "");
  // So much that room of the journal is given back to the disk.
  const Tally large = change_within_checkpoints(9000, 600);
  EXPECT_EQ(large.text(), "");
  say_tried(large, "changes within checkpoints");
}

// Nobody asks for it: it happens, and is known to have.
TEST(StoreStart, changes_last_within_an_interval) {
  constexpr std::chrono::seconds kPatience{60};
  const WorkloadOptions options{
      .spec = kSpec, .durability = Durability::interval, .seed = 1, .interval = std::chrono::milliseconds(1)};
  SimulatedDisk disk;
  StoreWorkload workload(disk, options);
  workload.request(10);
  const std::uint64_t sequence = workload.store().sequence();
  const auto begun = std::chrono::steady_clock::now();
  while (workload.store().durable_sequence() < sequence && std::chrono::steady_clock::now() - begun < kPatience) {
    std::this_thread::yield();
  }
  workload.look_at_durable();
  const std::size_t moment = disk.moment();
  EXPECT_EQ(workload.history().least(End::machine, moment), workload.history().states().size() - 1);
  EXPECT_EQ(look_between(disk, workload.history(), moment, moment, false).text(), "");
}

/// A store on calls of which some may fail.
class StoreOnFullDisk : public testing::Test {
 protected:
  StoreOnFullDisk()
      : store_(
            Store::create(kStorePath, filter_of(kSpec), {.durability = Durability::never, .calls = &calls_}).value()) {}

  Result<void> insert(std::size_t first, std::size_t count) {
    const auto keys = numbered(first, count);
    return store_.insert(std::vector<std::string_view>(keys.begin(), keys.end()));
  }
  /// The state when so many keys are in.
  static StoreState with(std::size_t count) {
    const auto keys = numbered(0, count);
    AnyFilter filter = filter_of(kSpec);
    filter.insert(std::vector<std::string_view>(keys.begin(), keys.end())).value();
    return {.sequence = count, .position = {}, .image = image_of(filter)};
  }
  // What is left when the process and when the machine ends now.
  void expect_found(const StoreState& expected, const std::vector<Loss>& losses) {
    const std::size_t moment = disk_.moment();
    DiskWalk walk(disk_);
    while (walk.moment() < moment) {
      walk.step();
    }
    EXPECT_EQ(*read_store(*walk.process_ends(0)), expected);
    for (const Loss loss : losses) {
      for (std::uint64_t seed = 0; seed < (loss == Loss::some ? kSeeds : 1); ++seed) {
        const auto found = read_store(*walk.machine_ends(loss, seed));
        ASSERT_TRUE(found.has_value()) << found.error().message();
        EXPECT_EQ(*found, expected);
      }
    }
  }

  SimulatedDisk disk_;
  FailingCalls calls_{disk_};
  Store store_;

 private:
  static std::vector<std::string> numbered(std::size_t first, std::size_t count) {
    std::vector<std::string> keys(count);
    for (std::size_t i = 0; i < count; ++i) {
      keys[i] = "key " + std::to_string(first + i);
    }
    return keys;
  }
};

// The windows before the one for which there is no room are in, and committed; and the store goes on.
TEST_F(StoreOnFullDisk, what_is_in_memory_of_a_long_batch_is_in_the_journal) {
  constexpr std::size_t kBefore = 10;
  constexpr std::size_t kWindow = ChangeEncoder::kMaxKeys;
  ASSERT_TRUE(insert(0, kBefore).has_value());
  calls_.fail(Failure::no_space, 0, true);
  const auto refused = insert(kBefore, 5 * kWindow);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_space);
  EXPECT_EQ(calls_.failed(), "fallocate");
  EXPECT_EQ(store_.sequence(), kBefore + kWindow);
  EXPECT_EQ(state_of(store_), with(kBefore + kWindow));
  expect_found(with(kBefore + kWindow), {Loss::none});
  calls_.stop();
  ASSERT_TRUE(insert(kBefore + kWindow, 5).has_value());
  expect_found(with(kBefore + kWindow + 5), {Loss::none});
}

// Where there is no room for a checkpoint at the end, what is in the journal is on the disk.
TEST_F(StoreOnFullDisk, closing_without_room_for_a_checkpoint_loses_nothing) {
  ASSERT_TRUE(insert(0, 30).has_value());
  calls_.fail(Failure::no_space, 0);
  const auto refused = store_.close();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_space);
  EXPECT_EQ(calls_.failed(), "open");
  expect_found(with(30), {Loss::all, Loss::names, Loss::contents, Loss::none});
}

// The file is there, and its name may not be: the journal stays until it is.
TEST_F(StoreOnFullDisk, closing_after_a_name_could_not_be_synchronized_loses_nothing) {
  ASSERT_TRUE(insert(0, 30).has_value());
  calls_.fail(Failure::io, 1, false, "fsync");
  const auto refused = store_.checkpoint();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::io);
  expect_found(with(30), {Loss::none});
  ASSERT_TRUE(store_.close().has_value());
  EXPECT_EQ(disk_.names(), std::vector{kStorePath});
  expect_found(with(30), {Loss::all, Loss::names, Loss::contents, Loss::some, Loss::none});
}

}  // namespace
}  // namespace mankai::test
