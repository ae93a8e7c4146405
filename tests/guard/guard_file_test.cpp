// A guard in a file: every change is on the disk when its call returns, and a call that fails leaves the file as it was
// or as it was to be.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "mankai/guard/guard_file.hpp"
#include "mankai/guard/guard_format.hpp"
#include "mankai/hash/checksum.hpp"
#include "tests/support/failing_calls.hpp"
#include "tests/support/simulated_disk.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai {
namespace {

using Answer = Verdict::Answer;
using Rules = std::vector<std::string_view>;

class GuardFileTest : public ::testing::Test {
 protected:
  GuardFileTest() {
    auto builder = GuardBuilder::create({.seed = {{1, 2}}}).value();
    EXPECT_TRUE(builder.add_block("evil.example").value());
    EXPECT_TRUE(GuardFile::write(path_, builder.build().value(), Existing::replace).has_value());
  }

  [[nodiscard]] Answer answer(std::string_view url) const {
    GuardScratch scratch;
    return GuardFile::open(path_).value().guard().check(url, scratch).answer;
  }
  [[nodiscard]] std::size_t files() const { return folder_.entries(); }

  const test::TemporaryFolder folder_;
  const std::string path_ = folder_.file("blocked.mkg");
};

TEST_F(GuardFileTest, has_each_change_when_the_call_returns) {
  GuardFile file = GuardFile::open(path_, GuardFile::Mode::write).value();
  EXPECT_EQ(file.add(Rules{"a.example", "b.example/x", "evil.example"}).value().changed, 2U);
  EXPECT_EQ(answer("www.a.example"), Answer::blocked);
  EXPECT_EQ(answer("b.example/x/y"), Answer::blocked);
  std::vector<RemoveOutcome> outcomes;
  const auto note = [&](std::string_view /*rule*/, RemoveOutcome outcome) { outcomes.push_back(outcome); };
  EXPECT_EQ(file.remove(Rules{"evil.example", "c.example"}, {}, note).value().changed, 1U);
  EXPECT_EQ(outcomes, (std::vector{RemoveOutcome::removed, RemoveOutcome::not_found}));
  EXPECT_EQ(answer("evil.example"), Answer::ok);
  EXPECT_EQ(file.allow(Rules{"good.a.example"}).value().changed, 1U);
  EXPECT_EQ(answer("good.a.example"), Answer::allowed);
  EXPECT_TRUE(file.compact().has_value());
  EXPECT_EQ(GuardFile::open(path_).value().guard().facts().added_rules, 0U);
  EXPECT_EQ(answer("www.a.example"), Answer::blocked);
  EXPECT_EQ(file.disallow(Rules{"good.a.example"}).value().changed, 1U);
  EXPECT_EQ(answer("good.a.example"), Answer::blocked);
}

TEST_F(GuardFileTest, is_not_touched_for_the_sake_of_one_wrong_rule) {
  GuardFile file = GuardFile::open(path_, GuardFile::Mode::write).value();
  const FileStamp before = stamp_of(path_).value();
  const auto added = file.add(Rules{"a.example", "/path"});
  EXPECT_EQ(added.error().code, ErrorCode::invalid_argument);
  EXPECT_TRUE(added.error().detail.find("/path") != std::string::npos);
  EXPECT_EQ(answer("a.example"), Answer::ok);
  EXPECT_EQ(file.add(Rules{"evil.example"}).value().unchanged, 1U);
  EXPECT_EQ(stamp_of(path_).value(), before);
}

// Rules that a hash cannot tell apart are found by nobody by chance: here the digest of one is another's.
TEST_F(GuardFileTest, is_as_it_was_after_a_rule_that_cannot_be_told_from_another) {
  Guard guard = Guard::create({.seed = {{1, 2}}}).value();
  EXPECT_TRUE(guard.add("a.example").value());
  std::vector<std::byte> bytes = guard.to_bytes();
  GuardHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  GuardSection& overlay = header.sections[static_cast<std::size_t>(GuardSectionKind::overlay)];
  const RuleKey key = key_of(GuardRule::parse("b.example/x").value(), Hasher({.kind = kDefaultHash, .seed = {1, 2}}));
  constexpr std::size_t kDigestOffset = 16;
  std::memcpy(bytes.data() + overlay.offset + kDigestOffset, &key.rule.value, sizeof(key.rule.value));
  overlay.checksum = checksum(std::span(bytes).subspan(overlay.offset, overlay.bytes),
                              static_cast<std::uint64_t>(GuardSectionKind::overlay));
  header.checksum =
      checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(GuardHeader, checksum)), kGuardHeaderSeed);
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::ofstream(path_, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  GuardFile file = GuardFile::open(path_, GuardFile::Mode::write).value();
  const auto added = file.add(Rules{"c.example", "b.example/x"});
  ASSERT_EQ(added.error().code, ErrorCode::corrupt);
  EXPECT_TRUE(added.error().detail.starts_with(path_ + ": 'b.example/x': ")) << added.error().detail;
  GuardScratch scratch;
  EXPECT_EQ(file.guard().check("c.example", scratch).answer, Answer::ok);
  EXPECT_EQ(file.add(Rules{"d.example"}).value().changed, 1U);
  EXPECT_EQ(answer("c.example"), Answer::ok);
  EXPECT_EQ(answer("d.example"), Answer::blocked);
}

TEST_F(GuardFileTest, says_which_exceptions_were_not_there) {
  GuardFile file = GuardFile::open(path_, GuardFile::Mode::write).value();
  EXPECT_EQ(file.allow(Rules{"good.example"}).value().changed, 1U);
  std::vector<bool> told;
  const auto tell = [&](std::string_view /*rule*/, bool was_there) { told.push_back(was_there); };
  EXPECT_EQ(file.disallow(Rules{"good.example", "none.example"}, tell).value().changed, 1U);
  EXPECT_EQ(told, (std::vector{true, false}));
}

TEST_F(GuardFileTest, takes_no_other_files_place) {
  const Guard guard = Guard::create().value();
  const std::string list = folder_.file("list");
  std::ofstream(list) << "evil.example\n";
  EXPECT_EQ(GuardFile::write(list, guard, Existing::replace).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(std::filesystem::file_size(list), 13U);
  EXPECT_EQ(GuardFile::write(folder_.path(), guard, Existing::replace).error().code, ErrorCode::io);
  // A guard, whole or not, and an empty file are nobody's list.
  std::filesystem::resize_file(path_, 100);
  EXPECT_TRUE(GuardFile::write(path_, guard, Existing::replace).has_value());
  std::filesystem::resize_file(path_, 0);
  EXPECT_TRUE(GuardFile::write(path_, guard, Existing::replace).has_value());
  EXPECT_EQ(answer("evil.example"), Answer::ok);
}

// ext4 gives a new file the inode number of one that was just removed, and a guard of few rules keeps no mapping of it.
TEST_F(GuardFileTest, a_file_with_the_inode_number_of_its_predecessor_is_another_one) {
  const GuardFile reader = GuardFile::open(path_).value();
  for (const auto* rule : {"a.example", "b.example", "c.example"}) {
    ASSERT_TRUE(GuardFile::open(path_, GuardFile::Mode::write).value().add(Rules{rule}).has_value());
    EXPECT_TRUE(reader.is_replaced().value()) << rule;
  }
}

TEST_F(GuardFileTest, has_one_writer_and_readers_beside_it) {
  GuardFile writer = GuardFile::open(path_, GuardFile::Mode::write).value();
  EXPECT_EQ(GuardFile::open(path_, GuardFile::Mode::write).error().code, ErrorCode::locked);
  const GuardFile reader = GuardFile::open(path_).value();
  EXPECT_FALSE(reader.is_replaced().value());
  EXPECT_TRUE(writer.add(Rules{"a.example"}).has_value());
  EXPECT_TRUE(reader.is_replaced().value());
  EXPECT_FALSE(writer.is_replaced().value());
  GuardScratch scratch;
  EXPECT_EQ(reader.guard().check("a.example", scratch).answer, Answer::ok);
  EXPECT_EQ(GuardFile::open(path_, GuardFile::Mode::write).error().code, ErrorCode::locked);
  EXPECT_EQ(GuardFile::write(path_, reader.guard(), Existing::replace).error().code, ErrorCode::locked);
  EXPECT_EQ(GuardFile::write(path_, reader.guard(), Existing::refuse).error().code, ErrorCode::invalid_argument);
}

TEST_F(GuardFileTest, is_the_same_file_after_the_process_has_changed_its_folder) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  GuardFile writer = GuardFile::open("blocked.mkg", GuardFile::Mode::write).value();
  std::filesystem::current_path(before);
  EXPECT_EQ(writer.add(Rules{"a.example"}).value().changed, 1U);
  EXPECT_EQ(answer("a.example"), Answer::blocked);
  EXPECT_FALSE(writer.is_replaced().value());
}

TEST_F(GuardFileTest, does_not_replace_a_file_that_was_moved_to_its_path) {
  GuardFile writer = GuardFile::open(path_, GuardFile::Mode::write).value();
  Guard other = Guard::create().value();
  ASSERT_TRUE(other.add("other.example").value());
  ASSERT_TRUE(GuardFile::write(folder_.file("other.mkg"), other, Existing::refuse).has_value());
  std::filesystem::rename(folder_.file("other.mkg"), path_);
  const auto added = writer.add(Rules{"a.example"});
  ASSERT_FALSE(added.has_value());
  EXPECT_EQ(added.error().code, ErrorCode::io);
  EXPECT_NE(added.error().detail.find("replaced by another file"), std::string::npos) << added.error().detail;
  EXPECT_EQ(answer("other.example"), Answer::blocked);
}

TEST_F(GuardFileTest, that_is_none_is_refused_with_its_name) {
  const auto missing = GuardFile::open(folder_.file("none"));
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  std::filesystem::resize_file(path_, 100);
  const auto cut = GuardFile::open(path_);
  EXPECT_EQ(cut.error().code, ErrorCode::corrupt);
  EXPECT_TRUE(cut.error().detail.starts_with(path_));
  std::filesystem::resize_file(path_, 0);
  EXPECT_EQ(GuardFile::open(path_).error().code, ErrorCode::corrupt);
}

// Each call that a change makes, in turn, fails in each way it can.
TEST_F(GuardFileTest, is_whole_after_any_call_that_fails) {
  using enum test::Failure;
  for (const test::Failure failure : {io, no_space, interrupted, short_transfer}) {
    bool is_done = false;
    for (std::size_t number = 0; !is_done; ++number) {
      ASSERT_LT(number, 200U);
      test::FailingCalls calls(system_calls());
      GuardFile file = GuardFile::open(path_, GuardFile::Mode::write, calls).value();
      const std::string rule = "host" + std::to_string(number) + ".example";
      calls.fail(failure, number);
      const auto added = file.add(Rules{rule});
      is_done = !calls.has_failed();
      calls.stop();
      const Answer now = answer(rule);
      EXPECT_TRUE(!added || now == Answer::blocked) << calls.failed();
      EXPECT_EQ(answer("evil.example"), Answer::blocked);
      EXPECT_EQ(files(), 1U) << calls.failed();
      if (added && now == Answer::blocked) {
        EXPECT_EQ(file.remove(Rules{rule}, {}).value().changed, 1U);
      } else {
        EXPECT_TRUE(file.add(Rules{rule}).has_value()) << calls.failed();
        EXPECT_EQ(answer(rule), Answer::blocked) << calls.failed();
      }
    }
  }
}

TEST_F(GuardFileTest, opening_reports_any_call_that_fails) {
  bool is_done = false;
  for (std::size_t number = 0; !is_done; ++number) {
    ASSERT_LT(number, 100U);
    test::FailingCalls calls(system_calls());
    calls.fail(test::Failure::io, number);
    const auto file = GuardFile::open(path_, GuardFile::Mode::write, calls);
    is_done = !calls.has_failed();
    EXPECT_EQ(file.has_value(), is_done) << calls.failed();
  }
}

Answer answer_on(FileCalls& disk, const std::string& path, std::string_view url) {
  GuardScratch scratch;
  return GuardFile::open(path, GuardFile::Mode::read, disk).value().guard().check(url, scratch).answer;
}

// Goal: a change is on the disk when its call returns, also if a writer that was killed has made it. Method: a writer
// ends at any moment, the next one adds the same rule, and then the power fails.
TEST(GuardFileCrash, a_rule_that_a_killed_writer_added_is_on_the_disk_once_it_was_added_again) {
  const std::string path = "/disk/blocked.mkg";
  test::SimulatedDisk disk("/disk");
  ASSERT_TRUE(GuardFile::write(path, Guard::create().value(), Existing::refuse, disk).has_value());
  const std::size_t begun = disk.moment();
  ASSERT_TRUE(GuardFile::open(path, GuardFile::Mode::write, disk)->add(Rules{"a.example"}).has_value());
  std::size_t unchanged = 0;
  for (test::DiskWalk walk(disk); !walk.is_at_end();) {
    walk.step();
    if (walk.moment() < begun) {
      continue;
    }
    const auto found = walk.process_ends(0);
    unchanged += GuardFile::open(path, GuardFile::Mode::write, *found)->add(Rules{"a.example"}).value().unchanged;
    test::DiskWalk again(*found);
    while (!again.is_at_end()) {
      again.step();
    }
    for (const test::Loss loss : test::kLosses) {
      EXPECT_EQ(answer_on(*again.machine_ends(loss, 1), path, "a.example"), Answer::blocked) << walk.moment();
    }
  }
  EXPECT_GT(unchanged, 1U) << "before and after the name was on the disk";
}

}  // namespace
}  // namespace mankai
