/// A Store when a call to the system fails: each call in its turn, in each way that it can, once or from then on.
///
/// Goal: signals and short transfers are survived. All else is an error to whoever asked, after which the store goes on
/// without what was refused, or refuses all further changes; nothing that was acknowledged is lost, neither to the next
/// process nor when the machine ends; and nothing is left open or lying about.
/// Method: a fixed piece of work on a simulated disk, beside a model, and every call of it fails once. A sync that
/// failed is not made up for by a later one: that is how page caches are.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mankai/store/journal_format.hpp"
#include "tests/crash/store_ends.hpp"
#include "tests/support/crash_rounds.hpp"
#include "tests/support/failing_calls.hpp"

namespace mankai::test {
namespace {

constexpr std::string_view kSpec = "counting-bloom:keys=300,seed=7";
/// Calls whose failure must be told. Others look, tidy up or give room back: they may be made again, or left.
const std::set<std::string_view> kMustBeTold = {"pwrite", "fsync",  "fdatasync", "ftruncate",        "fallocate",
                                                "mmap",   "mremap", "rename",    "rename_no_replace"};

/// A change as the store is asked for it, and as the model makes it.
struct Asked {
  std::function<Result<void>(Store&)> in_store;
  std::function<std::uint64_t(AnyFilter&)> in_model;  ///< returns how many changes of single keys it is
};

/// A fixed piece of work, on calls of which some may fail.
class Trial {
 public:
  explicit Trial(Durability durability) : durability_(durability) {
    calls_.when_sync_fails([this](int file) { disk_.lose_sync(file); });
  }

  FailingCalls& calls() noexcept { return calls_; }
  SimulatedDisk& disk() noexcept { return disk_; }
  [[nodiscard]] const StoreHistory& history() const noexcept { return history_; }
  /// How many things were refused.
  [[nodiscard]] std::size_t errors() const noexcept { return errors_; }
  /// When the store was there; nothing when it never was.
  [[nodiscard]] std::optional<std::size_t> made() const noexcept { return made_; }

  /// The journal never restarts in front, but continues behind what the file has.
  void run_without_room_in_front() {
    calls_.refuse_room_at(static_cast<off_t>(kFirstRecord));
    create();
    change(inserting(5));
    give_batch_up();
    open();
    change(inserting(600));
    checked([](Store& store) { return store.checkpoint(); });
    change(inserting(600));
    change(clearing());
    change(inserting(5));
    batch(BatchMode::in_memory);
    change(inserting(600));
    give_batch_up();
    open();
    change(inserting(5));
    close();
  }

  void run() {
    create();
    change(inserting(20));
    batch(BatchMode::journaled);
    checked([](Store& store) { return store.sync(); });
    change(inserting(5));
    checked([](Store& store) { return store.checkpoint(); });
    change(inserting(5));
    change(erasing(3));
    close();
    open();
    change(inserting(5));
    change(clearing());
    change(inserting(5));
    batch(BatchMode::in_memory);
    // The journal grows.
    change(inserting(ChangeEncoder::kMaxKeys));
    change(inserting(ChangeEncoder::kMaxKeys));
    // Without a checkpoint, so that the next one to open recovers.
    give_batch_up();
    open();
    change(inserting(5));
    close();
  }

 private:
  [[nodiscard]] StoreOptions options() {
    return {.durability = durability_, .interval = std::chrono::hours(24), .calls = &calls_};
  }

  void create() {
    auto made = Store::create(kStorePath, filter_of(kSpec), options());
    if (made) {
      store_.emplace(std::move(*made));
      acknowledge();
      return;
    }
    refused(made.error());
    // It may be there by now, and not have been opened.
    if (disk_.names() == std::vector{kStorePath}) {
      open();
      return;
    }
    made = Store::create(kStorePath, filter_of(kSpec), options());
    if (made) {
      store_.emplace(std::move(*made));
      acknowledge();
    }
  }

  // A second time, when it fails.
  void open() {
    for (int attempt = 0; attempt < 2 && !store_; ++attempt) {
      auto opened = Store::open(kStorePath, options());
      if (opened) {
        store_.emplace(std::move(*opened));
        take_over();
      } else {
        refused(opened.error());
      }
    }
  }

  // What is found is one of the states that may be; the work continues from there.
  void take_over() {
    const std::size_t moment = disk_.moment();
    const auto number = history_.find(state_of(*store_), End::process, moment);
    ASSERT_TRUE(number.has_value()) << "opened with sequence " << store_->sequence();
    history_.add(StoreState(history_.states()[*number]), moment);
    // Where making it failed, its name may still be lost, until a change was taken.
    if (made_) {
      acknowledge();
    }
  }

  Asked inserting(std::size_t count) {
    const auto keys = next_keys(count);
    return {.in_store =
                [keys](Store& store) { return store.insert(std::vector<std::string_view>(keys.begin(), keys.end())); },
            .in_model =
                [keys](AnyFilter& filter) {
                  filter.insert(std::vector<std::string_view>(keys.begin(), keys.end())).value();
                  return keys.size();
                }};
  }
  Asked erasing(std::size_t count) {
    std::vector<std::string> keys = next_keys(count);
    keys.front() = "key 0";
    const auto results = std::make_shared<std::vector<EraseResult>>(count);
    return {.in_store =
                [keys, results](Store& store) {
                  return store.erase(std::vector<std::string_view>(keys.begin(), keys.end()), *results);
                },
            .in_model =
                [keys, results](AnyFilter& filter) {
                  EXPECT_TRUE(filter.erase(std::vector<std::string_view>(keys.begin(), keys.end()), *results));
                  return keys.size();
                }};
  }
  static Asked clearing() {
    return {.in_store = [](Store& store) { return store.clear(); },
            .in_model =
                [](AnyFilter& filter) {
                  filter.clear();
                  return std::uint64_t{1};
                }};
  }

  // The state after a change.
  [[nodiscard]] StoreState after(const Asked& asked) const {
    AnyFilter model = filter_from(history_.last().image);
    const std::uint64_t changes = asked.in_model(model);
    return {
        .sequence = history_.last().sequence + changes, .position = history_.last().position, .image = image_of(model)};
  }

  void change(const Asked& asked) {
    if (!store_) {
      return;
    }
    const std::size_t begun = disk_.moment();
    const StoreState last = history_.last();
    const Result<void> done = asked.in_store(*store_);
    history_.add(after(asked), begun);
    if (done) {
      acknowledge();
      return;
    }
    // It may be there after a crash, but then nothing that comes after it is.
    refused(done.error());
    const bool is_in = store_->sequence() != last.sequence;
    // What is in memory and not in the file is there for nobody, where nothing more is taken.
    EXPECT_TRUE(state_of(*store_) == (is_in ? history_.last() : last) || !store_->sync())
        << "neither with the change nor without it";
    if (!is_in) {
      history_.add(StoreState(last), begun);
    }
  }

  // One of which a part was refused is given up, as only opening anew does.
  void batch(BatchMode mode) {
    if (!store_) {
      return;
    }
    const std::size_t begun = disk_.moment();
    const Asked first = inserting(10);
    const Asked second = inserting(10);
    StoreState next = after({.in_store = {}, .in_model = [&](AnyFilter& filter) {
                               return first.in_model(filter) + second.in_model(filter);
                             }});
    next.position = "at " + std::to_string(next.sequence);
    store_->begin(mode);
    auto done = first.in_store(*store_);
    done = done ? second.in_store(*store_) : done;
    done = done ? store_->commit(next.position) : done;
    const StoreState last = history_.last();
    history_.add(std::move(next), begun);
    if (done) {
      acknowledge();
      return;
    }
    refused(done.error());
    history_.add(StoreState(last), begun);
    const std::uint64_t told = store_->sequence();
    store_.reset();
    open();
    EXPECT_TRUE(!store_ || store_->sequence() == told)
        << "opened with " << store_->sequence() << " instead of " << told;
  }

  void give_batch_up() {
    if (store_) {
      store_->begin();
      if (const auto done = inserting(10).in_store(*store_); !done) {
        refused(done.error());
      }
    }
    close();
  }

  void checked(const std::function<Result<void>(Store&)>& ask) {
    if (!store_) {
      return;
    }
    const auto done = ask(*store_);
    if (!done) {
      refused(done.error());
    } else if (made_) {
      acknowledge(true);
    }
  }
  void close() {
    checked([](Store& store) { return store.close(); });
    store_.reset();
  }

  void acknowledge(bool is_all_durable = false) {
    const std::size_t moment = disk_.moment();
    made_ = made_.value_or(moment);
    history_.acknowledge(End::process, moment);
    if (is_all_durable || durability_ == Durability::always) {
      history_.acknowledge(End::machine, moment);
    }
  }
  void refused(const Error& error) {
    ++errors_;
    EXPECT_TRUE(calls_.has_failed()) << error.message();
    EXPECT_NE(error.code, ErrorCode::corrupt) << error.message();
    EXPECT_FALSE(error.detail.empty());
  }
  std::vector<std::string> next_keys(std::size_t count) {
    std::vector<std::string> keys(count);
    for (std::string& key : keys) {
      key = "key " + std::to_string(next_key_++);
    }
    return keys;
  }

  Durability durability_;
  SimulatedDisk disk_;
  FailingCalls calls_{disk_};
  StoreHistory history_{{.image = image_of(filter_of(kSpec))}};
  std::uint64_t next_key_ = 0;
  std::size_t errors_ = 0;
  std::optional<std::size_t> made_;
  std::optional<Store> store_;
};

/// What was tried, over all trials.
struct Trials {
  std::size_t calls = 0;
  Tally tally = {};
  std::map<std::string, std::size_t> failed = {};
};

constexpr std::uint64_t kSeedStep = 1'000'003;

// Nothing that was acknowledged is lost, neither now nor at moments since it began to fail.
// With what was survived, only at the end: that a write within a sector is cut short and the machine ends before the
// rest is written is more than what systems do.
void look_at(Trial& trial, bool at_end_only, Tally& tally,
             std::size_t every = 211 / std::min<std::size_t>(crash_rounds(1), 30), std::uint64_t seeds = 1) {
  const std::size_t end = trial.disk().moment();
  const std::size_t first = trial.made().value_or(end + 1);
  for (DiskWalk walk(trial.disk());; walk.step()) {
    if (walk.moment() >= first && (walk.moment() == end || (!at_end_only && walk.moment() % every == 0))) {
      for (const Loss loss : kLosses) {
        for (std::uint64_t seed = 0; seed < (loss == Loss::some ? seeds : 1); ++seed) {
          recover(*walk.machine_ends(loss, walk.moment() + seed * kSeedStep), trial.history(), End::machine,
                  walk.moment(), tally);
        }
      }
      recover(*walk.process_ends(walk.moment()), trial.history(), End::process, walk.moment(), tally);
    }
    if (walk.moment() == end) {
      return;
    }
  }
}

// Only a temporary that could not be removed may lie about.
void check_names(Trial& trial, bool may_lie_about) {
  for (const std::string& name : trial.disk().names()) {
    EXPECT_TRUE(name == kStorePath || name == kStorePath + "-journal" || may_lie_about) << name << " was left behind";
  }
}

// Has each call fail in its turn.
void try_all(Durability durability, Failure failure, bool breaks_disk, Trials& trials) {
  for (std::size_t number = 0;; ++number) {
    Trial trial(durability);
    trial.calls().fail(failure, number, breaks_disk);
    trial.run();
    if (!trial.calls().has_failed()) {
      EXPECT_EQ(trial.errors(), 0U);
      return;
    }
    const std::string failed(trial.calls().failed());
    SCOPED_TRACE(failed + ", call " + std::to_string(number));
    const bool is_survived = failure == Failure::interrupted || failure == Failure::short_transfer;
    // A journal that finds no room to double its size tries once more, to grow by less.
    const bool may_be_repeated =
        failure == Failure::no_space && !breaks_disk && (failed == "fallocate" || failed == "mremap");
    if (may_be_repeated && trial.errors() == 0) {
      Trial again(durability);
      again.calls().fail(failure, number, false, {}, 3);  // what was taken is given back between the two
      again.run();
      EXPECT_GT(again.errors(), 0U) << "nobody was told that the second one failed";
    }
    if (is_survived) {
      EXPECT_EQ(trial.errors(), 0U);
    } else if (kMustBeTold.contains(failed) && !may_be_repeated) {
      EXPECT_GT(trial.errors(), 0U) << "nobody was told";
    }
    trial.calls().stop();
    EXPECT_EQ(trial.disk().in_use(), 0U) << "something is left open";
    check_names(trial, breaks_disk || failed == "unlink");
    Tally tally;
    look_at(trial, is_survived, tally);
    EXPECT_EQ(tally.text(), "");
    ++trials.calls;
    ++trials.failed[failed];
    trials.tally.add(tally, "");
  }
}

void say(const Trials& trials, std::string_view what) {
  std::cout << "[  crash   ] " << what << ": " << trials.calls << " calls failed, " << trials.tally.disks << " disks\n";
}

constexpr std::array kDurabilities = {Durability::always, Durability::never};

TEST(StoreFailure, signals_and_short_transfers_are_survived) {
  Trials trials;
  for (const Failure failure : {Failure::interrupted, Failure::short_transfer}) {
    try_all(Durability::always, failure, false, trials);
  }
  EXPECT_GT(trials.calls, 50U);
  say(trials, "signals and short transfers");
}

TEST(StoreFailure, a_call_that_fails_once_loses_nothing) {
  for (const Durability durability : kDurabilities) {
    Trials trials;
    for (const Failure failure : {Failure::io, Failure::no_space}) {
      try_all(durability, failure, false, trials);
    }
    EXPECT_GT(trials.calls, 100U);
    for (const char* call :
         {"open", "pread", "pwrite", "fsync", "fdatasync", "fallocate", "mmap", "mremap", "rename"}) {
      EXPECT_TRUE(trials.failed.contains(call)) << call;
    }
    say(trials, "calls that fail once");
  }
}

// Goal: where the room in front of a journal was given back and cannot be had again, what comes after a checkpoint is
// there as ever, at every moment.
TEST(StoreFailure, a_journal_that_cannot_begin_anew_goes_on) {
  for (const Durability durability : kDurabilities) {
    Trial trial(durability);
    trial.run_without_room_in_front();
    EXPECT_EQ(trial.errors(), 0U);
    Tally tally;
    look_at(trial, false, tally, kMomentStep, 48);
    EXPECT_EQ(tally.text(), "");
    std::cout << "[  crash   ] no room in front: " << tally.disks << " disks\n";
  }
}

TEST(StoreFailure, a_disk_that_is_broken_or_full_from_then_on_loses_nothing) {
  for (const Durability durability : kDurabilities) {
    Trials trials;
    for (const Failure failure : {Failure::io, Failure::no_space}) {
      try_all(durability, failure, true, trials);
    }
    EXPECT_GT(trials.calls, 100U);
    say(trials, "disks that break");
  }
}

}  // namespace
}  // namespace mankai::test
