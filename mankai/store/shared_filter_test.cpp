#include "mankai/store/shared_filter.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "mankai/file/file.hpp"
#include "mankai/filter/parts/image_format.hpp"
#include "mankai/store/filter_file.hpp"
#include "mankai/store/shared_format.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/failing_calls.hpp"
#include "tests/support/random.hpp"
#include "tests/support/requests.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai {
namespace {

namespace fs = std::filesystem;
using test::Flags;

Result<AnyFilter> made() { return create_filter(parse_spec("blocked-bloom:keys=20000,fpr=1e-6,seed=5").value()); }
Result<AnyFilter> made_of_counters() {
  return create_filter(parse_spec("counting-bloom:keys=20000,fpr=1e-6,seed=5").value());
}

/// So many keys from `first` on.
class Names {
 public:
  Names(std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) {
      names_.push_back("key " + std::to_string(i));
    }
    views_.assign(names_.begin(), names_.end());
  }
  [[nodiscard]] std::span<const std::string_view> views() const noexcept { return views_; }

 private:
  std::vector<std::string> names_;
  std::vector<std::string_view> views_;
};

class SharedFilterTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_.file("seen.mk"); }
  [[nodiscard]] std::string cells() const { return path() + "-shared"; }
  [[nodiscard]] SharedFilter opened(const SharedFilter::Make& make = made) const {
    return SharedFilter::open(path(), make, kNoTimer).value();
  }
  [[nodiscard]] std::size_t files() const { return folder_.entries(); }
  // Runs `live` in a child that is killed when it has returned.
  static void die_after(const std::function<void()>& live) {
    const pid_t child = ::fork();
    if (child == 0) {
      live();
      ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  }
  void leave_cells(std::size_t keys) const {
    die_after([&] {
      auto filter = new SharedFilter(opened());  // not closed
      EXPECT_TRUE(observed(*filter, 0, keys) == 0);
    });
  }
  void overwrite(const std::string& file, std::size_t offset, std::string_view bytes) const {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(offset));
    stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  /// Returns how many keys were seen before.
  static std::size_t observed(SharedFilter& filter, std::size_t first, std::size_t count) {
    const Names keys(first, count);
    Flags seen(count);
    const auto done = filter.observe(keys.views(), seen.span());
    EXPECT_TRUE(done.has_value()) << done.error().message();
    return static_cast<std::size_t>(std::ranges::count(seen.span(), true));
  }
  static std::vector<EraseResult> forgotten(SharedFilter& filter, std::size_t first, std::size_t count) {
    std::vector<EraseResult> results(count);
    const auto done = filter.forget(Names(first, count).views(), results);
    EXPECT_TRUE(done.has_value()) << done.error().message();
    return results;
  }
  static std::size_t found(const AnyFilter& filter, std::size_t count) {
    const Names keys(0, count);
    Flags there(count);
    filter.may_contain(keys.views(), there.span());
    return static_cast<std::size_t>(std::ranges::count(there.span(), true));
  }
  [[nodiscard]] std::size_t found_in_file(std::size_t count) const {
    const auto filter = open_filter(path(), Access::query);
    EXPECT_TRUE(filter.has_value()) << filter.error().message();
    return filter ? found(*filter, count) : 0;
  }
  [[nodiscard]] Error refusal() const {
    auto filter = SharedFilter::open(path(), made, kNoTimer);
    return filter ? Error{} : filter.error();
  }

  static inline const StoreOptions kNoTimer{.durability = Durability::never};

 private:
  test::TemporaryFolder folder_;
};

TEST_F(SharedFilterTest, what_one_handle_observes_all_others_have_seen) {
  SharedFilter one = opened();
  SharedFilter other = opened();
  EXPECT_EQ(observed(one, 0, 1000), 0U);
  EXPECT_EQ(observed(other, 500, 1000), 500U);
  EXPECT_EQ(observed(one, 0, 1500), 1500U);
  EXPECT_EQ(one.keys_inserted(), 1500U);
  EXPECT_EQ(other.sequence(), 3500U);
  EXPECT_EQ(found(other.filter(), 1500), 1500U);
  EXPECT_EQ(files(), 2U);
}

TEST_F(SharedFilterTest, the_last_one_to_close_leaves_an_ordinary_file) {
  {
    SharedFilter one = opened();
    SharedFilter other = opened();
    EXPECT_EQ(observed(one, 0, 1000), 0U);
    EXPECT_TRUE(one.close().has_value());
    EXPECT_EQ(files(), 2U) << "another one uses it";
    EXPECT_FALSE(one.observe({}, {}).has_value());
    EXPECT_EQ(observed(other, 1000, 1000), 0U);
    EXPECT_TRUE(other.close().has_value());
    EXPECT_TRUE(other.close().has_value());
  }
  EXPECT_EQ(files(), 1U);
  const Store store = Store::open(path()).value();
  EXPECT_EQ(found(store.filter(), 2000), 2000U);
  EXPECT_EQ(store.sequence(), 2000U);
  EXPECT_EQ(store.filter().keys_inserted(), 2000U);
}

TEST_F(SharedFilterTest, what_a_killed_process_was_told_is_there_for_everybody) {
  leave_cells(1000);
  EXPECT_EQ(files(), 2U);
  EXPECT_EQ(found_in_file(1000), 1000U) << "a reader uses the cells";
  EXPECT_EQ(inspect_store(path()).value().info.recovery.sequence, 1000U);
  {
    SharedFilter next = opened();
    EXPECT_EQ(next.keys_inserted(), 1000U);
    EXPECT_EQ(observed(next, 0, 1000), 1000U);
  }
  EXPECT_EQ(files(), 1U);
  EXPECT_EQ(found_in_file(1000), 1000U);
}

TEST_F(SharedFilterTest, a_writer_that_does_not_share_continues_where_killed_processes_stopped) {
  leave_cells(1000);
  const Store store = Store::open(path()).value();
  EXPECT_EQ(found(store.filter(), 1000), 1000U);
  EXPECT_EQ(store.sequence(), 1000U);
  EXPECT_EQ(files(), 1U);
}

TEST_F(SharedFilterTest, writers_that_do_not_share_and_those_that_do_refuse_each_other) {
  {
    const SharedFilter shared = opened();
    const auto store = Store::open(path());
    ASSERT_FALSE(store.has_value());
    EXPECT_EQ(store.error().code, ErrorCode::locked);
    EXPECT_NE(store.error().detail.find("this process shares it"), std::string::npos) << store.error().detail;
    auto filter = made().value();
    EXPECT_EQ(save_filter(path(), filter, Existing::replace).error().code, ErrorCode::locked);
  }
  const Store store = Store::open(path()).value();
  EXPECT_EQ(refusal().code, ErrorCode::locked);
  EXPECT_NE(refusal().detail.find("let it share"), std::string::npos) << refusal().detail;
}

TEST_F(SharedFilterTest, other_kinds_are_refused_with_the_kinds_that_can) {
  for (const std::string_view spec :
       {"scalable-counting-bloom:keys=100", "scalable-bloom:keys=100", "cuckoo:keys=100"}) {
    const auto make = [&] { return create_filter(parse_spec(spec).value()); };
    const auto created = SharedFilter::open(path(), make, kNoTimer);
    ASSERT_FALSE(created.has_value());
    EXPECT_EQ(files(), 0U);
    auto filter = make().value();
    ASSERT_TRUE(save_filter(path(), filter, Existing::refuse).has_value());
    EXPECT_EQ(refusal().code, ErrorCode::invalid_argument);
    EXPECT_NE(refusal().detail.find("supported by: blocked-bloom, bloom, counting-bloom"), std::string::npos)
        << refusal().detail;
    EXPECT_EQ(files(), 1U);
    fs::remove(path());
  }
  EXPECT_EQ(SharedFilter::open(path(), made, {.durability = Durability::always}).error().code,
            ErrorCode::invalid_argument);
}

TEST_F(SharedFilterTest, both_kinds_of_bits_are_shared) {
  const auto make = [] { return create_filter(parse_spec("bloom:keys=5000,fpr=1e-6,canonical=yes").value()); };
  SharedFilter one = SharedFilter::open(path(), make, kNoTimer).value();
  SharedFilter other = SharedFilter::open(path(), make, kNoTimer).value();
  EXPECT_EQ(observed(one, 0, 3000), 0U);
  EXPECT_EQ(observed(other, 0, 3000), 3000U);
}

TEST_F(SharedFilterTest, a_key_that_was_forgotten_is_new_again) {
  for (const std::string_view layout : {"blocked", "partitioned", "dablooms"}) {
    const auto make = [&] {
      return create_filter(
          parse_spec("counting-bloom:keys=5000,fpr=1e-6,canonical=yes,layout=" + std::string(layout)).value());
    };
    {
      SharedFilter one = opened(make);
      SharedFilter other = opened(make);
      EXPECT_EQ(observed(one, 0, 1000), 0U);
      EXPECT_EQ(observed(other, 0, 1000), 1000U);
      EXPECT_EQ(forgotten(other, 0, 600), std::vector(600, EraseResult::erased));
      EXPECT_EQ(forgotten(one, 0, 600), std::vector(600, EraseResult::absent)) << "repeats were not counted";
      EXPECT_EQ(found(one.filter(), 600), 0U);
      EXPECT_EQ(one.keys_inserted(), 400U);
      EXPECT_EQ(one.sequence(), 3200U);
      EXPECT_EQ(observed(one, 0, 1000), 400U);
    }
    Store store = Store::open(path()).value();
    EXPECT_EQ(found(store.filter(), 1000), 1000U);
    EXPECT_EQ(store.filter().keys_inserted(), 1000U);
    EXPECT_EQ(store.sequence(), 4200U);
    std::vector<EraseResult> results(1000);
    ASSERT_TRUE(store.erase(Names(0, 1000).views(), results).has_value());
    EXPECT_EQ(store.filter().describe().fill_ratio, 0) << layout << ": each key was counted once";
    store.close().value();
    fs::remove(path());
  }
}

TEST_F(SharedFilterTest, filters_of_bits_forget_nothing) {
  SharedFilter shared = opened();
  EXPECT_EQ(observed(shared, 0, 1), 0U);
  EraseResult result{};
  const auto forgotten = shared.forget(Names(0, 1).views(), {&result, 1});
  ASSERT_FALSE(forgotten.has_value());
  EXPECT_EQ(forgotten.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(forgotten.error().detail.find("supported by: counting-bloom"), std::string::npos)
      << forgotten.error().detail;
  EXPECT_EQ(found(shared.filter(), 1), 1U);
  shared.close().value();
  EXPECT_FALSE(shared.forget({}, {}).has_value());
}

TEST_F(SharedFilterTest, counters_that_are_stuck_are_counted_and_never_decremented) {
  const std::string_view stuck = "stuck";
  auto filter = create_filter(parse_spec("counting-bloom:keys=5,fpr=0.5,seed=5").value()).value();
  ASSERT_TRUE(filter.insert(std::vector<std::string_view>(15, stuck)).has_value());
  ASSERT_TRUE(filter.insert(std::vector<std::string_view>(14, "nearly stuck")).has_value());
  ASSERT_TRUE(save_filter(path(), filter, Existing::refuse).has_value());
  {
    SharedFilter shared = opened();
    EXPECT_LT(observed(shared, 0, 1000), 1000U);
    EraseResult result{};
    ASSERT_TRUE(shared.forget({&stuck, 1}, {&result, 1}).has_value());
    EXPECT_EQ(result, EraseResult::stuck);
    EXPECT_TRUE(shared.filter().may_contain(stuck));
  }
  const AnyFilter saved = open_filter(path(), Access::query).value();
  const auto image = saved.to_bytes();
  std::uint64_t counters = 0;
  for (const std::byte each : std::span(image).subspan(sizeof(ImageHeader), 64)) {
    counters += ((each & std::byte{0x0f}) == std::byte{0x0f} ? 1U : 0U) + (each >= std::byte{0xf0} ? 1U : 0U);
  }
  EXPECT_GT(counters, 8U) << "of one key, and others that were nearly stuck";
  const auto fields = saved.describe().fields;
  const auto field = std::ranges::find(fields, "saturated_cells", &InfoField::name);
  EXPECT_EQ(std::get<std::uint64_t>(field->value), counters);
}

TEST_F(SharedFilterTest, sync_says_what_survives_a_power_loss) {
  SharedFilter one = opened();
  SharedFilter other = opened();
  EXPECT_EQ(observed(one, 0, 100), 0U);
  EXPECT_EQ(one.durable_sequence(), 0U);
  ASSERT_TRUE(other.sync().has_value());
  EXPECT_EQ(one.durable_sequence(), 100U);
  EXPECT_EQ(observed(one, 100, 100), 0U);
  EXPECT_EQ(one.durable_sequence(), 100U);
  EXPECT_EQ(one.sequence(), 200U);
}

TEST_F(SharedFilterTest, a_checkpoint_is_made_by_time) {
  std::size_t first = 0;
  for (const Duration interval : {Duration(std::chrono::milliseconds(2)), Duration(1)}) {
    SharedFilter one = SharedFilter::open(path(), made, {.checkpoint_interval = interval}).value();
    for (const std::size_t until = first + 300; first < until; first += 100) {
      EXPECT_EQ(observed(one, first, 100), 0U);
      while (one.durable_sequence() < one.sequence()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
  }
}

// The system has started again: the boot's id is another one, and the cells may be torn.
TEST_F(SharedFilterTest, cells_from_before_a_restart_do_not_count) {
  die_after([&] {
    auto filter = new SharedFilter(opened());
    EXPECT_EQ(observed(*filter, 0, 500), 0U);
    EXPECT_TRUE(filter->sync().has_value());
    EXPECT_EQ(observed(*filter, 500, 500), 0U);
  });
  overwrite(cells(), offsetof(SharedHeader, boot), "another boot");
  EXPECT_EQ(found_in_file(500), 500U);
  EXPECT_EQ(found_in_file(1000), 500U);
  SharedFilter next = opened();
  EXPECT_EQ(next.sequence(), 500U);
  EXPECT_EQ(next.durable_sequence(), 500U);
  EXPECT_EQ(next.keys_inserted(), 500U);
  EXPECT_EQ(observed(next, 0, 1000), 500U);
}

TEST_F(SharedFilterTest, cells_whose_creation_was_interrupted_do_not_count) {
  leave_cells(10);
  overwrite(cells(), offsetof(SharedHeader, checksum), std::string_view("\0\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(found_in_file(10), 0U);
  EXPECT_EQ(opened().keys_inserted(), 0U);
}

TEST_F(SharedFilterTest, another_version_is_refused_by_everybody) {
  leave_cells(10);
  overwrite(cells(), offsetof(SharedHeader, version), "\x02");
  EXPECT_EQ(refusal().code, ErrorCode::unsupported_version);
  EXPECT_EQ(open_filter(path(), Access::query).error().code, ErrorCode::unsupported_version);
  EXPECT_EQ(Store::open(path()).error().code, ErrorCode::unsupported_version);
  EXPECT_NE(refusal().detail.find("version 2"), std::string::npos) << refusal().detail;
}

TEST_F(SharedFilterTest, damaged_cells_and_those_of_another_file_are_corrupt) {
  leave_cells(10);
  overwrite(cells(), offsetof(SharedHeader, first_keys), "\x07");
  EXPECT_EQ(refusal().code, ErrorCode::corrupt);
  fs::remove(cells());
  leave_cells(10);
  fs::remove(path());
  EXPECT_EQ(refusal().code, ErrorCode::invalid_argument) << "cells without their file";
  fs::rename(cells(), cells() + "-away");
  opened().close().value();
  fs::rename(cells() + "-away", cells());
  EXPECT_EQ(refusal().code, ErrorCode::corrupt);
  EXPECT_EQ(open_filter(path(), Access::query).error().code, ErrorCode::corrupt);
}

// As in a copy of both files that was made around a checkpoint.
TEST_F(SharedFilterTest, cells_that_are_older_than_their_file_are_corrupt) {
  die_after([&] {
    auto filter = new SharedFilter(opened());
    EXPECT_EQ(observed(*filter, 0, 500), 0U);
    EXPECT_TRUE(filter->sync().has_value());
  });
  EXPECT_EQ(found_in_file(500), 500U);
  overwrite(cells(), offsetof(SharedHeader, slots), std::string(sizeof(SharedHeader::slots), '\0'));
  EXPECT_EQ(refusal().code, ErrorCode::corrupt);
  EXPECT_EQ(open_filter(path(), Access::query).error().code, ErrorCode::corrupt);
}

TEST_F(SharedFilterTest, a_file_that_is_replaced_meanwhile_is_not_overwritten) {
  SharedFilter shared = opened();
  EXPECT_EQ(observed(shared, 0, 10), 0U);
  auto other = made().value();
  const std::string elsewhere = path() + "-other";
  ASSERT_TRUE(save_filter(elsewhere, other, Existing::refuse).has_value());
  fs::rename(elsewhere, path());
  EXPECT_EQ(shared.sync().error().code, ErrorCode::io);
  EXPECT_EQ(shared.durable_sequence(), 0U);
  EXPECT_EQ(shared.close().error().code, ErrorCode::io);
  EXPECT_TRUE(fs::exists(cells())) << "what was observed is there";
}

TEST_F(SharedFilterTest, cells_with_a_damaged_header_do_not_replace_the_file) {
  SharedFilter shared = opened();
  EXPECT_EQ(observed(shared, 0, 10), 0U);
  shared.sync().value();
  EXPECT_EQ(observed(shared, 10, 10), 0U);
  const std::size_t at = kSharedPage + offsetof(ImageHeader, cells_bytes);
  std::string before(8, '\0');
  std::ifstream(cells(), std::ios::binary).seekg(static_cast<std::streamoff>(at)).read(before.data(), 8);
  overwrite(cells(), at, std::string("\xff\xff\xff\xff\xff\0\0\0", 8));
  EXPECT_EQ(shared.sync().error().code, ErrorCode::corrupt);
  EXPECT_NE(shared.sync().error().detail.find(cells()), std::string::npos) << shared.sync().error().detail;
  EXPECT_EQ(shared.durable_sequence(), 10U);
  overwrite(cells(), at, before);
  EXPECT_TRUE(shared.close().has_value());
  EXPECT_EQ(found_in_file(20), 20U);
}

TEST_F(SharedFilterTest, cells_that_were_removed_are_still_written) {
  SharedFilter shared = opened();
  EXPECT_EQ(observed(shared, 0, 10), 0U);
  fs::remove(cells());
  shared.sync().value();
  EXPECT_EQ(found_in_file(10), 10U);
  EXPECT_EQ(observed(shared, 10, 10), 0U);
  shared.close().value();
  EXPECT_EQ(found_in_file(20), 20U);
}

// Two groups of processes would undo each other's checkpoints.
TEST_F(SharedFilterTest, cells_in_the_place_of_those_that_were_removed_are_noticed) {
  SharedFilter shared = opened();
  EXPECT_EQ(observed(shared, 0, 10), 0U);
  fs::remove(cells());
  SharedFilter other = opened();
  EXPECT_EQ(observed(other, 10, 10), 0U);
  EXPECT_EQ(shared.sync().error().code, ErrorCode::io);
  EXPECT_EQ(shared.close().error().code, ErrorCode::io);
  other.close().value();
  EXPECT_EQ(found_in_file(20), 10U);
}

// Others could not find the cells, and shared the file anew.
TEST_F(SharedFilterTest, changes_of_others_after_cells_were_removed_are_not_overwritten) {
  for (const std::size_t synced : {0U, 10U}) {
    fs::remove(path());
    SharedFilter shared = opened();
    EXPECT_EQ(observed(shared, 0, synced), 0U);
    shared.sync().value();
    fs::remove(cells());
    SharedFilter other = opened();
    EXPECT_EQ(observed(other, 10, 10), 0U);
    other.close().value();
    EXPECT_EQ(observed(shared, 20, 10), 0U);
    EXPECT_EQ(shared.sync().error().code, ErrorCode::io);
    EXPECT_EQ(shared.close().error().code, ErrorCode::io);
    EXPECT_EQ(found_in_file(30), synced + 10);
  }
}

TEST_F(SharedFilterTest, the_last_one_writes_a_damaged_file_again) {
  for (const std::size_t offset : {0U, 200U}) {
    SharedFilter shared = opened();
    observed(shared, 0, 10);
    shared.sync().value();
    overwrite(path(), offset, "damage!!");
    shared.close().value();
    EXPECT_EQ(files(), 1U);
    EXPECT_EQ(found_in_file(10), 10U) << offset;
  }
}

TEST_F(SharedFilterTest, the_last_one_writes_an_older_copy_of_the_file_again) {
  SharedFilter shared = opened();
  fs::copy_file(path(), path() + "-copy");
  EXPECT_EQ(observed(shared, 0, 10), 0U);
  shared.sync().value();
  fs::rename(path() + "-copy", path());
  shared.close().value();
  EXPECT_EQ(found_in_file(10), 10U);
}

// Its cells may have been written by another process long ago, and the file changed since.
TEST_F(SharedFilterTest, a_closed_filter_writes_nothing) {
  SharedFilter shared = opened();
  SharedFilter other = opened();
  EXPECT_EQ(observed(shared, 0, 10), 0U);
  shared.close().value();
  EXPECT_EQ(observed(other, 10, 10), 0U);
  const auto synced = shared.sync();
  ASSERT_FALSE(synced.has_value());
  EXPECT_EQ(synced.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(other.durable_sequence(), 0U);
}

// A daemon changes to another folder.
TEST_F(SharedFilterTest, a_new_file_is_found_from_another_folder) {
  const fs::path before = fs::current_path();
  fs::current_path(fs::path(path()).parent_path());
  SharedFilter shared = SharedFilter::open("seen.mk", made, kNoTimer).value();
  fs::current_path(before);
  EXPECT_EQ(observed(shared, 0, 10), 0U);
  const auto closed = shared.close();
  EXPECT_TRUE(closed.has_value()) << closed.error().message();
  EXPECT_EQ(found_in_file(10), 10U);
  EXPECT_EQ(files(), 1U);
}

TEST_F(SharedFilterTest, cells_that_cannot_be_removed_are_an_error_of_a_writer) {
  leave_cells(10);
  test::FailingCalls calls(system_calls());
  calls.fail(test::Failure::io, 0, true, "unlink");
  const auto store = Store::open(path(), {.calls = &calls});
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, ErrorCode::io);
  EXPECT_EQ(found_in_file(10), 10U);
}

TEST_F(SharedFilterTest, a_plain_image_and_a_journal_are_taken_over) {
  const auto image = made().value().to_bytes();
  ASSERT_TRUE(write_file(path(), image, Existing::refuse).has_value());
  opened().close().value();
  die_after([&] {
    auto store = new Store(Store::open(path()).value());
    EXPECT_TRUE(store->insert(Names(0, 100).views()).has_value());
    EXPECT_TRUE(store->commit("a position").has_value());
  });
  ASSERT_EQ(files(), 2U);
  {
    SharedFilter shared = opened();
    EXPECT_EQ(shared.sequence(), 101U);
    EXPECT_EQ(observed(shared, 0, 200), 100U);
  }
  EXPECT_EQ(files(), 1U);
  const Store store = Store::open(path()).value();
  EXPECT_EQ(store.sequence(), 301U);
  EXPECT_EQ(store.position().view(), "a position");
}

TEST_F(SharedFilterTest, a_child_of_a_fork_opens_the_file_again) {
  std::optional<SharedFilter> shared(opened());
  EXPECT_EQ(observed(*shared, 0, 100), 0U);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    // The parent closes the filter first: if this child had kept its cells, nobody would find what it adds.
    char go = 0;
    const bool is_told = ::read(ends[0], &go, 1) == 1;
    const bool is_right = observed(*shared, 0, 200) == 100 && shared->keys_inserted() == 200;
    shared.reset();
    ::_exit(is_told && is_right ? 0 : 1);
  }
  ASSERT_TRUE(shared->close().has_value());
  EXPECT_EQ(files(), 1U) << "the child has no lock of its parent";
  ASSERT_EQ(::write(ends[1], "g", 1), 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(found_in_file(200), 200U);
  EXPECT_EQ(files(), 1U);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(SharedFilterTest, a_child_that_calls_nothing_leaves_its_parents_filter_alone) {
  SharedFilter shared = opened();
  EXPECT_EQ(test::in_child([&] {
              const SharedFilter destroyed = std::move(shared);
              return true;
            }),
            0);
  EXPECT_EQ(Store::open(path()).error().code, ErrorCode::locked);
  EXPECT_EQ(observed(shared, 0, 10), 0U);
  EXPECT_EQ(files(), 2U);
}

constexpr std::size_t kThreads = 4;
constexpr std::size_t kKeys = 4000;
using Seens = std::array<Flags, kThreads>;
constexpr auto kBoth = {made, made_of_counters};

void observe_singly(SharedFilter& filter, std::span<bool> seen, bool also_syncs) {
  const Names keys(0, kKeys);
  for (std::size_t i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(filter.observe(keys.views().subspan(i, 1), seen.subspan(i, 1)).has_value());
    if (also_syncs && i % 500 == 0) {
      ASSERT_TRUE(filter.sync().has_value());
    }
  }
}

void expect_new_once(Seens& seen) {
  for (std::size_t i = 0; i < kKeys; ++i) {
    ASSERT_EQ(std::ranges::count(seen, false, [i](Flags& flags) { return flags.span()[i]; }), 1) << "key " << i;
  }
}

// Goal: of several that observe one absent key at once exactly one is told so. Method: each thread has a handle of its
// own, and observes all keys in the same order; one makes checkpoints meanwhile.
TEST_F(SharedFilterTest, each_key_is_new_to_exactly_one_handle) {
  for (const auto& make : kBoth) {
    Seens seen{Flags(kKeys), Flags(kKeys), Flags(kKeys), Flags(kKeys)};
    {
      std::vector<std::jthread> threads;
      for (std::size_t thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] {
          SharedFilter filter = opened(make);
          observe_singly(filter, seen[thread].span(), thread == 0);
        });
      }
    }
    expect_new_once(seen);
    EXPECT_EQ(found_in_file(kKeys), kKeys);
    const Store store = Store::open(path()).value();
    EXPECT_EQ(store.filter().keys_inserted(), kKeys);
    EXPECT_EQ(store.sequence(), kThreads * kKeys);
    fs::remove(path());
  }
}

// The same with one handle, where ThreadSanitizer sees that all use the same memory.
TEST_F(SharedFilterTest, each_key_is_new_to_exactly_one_thread) {
  for (const auto& make : kBoth) {
    Seens seen{Flags(kKeys), Flags(kKeys), Flags(kKeys), Flags(kKeys)};
    SharedFilter filter = opened(make);
    {
      std::vector<std::jthread> threads;
      for (std::size_t thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] { observe_singly(filter, seen[thread].span(), thread == 0); });
      }
    }
    expect_new_once(seen);
    EXPECT_EQ(found(filter.filter(), kKeys), kKeys);
    EXPECT_EQ(filter.keys_inserted(), kKeys);
    filter.close().value();
    fs::remove(path());
  }
}

/// An exact set beside a filter: who observed a key as new and has not forgotten it.
class Owners {
 public:
  static constexpr std::size_t kKeys = 300;

  // Observes and forgets keys that others observe and forget as well. Each key has one owner at a time, and is found
  // while it has one.
  void use(SharedFilter& filter, std::uint64_t seed, int rounds) {
    test::Random random(seed);
    std::vector<bool> own(kKeys);
    for (int round = 0; round < rounds; ++round) {
      change(filter, random.below(kKeys), own);
      const Names asked(random.below(kKeys), 1);
      const bool is_own = own[number_of(asked.views().front())];
      ASSERT_TRUE(!is_own || filter.filter().may_contain(asked.views().front())) << asked.views().front();
    }
    for (std::size_t key = 0; key < kKeys; ++key) {
      if (own[key]) {
        change(filter, key, own);
      }
    }
  }

 private:
  static std::size_t number_of(std::string_view name) { return std::stoul(std::string(name.substr(4))); }

  void change(SharedFilter& filter, std::size_t key, std::vector<bool>& own) {
    const Names name(key, 1);
    if (own[key]) {
      EraseResult result{};
      owned_[key] = false;
      own[key] = false;
      ASSERT_TRUE(filter.forget(name.views(), {&result, 1}).has_value());
      ASSERT_NE(result, EraseResult::absent);
      return;
    }
    bool seen = false;
    ASSERT_TRUE(filter.observe(name.views(), {&seen, 1}).has_value());
    if (!seen) {
      ASSERT_FALSE(owned_[key].exchange(true)) << name.views().front() << " is new to two";
      own[key] = true;
    }
  }

  std::array<std::atomic<bool>, kKeys> owned_{};
};

constexpr int kRounds = 20'000;

void expect_all_zero(const AnyFilter& filter) {
  EXPECT_EQ(filter.describe().fill_ratio, 0);
  EXPECT_EQ(filter.keys_inserted(), 0U);
}

TEST_F(SharedFilterTest, threads_with_handles_of_their_own_observe_and_forget_the_same_keys) {
  Owners owners;
  {
    std::vector<std::jthread> threads;
    for (std::size_t thread = 0; thread < 2 * kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        SharedFilter filter = opened(made_of_counters);
        owners.use(filter, thread, kRounds);
      });
    }
  }
  expect_all_zero(open_filter(path(), Access::query).value());
}

// The same with one handle, where ThreadSanitizer sees that all use the same memory, and in a filter that is so small
// that keys share counters all the time; a false positive has no owner.
TEST_F(SharedFilterTest, threads_observe_and_forget_the_same_keys) {
  for (const std::string_view spec : {"counting-bloom:keys=20000,fpr=1e-6,seed=5", "counting-bloom:keys=20,seed=5"}) {
    Owners owners;
    SharedFilter filter = opened([&] { return create_filter(parse_spec(spec).value()); });
    {
      std::vector<std::jthread> threads;
      for (std::size_t thread = 0; thread < 2 * kThreads; ++thread) {
        threads.emplace_back([&, thread] { owners.use(filter, thread, kRounds); });
      }
    }
    const FilterInfo info = filter.filter().describe();
    EXPECT_EQ(filter.keys_inserted(), 0U);
    EXPECT_TRUE(info.fill_ratio == 0 || spec.find("keys=20,") != std::string_view::npos);
    filter.close().value();
    fs::remove(path());
  }
}

}  // namespace
}  // namespace mankai
