/// What a DigestLog promises about a process crash or a power loss (the top of durable/digest_log.hpp), at
/// every moment of random workloads, and about calls that fail.
///
/// Method: batches are numbered. At a moment, the log must open and hold whole batches, from the first one on without a
/// gap: all whose commit has returned if the process ended; if the machine did, those before the last sync that has. It
/// opens in any case: what tells damage from a crash must not take a crash for damage.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mankai/seen/detail/digest_run.hpp"
#include "mankai/seen/digest_log.hpp"
#include "tests/support/crash_rounds.hpp"
#include "tests/support/failing_calls.hpp"
#include "tests/support/random.hpp"
#include "tests/support/simulated_disk.hpp"

namespace mankai::test {
namespace {

const std::string kPath = "/disk/seen.log";
const DigestLogKeys kKeys = {.first = {.kind = HashKind::xxh3, .seed = {1, 0}},
                             .second = {.kind = HashKind::xxh3, .seed = {2, 0}}};

/// Small ones make many runs; of large ones there are several batches between two, each in sectors of its own, of which
/// a crash may take the first and leave the second.
struct Shape {
  std::size_t recent;
  std::size_t batch;
};
constexpr Shape kSmall = {.recent = 12, .batch = 5};
constexpr Shape kLarge = {.recent = 400, .batch = 50};

Result<DigestLog> open(FileCalls& calls, const Shape& shape) {
  return DigestLog::open(kPath, kKeys, {.recent_digests = shape.recent, .calls = &calls});
}

WideDigest digest_of(const Shape& shape, std::size_t batch, std::size_t number) {
  Random random(batch * shape.batch + number);
  return {.first = random.number(), .second = random.number()};
}

/// How many batches there are, from the first on; nothing when it is not so.
std::optional<std::size_t> batches_of(const DigestLog& log, const Shape& shape) {
  const auto batches = static_cast<std::size_t>(log.digests() / shape.batch);
  bool is_right = log.digests() % shape.batch == 0;
  for (std::size_t batch = 0; batch < batches; ++batch) {
    for (std::size_t i = 0; i < shape.batch; ++i) {
      is_right = is_right && log.contains(digest_of(shape, batch, i));
    }
  }
  return is_right ? std::optional(batches) : std::nullopt;
}

struct Commit {
  std::size_t begun;
  std::size_t ended;
};

struct Sync {
  std::size_t ended;
  std::size_t batches;
};

class Workload {
 public:
  Workload(SimulatedDisk& disk, const Shape& shape) : disk_(disk), shape_(shape), log_(open(disk, shape)) {}

  void run(std::uint64_t seed, std::size_t steps) {
    Random random(seed);
    for (std::size_t i = 0; i < steps; ++i) {
      switch (random.below(8)) {
        case 0: reopen(); break;
        case 1: close(); break;
        case 2: sync(); break;
        default: commit();
      }
    }
    log_ = fail(ErrorCode::io, "closed");
  }

  [[nodiscard]] std::size_t begun_at(std::size_t moment) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(commits_, [&](const Commit& commit) { return commit.begun <= moment; }));
  }
  [[nodiscard]] std::size_t committed_at(std::size_t moment) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(commits_, [&](const Commit& commit) { return commit.ended <= moment; }));
  }
  [[nodiscard]] std::size_t synced_at(std::size_t moment) const {
    std::size_t batches = 0;
    for (const Sync& sync : syncs_) {
      batches = sync.ended <= moment ? sync.batches : batches;
    }
    return batches;
  }

 private:
  void commit() {
    for (std::size_t i = 0; i < shape_.batch; ++i) {
      log_->add(digest_of(shape_, commits_.size(), i));
    }
    const std::size_t begun = disk_.moment();
    ASSERT_TRUE(log_->commit());
    commits_.push_back({.begun = begun, .ended = disk_.moment()});
  }
  void sync() {
    ASSERT_TRUE(log_->sync());
    syncs_.push_back({.ended = disk_.moment(), .batches = commits_.size()});
  }
  void close() {
    ASSERT_TRUE(log_->close());
    syncs_.push_back({.ended = disk_.moment(), .batches = commits_.size()});
  }
  void reopen() {
    log_ = fail(ErrorCode::io, "closed");
    log_ = open(disk_, shape_);
    ASSERT_TRUE(log_.has_value()) << log_.error().message();
    ASSERT_EQ(batches_of(*log_, shape_), commits_.size());
  }

  SimulatedDisk& disk_;
  Shape shape_;
  Result<DigestLog> log_;
  std::vector<Commit> commits_;
  std::vector<Sync> syncs_;
};

// Whether what is found has so many batches; and twice, since the first to open mends.
bool is_right(SimulatedDisk& found, const Shape& shape, std::size_t least, std::size_t most) {
  for (int again = 0; again < 2; ++again) {
    const auto log = open(found, shape);
    if (!log) {
      ADD_FAILURE() << log.error().message();
      return false;
    }
    const auto batches = batches_of(*log, shape);
    if (!batches || *batches < least || *batches > most) {
      return false;
    }
  }
  return true;
}

struct Tried {
  std::size_t disks = 0;
  std::size_t wrong = 0;
};

// The moment at which the walk stands.
void try_moment(const DiskWalk& walk, const Workload& workload, const Shape& shape, std::uint64_t seeds, Tried& tried) {
  const std::size_t moment = walk.moment();
  const std::size_t begun = workload.begun_at(moment);
  for (const Loss loss : kLosses) {
    for (std::uint64_t seed = 0; seed < (loss == Loss::some ? seeds : 1); ++seed) {
      ++tried.disks;
      tried.wrong += is_right(*walk.machine_ends(loss, seed), shape, workload.synced_at(moment), begun) ? 0U : 1U;
    }
  }
  ++tried.disks;
  tried.wrong += is_right(*walk.process_ends(moment), shape, workload.committed_at(moment), begun) ? 0U : 1U;
}

Tried try_all(const SimulatedDisk& disk, const Workload& workload, const Shape& shape, std::size_t first,
              std::uint64_t seeds) {
  Tried tried;
  for (DiskWalk walk(disk);; walk.step()) {
    if (walk.moment() >= first && walk.moment() % kMomentStep == 0) {
      try_moment(walk, workload, shape, seeds, tried);
    }
    if (walk.is_at_end()) {
      return tried;
    }
  }
}

TEST(DigestLogCrash, batches_are_as_promised_at_every_moment) {
  const std::uint64_t workloads = crash_rounds(2);
  for (const Shape& shape : {kSmall, kLarge}) {
    std::size_t disks = 0;
    for (std::uint64_t seed = 0; seed < workloads; ++seed) {
      SimulatedDisk disk("/disk");
      Workload workload(disk, shape);
      const std::size_t first = disk.moment();
      workload.run(seed, 30);
      const Tried tried = try_all(disk, workload, shape, first, 4);
      EXPECT_EQ(tried.wrong, 0U) << "of " << tried.disks << ", seed " << seed << ", batches of " << shape.batch;
      disks += tried.disks;
      EXPECT_EQ(disk.in_use(), 0U);
    }
    EXPECT_GT(disks * kMomentStep, 500U);
  }
}

// The second writer of a log, which adds a batch, after any that the first one may have left.
struct Second {
  std::size_t batches = 0;    ///< those that it found, and its own
  std::size_t synced_at = 0;  ///< when its sync returned
  std::unique_ptr<SimulatedDisk> disk;
};

std::optional<Second> continued(std::unique_ptr<SimulatedDisk> found, const Shape& shape) {
  auto log = open(*found, shape);
  const auto batches = log ? batches_of(*log, shape) : std::nullopt;
  if (!batches) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < shape.batch; ++i) {
    log->add(digest_of(shape, *batches, i));
  }
  if (!log->commit() || !log->sync()) {
    return std::nullopt;
  }
  return Second{.batches = *batches + 1, .synced_at = found->moment(), .disk = std::move(found)};
}

// Goal: what a process that was killed left unsynchronized does no harm to the next one. Method: the process ends at
// any moment, another one continues, and the machine ends at any moment of that, or after it.
TEST(DigestLogCrash, a_power_loss_after_a_killed_writer_loses_nothing_that_was_synced) {
  SimulatedDisk disk("/disk");
  Workload workload(disk, kSmall);
  const std::size_t first = disk.moment();
  workload.run(3, 14);
  std::size_t tried = 0;
  for (DiskWalk walk(disk); !walk.is_at_end(); walk.step()) {
    if (walk.moment() < first || walk.moment() % kMomentStep != 0) {
      continue;
    }
    auto second = continued(walk.process_ends(walk.moment()), kSmall);
    ASSERT_TRUE(second.has_value()) << walk.moment();
    const std::size_t before = workload.synced_at(walk.moment());
    for (DiskWalk again(*second->disk);; again.step()) {
      const std::size_t least = again.moment() < second->synced_at ? before : second->batches;
      for (const Loss loss : kLosses) {
        ++tried;
        EXPECT_TRUE(is_right(*again.machine_ends(loss, tried), kSmall, least, second->batches))
            << walk.moment() << ", " << again.moment();
      }
      if (again.is_at_end()) {
        break;
      }
    }
  }
  EXPECT_GT(tried * kMomentStep, 1000U);
}

// A failed sync is reported once: the system takes what was to be written for written.
TEST(DigestLogCrash, what_a_failed_sync_did_not_write_is_written_by_the_next_writer) {
  SimulatedDisk disk("/disk");
  {
    auto log = open(disk, kSmall);
    for (std::size_t i = 0; i < kSmall.batch; ++i) {
      log->add(digest_of(kSmall, 0, i));
    }
    ASSERT_TRUE(log->commit());
    disk.decide_syncs([](const SyncCall& /*call*/) { return SimulatedDisk::Fate::failed; });
    EXPECT_EQ(log->sync().error().code, ErrorCode::io);
    disk.decide_syncs({});
  }
  auto log = open(disk, kSmall);
  ASSERT_TRUE(log && log->sync());
  DiskWalk walk(disk);
  while (!walk.is_at_end()) {
    walk.step();
  }
  EXPECT_TRUE(is_right(*walk.machine_ends(Loss::all, 0), kSmall, 1, 1));
}

// A log that is being made is there whole, or not at all.
TEST(DigestLogCrash, a_log_that_is_being_made_opens) {
  SimulatedDisk disk("/disk");
  ASSERT_TRUE(open(disk, kSmall).has_value());
  for (DiskWalk walk(disk); !walk.is_at_end(); walk.step()) {
    for (const Loss loss : kLosses) {
      EXPECT_TRUE(is_right(*walk.machine_ends(loss, 1), kSmall, 0, 0));
    }
  }
}

// A run that was written is there under its name: a log may name it then.
TEST(DigestLogCrash, a_run_that_was_written_is_there_whatever_is_lost) {
  SimulatedDisk disk("/disk");
  const std::vector<WideDigest> digests = {{.first = 1, .second = 2}, {.first = 3, .second = 4}};
  const auto entry = detail::write_digest_run({.path = kPath, .id = 7}, 1, digests, {}, disk);
  ASSERT_TRUE(entry.has_value());
  DiskWalk walk(disk);
  while (!walk.is_at_end()) {
    walk.step();
  }
  for (const Loss loss : kLosses) {
    EXPECT_TRUE(detail::DigestRun::open(kPath, *entry, *walk.machine_ends(loss, 1)).has_value());
  }
}

/// Batches that a log was given, and those whose commit returned.
struct Written {
  std::size_t begun = 0;
  std::size_t committed = 0;
};

// Until one fails.
Written write_batches(DigestLog& log) {
  constexpr std::size_t kBatches = 7;
  Written written;
  while (written.begun == written.committed && written.begun < kBatches) {
    for (std::size_t i = 0; i < kSmall.batch; ++i) {
      log.add(digest_of(kSmall, written.begun, i));
    }
    ++written.begun;
    written.committed += log.commit().has_value() ? 1U : 0U;
  }
  return written;
}

// Goal: whatever call fails, the error is told, and what was committed before is there. Method: each call in its turn,
// every second one with all that come after it.
TEST(DigestLogFailure, a_failed_call_loses_nothing_that_was_committed) {
  for (const Failure failure : {Failure::io, Failure::no_space, Failure::interrupted, Failure::short_transfer}) {
    std::size_t number = 0;
    for (bool has_failed = true; has_failed; ++number) {
      SimulatedDisk disk("/disk");
      FailingCalls calls(disk);
      Written written;
      const bool breaks_disk = failure == Failure::io || failure == Failure::no_space;
      calls.fail(failure, number, breaks_disk && number % 2 == 0);
      if (auto log = open(calls, kSmall)) {
        written = write_batches(*log);
        has_failed = calls.has_failed();
        calls.stop();
        // What was committed is not what it was added to any more: closing must not write that down.
        EXPECT_EQ(log->close().has_value(), written.begun == written.committed) << calls.failed();
      }
      has_failed = calls.has_failed();
      calls.stop();
      const auto log = open(disk, kSmall);
      ASSERT_TRUE(log.has_value()) << log.error().message() << ", " << calls.failed();
      const auto batches = batches_of(*log, kSmall);
      ASSERT_TRUE(batches.has_value()) << calls.failed();
      EXPECT_GE(*batches, written.committed) << calls.failed();
      EXPECT_LE(*batches, written.begun) << calls.failed();
      ASSERT_LT(number, 5000U);
    }
    EXPECT_GT(number, 20U);
  }
}

}  // namespace
}  // namespace mankai::test
