#include "mankai/store/filter_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "mankai/file/file.hpp"
#include "mankai/store/journal_file.hpp"
#include "mankai/store/journal_reader.hpp"
#include "mankai/store/store.hpp"
#include "mankai/store/store_footer.hpp"
#include "tests/support/flip_byte.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai {
namespace {

namespace fs = std::filesystem;

class StoreInfoTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name = "filter.mk") const { return folder_.file(name); }
  [[nodiscard]] Store make(const StoreOptions& options = {}) const {
    auto filter = create_filter(parse_spec("bloom:keys=1000,fpr=0.01,seed=1").value());
    return Store::create(path(), std::move(*filter), options).value();
  }
  // Copies the files as a process crash would leave them now.
  [[nodiscard]] std::string killed() const {
    const std::string copy = path("killed.mk");
    fs::copy_file(path(), copy);
    fs::copy_file(path() + "-journal", copy + "-journal");
    return copy;
  }

  test::TemporaryFolder folder_;
};

void insert(Store& store, std::size_t first, std::size_t count) {
  std::vector<std::string> keys;
  for (std::size_t i = first; i < first + count; ++i) {
    keys.push_back(std::to_string(i));
  }
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  ASSERT_TRUE(store.insert(views));
}

TEST_F(StoreInfoTest, a_plain_image_has_no_changes) {
  const auto filter = create_filter(parse_spec("bloom:keys=1000,fpr=0.01,seed=1").value());
  const auto bytes = filter->to_bytes();
  ASSERT_TRUE(write_file(path(), bytes, Existing::refuse));
  const auto found = verify_store(path());
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_FALSE(found->info.is_store);
  EXPECT_FALSE(found->info.is_open);
  EXPECT_EQ(found->info.writer, 0);
  EXPECT_EQ(found->info.file_bytes, bytes.size());
  EXPECT_EQ(found->info.recovery.sequence, 0U);
}

TEST_F(StoreInfoTest, a_store_in_use_says_by_whom_and_what_its_journal_has) {
  Store store = make();
  insert(store, 0, 100);
  ASSERT_TRUE(store.checkpoint());
  insert(store, 100, 20);
  ASSERT_TRUE(store.commit("offset 120"));
  const auto found = verify_store(path());
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_TRUE(found->info.is_store);
  EXPECT_TRUE(found->info.is_open);
  EXPECT_EQ(found->info.writer, ::getpid());
  EXPECT_EQ(found->info.image_sequence, 100U);
  EXPECT_EQ(found->info.journal_records, 2U);
  EXPECT_EQ(found->info.journal_bytes,
            record_bytes(0, 20 * sizeof(std::uint64_t)) + record_bytes(std::string_view("offset 120").size(), 0));
  EXPECT_EQ(found->info.damaged_superblocks, 0U);
  EXPECT_EQ(found->info.recovery.sequence, 121U);
  EXPECT_EQ(found->info.recovery.position.view(), "offset 120");
  EXPECT_EQ(found->filter.keys_inserted(), store.filter().keys_inserted());

  ASSERT_TRUE(store.close());
  const auto closed = inspect_store(path());
  ASSERT_TRUE(closed) << closed.error().message();
  EXPECT_FALSE(closed->info.is_open);
  EXPECT_EQ(closed->info.writer, 0);
  EXPECT_EQ(closed->info.image_sequence, 121U);
  EXPECT_EQ(closed->info.journal_bytes, 0U);
  EXPECT_EQ(closed->info.file_bytes, fs::file_size(path()));
  EXPECT_EQ(closed->info.recovery.position.view(), "offset 120");
}

TEST_F(StoreInfoTest, what_a_killed_writer_left_is_told_and_left) {
  Store store = make();
  insert(store, 0, 10);
  store.begin();
  insert(store, 10, 10);
  const std::string left = killed();
  for (int look = 0; look < 2; ++look) {
    const auto found = inspect_store(left);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_TRUE(found->info.is_open);
    EXPECT_EQ(found->info.writer, 0);
    EXPECT_FALSE(found->info.recovery.was_closed);
    EXPECT_EQ(found->info.recovery.changes_replayed, 10U);
    EXPECT_EQ(found->info.recovery.bytes_dropped, record_bytes(0, 10 * sizeof(std::uint64_t)));
    EXPECT_NE(found->info.recovery.reason.find("not committed"), std::string::npos) << found->info.recovery.reason;
  }
}

TEST_F(StoreInfoTest, what_opening_does_not_look_at_is_verified) {
  {
    Store store = make();
    insert(store, 0, 10);
  }
  const std::uint64_t image_bytes = inspect_store(path())->filter.image_bytes();
  ASSERT_NE(image_bytes % kFooterPage, 0U);
  const std::uint64_t first = footer_offset(image_bytes, 0);
  const std::uint64_t second = footer_offset(image_bytes, 1);
  for (const std::uint64_t offset : {image_bytes, first - 1, first + sizeof(StoreFooter), second - 1}) {
    test::flip_byte(path(), offset);
    EXPECT_TRUE(inspect_store(path()));
    const auto found = verify_store(path());
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::corrupt);
    EXPECT_NE(found.error().message().find("offset " + std::to_string(offset)), std::string::npos);
    test::flip_byte(path(), offset);
    EXPECT_TRUE(verify_store(path()));
  }
}

TEST_F(StoreInfoTest, a_damaged_copy_of_the_footer_is_told_while_the_other_one_serves_and_written_again) {
  {
    Store store = make();
    insert(store, 0, 10);
    ASSERT_TRUE(store.commit("offset 10"));
  }
  const std::uint64_t image_bytes = inspect_store(path())->filter.image_bytes();
  for (std::uint64_t copy = 0; copy < kFooterCopies; ++copy) {
    test::flip_byte(path(), footer_offset(image_bytes, copy) + 33);
    const auto found = verify_store(path());
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->info.damaged_footers, 1U);
    EXPECT_EQ(found->info.recovery.sequence, 11U);
    EXPECT_EQ(found->info.recovery.position.view(), "offset 10");
    ASSERT_TRUE(Store::open(path()));
    EXPECT_EQ(verify_store(path())->info.damaged_footers, 0U);
  }
  for (std::uint64_t copy = 0; copy < kFooterCopies; ++copy) {
    test::flip_byte(path(), footer_offset(image_bytes, copy) + 33);
  }
  const auto none = verify_store(path());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::corrupt);
  EXPECT_NE(none.error().message().find("both copies of the footer"), std::string::npos) << none.error().message();
}

// In the place of the newer copy alone this is not damage that a crash could cause: the older copy is equal.
TEST_F(StoreInfoTest, a_store_that_is_open_is_recovered_from_either_copy) {
  Store store = make();
  insert(store, 0, 10);
  const std::string left = killed();
  const std::uint64_t image_bytes = inspect_store(left)->filter.image_bytes();
  for (std::uint64_t copy = 0; copy < kFooterCopies; ++copy) {
    test::flip_byte(left, footer_offset(image_bytes, copy) + 12);
    const auto found = verify_store(left);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_TRUE(found->info.is_open);
    EXPECT_EQ(found->info.damaged_footers, 1U);
    EXPECT_EQ(found->info.recovery.changes_replayed, 10U);
    test::flip_byte(left, footer_offset(image_bytes, copy) + 12);
  }
}

TEST_F(StoreInfoTest, copies_of_two_files_do_not_go_together) {
  {
    Store store = make();
  }
  const std::uint64_t image_bytes = inspect_store(path())->filter.image_bytes();
  fs::copy_file(path(), path("older.mk"));
  {
    Store store = Store::open(path()).value();
    insert(store, 0, 10);
  }
  const Region older = read_file(path("older.mk")).value();
  const auto file = OpenFile::open(path(), OpenFile::Mode::write).value();
  const std::uint64_t second = footer_offset(image_bytes, 1);
  ASSERT_TRUE(file.write(second, older.bytes().subspan(second, sizeof(StoreFooter))));
  const auto found = inspect_store(path());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::corrupt);
  EXPECT_NE(found.error().message().find("different files"), std::string::npos) << found.error().message();
}

// In one copy only, as an interrupted write of a later version leaves it: the other copy may be older.
TEST_F(StoreInfoTest, reserved_bytes_of_the_footer_are_refused_in_either_copy) {
  {
    Store store = make();
  }
  const std::uint64_t image_bytes = inspect_store(path())->filter.image_bytes();
  const auto file = OpenFile::open(path(), OpenFile::Mode::write).value();
  for (std::uint64_t copy = 0; copy < kFooterCopies; ++copy) {
    const std::uint64_t offset = footer_offset(image_bytes, copy);
    StoreFooter footer{};
    ASSERT_TRUE(file.read(offset, std::as_writable_bytes(std::span(&footer, 1))));
    for (const std::size_t reserved :
         {offsetof(StoreFooter, zero), offsetof(StoreFooter, zeros), offsetof(StoreFooter, checksum) - 1}) {
      StoreFooter newer = footer;
      std::as_writable_bytes(std::span(&newer, 1))[reserved] = std::byte{1};
      newer = sealed(newer);
      ASSERT_TRUE(file.write(offset, std::as_bytes(std::span(&newer, 1))));
      const auto found = inspect_store(path());
      ASSERT_FALSE(found) << "byte " << reserved << " of copy " << copy;
      EXPECT_EQ(found.error().code, ErrorCode::unsupported_version);
      EXPECT_NE(found.error().message().find("the footer at offset " + std::to_string(offset)), std::string::npos)
          << found.error().message();
      EXPECT_EQ(Store::open(path()).error().code, ErrorCode::unsupported_version);
    }
    ASSERT_TRUE(file.write(offset, std::as_bytes(std::span(&footer, 1))));
  }
  EXPECT_TRUE(inspect_store(path()));
}

TEST_F(StoreInfoTest, a_damaged_superblock_is_told_while_its_copy_serves) {
  Store store = make();
  insert(store, 0, 10);
  const std::string left = killed();
  test::flip_byte(left + "-journal", kSuperblockPage + 24);
  const auto one = verify_store(left);
  ASSERT_TRUE(one) << one.error().message();
  EXPECT_EQ(one->info.damaged_superblocks, 1U);
  EXPECT_EQ(one->info.recovery.sequence, 10U);
  test::flip_byte(left + "-journal", superblock_offset(1, 1));
  const auto both = verify_store(left);
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().code, ErrorCode::corrupt);
}

TEST_F(StoreInfoTest, a_journal_is_read_as_it_is) {
  EXPECT_FALSE(read_journal_file(journal_path_of(path()).value()).value().has_value());
  Store store = make();
  insert(store, 0, 3);
  insert(store, 3, 4);
  fs::create_symlink(path(), path("link.mk"));
  EXPECT_EQ(fs::path(journal_path_of(path("link.mk")).value()).filename(), "filter.mk-journal");
  const auto journal = read_journal_file(journal_path_of(path("link.mk")).value()).value();
  ASSERT_TRUE(journal.has_value());
  EXPECT_EQ(journal->superblock, read_journal_superblock(journal_path_of(path()).value()).value());
  JournalReader reader(journal->superblock, journal->records.bytes());
  EXPECT_EQ(reader.next()->change.keys, 3U);
  EXPECT_EQ(reader.next()->change.keys, 4U);
  EXPECT_FALSE(reader.next().has_value());
  EXPECT_EQ(reader.end()->reason, "");
}

}  // namespace
}  // namespace mankai
