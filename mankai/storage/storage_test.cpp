#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "mankai/storage/file.hpp"

namespace mankai {
namespace {

namespace fs = std::filesystem;

class StorageTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "mankai-storage-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }
  static std::string text(const Region& region) {
    return {reinterpret_cast<const char*>(region.bytes().data()), region.size()};
  }

 private:
  fs::path folder_;
};

TEST_F(StorageTest, what_is_written_is_read_and_mapped_again) {
  const std::string content(100'000, 'x');
  ASSERT_TRUE(write_file(path("a"), bytes(content), Existing::refuse).has_value());
  EXPECT_EQ(text(*read_file(path("a"))), content);
  EXPECT_EQ(text(*map_file(path("a"))), content);
  EXPECT_EQ(files(), 1U);
}

TEST_F(StorageTest, an_existing_file_is_refused_and_left_alone) {
  ASSERT_TRUE(write_file(path("a"), bytes("old"), Existing::refuse).has_value());
  const auto refused = write_file(path("a"), bytes("new"), Existing::refuse);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(text(*read_file(path("a"))), "old");
  EXPECT_EQ(files(), 1U) << "the temporary was left behind";
}

TEST_F(StorageTest, replacing_keeps_permissions_and_follows_links) {
  ASSERT_TRUE(write_file(path("real"), bytes("old"), Existing::refuse).has_value());
  fs::permissions(path("real"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink(path("real"), path("link"));
  ASSERT_TRUE(write_file(path("link"), bytes("new"), Existing::replace).has_value());
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(text(*read_file(path("real"))), "new");
  EXPECT_EQ(fs::status(path("real")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(StorageTest, changes_to_a_mapping_never_reach_the_file) {
  ASSERT_TRUE(write_file(path("a"), bytes("old"), Existing::refuse).has_value());
  auto region = map_file(path("a"));
  region->bytes()[0] = std::byte{'X'};
  EXPECT_EQ(text(*read_file(path("a"))), "old");
}

TEST_F(StorageTest, wrong_paths_are_named_with_the_reason) {
  const auto missing = read_file(path("missing"));
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_NE(missing.error().message().find(path("missing")), std::string::npos);
  const auto folder = map_file(fs::temp_directory_path().string());
  ASSERT_FALSE(folder.has_value());
  EXPECT_EQ(folder.error().code, ErrorCode::io);
  EXPECT_NE(folder.error().message().find("is a directory"), std::string::npos);
  EXPECT_FALSE(read_file("/dev/null").has_value());
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_FALSE(read_file(path("fifo")).has_value()) << "and it did not wait for a writer";
  EXPECT_FALSE(write_file(path("no/such/folder"), bytes("x"), Existing::replace).has_value());
}

// Goal: when there is no room, the old file stays and nothing else does. Method: a limit on the size of files stands
// for the full disk.
TEST_F(StorageTest, no_room_leaves_the_old_file) {
  ASSERT_TRUE(write_file(path("a"), bytes("old"), Existing::refuse).has_value());
  struct rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small{.rlim_cur = 1000, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto written = write_file(path("a"), bytes(std::string(5000, 'n')), Existing::replace);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  static_cast<void>(std::signal(SIGXFSZ, handler));
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, ErrorCode::out_of_space);
  EXPECT_EQ(text(*read_file(path("a"))), "old");
  EXPECT_EQ(files(), 1U) << "the temporary was left behind";
}

TEST_F(StorageTest, what_is_no_regular_file_is_never_replaced) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  fs::create_directory(path("folder"));
  for (const char* name : {"fifo", "folder"}) {
    const auto written = write_file(path(name), bytes("x"), Existing::replace);
    ASSERT_FALSE(written.has_value()) << name;
    EXPECT_EQ(written.error().code, ErrorCode::io);
  }
  EXPECT_TRUE(fs::is_fifo(path("fifo")));
  EXPECT_EQ(files(), 2U);
}

TEST_F(StorageTest, a_read_only_file_is_never_replaced) {
  if (::geteuid() == 0) {
    GTEST_SKIP() << "SKIPPED: root may write everywhere";
  }
  ASSERT_TRUE(write_file(path("a"), bytes("old"), Existing::refuse).has_value());
  fs::permissions(path("a"), fs::perms::owner_read);
  EXPECT_FALSE(write_file(path("a"), bytes("new"), Existing::replace).has_value());
  EXPECT_EQ(text(*read_file(path("a"))), "old");
}

TEST_F(StorageTest, the_start_of_a_file_comes_with_its_size) {
  ASSERT_TRUE(write_file(path("a"), bytes("0123456789"), Existing::refuse).has_value());
  std::array<std::byte, 4> start{};
  EXPECT_EQ(read_start(path("a"), start), 10U);
  EXPECT_EQ(start[3], std::byte{'3'});
  std::array<std::byte, 40> more{};
  EXPECT_EQ(read_start(path("a"), more), 10U);
}

TEST_F(StorageTest, an_empty_file_has_an_empty_region) {
  ASSERT_TRUE(write_file(path("a"), {}, Existing::refuse).has_value());
  EXPECT_EQ(map_file(path("a"))->size(), 0U);
  EXPECT_EQ(read_file(path("a"))->size(), 0U);
}

TEST_F(StorageTest, a_lock_keeps_others_away_until_it_ends) {
  ASSERT_TRUE(write_file(path("a"), bytes("x"), Existing::refuse).has_value());
  {
    auto first = FileLock::acquire(path("a"));
    ASSERT_TRUE(first.has_value());
    const auto second = FileLock::acquire(path("a"));
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().code, ErrorCode::locked);
    // Its owner replaces the file, again and again, and keeps the lock.
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(write_file(path("a"), bytes("y"), Existing::replace, &*first).has_value());
      EXPECT_FALSE(FileLock::acquire(path("a")).has_value());
    }
  }
  EXPECT_TRUE(FileLock::acquire(path("a")).has_value());
}

}  // namespace
}  // namespace mankai
