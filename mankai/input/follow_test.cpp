#include "mankai/input/follow.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "mankai/input/line_reader.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai {
namespace {

namespace fs = std::filesystem;

/// A folder with a log in it, and a pipe that ends the reading.
class Follow : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(pipe(stop_.data()), 0); }
  void TearDown() override {
    close(stop_[0]);
    close(stop_[1]);
  }

  [[nodiscard]] std::string log() const { return folder_.file("access.log"); }
  [[nodiscard]] std::string old(int number) const { return log() + "." + std::to_string(number); }
  void append(const std::string& text) const { std::ofstream(log(), std::ios::app | std::ios::binary) << text; }
  void overwrite(const std::string& text) const { std::ofstream(log(), std::ios::trunc | std::ios::binary) << text; }
  void rotate(int number) const { fs::rename(log(), old(number)); }
  void stop() const { ASSERT_EQ(write(stop_[1], "x", 1), 1); }

  [[nodiscard]] FollowOptions options() const {
    return {.interval = std::chrono::milliseconds(1),
            .grace = std::chrono::milliseconds(20),
            .from_end = false,
            .stop_fd = stop_[0],
            .on_idle = {}};
  }

  test::TemporaryFolder folder_;
  std::array<int, 2> stop_{};
};

/// Does one thing after the other, each at a look that found nothing new; then stops. So the order is certain without
/// a clock: whatever a step wrote has been read before the next one is taken.
class Script {
 public:
  explicit Script(std::vector<std::function<void()>> steps) : steps_(std::move(steps)) {}

  void operator()() {
    if (++looks_ % kLooksPerStep == 0 && next_ < steps_.size()) {
      steps_[next_++]();
    }
  }

 private:
  static constexpr std::size_t kLooksPerStep = 40;  // more than a grace
  std::vector<std::function<void()>> steps_;
  std::size_t next_ = 0;
  std::size_t looks_ = 0;
};

std::vector<std::string> read_until_stopped(Result<Source> source) {
  std::vector<std::string> lines;
  auto reader = LineReader::create(std::move(source.value()));
  for (;;) {
    const auto batch = reader->next_batch();
    if (!batch) {
      EXPECT_EQ(batch.error().os_error, EINTR) << batch.error().message();
      return lines;
    }
    EXPECT_FALSE(batch->empty()) << "a followed file never ends";
    lines.insert(lines.end(), batch->begin(), batch->end());
  }
}

using Texts = std::vector<std::string>;

TEST_F(Follow, reads_what_is_there_and_what_comes) {
  append("one\ntwo\n");
  FollowOptions following = options();
  following.on_idle = Script({[&] { append("thr"); }, [&] { append("ee\nfour\n"); }, [&] { stop(); }});
  EXPECT_EQ(read_until_stopped(follow(log(), following)), (Texts{"one", "two", "three", "four"}));
}

TEST_F(Follow, waits_for_a_file_that_is_not_there_yet) {
  FollowOptions following = options();
  following.on_idle = Script({[&] { append("one\n"); }, [&] { stop(); }});
  EXPECT_EQ(read_until_stopped(follow(log(), following)), Texts{"one"});
}

TEST_F(Follow, reads_the_old_file_to_its_end_after_a_rotation) {
  append("one\n");
  FollowOptions following = options();
  following.on_idle = Script({[&] {
                                std::ofstream late(log(), std::ios::app);
                                rotate(1);
                                append("three\n");
                                late << "two\n";  // by a program that has the old file open still
                              },
                              [&] {
                                fs::remove(old(1));
                                fs::remove(log());
                              },
                              [&] { append("four\n"); }, [&] { stop(); }});
  EXPECT_EQ(read_until_stopped(follow(log(), following)), (Texts{"one", "two", "three", "four"}));
}

TEST_F(Follow, two_rotations_between_two_looks_at_the_old_file) {
  append("one\n");
  FollowOptions following = options();
  following.grace = std::chrono::milliseconds(10);
  int step = 0;
  following.on_idle = [&] {
    ++step;
    if (step == 1 || step == 3) {  // the second while the first file is still waited for
      rotate(step);
      append("after " + std::to_string(step) + "\n");
    } else if (step == 100) {
      stop();
    }
  };
  EXPECT_EQ(read_until_stopped(follow(log(), following)), (Texts{"one", "after 1", "after 3"}));
}

TEST_F(Follow, a_file_cut_short_is_read_from_its_beginning) {
  append("one\ntwo\n");
  FollowOptions following = options();
  following.on_idle =
      Script({[&] { overwrite(""); }, [&] { append("1\n"); }, [&] { overwrite("2"); }, [&] { stop(); }});
  // The last line has no line feed, so it is held back: it is not known to be complete.
  EXPECT_EQ(read_until_stopped(follow(log(), following)), (Texts{"one", "two", "1"}));
}

TEST_F(Follow, lines_of_two_files_never_run_together) {
  append("one\nunfinished");
  FollowOptions following = options();
  following.on_idle = Script({[&] {
                                rotate(1);
                                append("two\nunfinished too");
                              },
                              [&] { overwrite("three\n"); }, [&] { stop(); }});
  EXPECT_EQ(read_until_stopped(follow(log(), following)),
            (Texts{"one", "unfinished", "two", "unfinished too", "three"}));
}

TEST_F(Follow, from_the_end_begins_with_the_next_line) {
  for (const std::string& before : {std::string(""), std::string("one\n"), std::string("one\nunfini")}) {
    overwrite(before);
    FollowOptions following = options();
    following.from_end = true;
    following.on_idle = Script({[&] { append("shed\n"); }, [&] { append("two\nthree\n"); },
                                [&] {
                                  rotate(1);
                                  append("four\n");
                                },
                                [&] { stop(); }});
    const Texts expected =
        before.ends_with("unfini") ? Texts{"two", "three", "four"} : Texts{"shed", "two", "three", "four"};
    EXPECT_EQ(read_until_stopped(follow(log(), following)), expected) << before;
    char byte = 0;
    ASSERT_EQ(::read(stop_[0], &byte, 1), 1);
  }
}

TEST_F(Follow, a_folder_and_an_interval_of_nothing_are_errors) {
  EXPECT_EQ(follow(folder_.path(), options()).error().code, ErrorCode::io);
  FollowOptions following = options();
  following.interval = {};
  EXPECT_EQ(follow(log(), following).error().code, ErrorCode::invalid_argument);
}

// Goal: nothing lost, nothing twice, in order, however writes, looks and rotations fall. Method: a thread writes
// numbered lines in odd pieces and rotates now and then, waiting after a rotation until the reader has come past it.
TEST_F(Follow, no_line_is_lost_or_read_twice_across_rotations_by_another_thread) {
  constexpr int kLines = 20'000;
  constexpr int kLinesPerFile = 2'500;
  std::atomic<int> read_so_far = 0;
  std::thread writer([&] {
    std::string pending;
    int rotations = 0;
    for (int line = 0; line < kLines; ++line) {
      if (line > 0 && line % kLinesPerFile == 0) {
        append(pending);
        pending.clear();
        rotate(++rotations);
      }
      pending += std::to_string(line) + "\n";
      if (pending.size() > static_cast<std::size_t>(line % 97)) {
        const std::size_t piece = pending.size() - static_cast<std::size_t>(line % 5);
        append(pending.substr(0, piece));
        pending.erase(0, piece);
      }
      // A file must stay at the path for a look: it has when some of it has been read.
      while (line % kLinesPerFile == kLinesPerFile - 1 && read_so_far.load() < line - kLinesPerFile / 2) {
        std::this_thread::yield();
      }
    }
    append(pending);
  });
  FollowOptions following = options();
  following.grace = std::chrono::milliseconds(3);
  auto reader = LineReader::create(follow(log(), following).value());
  int expected = 0;
  while (expected < kLines) {
    const auto batch = reader->next_batch();
    ASSERT_TRUE(batch.has_value());
    for (const std::string_view line : *batch) {
      ASSERT_EQ(line, std::to_string(expected));
      ++expected;
    }
    read_so_far = expected;
  }
  writer.join();
}

}  // namespace
}  // namespace mankai
