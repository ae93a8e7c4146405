#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "mankai/file/file.hpp"
#include "mankai/file/mapped_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai {
namespace {

namespace fs = std::filesystem;

class StorageTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.file(name); }
  [[nodiscard]] std::size_t files() const { return folder_.entries(); }
  static std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }
  static std::string text(const Region& region) {
    return {reinterpret_cast<const char*>(region.bytes().data()), region.size()};
  }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(StorageTest, what_is_written_is_read_again) {
  const std::string content(100'000, 'x');
  ASSERT_TRUE(write_file(path("a"), bytes(content), Existing::refuse).has_value());
  EXPECT_EQ(text(*read_file(path("a"))), content);
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

TEST_F(StorageTest, a_new_file_is_its_owners_alone_unless_a_mode_is_given) {
  constexpr auto kOwners = fs::perms::owner_read | fs::perms::owner_write;
  const auto mode_at = [&](const std::string& name) { return fs::status(path(name)).permissions(); };
  const mode_t before = ::umask(0);
  ASSERT_TRUE(write_file(path("plain"), bytes("x"), Existing::refuse).has_value());
  ASSERT_TRUE(MappedFile::create(path("mapped"), 1).has_value());
  ::umask(S_IRWXG | S_IRWXO);
  ASSERT_TRUE(write_file(path("given"), bytes("x"), Existing::refuse, nullptr, system_calls(), 0644).has_value());
  ::umask(before);
  EXPECT_EQ(mode_at("plain"), kOwners);
  EXPECT_EQ(mode_at("mapped"), kOwners);
  EXPECT_EQ(mode_at("given"), fs::perms(0644));
  ASSERT_TRUE(write_file(path("given"), bytes("y"), Existing::replace).has_value());
  EXPECT_EQ(mode_at("given"), fs::perms(0644));
  ASSERT_TRUE(write_file(path("given"), bytes("z"), Existing::replace, nullptr, system_calls(), 0600).has_value());
  EXPECT_EQ(mode_at("given"), kOwners);
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

TEST_F(StorageTest, changes_to_a_private_mapping_never_reach_the_file) {
  ASSERT_TRUE(write_file(path("a"), bytes("old"), Existing::refuse).has_value());
  const auto file = OpenFile::open(path("a"), OpenFile::Mode::read);
  auto region = file->map_region(file->size());
  region->bytes()[0] = std::byte{'X'};
  EXPECT_EQ(text(*read_file(path("a"))), "old");
}

TEST_F(StorageTest, wrong_paths_are_named_with_the_reason) {
  const auto missing = read_file(path("missing"));
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_NE(missing.error().message().find(path("missing")), std::string::npos);
  const auto folder = read_file(fs::temp_directory_path().string());
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

// Goal: who is kept away is told by whom. Method: a child holds the lock until it is told to end.
TEST_F(StorageTest, a_lock_s_owner_is_named) {
  if (!fs::exists("/proc/locks")) {
    GTEST_SKIP() << "SKIPPED: this system has no table of locks";
  }
  ASSERT_TRUE(write_file(path("a"), bytes("x"), Existing::refuse).has_value());
  std::array<int, 2> locked{};
  ASSERT_EQ(::pipe(locked.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto held = FileLock::acquire(path("a"));
    static_cast<void>(::write(locked[1], "l", 1) == 1);
    ::pause();
    ::_exit(held.has_value() ? 0 : 1);
  }
  char told = 0;
  EXPECT_EQ(::read(locked[0], &told, 1), 1);
  const auto refused = FileLock::acquire(path("a"));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(locked[0]);
  ::close(locked[1]);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::locked);
  EXPECT_NE(refused.error().detail.find("process " + std::to_string(child) + " is changing it"), std::string::npos)
      << refused.error().detail;
  EXPECT_TRUE(FileLock::acquire(path("a")).has_value()) << "a dead owner's lock is gone";
}

TEST_F(StorageTest, paths_of_one_file_have_one_identity) {
  ASSERT_TRUE(write_file(path("a"), bytes("x"), Existing::refuse).has_value());
  ASSERT_TRUE(write_file(path("b"), bytes("x"), Existing::refuse).has_value());
  fs::create_symlink(path("a"), path("link"));
  EXPECT_EQ(*identify(path("a")), *identify(path("link")));
  EXPECT_NE(*identify(path("a")), *identify(path("b")));
  const auto opened = OpenFile::open(path("a"), OpenFile::Mode::read);
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(opened->identity(), *identify(path("a")));
  ASSERT_TRUE(write_file(path("a"), bytes("y"), Existing::replace).has_value());
  EXPECT_NE(opened->identity(), *identify(path("a"))) << "the file was replaced";
  const auto missing = identify(path("missing"));
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
}

TEST_F(StorageTest, an_open_file_is_read_and_written_anywhere) {
  ASSERT_TRUE(write_file(path("a"), bytes("0123456789"), Existing::refuse).has_value());
  const auto file = OpenFile::open(path("a"), OpenFile::Mode::write);
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->size(), 10U);
  ASSERT_TRUE(file->write(3, bytes("abc")).has_value());
  ASSERT_TRUE(file->sync().has_value());
  std::array<std::byte, 4> middle{};
  ASSERT_TRUE(file->read(5, middle).has_value());
  EXPECT_EQ(middle[0], std::byte{'c'});
  EXPECT_EQ(text(*file->read_region(5)), "012ab");
  EXPECT_EQ(text(*file->map_region(4)), "012a");
  EXPECT_EQ(text(*read_file(path("a"))), "012abc6789");
}

TEST_F(StorageTest, reading_behind_the_end_is_an_error) {
  ASSERT_TRUE(write_file(path("a"), bytes("0123456789"), Existing::refuse).has_value());
  const auto file = OpenFile::open(path("a"), OpenFile::Mode::read);
  std::array<std::byte, 4> end{};
  for (const auto& code :
       {file->read(7, end).error().code, file->read_region(11).error().code, file->map_region(11).error().code}) {
    EXPECT_EQ(code, ErrorCode::io);
  }
}

TEST_F(StorageTest, a_new_file_is_seen_when_it_is_whole) {
  ASSERT_TRUE(write_file(path("a"), bytes("old"), Existing::refuse).has_value());
  auto file = NewFile::create(path("a"), Existing::replace);
  ASSERT_TRUE(file.has_value());
  ASSERT_TRUE(file->write(bytes("new ")).has_value());
  ASSERT_TRUE(file->write(bytes("contents")).has_value());
  ASSERT_TRUE(file->sync().has_value());
  EXPECT_EQ(text(*read_file(path("a"))), "old");
  ASSERT_TRUE(file->put_in_place().has_value());
  EXPECT_EQ(text(*read_file(path("a"))), "new contents");
  EXPECT_EQ(files(), 1U);
}

TEST_F(StorageTest, a_new_file_that_is_given_up_leaves_nothing) {
  ASSERT_TRUE(write_file(path("a"), bytes("old"), Existing::refuse).has_value());
  {
    auto file = NewFile::create(path("a"), Existing::replace);
    ASSERT_TRUE(file->write(bytes("new")).has_value());
    const NewFile moved = std::move(*file);
    EXPECT_EQ(files(), 2U);
  }
  EXPECT_EQ(text(*read_file(path("a"))), "old");
  EXPECT_EQ(files(), 1U);
}

// What ended at once may have left a temporary, and what comes after it under the lock must not leave another.
TEST_F(StorageTest, who_holds_the_lock_leaves_one_temporary_at_most) {
  ASSERT_TRUE(write_file(path("a"), bytes("old"), Existing::refuse).has_value());
  auto lock = FileLock::acquire(path("a")).value();
  {
    auto file = NewFile::create(path("a"), Existing::replace, &lock);
    ASSERT_TRUE(file.has_value());
    std::filesystem::copy_file(path("a-checkpoint"), path("kept"));
  }
  std::filesystem::rename(path("kept"), path("a-checkpoint"));
  auto file = NewFile::create(path("a"), Existing::replace, &lock);
  ASSERT_TRUE(file->write(bytes("new")).has_value());
  ASSERT_TRUE(file->sync().has_value());
  ASSERT_TRUE(file->put_in_place().has_value());
  EXPECT_EQ(text(*read_file(path("a"))), "new");
  EXPECT_EQ(files(), 1U);
  EXPECT_FALSE(FileLock::acquire(path("a")).has_value());
  ASSERT_TRUE(write_file(path("a-checkpoint"), bytes("left"), Existing::refuse).has_value());
  remove_left_over(path("a"));
  EXPECT_EQ(files(), 1U);
}

TEST_F(StorageTest, a_temporary_of_a_killed_creator_is_removed_by_the_next_one) {
  const std::string name = path("a") + ".mankai.tmp-0";
  ASSERT_TRUE(write_file(name, bytes("left"), Existing::refuse).has_value());
  ASSERT_TRUE(write_file(path("a"), bytes("new"), Existing::refuse).has_value());
  EXPECT_EQ(files(), 1U);
  // What has the name and is not of a creator stays.
  std::filesystem::create_symlink(path("a"), name);
  ASSERT_TRUE(write_file(path("b"), bytes("b"), Existing::refuse).has_value());
  ASSERT_TRUE(write_file(path("a"), bytes("newer"), Existing::replace).has_value());
  EXPECT_EQ(text(*read_file(name)), "newer");
  EXPECT_EQ(files(), 3U);
}

TEST_F(StorageTest, a_temporary_of_a_living_creator_stays) {
  auto first = NewFile::create(path("a"), Existing::replace);
  auto second = NewFile::create(path("a"), Existing::replace);
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(files(), 2U);
  for (auto* file : {&*first, &*second}) {
    ASSERT_TRUE(file->sync().has_value());
    EXPECT_TRUE(file->put_in_place().has_value());
    EXPECT_TRUE(FileLock::acquire(path("a")).has_value());  // the temporary's lock is another one
  }
  EXPECT_EQ(files(), 1U);
}

TEST_F(StorageTest, of_creators_at_once_one_succeeds_and_nothing_is_left) {
  constexpr int kRounds = 100;
  constexpr int kCreators = 4;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int> made = 0;
    {
      std::vector<std::jthread> creators;
      for (int i = 0; i < kCreators; ++i) {
        creators.emplace_back([&] {
          const auto written = write_file(path("a"), bytes("x"), Existing::refuse);
          made += written.has_value() ? 1 : 0;
          EXPECT_TRUE(written || written.error().code == ErrorCode::invalid_argument) << written.error().message();
        });
      }
    }
    EXPECT_EQ(made, 1);
    EXPECT_EQ(files(), 1U);
    std::filesystem::remove(path("a"));
  }
}

// It was not there when the temporary was made.
TEST_F(StorageTest, a_new_file_never_takes_the_place_of_one_that_came_meanwhile) {
  auto file = NewFile::create(path("a"), Existing::refuse);
  ASSERT_TRUE(file->sync().has_value());
  ASSERT_TRUE(write_file(path("a"), bytes("other"), Existing::refuse).has_value());
  const auto placed = file->put_in_place();
  ASSERT_FALSE(placed.has_value());
  EXPECT_EQ(placed.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(text(*read_file(path("a"))), "other");
}

TEST_F(StorageTest, removing_what_is_not_there_is_fine) {
  ASSERT_TRUE(write_file(path("a"), bytes("x"), Existing::refuse).has_value());
  EXPECT_TRUE(remove_file(path("a")).has_value());
  EXPECT_EQ(files(), 0U);
  EXPECT_TRUE(remove_file(path("a")).has_value());
  EXPECT_FALSE(remove_file(path("no/such")).has_value());
  EXPECT_TRUE(sync_folder_of(path("a")).has_value());
}

TEST_F(StorageTest, a_mapped_file_is_made_grown_and_cut) {
  auto file = MappedFile::create(path("a"), 5000);
  ASSERT_TRUE(file.has_value());
  const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
  EXPECT_EQ(file->bytes().size(), 5000U);
  EXPECT_TRUE(std::ranges::all_of(file->bytes(), is_zero));
  std::ranges::fill(file->bytes(), std::byte{'x'});
  ASSERT_TRUE(file->sync().has_value());
  ASSERT_TRUE(file->truncate(100).has_value());
  EXPECT_EQ(text(*read_file(path("a"))), std::string(100, 'x'));
  ASSERT_TRUE(file->grow(10'000).has_value());
  EXPECT_EQ(file->bytes().size(), 10'000U);
  EXPECT_EQ(file->bytes()[99], std::byte{'x'});
  EXPECT_TRUE(std::ranges::all_of(file->bytes().subspan(100), is_zero)) << "what was cut does not come back";
  EXPECT_EQ(fs::file_size(path("a")), 10'000U);
}

TEST_F(StorageTest, a_mapped_file_is_never_made_over_another) {
  ASSERT_TRUE(write_file(path("a"), bytes("old"), Existing::refuse).has_value());
  const auto made = MappedFile::create(path("a"), 100);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(text(*read_file(path("a"))), "old");
}

TEST_F(StorageTest, a_mapped_file_takes_the_permissions_of_another) {
  ASSERT_TRUE(write_file(path("a"), bytes("x"), Existing::refuse).has_value());
  fs::permissions(path("a"), fs::perms::owner_read);
  auto file = MappedFile::create(path("b"), 100);
  ASSERT_TRUE(file->copy_permissions(path("a")).has_value());
  EXPECT_EQ(fs::status(path("b")).permissions(), fs::perms::owner_read);
}

}  // namespace
}  // namespace mankai
