/// What happens in the middle of a store's call: another thread's, another process's, a disk that refuses just then.
///
/// Goal: whoever is told that a change is kept is told the truth, whatever goes on beside it.
/// Method: real files; a call to the system is where the other one acts, so each interleaving comes every time.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "mankai/filter/any_filter.hpp"
#include "mankai/store/detail/load_store.hpp"
#include "mankai/store/filter_file.hpp"
#include "mankai/store/journal_format.hpp"
#include "mankai/store/store.hpp"
#include "tests/support/counting_memory.hpp"
#include "tests/support/failing_calls.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai::test {
namespace {

/// For what another thread is about to do next, once it has been seen on its way.
constexpr std::chrono::milliseconds kAMoment{20};

/// The system's calls, with something to do in the middle of some.
class HookedCalls final : public FailingCalls {
 public:
  HookedCalls() : FailingCalls(system_calls()) {}

  std::function<void(const std::string&)> when_opened;   ///< before that
  std::function<void(const std::string&)> when_missing;  ///< a file that was opened is not there
  std::function<int()> when_synced;                      ///< errno, or 0 to go on
  std::function<int()> when_renamed;

  int open(const char* path, int flags, mode_t mode) override {
    if (when_opened) {
      when_opened(path);
    }
    const int file = system_calls().open(path, flags, mode);
    if (file < 0 && errno == ENOENT && when_missing) {
      std::exchange(when_missing, {})(path);
      errno = ENOENT;
    }
    return file;
  }
  int fdatasync(int file) override { return fails(when_synced) ? -1 : system_calls().fdatasync(file); }
  int rename(const char* from, const char* to) override {
    return fails(when_renamed) ? -1 : system_calls().rename(from, to);
  }

 private:
  static bool fails(const std::function<int()>& hook) {
    const int error = hook ? hook() : 0;
    errno = error;
    return error != 0;
  }
};

class StoreInterleaving : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name = "filter.mk") const { return folder_.file(name); }

  [[nodiscard]] Store make(const StoreOptions& options) const {
    return Store::create(path(), create_filter(parse_spec("bloom:keys=1000,fpr=0.001,seed=1").value()).value(), options)
        .value();
  }
  // As after the end of a process that has the file open.
  void keep_as_killed(const std::string& name) const { folder_.copy_store(path(), name); }

  TemporaryFolder folder_;
  HookedCalls calls_;
};

Result<void> insert(Store& store, std::string_view key) { return store.insert(std::span(&key, 1)); }

bool has(const AnyFilter& filter, std::string_view key) {
  bool found = false;
  filter.may_contain(std::span(&key, 1), std::span(&found, 1));
  return found;
}

// The system tells a failure once: the next sync succeeds, and the disk has nothing of what the first was for.
TEST_F(StoreInterleaving, a_sync_that_failed_is_no_success_for_who_waits_behind_it) {
  Store store = make({.durability = Durability::always, .calls = &calls_});
  ASSERT_TRUE(insert(store, "zero"));
  std::atomic<bool> has_failed = false;
  Result<void> second;
  std::thread other;
  calls_.when_synced = [&] {
    if (has_failed.exchange(true)) {
      return 0;
    }
    other = std::thread([&] { second = insert(store, "two"); });
    while (store.sequence() < 3) {
      std::this_thread::yield();
    }
    std::this_thread::sleep_for(kAMoment);
    return EIO;
  };
  const auto first = insert(store, "one");
  other.join();
  EXPECT_EQ(first.error().code, ErrorCode::io);
  EXPECT_FALSE(second);
  EXPECT_FALSE(store.sync());
  EXPECT_EQ(store.durable_sequence(), 1U);
  calls_.when_synced = {};
  EXPECT_FALSE(store.close());
}

TEST_F(StoreInterleaving, a_second_close_waits_for_the_first_and_says_the_same) {
  Store store = make({.durability = Durability::never, .calls = &calls_});
  ASSERT_TRUE(insert(store, "one"));
  Result<void> second;
  std::thread other;
  calls_.when_renamed = [&] {
    other = std::thread([&] { second = store.close(); });
    std::this_thread::sleep_for(kAMoment);
    return EIO;
  };
  const auto first = store.close();
  other.join();
  ASSERT_FALSE(first);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message(), first.error().message());
}

// Where the room in front was given back and cannot be had again, the records continue behind.
TEST_F(StoreInterleaving, changes_that_come_after_a_commit_in_memory_are_kept_without_room_in_front) {
  for (const bool is_cleared : {false, true}) {
    calls_.refuse_room_at(-1);
    const StoreOptions options{.durability = Durability::always, .calls = &calls_};
    {
      Store store = make(options);
      ASSERT_TRUE(insert(store, "one"));
      keep_as_killed("killed.mk");
    }
    std::filesystem::rename(path("killed.mk"), path());
    std::filesystem::rename(path("killed.mk") + "-journal", path() + "-journal");
    Store store = Store::open(path(), options).value();
    calls_.refuse_room_at(static_cast<off_t>(kFirstRecord));
    if (is_cleared) {
      ASSERT_TRUE(store.clear());
    } else {
      store.begin(BatchMode::in_memory);
      for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(insert(store, "key " + std::to_string(i)));
      }
      ASSERT_TRUE(store.commit("line 11"));
    }
    const std::uint64_t sequence = store.sequence();
    ASSERT_TRUE(insert(store, "acknowledged"));
    EXPECT_EQ(store.sequence(), sequence + 1);
    keep_as_killed("again.mk");
    ASSERT_TRUE(store.close());
    const Store again = Store::open(path("again.mk")).value();
    EXPECT_TRUE(has(again.filter(), "acknowledged"));
    EXPECT_EQ(again.sequence(), sequence + 1);
    EXPECT_EQ(again.recovery().reason, "");
    EXPECT_EQ(again.position().view(), is_cleared ? "" : "line 11");
    std::filesystem::remove(path());
  }
}

// A change that was done in part is in memory only: no checkpoint of the store's own makes it last.
TEST_F(StoreInterleaving, what_was_given_up_is_in_no_checkpoint) {
  auto filter = create_filter(parse_spec("scalable-bloom:keys=2000,fpr=0.001,seed=1").value());
  ASSERT_TRUE(Store::create(path(), std::move(*filter)).value().close());
  CountingMemory enough;
  ASSERT_TRUE(Store::open(path(), {.memory = enough.memory()}).value().close());
  CountingMemory memory(enough.calls);
  const StoreOptions options{
      .durability = Durability::never, .checkpoint_interval = std::chrono::milliseconds(1), .memory = memory.memory()};
  Store store = Store::open(path(), options).value();
  std::vector<std::string> names;
  for (int i = 0; i < 4000; ++i) {
    names.push_back("key " + std::to_string(i));
  }
  const std::vector<std::string_view> keys(names.begin(), names.end());
  EXPECT_EQ(store.insert(keys).error().code, ErrorCode::out_of_space);
  std::this_thread::sleep_for(kAMoment);
  keep_as_killed("killed.mk");
  const Store again = Store::open(path("killed.mk")).value();
  const auto found = std::make_unique<bool[]>(keys.size());
  const std::span outcomes(found.get(), keys.size());
  again.filter().may_contain(keys, outcomes);
  const auto kept = static_cast<std::size_t>(std::ranges::count(outcomes, true));
  EXPECT_EQ(kept, again.sequence() == 0 ? 0U : keys.size());
}

// What a writer has not committed yet is not lost: readers are told of a loss only once the writer has ended.
TEST_F(StoreInterleaving, a_reader_beside_a_writer_is_told_of_no_loss) {
  Store store = make({});
  ASSERT_TRUE(insert(store, "one"));
  store.begin();
  ASSERT_TRUE(insert(store, "two"));
  RecoveryReport report;
  const auto filter = open_filter(path(), Access::query, Trust::checked, system_memory(), &report).value();
  EXPECT_TRUE(has(filter, "one"));
  EXPECT_FALSE(has(filter, "two"));
  EXPECT_EQ(report.reason, "");
  EXPECT_EQ(report.bytes_dropped, 0U);

  keep_as_killed("killed.mk");
  const auto killed = open_filter(path("killed.mk"), Access::query, Trust::checked, system_memory(), &report).value();
  EXPECT_FALSE(has(killed, "two"));
  EXPECT_TRUE(report.reason.contains("was not committed")) << report.reason;
  EXPECT_GT(report.bytes_dropped, 0U);

  // The same of a writer that this process cannot see, in another container: it commits after the first attempt.
  ASSERT_TRUE(store.commit());
  constexpr int kOpensOfAnAttempt = 3;
  int opens = 0;
  calls_.when_opened = [&](const std::string& opened) {
    if (opened == path("killed.mk-journal") && opens++ == kOpensOfAnAttempt) {
      std::filesystem::copy_file(path("filter.mk-journal"), opened, std::filesystem::copy_options::overwrite_existing);
    }
  };
  const auto loaded = detail::load_store(path("killed.mk"), {.calls = &calls_}).value();
  EXPECT_GT(opens, kOpensOfAnAttempt);
  EXPECT_TRUE(has(loaded.filter, "two"));
  EXPECT_EQ(loaded.report.reason, "");
}

// Damage is a loss whoever has the file open.
TEST_F(StoreInterleaving, a_reader_beside_a_writer_is_told_of_a_truncated_journal) {
  Store store = make({});
  ASSERT_TRUE(insert(store, "one"));
  const std::uint64_t end = detail::load_store(path(), {.calls = &calls_}).value().journal.value().end;
  ASSERT_TRUE(insert(store, "two"));
  const std::string journal = path("filter.mk-journal");
  const std::uintmax_t size = std::filesystem::file_size(journal);
  for (const std::uint64_t left : {end, end + 5}) {
    std::filesystem::resize_file(journal, left);
    RecoveryReport report;
    const auto filter = open_filter(path(), Access::query, Trust::checked, system_memory(), &report).value();
    EXPECT_TRUE(has(filter, "one"));
    EXPECT_FALSE(has(filter, "two"));
    EXPECT_TRUE(report.reason.contains("truncated")) << report.reason;
  }
  std::filesystem::resize_file(journal, size);  // the store's mapping
}

// Who replaces what is not there finds that another process was faster, and leaves its journal alone.
TEST_F(StoreInterleaving, replacing_beside_a_creator_takes_nothing_of_what_it_was_told) {
  std::optional<Store> other;
  calls_.when_missing = [&](const std::string&) {
    other.emplace(make({.durability = Durability::always}));
    ASSERT_TRUE(insert(*other, "acknowledged"));
  };
  auto filter = create_filter(parse_spec("bloom:keys=10").value());
  const auto replaced = Store::create(path(), std::move(*filter), {.calls = &calls_}, Existing::replace);
  ASSERT_FALSE(replaced);
  EXPECT_EQ(replaced.error().code, ErrorCode::locked);
  keep_as_killed("killed.mk");
  EXPECT_TRUE(has(Store::open(path("killed.mk")).value().filter(), "acknowledged"));
}

TEST_F(StoreInterleaving, a_journal_without_its_file_goes_when_the_file_is_made_anew) {
  {
    Store store = make({.durability = Durability::always});
    ASSERT_TRUE(insert(store, "old"));
    std::filesystem::copy_file(path() + "-journal", path("kept"));
  }
  std::filesystem::remove(path());
  std::filesystem::rename(path("kept"), path() + "-journal");
  auto filter = create_filter(parse_spec("bloom:keys=10").value());
  const Store store = Store::create(path(), std::move(*filter), {}, Existing::replace).value();
  EXPECT_EQ(store.sequence(), 0U);
  EXPECT_FALSE(has(store.filter(), "old"));
  EXPECT_FALSE(std::filesystem::exists(path() + "-journal"));
}

TEST_F(StoreInterleaving, a_change_that_is_none_of_the_filters_is_refused_and_forgotten) {
  Store store = make({.durability = Durability::always});
  ASSERT_TRUE(insert(store, "one"));
  const std::vector<std::uint64_t> digests{1, 2};
  const auto refused =
      store.change({.operation = Operation::insert, .keys = 1, .payload = std::as_bytes(std::span(digests))});
  EXPECT_EQ(refused.error().code, ErrorCode::corrupt);
  EXPECT_EQ(store.sequence(), 1U);
  keep_as_killed("refused.mk");
  ASSERT_TRUE(insert(store, "two"));
  keep_as_killed("after.mk");
  EXPECT_EQ(Store::open(path("refused.mk")).value().sequence(), 1U);
  const Store after = Store::open(path("after.mk")).value();
  EXPECT_EQ(after.sequence(), 2U);
  EXPECT_TRUE(has(after.filter(), "two"));
}

// A checkpoint in a time that no clock reaches is none at once.
TEST_F(StoreInterleaving, an_interval_of_centuries_makes_no_checkpoints) {
  Store store = make(
      {.durability = Durability::never, .checkpoint_interval = std::chrono::hours(std::int64_t{24} * 365 * 290'000)});
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(insert(store, "key " + std::to_string(i)));
    std::this_thread::yield();
  }
  std::this_thread::sleep_for(kAMoment);
  keep_as_killed("killed.mk");
  EXPECT_EQ(Store::open(path("killed.mk")).value().recovery().changes_replayed, 10U);
}

TEST_F(StoreInterleaving, a_journal_of_holes_is_refused_before_memory_is_taken_for_it) {
  {
    Store store = make({.durability = Durability::always});
    ASSERT_TRUE(insert(store, "one"));
    keep_as_killed("hollow.mk");
  }
  std::filesystem::resize_file(path("hollow.mk") + "-journal", std::uintmax_t{1} << 40);
  const auto opened = Store::open(path("hollow.mk"));
  EXPECT_EQ(opened.error().code, ErrorCode::corrupt);
  EXPECT_NE(opened.error().detail.find("holes"), std::string::npos) << opened.error().detail;
}

}  // namespace
}  // namespace mankai::test
