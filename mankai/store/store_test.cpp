#include "mankai/store/store.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "mankai/base/bits.hpp"
#include "mankai/file/file.hpp"
#include "mankai/file/open_file.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "mankai/filter/scalable_bloom/scalable_bloom.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"
#include "mankai/store/journal_reader.hpp"
#include "mankai/store/store_footer_format.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/counting_memory.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai {
namespace {

using Keys = std::vector<std::string>;
using Views = std::vector<std::string_view>;

Keys numbered_keys(std::size_t first, std::size_t count) {
  Keys keys(count);
  for (std::size_t i = 0; i < count; ++i) {
    keys[i] = "https://example.org/" + std::to_string(first + i);
  }
  return keys;
}

Views views_of(const Keys& keys) { return {keys.begin(), keys.end()}; }

std::size_t count_found(const AnyFilter& filter, const Keys& keys) {
  const Views views = views_of(keys);
  const auto found = std::make_unique<bool[]>(keys.size());
  const std::span outcomes(found.get(), keys.size());
  filter.may_contain(views, outcomes);
  return static_cast<std::size_t>(std::ranges::count(outcomes, true));
}

std::vector<std::byte> bytes_of(const AnyFilter& filter) { return filter.to_bytes(); }

// Of one key. Valid as long as the digest.
Change insertion(const std::uint64_t& digest) {
  return {.operation = Operation::insert, .keys = 1, .payload = std::as_bytes(std::span(&digest, 1))};
}

class StoreTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name = "filter.mk") const { return folder_.file(name); }
  [[nodiscard]] std::string journal() const { return path() + "-journal"; }

  void put_folder_in_place() const {
    std::filesystem::rename(path(), path("aside.mk"));
    std::filesystem::create_directory(path());
  }
  void put_file_back() const {
    std::filesystem::remove(path());
    std::filesystem::rename(path("aside.mk"), path());
  }

  [[nodiscard]] Store make(const std::string& spec = "blocked-bloom:keys=10000,fpr=0.001,seed=1",
                           const StoreOptions& options = {}) const {
    auto filter = create_filter(parse_spec(spec).value());
    return Store::create(path(), std::move(*filter), options).value();
  }

  // Copies the files as a process crash would leave them while the store is open.
  void keep_as_killed(const std::string& name, const std::string& from = "filter.mk") const {
    folder_.copy_store(path(from), name);
  }

  test::TemporaryFolder folder_;
};

TEST_F(StoreTest, a_closed_store_is_one_file_with_everything_in_it) {
  const Keys keys = numbered_keys(0, 9000);
  Store store = make();
  ASSERT_TRUE(store.insert(views_of(keys)));
  EXPECT_EQ(store.sequence(), 9000U);
  const auto image = bytes_of(store.filter());
  ASSERT_TRUE(store.close());
  EXPECT_FALSE(std::filesystem::exists(journal()));

  const Store again = Store::open(path()).value();
  EXPECT_TRUE(again.recovery().was_closed);
  EXPECT_EQ(again.sequence(), 9000U);
  EXPECT_EQ(again.durable_sequence(), 9000U);
  EXPECT_EQ(bytes_of(again.filter()), image);
}

// Compares changes of single keys, as callers with digests make them, with changes of full windows.
TEST_F(StoreTest, single_digests_change_a_store_as_keys_do) {
  constexpr std::size_t kNumbered = 1500;  // some slices
  const Keys keys = numbered_keys(0, kNumbered);
  const Views views = views_of(keys);
  AnyFilter model = create_filter(parse_spec("scalable-counting-bloom:keys=500,fpr=0.01,seed=1").value()).value();
  auto& by_keys = *model.as<ScalableCountingBloom>();
  Store store = make("scalable-counting-bloom:keys=500,fpr=0.01,seed=1");
  const Hasher hash = by_keys.hasher();
  for (std::size_t i = 0; i < kNumbered; ++i) {
    const std::array<std::uint64_t, 2> payload{hash(views[i]).value, i};
    ASSERT_TRUE(store.change(
        {.operation = Operation::insert_with_ids, .keys = 1, .payload = std::as_bytes(std::span(payload))}));
    ASSERT_TRUE(by_keys.insert(hash(views[i]), i));
  }
  for (std::size_t i = 0; i < kNumbered; i += 3) {
    const std::array<std::uint64_t, 2> payload{hash(views[i]).value, i};
    EraseResult result{};
    ASSERT_TRUE(
        store.change({.operation = Operation::erase_with_ids, .keys = 1, .payload = std::as_bytes(std::span(payload))},
                     {.erased = std::span(&result, 1)}));
    EXPECT_EQ(result, by_keys.erase(hash(views[i]), i));
  }
  EXPECT_EQ(store.sequence(), kNumbered + kNumbered / 3);
  EXPECT_EQ(bytes_of(store.filter()), bytes_of(model));
  keep_as_killed("killed.mk");
  const Store again = Store::open(path("killed.mk")).value();
  EXPECT_EQ(bytes_of(again.filter()), bytes_of(model));
  EXPECT_EQ(again.recovery().changes_replayed, kNumbered + kNumbered / 3);
}

TEST_F(StoreTest, changes_that_the_caller_applies_are_committed_and_replayed) {
  Store store = make("counting-bloom:keys=1000,fpr=0.01,seed=1");
  auto& filter = const_cast<CountingBloom&>(*store.filter().as<CountingBloom>());
  for (std::uint64_t i = 1; i <= 500; ++i) {
    const std::uint64_t digest = i * 0x9e3779b97f4a7c15U;
    ASSERT_TRUE(store.change_later(insertion(digest)));
    if (i % 3 != 0) {
      continue;
    }
    EraseResult result{};
    Change erasure = insertion(digest);
    erasure.operation = Operation::erase;
    ASSERT_TRUE(store.change_by(erasure, [&]() noexcept { result = filter.erase({digest}); }));
    EXPECT_EQ(result, EraseResult::erased) << i;
    EXPECT_EQ(store.pending(), 0U);
  }
  EXPECT_EQ(store.sequence(), 500U + 166U);
  keep_as_killed("killed.mk");
  EXPECT_EQ(bytes_of(Store::open(path("killed.mk")).value().filter()), bytes_of(store.filter()));
  const std::uint64_t digest = 0;
  ASSERT_TRUE(store.close());
  bool is_applied = false;
  EXPECT_FALSE(store.change_by(insertion(digest), [&]() noexcept { is_applied = true; }));
  EXPECT_FALSE(is_applied);
}

// Compares changes that wait for others with changes that do not, in random order.
TEST_F(StoreTest, pending_changes_are_in_whatever_reads_or_saves_the_filter) {
  for (const std::string spec :
       {"counting-bloom:keys=8000,fpr=0.01,seed=1", "bloom:keys=8000,fpr=0.01,seed=1",
        "scalable-counting-bloom:keys=20000,fpr=0.01,seed=1", "scalable-bloom:keys=20000,fpr=0.01,seed=1"}) {
    std::filesystem::remove(path());
    AnyFilter model = create_filter(parse_spec(spec).value()).value();
    const bool has_ids = model.kind().key_shape == KeyShape::numbered;
    Store store = make(spec);
    std::mt19937_64 random(7);
    std::size_t most_pending = 0;
    std::uint64_t id = 0;
    for (std::size_t step = 0; step < 8000; ++step) {
      const std::array<std::uint64_t, 2> key{random(), id++};
      const Change insert{.operation = has_ids ? Operation::insert_with_ids : Operation::insert,
                          .keys = 1,
                          .payload = std::as_bytes(std::span(key).first(has_ids ? 2 : 1))};
      switch (random() % 512) {
        case 0: ASSERT_TRUE(store.change(insert)); break;
        case 1: {
          std::array<bool, 1> seen{};
          std::array<bool, 1> expected{};
          const Views keys = {"a key"};
          ASSERT_TRUE(store.observe(keys, seen));
          ASSERT_TRUE(model.observe(keys, expected));
          EXPECT_EQ(seen, expected);
          ASSERT_TRUE(store.change_later(insert));
          id += 1;
          break;
        }
        case 2: ASSERT_TRUE(store.checkpoint()); [[fallthrough]];
        case 3:
          EXPECT_EQ(bytes_of(store.filter()), bytes_of(model));
          EXPECT_EQ(store.pending(), 0U);
          ASSERT_TRUE(store.change_later(insert));
          break;
        case 4: {
          keep_as_killed("killed.mk");
          EXPECT_EQ(bytes_of(Store::open(path("killed.mk")).value().filter()), bytes_of(model));
          ASSERT_TRUE(store.change_later(insert));
          break;
        }
        case 5:
          store.read([&](const AnyFilter& filter) { EXPECT_EQ(bytes_of(filter), bytes_of(model)); });
          ASSERT_TRUE(store.change_later(insert));
          break;
        case 6:
          ASSERT_TRUE(store.close());
          store = Store::open(path()).value();
          EXPECT_EQ(bytes_of(store.filter()), bytes_of(model));
          ASSERT_TRUE(store.change_later(insert));
          break;
        case 8:
          ASSERT_TRUE(store.change_later(insert));
          if (model.kind().can_erase) {
            const Change erase{.operation = has_ids ? Operation::erase_with_ids : Operation::erase,
                               .keys = 1,
                               .payload = insert.payload};
            EraseResult result{};
            ASSERT_TRUE(store.change(erase, {.erased = std::span(&result, 1)}));
            EXPECT_EQ(result, EraseResult::erased);
            ASSERT_TRUE(model.apply(insert, {}));
            ASSERT_TRUE(model.apply(erase, {}));
            continue;
          }
          break;
        case 7:
          store.begin(step % 2 == 0 ? BatchMode::journaled : BatchMode::in_memory);
          ASSERT_TRUE(store.change_later(insert));
          ASSERT_TRUE(store.commit());
          break;
        default: ASSERT_TRUE(store.change_later(insert));
      }
      most_pending = std::max(most_pending, store.pending());
      ASSERT_TRUE(model.apply(insert, {}));
    }
    EXPECT_EQ(bytes_of(store.filter()), bytes_of(model)) << spec;
    EXPECT_GT(most_pending, 16U) << spec;
    ASSERT_TRUE(store.close());
  }
}

bool has_all(const AnyFilter& filter, const std::vector<Digest>& digests) {
  return std::ranges::all_of(digests, [&](Digest digest) {
    const auto* const counting = filter.as<ScalableCountingBloom>();
    return counting != nullptr ? counting->may_contain(digest) : filter.as<ScalableBloom>()->may_contain(digest);
  });
}

// The change that lacks memory is an error; those before it were acknowledged. Of a hundred ids the first `back` are
// given again and again, so that the filter grows for an older sub-filter.
class GrowingStoreTest : public StoreTest,
                         public testing::WithParamInterface<std::tuple<const char*, std::uint64_t>> {};

TEST_P(GrowingStoreTest, pending_changes_are_there_when_there_is_no_memory_to_grow) {
  const auto [spec, back] = GetParam();
  test::CountingMemory memory(3);
  Store store = make(spec, {.memory = memory.memory()});
  const bool has_ids = store.filter().kind().key_shape == KeyShape::numbered;
  std::size_t most_pending = 0;
  std::vector<Digest> added;
  Result<void> changed;
  for (std::uint64_t i = 1; changed && i < 100'000; ++i) {
    const std::uint64_t digest = i * 0x9e3779b97f4a7c15U;
    const std::array<std::uint64_t, 2> key{digest, i % 100 < back ? i % 100 : i};
    changed = store.change_later({.operation = has_ids ? Operation::insert_with_ids : Operation::insert,
                                  .keys = 1,
                                  .payload = std::as_bytes(std::span(key).first(has_ids ? 2 : 1))});
    most_pending = std::max(most_pending, store.pending());
    if (changed) {
      added.push_back({digest});
    }
  }
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, ErrorCode::out_of_space);
  EXPECT_EQ(store.durable_sequence(), store.sequence()) << "no later sync will be made";
  EXPECT_GT(added.size(), 100U);
  EXPECT_EQ(store.pending(), 0U);
  EXPECT_GT(most_pending, back == 0 ? 16U : 0U);
  EXPECT_FALSE(store.change_later(insertion(added.front().value)));
  EXPECT_TRUE(has_all(store.filter(), added));
  static_cast<void>(store.close());
  EXPECT_TRUE(has_all(Store::open(path()).value().filter(), added));
}

INSTANTIATE_TEST_SUITE_P(Kinds, GrowingStoreTest,
                         testing::Values(std::tuple("scalable-bloom:keys=100,fpr=0.01,seed=1", 0U),
                                         std::tuple("scalable-counting-bloom:keys=100,fpr=0.01,seed=1", 0U),
                                         std::tuple("scalable-counting-bloom:keys=100,fpr=0.01,seed=1", 90U)));

TEST_F(StoreTest, a_reader_between_each_two_changes_makes_few_of_them_wait) {
  Store store = make("counting-bloom:keys=3000,fpr=0.01,seed=1");
  std::size_t waited = 0;
  for (std::uint64_t digest = 0; digest < 1700; ++digest) {
    ASSERT_TRUE(store.change_later(insertion(digest)));
    waited += store.pending();
    EXPECT_EQ(store.filter().keys_inserted(), digest + 1);
  }
  EXPECT_EQ(waited, 7U);  // each after twice as many that did not
}

// A reader beside changes must not wait for them again and again.
TEST_F(StoreTest, nothing_is_pending_once_another_thread_has_read_the_filter) {
  Store store = make("counting-bloom:keys=3000,fpr=0.01,seed=1");
  std::uint64_t digest = 0;
  const auto change_later = [&] {
    ++digest;
    return store.change_later(insertion(digest));
  };
  ASSERT_TRUE(change_later());
  EXPECT_EQ(store.pending(), 1U);
  std::jthread([&] { EXPECT_EQ(store.filter().keys_inserted(), 1U); }).join();
  for (std::uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(change_later());
    EXPECT_EQ(store.pending(), 0U);
  }
  EXPECT_EQ(store.filter().keys_inserted(), 101U);
}

TEST_F(StoreTest, readers_find_pending_changes_beside_checkpoints) {
  constexpr std::uint64_t kChanges = 60'000;
  StoreOptions options;
  options.checkpoint_bytes = 20'000;
  Store store = make("counting-bloom:keys=60000,fpr=0.01,seed=1", options);
  std::atomic<std::uint64_t> made = 0;
  {
    const std::jthread reader([&] {
      for (std::uint64_t digest = made; digest < kChanges; digest = made) {
        const std::uint64_t last = digest * 0x9e3779b97f4a7c15U;
        EXPECT_TRUE(digest == 0 || store.filter().as<CountingBloom>()->may_contain({last})) << digest;
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    });
    for (std::uint64_t i = 1; i <= kChanges; ++i) {
      const std::uint64_t digest = i * 0x9e3779b97f4a7c15U;
      ASSERT_TRUE(store.change_later(insertion(digest)));
      made = i;
    }
  }
  EXPECT_EQ(store.filter().keys_inserted(), kChanges);
  EXPECT_FALSE(store.checkpoint_failure());
  ASSERT_TRUE(store.close());
  EXPECT_EQ(bytes_of(Store::open(path()).value().filter()), bytes_of(store.filter()));
}

TEST_F(StoreTest, single_digests_of_a_batch_count_when_it_is_committed) {
  Store store = make("counting-bloom:keys=500,fpr=0.01,seed=1");
  const auto change = [&](std::uint64_t digest) { return store.change(insertion(digest)); };
  ASSERT_TRUE(change(1));
  store.begin(BatchMode::journaled);
  ASSERT_TRUE(change(2));
  keep_as_killed("within.mk");
  EXPECT_EQ(Store::open(path("within.mk")).value().sequence(), 1U);
  ASSERT_TRUE(store.commit({}));
  keep_as_killed("behind.mk");
  EXPECT_EQ(Store::open(path("behind.mk")).value().sequence(), 2U);
  ASSERT_TRUE(store.close());
  EXPECT_EQ(change(3).error().code, ErrorCode::invalid_argument);
}

TEST_F(StoreTest, what_a_killed_writer_left_is_replayed_exactly) {
  const Keys first = numbered_keys(0, 5000);
  const Keys second = numbered_keys(5000, 50);
  Store store = make("scalable-counting-bloom:keys=1000,fpr=0.01,seed=1");
  ASSERT_TRUE(store.insert(views_of(first)));
  ASSERT_TRUE(store.checkpoint());
  ASSERT_TRUE(store.insert(views_of(second)));
  ASSERT_TRUE(store.commit("offset 5050"));
  keep_as_killed("killed.mk");

  const auto readers = open_filter(path("killed.mk"), Access::query);
  ASSERT_TRUE(readers) << readers.error().message();
  EXPECT_EQ(bytes_of(*readers), bytes_of(store.filter()));
  const Store again = Store::open(path("killed.mk")).value();
  EXPECT_EQ(bytes_of(again.filter()), bytes_of(store.filter()));
  EXPECT_FALSE(again.recovery().was_closed);
  EXPECT_EQ(again.recovery().changes_replayed, 51U);  // and the position

  EXPECT_EQ(again.recovery().bytes_dropped, 0U) << again.recovery().reason;
  EXPECT_EQ(again.sequence(), 5051U);
  EXPECT_EQ(again.position().view(), "offset 5050");
}

// A search for room in a full cuckoo filter is shorter after one that failed, which the image does not say.
TEST_F(StoreTest, a_replay_fills_a_full_filter_as_its_writer_did) {
  constexpr std::size_t kKeys = 2000;
  const std::string spec = "cuckoo:keys=2000,growth=0,seed=1";
  AnyFilter full = create_filter(parse_spec(spec).value()).value();
  ASSERT_TRUE(full.insert(views_of(numbered_keys(0, kKeys))));
  Store store = make(spec, {.durability = Durability::never});
  ASSERT_TRUE(store.insert(views_of(numbered_keys(kKeys, 100))));
  ASSERT_TRUE(store.merge(full));
  for (std::size_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(store.checkpoint());
    ASSERT_TRUE(store.insert(views_of(numbered_keys(2 * kKeys + 10 * i, 10))));
    keep_as_killed("killed.mk");
    EXPECT_EQ(bytes_of(Store::open(path("killed.mk")).value().filter()), bytes_of(store.filter())) << i;
  }
}

TEST_F(StoreTest, a_batch_that_was_not_committed_is_gone) {
  Store store = make();
  ASSERT_TRUE(store.insert(views_of(numbered_keys(0, 10))));
  store.begin();
  ASSERT_TRUE(store.insert(views_of(numbered_keys(10, 10))));
  ASSERT_TRUE(store.insert(views_of(numbered_keys(20, 10))));
  EXPECT_EQ(store.sequence(), 10U);
  EXPECT_EQ(store.checkpoint().error().code, ErrorCode::invalid_argument);
  keep_as_killed("killed.mk");

  Store again = Store::open(path("killed.mk")).value();
  EXPECT_EQ(again.sequence(), 10U);
  EXPECT_GT(again.recovery().bytes_dropped, 0U);
  EXPECT_NE(again.recovery().reason.find("not committed"), std::string::npos) << again.recovery().reason;
  EXPECT_EQ(count_found(again.filter(), numbered_keys(0, 10)), 10U);
  EXPECT_EQ(count_found(again.filter(), numbered_keys(10, 20)), 0U);

  ASSERT_TRUE(store.commit("20 more"));
  EXPECT_EQ(store.sequence(), 30U);
}

TEST_F(StoreTest, nobody_else_may_write_and_is_told_who_does) {
  Store store = make();
  const auto second = Store::open(path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::locked);
  EXPECT_TRUE(second.error().message().contains("this process has it open for changes already; close it first"))
      << second.error().message();
}

TEST_F(StoreTest, an_open_file_without_its_journal_is_refused) {
  Store store = make();
  ASSERT_TRUE(store.insert(views_of(numbered_keys(0, 10))));
  std::filesystem::copy_file(path(), path("alone.mk"));
  const auto opened = open_filter(path("alone.mk"), Access::query);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::corrupt);
  EXPECT_EQ(Store::open(path("alone.mk")).error().code, ErrorCode::corrupt);
}

TEST_F(StoreTest, a_journal_that_was_not_made_to_its_end_is_none) {
  const Keys keys = numbered_keys(0, 100);
  ASSERT_TRUE(make().close());
  for (const std::size_t size : {0U, 100U, 8192U, 65536U}) {
    ASSERT_TRUE(write_file(journal(), std::vector<std::byte>(size), Existing::replace));
    ASSERT_TRUE(open_filter(path(), Access::query)) << size;
    auto store = Store::open(path());
    ASSERT_TRUE(store) << size << ": " << store.error().message();
    EXPECT_TRUE(store->recovery().was_closed);
    EXPECT_TRUE(store->recovery().had_journal);
    ASSERT_TRUE(store->insert(views_of(keys))) << size;
    ASSERT_TRUE(store->close());
    EXPECT_EQ(count_found(*open_filter(path(), Access::query), keys), keys.size());
  }
}

// A restart of the journal writes zeros at the front and then a superblock; a crash may occur between the two.
TEST_F(StoreTest, a_crash_while_the_journal_begins_anew_loses_nothing) {
  for (const std::string position : {"", "line 300"}) {
    Store store = make("blocked-bloom:keys=10000,seed=1", {.durability = Durability::always});
    for (std::size_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(store.insert(views_of(numbered_keys(i * 100, 100))));
    }
    ASSERT_TRUE(store.commit(position));
    keep_as_killed("before.mk");
    ASSERT_TRUE(store.checkpoint());
    keep_as_killed("cut.mk");
    auto bytes = read_file(path("before.mk") + "-journal").value();
    std::ranges::fill(bytes.bytes().subspan(kFirstRecord, sizeof(RecordHeader)), std::byte{0});
    ASSERT_TRUE(write_file(path("cut.mk") + "-journal", bytes.bytes(), Existing::replace));
    // The same bytes are damage as long as the file lacks the changes of the journal.
    ASSERT_TRUE(write_file(path("before.mk") + "-journal", bytes.bytes(), Existing::replace));
    EXPECT_EQ(Store::open(path("before.mk")).error().code, ErrorCode::corrupt);

    Store cut = Store::open(path("cut.mk")).value();
    EXPECT_EQ(cut.sequence(), position.empty() ? 300U : 301U);
    EXPECT_EQ(cut.position().view(), position);
    EXPECT_EQ(cut.recovery().reason, "");
    ASSERT_TRUE(cut.insert(views_of(numbered_keys(300, 100))));
    keep_as_killed("after.mk", "cut.mk");
    EXPECT_EQ(count_found(Store::open(path("after.mk")).value().filter(), numbered_keys(0, 400)), 400U);
    ASSERT_TRUE(store.close());
    std::filesystem::remove(path());
  }
}

// A truncated journal lacks something if it ends within a record, and also if it ends between two.
TEST_F(StoreTest, a_journal_that_was_cut_short_is_reported) {
  Store store = make();
  ASSERT_TRUE(store.insert(views_of(numbered_keys(0, 100))));
  const auto bytes = read_file(journal()).value();
  auto reader = JournalReader::open(bytes.bytes()).value();
  ASSERT_TRUE(reader.next());
  const std::uint64_t between = reader.offset();
  ASSERT_TRUE(store.insert(views_of(numbered_keys(100, 100))));
  keep_as_killed("cut.mk");
  std::filesystem::resize_file(path("cut.mk") + "-journal", between);
  for (int i = 0; i < 2; ++i) {
    const Store cut = Store::open(path("cut.mk")).value();
    EXPECT_EQ(cut.sequence(), 100U);
    // After the report and a further change the journal is complete.
    EXPECT_EQ(cut.recovery().reason.find("truncated") != std::string::npos, i == 0) << cut.recovery().reason;
  }
}

// Copies without the pages that are zeros.
void copy_sparsely(const std::string& from, const std::string& to) {
  constexpr std::size_t kPage = 4096;
  const auto bytes = read_file(from).value();
  const int file = ::open(to.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(::ftruncate(file, static_cast<off_t>(bytes.size())), 0);
  for (std::size_t at = 0; at < bytes.size(); at += kPage) {
    const auto page = bytes.bytes().subspan(at, std::min(kPage, bytes.size() - at));
    if (!is_zero(page)) {
      ASSERT_EQ(::pwrite(file, page.data(), page.size(), static_cast<off_t>(at)), std::ssize(page));
    }
  }
  ::close(file);
}

bool has_small_disk_at(const std::string& folder) {
  return ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("none", folder.c_str(), "tmpfs", 0, "size=256k") == 0;
}

// Goal: a full disk is an error, also where the zeros that end a journal's records are a hole. Method: the records end
// right before a page of zeros; a child mounts a disk for the copy and fills it.
TEST_F(StoreTest, a_copy_with_holes_on_a_full_disk_is_an_error) {
  const std::string disk = path("disk");
  std::filesystem::create_directory(disk);
  if (test::in_child([&] { return has_small_disk_at(disk); }) != 0) {
    GTEST_SKIP() << "needs the right to mount a file system";
  }
  constexpr std::uint64_t kPage = 4096;
  Store store = make("blocked-bloom:keys=1000,fpr=0.001,seed=1", {.durability = Durability::never});
  std::uint64_t end = 0;
  for (std::size_t i = 0; end % kPage < kPage - 100; ++i) {
    ASSERT_TRUE(store.insert(views_of(numbered_keys(i, 1))));
    end = kFirstRecord + inspect_store(path()).value().info.journal_bytes;
  }
  EXPECT_EQ(test::in_child([&] {
              if (!has_small_disk_at(disk)) {
                return false;
              }
              copy_sparsely(path(), disk + "/filter.mk");
              copy_sparsely(journal(), disk + "/filter.mk-journal");
              const std::string page(kPage, 'x');
              const int rest = ::open((disk + "/rest").c_str(), O_WRONLY | O_CREAT, 0600);
              while (::write(rest, page.data(), page.size()) > 0) {
              }
              const auto opened = Store::open(disk + "/filter.mk");
              return !opened && opened.error().code == ErrorCode::out_of_space;
            }),
            0);
}

TEST_F(StoreTest, a_plain_image_becomes_a_store_with_its_first_change) {
  auto filter = create_filter(parse_spec("counting-bloom:keys=1000,fpr=0.01").value()).value();
  ASSERT_TRUE(write_file(path(), bytes_of(filter), Existing::refuse));
  Store store = Store::open(path()).value();
  EXPECT_FALSE(std::filesystem::exists(journal()));
  ASSERT_TRUE(store.insert(views_of(numbered_keys(0, 10))));
  EXPECT_TRUE(std::filesystem::exists(journal()));
  keep_as_killed("killed.mk");
  EXPECT_EQ(Store::open(path("killed.mk")).value().sequence(), 10U);
}

TEST_F(StoreTest, checkpoints_beside_changes_lose_nothing) {
  for (const std::string spec :
       {"counting-bloom:keys=200000,fpr=0.01,seed=7", "scalable-bloom:keys=20000,fpr=0.01,seed=7"}) {
    Store store = make(spec, {.durability = Durability::never, .checkpoint_bytes = std::uint64_t{64} << 10});
    const Keys keys = numbered_keys(0, 200'000);
    const Views views = views_of(keys);
    for (std::size_t begin = 0; begin < views.size(); begin += 1000) {
      ASSERT_TRUE(store.insert(std::span(views).subspan(begin, 1000)));
    }
    std::optional<std::vector<std::byte>> image;
    store.read([&](const AnyFilter& filter) { image = bytes_of(filter); });
    ASSERT_TRUE(store.close());
    {
      const Store again = Store::open(path()).value();
      EXPECT_EQ(bytes_of(again.filter()), *image);
      EXPECT_EQ(again.sequence(), 200'000U);
    }
    std::filesystem::remove(path());
  }
}

// Within a batch no checkpoint can be made, and the store's own thread seldom comes between two.
TEST_F(StoreTest, batches_without_a_pause_do_not_keep_the_journal_from_being_emptied) {
  constexpr std::uint64_t kLimit = std::uint64_t{16} << 10;
  constexpr std::size_t kBatch = 1000;
  constexpr std::size_t kBatches = 200;
  const Keys keys = numbered_keys(0, kBatches * kBatch);
  const Views views = views_of(keys);
  Store store =
      make("blocked-bloom:keys=10000,fpr=0.001,seed=1", {.durability = Durability::never, .checkpoint_bytes = kLimit});
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < kBatches; ++i) {
    store.begin();
    most = std::max(most, inspect_store(path()).value().info.journal_bytes);
    ASSERT_TRUE(store.insert(std::span(views).subspan(i * kBatch, kBatch)));
    ASSERT_TRUE(store.commit());
  }
  EXPECT_LT(most, 2 * kLimit);
  EXPECT_EQ(store.checkpoint_failure(), std::nullopt);
  ASSERT_TRUE(store.close());
  EXPECT_EQ(count_found(Store::open(path()).value().filter(), keys), keys.size());
}

// A folder in the place of the file makes a checkpoint fail.
TEST_F(StoreTest, a_checkpoint_that_fails_is_told_and_made_again) {
  Store store = make("counting-bloom:keys=20000,fpr=0.01,seed=7",
                     {.durability = Durability::never, .checkpoint_bytes = std::uint64_t{16} << 10});
  const Keys keys = numbered_keys(0, 1000);
  const Views views = views_of(keys);
  ASSERT_TRUE(store.insert(views));
  EXPECT_EQ(store.checkpoint_failure(), std::nullopt);
  put_folder_in_place();
  std::uint64_t inserted = views.size();
  const auto insert_until = [&](bool has_failed) {
    while (store.checkpoint_failure().has_value() != has_failed) {
      ASSERT_TRUE(store.insert(views));
      inserted += views.size();
      std::this_thread::yield();
    }
  };
  insert_until(true);
  EXPECT_EQ(store.checkpoint_failure().value().code, ErrorCode::io);
  EXPECT_NE(store.checkpoint_failure().value().message().find("filter.mk"), std::string::npos);
  put_file_back();
  insert_until(false);
  ASSERT_TRUE(store.close());
  EXPECT_EQ(Store::open(path()).value().sequence(), inserted);
}

TEST_F(StoreTest, a_file_that_cannot_be_closed_says_so_each_time) {
  Store store = make();
  ASSERT_TRUE(store.insert(views_of(numbered_keys(0, 100))));
  put_folder_in_place();
  const auto first = store.close();
  ASSERT_FALSE(first);
  EXPECT_EQ(store.close().error().message(), first.error().message());
  put_file_back();
  EXPECT_EQ(Store::open(path()).value().sequence(), 100U);
}

// A file may be moved over one that is open; the store must not write to it.
TEST_F(StoreTest, another_file_in_its_place_is_left_as_it_is) {
  const std::string text(10'000, 'x');
  for (const bool has_journal : {false, true}) {
    Store store = make();
    if (has_journal) {
      ASSERT_TRUE(store.insert(views_of(numbered_keys(0, 100))));
      keep_as_killed("killed.mk");
    }
    ASSERT_TRUE(write_file(path("other"), std::as_bytes(std::span(text)), Existing::refuse));
    std::filesystem::rename(path("other"), path());
    if (has_journal) {
      EXPECT_EQ(store.checkpoint().error().code, ErrorCode::io);
      EXPECT_EQ(store.close().error().code, ErrorCode::io);
    } else {
      EXPECT_EQ(store.insert(views_of(numbered_keys(0, 100))).error().code, ErrorCode::io);
    }
    const auto bytes = read_file(path()).value();
    EXPECT_TRUE(std::ranges::equal(bytes.bytes(), std::as_bytes(std::span(text))));
    std::filesystem::remove(path());
    std::filesystem::remove(journal());
  }
}

// Every later version keeps these fields in place: the magic, followed by the version.
TEST_F(StoreTest, files_of_a_later_version_are_told_from_damage) {
  Store store = make();
  ASSERT_TRUE(store.insert(views_of(numbered_keys(0, 100))));
  keep_as_killed("later.mk");
  const auto set_version = [](const std::string& name, std::uint64_t offset) {
    constexpr std::uint32_t kLater = 7;
    const auto file = OpenFile::open(name, OpenFile::Mode::write).value();
    ASSERT_TRUE(file.write(offset, std::as_bytes(std::span(&kLater, 1))));
  };
  for (std::uint64_t slot = 0; slot < kSuperblockSlots; ++slot) {
    for (std::uint64_t copy = 0; copy < kSuperblockCopies; ++copy) {
      set_version(path("later.mk") + "-journal", superblock_offset(slot, copy) + offsetof(Superblock, version));
    }
  }
  EXPECT_EQ(Store::open(path("later.mk")).error().code, ErrorCode::unsupported_version);
  const std::uint64_t first = std::filesystem::file_size(path("later.mk")) - store_bytes(0);
  for (std::uint64_t copy = 0; copy < kFooterCopies; ++copy) {
    set_version(path("later.mk"), first + copy * kFooterPage + offsetof(StoreFooter, version));
  }
  const auto opened = open_filter(path("later.mk"), Access::query);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::unsupported_version);
  EXPECT_NE(opened.error().message().find("version 7"), std::string::npos) << opened.error().message();
}

TEST_F(StoreTest, readers_of_other_processes_see_each_moment_whole) {
  Store store = make("counting-bloom:keys=20000,fpr=0.01,seed=7",
                     {.durability = Durability::never, .checkpoint_bytes = std::uint64_t{16} << 10});
  const Keys keys = numbered_keys(0, 20'000);
  const Views views = views_of(keys);
  std::atomic<std::size_t> written = 0;
  std::atomic<bool> is_done = false;
  std::thread writer([&] {
    for (std::size_t begin = 0; begin < views.size(); begin += 100) {
      EXPECT_TRUE(store.insert(std::span(views).subspan(begin, 100)));
      written = begin + 100;
    }
    is_done = true;
  });
  int looks = 0;
  do {
    const std::size_t before = written;
    const auto filter = open_filter(path(), Access::query);
    ASSERT_TRUE(filter) << filter.error().message();
    ASSERT_EQ(count_found(*filter, {keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(before)}), before);
    ++looks;
  } while (!is_done);
  writer.join();
  EXPECT_GT(looks, 0);
}

TEST_F(StoreTest, several_threads_share_a_store) {
  constexpr std::size_t kWriters = 4;
  constexpr std::size_t kEach = 500;
  Store store = make("blocked-bloom:keys=10000,fpr=0.001,seed=1", {.durability = Durability::always});
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kWriters; ++t) {
    threads.emplace_back([&store, t] {
      const Keys keys = numbered_keys(t * kEach, kEach);
      for (const std::string_view key : views_of(keys)) {
        EXPECT_TRUE(store.insert(std::span(&key, 1)));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(store.durable_sequence(), kWriters * kEach);
  EXPECT_EQ(count_found(store.filter(), numbered_keys(0, kWriters * kEach)), kWriters * kEach);
}

TEST_F(StoreTest, merging_and_clearing_are_checkpoints) {
  Store store = make();
  auto other = store.filter().create_like().value();
  const Keys keys = numbered_keys(0, 100);
  ASSERT_TRUE(other.insert(views_of(keys)));
  ASSERT_TRUE(store.merge(other));
  EXPECT_EQ(store.sequence(), 1U);
  EXPECT_EQ(store.durable_sequence(), 1U);
  keep_as_killed("merged.mk");
  EXPECT_EQ(count_found(Store::open(path("merged.mk")).value().filter(), keys), 100U);
  ASSERT_TRUE(store.insert(views_of(numbered_keys(100, 5))));
  ASSERT_TRUE(store.clear());
  keep_as_killed("cleared.mk");
  const Store cleared = Store::open(path("cleared.mk")).value();
  EXPECT_EQ(count_found(cleared.filter(), keys), 0U);
  EXPECT_EQ(cleared.sequence(), 7U);
}

TEST_F(StoreTest, a_batch_in_memory_is_one_file_when_it_is_committed) {
  Store store = make();
  const Keys keys = numbered_keys(0, 9000);
  store.begin(BatchMode::in_memory);
  ASSERT_TRUE(store.insert(views_of(keys)));
  auto other = store.filter().create_like().value();
  ASSERT_TRUE(other.insert(views_of(numbered_keys(9000, 5))));
  ASSERT_TRUE(store.merge(other));
  EXPECT_EQ(store.sequence(), 0U);
  EXPECT_FALSE(std::filesystem::exists(journal()));
  keep_as_killed("before.mk");
  ASSERT_TRUE(store.commit("offset 9005"));
  EXPECT_FALSE(std::filesystem::exists(journal()));
  EXPECT_EQ(store.sequence(), 9001U);
  EXPECT_EQ(store.durable_sequence(), 9001U);
  EXPECT_TRUE(store.sync());
  keep_as_killed("after.mk");

  const Store before = Store::open(path("before.mk")).value();
  EXPECT_EQ(count_found(before.filter(), keys), 0U);
  EXPECT_TRUE(before.position().empty());
  const Store after = Store::open(path("after.mk")).value();
  EXPECT_TRUE(after.recovery().was_closed);
  EXPECT_EQ(bytes_of(after.filter()), bytes_of(store.filter()));
  EXPECT_EQ(after.position().view(), "offset 9005");
  EXPECT_EQ(after.sequence(), 9001U);
}

// Goal: a batch of either mode can follow one of the other. Method: they alternate, and some are discarded.
TEST_F(StoreTest, batches_in_memory_and_in_the_journal_follow_each_other) {
  {
    Store store = make("counting-bloom:keys=1000,fpr=0.01,seed=1");
    ASSERT_TRUE(store.insert(views_of(numbered_keys(0, 10))));
    store.begin(BatchMode::in_memory);
    ASSERT_TRUE(store.insert(views_of(numbered_keys(10, 10))));
    keep_as_killed("within.mk");
    ASSERT_TRUE(store.commit());
    ASSERT_TRUE(store.insert(views_of(numbered_keys(20, 10))));
    keep_as_killed("behind.mk");
    store.begin(BatchMode::in_memory);
    ASSERT_TRUE(store.insert(views_of(numbered_keys(30, 10))));
    ASSERT_TRUE(store.close());
  }
  EXPECT_EQ(Store::open(path("within.mk")).value().sequence(), 10U);
  const Store behind = Store::open(path("behind.mk")).value();
  EXPECT_EQ(behind.sequence(), 30U);
  EXPECT_EQ(behind.recovery().changes_replayed, 10U);
  const Store given_up = Store::open(path()).value();
  EXPECT_EQ(given_up.sequence(), 30U);
  EXPECT_EQ(bytes_of(given_up.filter()), bytes_of(behind.filter()));
  EXPECT_EQ(count_found(given_up.filter(), numbered_keys(30, 10)), 0U);
}

TEST_F(StoreTest, a_closed_store_takes_no_changes) {
  Store store = make();
  ASSERT_TRUE(store.close());
  EXPECT_EQ(store.insert(views_of(numbered_keys(0, 1))).error().code, ErrorCode::invalid_argument);
  EXPECT_TRUE(store.close());
}

TEST_F(StoreTest, a_position_by_itself_is_in_order_with_the_image) {
  Store store = make();
  ASSERT_TRUE(store.insert(views_of(numbered_keys(0, 10))));
  ASSERT_TRUE(store.commit("one"));
  ASSERT_TRUE(store.commit("two"));
  keep_as_killed("old.mk");
  ASSERT_TRUE(store.checkpoint());
  keep_as_killed("new.mk");
  // Power loss before the disk has the restarted journal: the old journal is beside the new file.
  std::filesystem::copy_file(path("old.mk") + "-journal", path("new.mk") + "-journal",
                             std::filesystem::copy_options::overwrite_existing);
  const Store again = Store::open(path("new.mk")).value();
  EXPECT_EQ(again.position().view(), "two");
  EXPECT_EQ(again.sequence(), 12U);
}

TEST_F(StoreTest, a_journal_of_a_file_that_was_replaced_is_over) {
  {
    Store store = make();
    ASSERT_TRUE(store.insert(views_of(numbered_keys(0, 10))));
    keep_as_killed("killed.mk");
    std::filesystem::copy_file(journal(), path("kept"));
  }
  auto filter = create_filter(parse_spec("bloom:keys=100,fpr=0.01").value()).value();
  ASSERT_TRUE(Store::create(path("killed.mk"), std::move(filter), {}, Existing::replace));
  // Power loss after the disk has the new name, and before the old journal is removed from it.
  std::filesystem::copy_file(path("kept"), path("killed.mk") + "-journal");
  EXPECT_TRUE(open_filter(path("killed.mk"), Access::query));
  const auto again = Store::open(path("killed.mk"));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->sequence(), 0U);
}

TEST_F(StoreTest, a_journal_of_another_line_of_the_same_file_is_refused) {
  ASSERT_TRUE(make().close());
  std::filesystem::copy_file(path(), path("other.mk"));
  Store one = Store::open(path()).value();
  Store other = Store::open(path("other.mk")).value();
  ASSERT_TRUE(one.insert(views_of(numbered_keys(0, 10))));
  ASSERT_TRUE(other.insert(views_of(numbered_keys(10, 10))));
  keep_as_killed("killed.mk");
  std::filesystem::copy_file(path("other.mk") + "-journal", path("killed.mk") + "-journal",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(Store::open(path("killed.mk")).error().code, ErrorCode::corrupt);
}

TEST_F(StoreTest, a_backup_by_a_hard_link_stays_as_it_is) {
  ASSERT_TRUE(make().close());
  std::filesystem::create_hard_link(path(), path("backup.mk"));
  Store store = Store::open(path()).value();
  ASSERT_TRUE(store.insert(views_of(numbered_keys(0, 10))));
  EXPECT_TRUE(open_filter(path("backup.mk"), Access::query));
  keep_as_killed("killed.mk");
  EXPECT_EQ(Store::open(path("killed.mk")).value().sequence(), 10U);
}

TEST_F(StoreTest, syncing_what_is_closed_says_that_it_is_on_the_disk) {
  Store store = make();
  ASSERT_TRUE(store.insert(views_of(numbered_keys(0, 10))));
  ASSERT_TRUE(store.close());
  EXPECT_TRUE(store.sync());
  EXPECT_EQ(store.durable_sequence(), 10U);
}

TEST_F(StoreTest, an_interval_of_nothing_is_refused) {
  ASSERT_TRUE(make().close());
  EXPECT_EQ(Store::open(path(), {.interval = Duration::zero()}).error().code, ErrorCode::invalid_argument);
}

TEST_F(StoreTest, replacing_a_store_takes_its_journal_away) {
  {
    Store store = make();
    ASSERT_TRUE(store.insert(views_of(numbered_keys(0, 10))));
    keep_as_killed("killed.mk");
  }
  auto filter = create_filter(parse_spec("bloom:keys=100,fpr=0.01").value()).value();
  Store replaced = Store::create(path("killed.mk"), std::move(filter), {}, Existing::replace).value();
  EXPECT_EQ(replaced.sequence(), 0U);
  EXPECT_FALSE(std::filesystem::exists(path("killed.mk-journal")));
}

}  // namespace
}  // namespace mankai
