/// The functions of mankai/file when the machine or the process ends at any moment: nothing that they promise to be
/// on the disk is lost, a file is replaced whole or not at all, and each sync in them is needed for that.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "mankai/file/file.hpp"
#include "mankai/file/mapped_file.hpp"
#include "tests/support/simulated_disk.hpp"

namespace mankai::test {
namespace {

constexpr std::uint64_t kSeeds = 8;
const std::string kPath = "/disk/a";
/// What stands for a file that is not there.
const std::string kNone = "-";
const std::string kOld(1500, 'o');
const std::string kNew(2600, 'n');
/// The old contents, cut.
const std::string kCut(2 * kSectorBytes, 'o');

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string contents(FileCalls& calls, const std::string& path = kPath) {
  const auto read = read_file(path, system_memory(), calls);
  if (!read) {
    EXPECT_EQ(read.error().code, ErrorCode::not_found) << read.error().message();
    return kNone;
  }
  return {reinterpret_cast<const char*>(read->bytes().data()), read->size()};
}

using Contents = std::set<std::string>;

/// What one operation on a file promises.
struct Scenario {
  std::string name;
  std::function<void(SimulatedDisk&)> prepare;
  std::function<void(SimulatedDisk&)> run;
  Contents meanwhile;  ///< what the file may be while it runs
  std::string after;   ///< what it is when it has returned
};

void expect_ok(const Result<void>& result) { EXPECT_TRUE(result.has_value()) << result.error().message(); }

void put(SimulatedDisk& disk, const std::string& text) {
  expect_ok(write_file(kPath, bytes_of(text), Existing::replace, nullptr, disk));
}

// Runs and returns how many disks held what they must not; `tried` counts all.
std::size_t count_violations(const Scenario& scenario, std::size_t& tried,
                             const std::function<SimulatedDisk::Fate(const SyncCall&)>& decide = {}) {
  SimulatedDisk disk;
  scenario.prepare(disk);
  const std::size_t begun = disk.moment();
  disk.decide_syncs(decide);
  scenario.run(disk);
  const std::size_t ended = disk.moment();
  EXPECT_EQ(disk.in_use(), 0U) << scenario.name;
  std::size_t violations = 0;
  const auto look = [&](SimulatedDisk& found, bool has_returned) {
    const std::string held = contents(found);
    ++tried;
    violations += static_cast<std::size_t>(has_returned ? held != scenario.after : !scenario.meanwhile.contains(held));
  };
  DiskWalk walk(disk);
  while (walk.moment() < begun) {
    walk.step();
  }
  for (;; walk.step()) {
    for (const Loss loss : kLosses) {
      for (std::uint64_t seed = 0; seed < (loss == Loss::some ? kSeeds : 1); ++seed) {
        look(*walk.machine_ends(loss, seed), walk.moment() == ended);
      }
    }
    look(*walk.process_ends(walk.moment()), walk.moment() == ended);
    if (walk.moment() == ended) {
      return violations;
    }
  }
}

void nothing(SimulatedDisk& /*disk*/) {}

void put_old(SimulatedDisk& disk) { put(disk, kOld); }

std::vector<Scenario> scenarios_of_files() {
  return {
      {.name = "write_file over a file",
       .prepare = put_old,
       .run = [](SimulatedDisk& disk) { put(disk, kNew); },
       .meanwhile = {kOld, kNew},
       .after = kNew},
      {.name = "write_file where there is none",
       .prepare = nothing,
       .run =
           [](SimulatedDisk& disk) { expect_ok(write_file(kPath, bytes_of(kNew), Existing::refuse, nullptr, disk)); },
       .meanwhile = {kNone, kNew},
       .after = kNew},
      {.name = "write_file_parts with a lock",
       .prepare = put_old,
       .run =
           [](SimulatedDisk& disk) {
             auto lock = FileLock::acquire(kPath, disk);
             const std::vector<std::span<const std::byte>> parts = {bytes_of(kOld), bytes_of(kNew)};
             expect_ok(write_file_parts(kPath, parts, Existing::replace, &*lock, disk));
             EXPECT_EQ(FileLock::acquire(kPath, disk).error().code, ErrorCode::locked);
           },
       .meanwhile = {kOld, kOld + kNew},
       .after = kOld + kNew},
      {.name = "remove_file",
       .prepare = put_old,
       .run = [](SimulatedDisk& disk) { expect_ok(remove_file(kPath, disk)); },
       .meanwhile = {kOld, kNone},
       .after = kNone},
      {.name = "OpenFile::sync",
       .prepare = put_old,
       .run =
           [](SimulatedDisk& disk) {
             const auto file = OpenFile::open(kPath, OpenFile::Mode::write, disk);
             expect_ok(file->write(kSectorBytes, bytes_of("x")));
             expect_ok(file->sync());
           },
       .meanwhile = {kOld, std::string(kOld).replace(kSectorBytes, 1, "x")},
       .after = std::string(kOld).replace(kSectorBytes, 1, "x")},
  };
}

std::vector<Scenario> scenarios_of_mappings() {
  return {
      {.name = "MappedFile::create, sync, sync_folder_of",
       .prepare = nothing,
       .run =
           [](SimulatedDisk& disk) {
             auto file = MappedFile::create(kPath, 100, disk);
             expect_ok(file->sync());
             expect_ok(sync_folder_of(kPath, disk));
           },
       .meanwhile = {kNone, "", std::string(100, '\0')},
       .after = std::string(100, '\0')},
      {.name = "MappedFile::grow, sync",
       .prepare = put_old,
       .run =
           [](SimulatedDisk& disk) {
             auto file = MappedFile::open(kPath, MappedFile::Mode::write, disk);
             expect_ok(file->grow(kOld.size() + 10));
             expect_ok(file->sync());
           },
       .meanwhile = {kOld, kOld + std::string(10, '\0')},
       .after = kOld + std::string(10, '\0')},
      {.name = "MappedFile::truncate, sync",
       .prepare = put_old,
       .run =
           [](SimulatedDisk& disk) {
             auto file = MappedFile::open(kPath, MappedFile::Mode::write, disk);
             expect_ok(file->truncate(kCut.size()));
             expect_ok(file->sync());
           },
       .meanwhile = {kOld, kCut, kCut + std::string(kOld.size() - kCut.size(), '\0')},
       .after = kCut},
      {.name = "MappedFile::sync",
       .prepare = put_old,
       .run =
           [](SimulatedDisk& disk) {
             auto file = MappedFile::open(kPath, MappedFile::Mode::write, disk);
             file->bytes()[1400] = std::byte{'x'};
             expect_ok(file->sync());
           },
       .meanwhile = {kOld, std::string(kOld).replace(1400, 1, "x")},
       .after = std::string(kOld).replace(1400, 1, "x")},
  };
}

std::vector<Scenario> scenarios() {
  std::vector<Scenario> all = scenarios_of_files();
  std::ranges::move(scenarios_of_mappings(), std::back_inserter(all));
  return all;
}

TEST(StorageCrash, files_are_as_promised_at_every_moment) {
  std::size_t tried = 0;
  for (const Scenario& scenario : scenarios()) {
    EXPECT_EQ(count_violations(scenario, tried), 0U) << scenario.name;
  }
  EXPECT_GT(tried, 500U);
}

// Goal: no sync is there in vain, and one that is missing is caught. Method: each one is ignored in its turn.
TEST(StorageCrash, each_sync_is_needed) {
  for (const Scenario& scenario : scenarios()) {
    SimulatedDisk disk;
    scenario.prepare(disk);
    const std::size_t before = disk.syncs();
    scenario.run(disk);
    const std::size_t syncs = disk.syncs() - before;
    EXPECT_GT(syncs, 0U) << scenario.name;
    for (std::size_t ignored = 0; ignored < syncs; ++ignored) {
      std::size_t tried = 0;
      std::size_t number = 0;
      const auto decide = [&](const SyncCall& /*call*/) {
        return number++ == ignored ? SimulatedDisk::Fate::ignored : SimulatedDisk::Fate::done;
      };
      EXPECT_GT(count_violations(scenario, tried, decide), 0U) << scenario.name << ", sync " << ignored;
    }
  }
}

// Goal: what a failed sync leaves in memory only reaches the disk when it is written again, and not before.
TEST(StorageCrash, rewriting_makes_up_for_a_sync_that_failed) {
  for (const bool rewrites : {false, true}) {
    const std::string changed(kOld.size(), 'n');
    SimulatedDisk disk;
    put(disk, kOld);
    const auto file = OpenFile::open(kPath, OpenFile::Mode::write, disk);
    expect_ok(file->write(0, bytes_of(changed)));
    disk.decide_syncs([](const SyncCall& /*call*/) { return SimulatedDisk::Fate::failed; });
    EXPECT_EQ(file->sync().error().code, ErrorCode::io);
    disk.decide_syncs({});
    if (rewrites) {
      expect_ok(file->rewrite(0, changed.size()));
    }
    expect_ok(file->sync());
    DiskWalk walk(disk);
    while (!walk.is_at_end()) {
      walk.step();
    }
    EXPECT_EQ(contents(*walk.machine_ends(Loss::all, 0)) == changed, rewrites);
  }
}

TEST(StorageCrash, temporaries_that_a_crash_left_are_in_nobody_s_way) {
  SimulatedDisk disk;
  put(disk, kOld);
  const std::size_t begun = disk.moment();
  put(disk, kNew);
  std::size_t left = 0;
  for (DiskWalk walk(disk); !walk.is_at_end();) {
    walk.step();
    const auto found = walk.process_ends(0);
    left += static_cast<std::size_t>(walk.moment() > begun && found->names().size() > 1);
    if (walk.moment() > begun) {
      put(*found, "again");
      EXPECT_EQ(contents(*found), "again");
    }
  }
  EXPECT_GT(left, 0U) << "there was none";
}

}  // namespace
}  // namespace mankai::test
