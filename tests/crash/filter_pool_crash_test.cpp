/// What a FilterPool promises about the end of the process or of the machine (the top of durable/filter_pool.hpp), at
/// every moment of random workloads.
///
/// Method: for each id all that was put under it, and when each operation began and ended. At a moment, an id has for
/// certain what it had at the last sync that had returned; what began later may have happened or not, or be damaged,
/// and nothing else may be.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mankai/durable/filter_pool.hpp"
#include "mankai/filter/fading_fingerprints/fading_fingerprints.hpp"
#include "tests/support/crash_rounds.hpp"
#include "tests/support/filter_kinds.hpp"
#include "tests/support/random.hpp"
#include "tests/support/simulated_disk.hpp"

namespace mankai::test {
namespace {

using Bytes = std::vector<std::byte>;
const std::string kPath = "/disk/filters.pool";
constexpr std::uint64_t kIds = 12;
constexpr std::uint64_t kNeverPut = 1000;
constexpr std::uint64_t kSlots = 512;

FadingFingerprints filter() { return FadingFingerprints::create({.slots = kSlots, .hash = kXxh3}).value(); }

Bytes image_of(std::uint64_t number) {
  auto made = filter();
  for (const Digest digest : Random(number).digests(kSlots)) {
    made.insert(digest);
  }
  return made.to_bytes();
}

/// Something that was asked of the pool, between two moments.
struct Step {
  enum class Kind : std::uint8_t { put, erase, sync, close };

  Kind kind{};
  std::uint64_t id = 0;
  Bytes image = {};
  std::size_t begun = 0;
  std::size_t ended = 0;
};

/// What an id may have.
struct Expected {
  std::vector<std::optional<Bytes>> any_of = {std::nullopt};

  [[nodiscard]] bool is_certain() const { return any_of.size() == 1; }
  [[nodiscard]] bool may_be_gone() const {
    return std::ranges::any_of(any_of, [](const auto& bytes) { return !bytes.has_value(); });
  }
};

class Workload {
 public:
  explicit Workload(SimulatedDisk& disk)
      : disk_(disk), pool_(FilterPool::create(kPath, filter().to_bytes(), disk).value()) {
    note({.kind = Step::Kind::sync, .begun = disk_.moment()});
  }
  /// Goes on with a pool that is there for good, with these filters.
  Workload(SimulatedDisk& disk, std::map<std::uint64_t, Bytes> filters)
      : disk_(disk),
        before_(std::move(filters)),
        pool_(FilterPool::open(kPath, FilterPool::Mode::write, disk).value()) {}

  void put(std::uint64_t id, std::uint64_t seed) {
    Step step{.kind = Step::Kind::put, .id = id, .image = image_of(seed), .begun = disk_.moment()};
    // One in two through a view of the filter, where there is one.
    const auto view = seed % 2 == 0 ? pool_->view(id) : fail(ErrorCode::not_found, "");
    if (view) {
      std::ranges::copy(step.image, view->begin());
      ASSERT_TRUE(pool_->reseal(id).has_value());
    } else {
      ASSERT_TRUE(pool_->put(id, step.image).has_value());
    }
    note(std::move(step));
  }
  void erase(std::uint64_t id) {
    Step step{.kind = Step::Kind::erase, .id = id, .begun = disk_.moment()};
    pool_->erase(id);
    note(std::move(step));
  }
  void sync() {
    Step step{.kind = Step::Kind::sync, .begun = disk_.moment()};
    ASSERT_TRUE(pool_->sync().has_value());
    note(std::move(step));
  }
  void close() {
    Step step{.kind = Step::Kind::close, .begun = disk_.moment()};
    pool_.reset();
    note(std::move(step));
  }
  void reopen() {
    close();
    pool_.emplace(FilterPool::open(kPath, FilterPool::Mode::write, disk_).value());
  }

  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  [[nodiscard]] const std::map<std::uint64_t, Bytes>& before() const { return before_; }
  /// What is there after all.
  [[nodiscard]] std::map<std::uint64_t, Bytes> filters() const {
    auto all = before_;
    for (const Step& step : steps_) {
      if (step.kind == Step::Kind::put) {
        all[step.id] = step.image;
      } else if (step.kind == Step::Kind::erase) {
        all.erase(step.id);
      }
    }
    return all;
  }

 private:
  void note(Step step) {
    step.ended = disk_.moment();
    steps_.push_back(std::move(step));
  }

  SimulatedDisk& disk_;
  std::vector<Step> steps_;
  std::map<std::uint64_t, Bytes> before_;
  std::optional<FilterPool> pool_;
};

/// What there may be at a moment.
class Expectation {
 public:
  Expectation(const Workload& workload, std::size_t moment, bool machine_ended) {
    for (const auto& [id, image] : workload.before()) {
      ids_[id] = {.any_of = {image}};
    }
    for (const Step& step : workload.steps()) {
      // A process may end within the next event, which is a part of what begins now.
      if (step.begun < moment + (machine_ended ? 0 : 1)) {
        take(step, machine_ended, step.ended <= moment);
      }
    }
  }

  [[nodiscard]] const Expected& of(std::uint64_t id) { return ids_[id]; }
  /// Only what was being put can be damaged, and a pool that was closed after its last sync knows more filters than
  /// reached the disk.
  [[nodiscard]] bool may_be_damaged() const { return may_be_damaged_; }

 private:
  void take(const Step& step, bool machine_ended, bool has_ended) {
    const bool is_done = has_ended && !machine_ended;
    switch (step.kind) {
      case Step::Kind::sync:
        if (has_ended && machine_ended) {
          settle();
        }
        break;
      case Step::Kind::close: may_be_damaged_ = may_be_damaged_ || machine_ended; break;
      case Step::Kind::put:
      case Step::Kind::erase:
        if (is_done) {
          ids_[step.id].any_of.clear();
        }
        ids_[step.id].any_of.push_back(step.kind == Step::Kind::put ? std::optional(step.image) : std::nullopt);
        may_be_damaged_ = may_be_damaged_ || (step.kind == Step::Kind::put && !is_done);
        break;
    }
  }

  void settle() {
    for (auto& [id, expected] : ids_) {
      expected.any_of = {expected.any_of.back()};
    }
    may_be_damaged_ = false;
  }

  std::map<std::uint64_t, Expected> ids_;
  bool may_be_damaged_ = false;
};

// Whether one id has what it may have.
bool is_right(const FilterPool& pool, std::uint64_t id, const Expected& expected) {
  Bytes image(pool.image_bytes());
  const auto got = pool.get(id, image);
  if (got) {
    return std::ranges::find(expected.any_of, std::optional(image)) != expected.any_of.end();
  }
  if (got.error().code == ErrorCode::not_found) {
    return expected.may_be_gone();
  }
  return got.error().code == ErrorCode::corrupt &&
         (!expected.is_certain() || (expected.may_be_gone() && pool.damaged() != 0));
}

bool is_right(SimulatedDisk& disk, FilterPool::Mode mode, Expectation expectation) {
  const auto pool = FilterPool::open(kPath, mode, disk);
  if (!pool) {
    ADD_FAILURE() << pool.error().message();
    return false;
  }
  bool right = expectation.may_be_damaged() || pool->damaged() == 0;
  for (std::uint64_t id = 0; id < kIds; ++id) {
    right = right && is_right(*pool, id, expectation.of(id));
  }
  return right && is_right(*pool, kNeverPut, Expected());
}

struct Tried {
  std::size_t disks = 0;
  std::size_t wrong = 0;
};

void look(SimulatedDisk& found, const Expectation& expectation, Tried& tried) {
  // A reader first: it changes nothing.
  for (const auto mode : {FilterPool::Mode::read, FilterPool::Mode::write}) {
    ++tried.disks;
    tried.wrong += static_cast<std::size_t>(!is_right(found, mode, expectation));
  }
}

void look_at_moment(const DiskWalk& walk, const Workload& workload, std::uint64_t seeds, Tried& tried) {
  const Expectation lost(workload, walk.moment(), true);
  for (const Loss loss : kLosses) {
    for (std::uint64_t seed = 0; seed < (loss == Loss::some ? seeds : 1); ++seed) {
      look(*walk.machine_ends(loss, seed), lost, tried);
    }
  }
  look(*walk.process_ends(walk.moment()), Expectation(workload, walk.moment(), false), tried);
}

// Opens what may be left at every moment from the first one on.
Tried try_all(const SimulatedDisk& disk, const Workload& workload, std::size_t first, std::uint64_t seeds) {
  Tried tried;
  for (DiskWalk walk(disk);; walk.step()) {
    if (walk.moment() >= first) {
      look_at_moment(walk, workload, seeds, tried);
    }
    if (walk.is_at_end()) {
      return tried;
    }
  }
}

void run_random(Workload& workload, std::uint64_t seed, std::size_t steps) {
  constexpr std::uint64_t kKinds = 16;
  Random random(seed);
  for (std::size_t i = 0; i < steps; ++i) {
    const std::uint64_t id = random.below(kIds);
    switch (random.below(kKinds)) {
      case 0: workload.reopen(); break;
      case 1:
      case 2: workload.sync(); break;
      case 3:
      case 4:
      case 5: workload.erase(id); break;
      default: workload.put(id, random.number());
    }
  }
  workload.close();
}

TEST(FilterPoolCrash, filters_are_as_promised_at_every_moment) {
  const std::uint64_t workloads = crash_rounds(4);
  constexpr std::size_t kSteps = 40;
  constexpr std::uint64_t kSeeds = 5;
  std::size_t disks = 0;
  for (std::uint64_t seed = 0; seed < workloads; ++seed) {
    SimulatedDisk disk("/disk");
    Workload workload(disk);
    const std::size_t first = disk.moment();
    run_random(workload, seed, kSteps);
    const Tried tried = try_all(disk, workload, first, kSeeds);
    EXPECT_EQ(tried.wrong, 0U) << "of " << tried.disks << ", seed " << seed;
    disks += tried.disks;
  }
  EXPECT_GT(disks, 2000U);
}

// A workload with all that can go wrong, on a pool that was closed well.
void run_on_closed_pool(Workload& workload) {
  workload.erase(0);
  workload.erase(1);
  workload.put(2, 100);
  workload.sync();
  workload.erase(2);
  workload.put(3, 101);
  workload.sync();
  workload.close();
}

std::unique_ptr<SimulatedDisk> closed_pool(std::map<std::uint64_t, Bytes>& filters) {
  SimulatedDisk disk;
  Workload workload(disk);
  for (std::uint64_t id = 0; id < kIds / 2; ++id) {
    workload.put(id, id);
  }
  workload.sync();
  workload.close();
  filters = workload.filters();
  DiskWalk walk(disk);
  while (!walk.is_at_end()) {
    walk.step();
  }
  return walk.machine_ends(Loss::none, 0);
}

// Goal: no sync is there in vain, and one that is missing is caught. Method: each one is ignored in its turn.
TEST(FilterPoolCrash, each_sync_is_needed) {
  constexpr std::uint64_t kSeeds = 12;
  std::size_t syncs = 0;
  for (std::size_t ignored = 0; ignored <= syncs; ++ignored) {
    std::map<std::uint64_t, Bytes> filters;
    const auto disk = closed_pool(filters);
    disk->decide_syncs([&, number = std::size_t{0}](const SyncCall& /*call*/) mutable {
      return ++number == ignored ? SimulatedDisk::Fate::ignored : SimulatedDisk::Fate::done;
    });
    Workload workload(*disk, filters);
    run_on_closed_pool(workload);
    const Tried tried = try_all(*disk, workload, 0, kSeeds);
    // The first time none is ignored.
    EXPECT_EQ(tried.wrong != 0, ignored != 0) << "sync " << ignored << ", " << tried.disks << " disks";
    syncs = disk->syncs();
  }
  EXPECT_GE(syncs, 3U);
}

}  // namespace
}  // namespace mankai::test
