// Storms of kill -9 over processes that share one filter, on the real file system: each process opens the filter,
// observes keys that the others observe as well, makes checkpoints, closes it, and begins again, until it is killed at
// a random moment; then another one takes its place.
//
// What a process was told it writes to a pipe, and before it forgets keys which. So, whatever was killed: no key is new
// to two processes; and every key that any process was told about (of a counting filter: as new, and that none was
// about to forget) is seen by those that open the filter afterwards, by readers, and in the file that the last one
// leaves. MANKAI_KILL_ROUNDS says how many storms there are.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "mankai/seen/seen.hpp"
#include "mankai/store/filter_file.hpp"
#include "tests/support/random.hpp"
#include "tests/support/requests.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kProcesses = 8;
constexpr std::size_t kDeaths = 60;  // per storm
constexpr std::uint32_t kKeys = 40'000;
constexpr std::uint32_t kBatch = 16;

std::string key_of(std::uint32_t number) { return "key " + std::to_string(number); }

/// What one call returned. Written at once, as it is shorter than what a pipe takes at once.
struct Told {
  std::uint32_t first;
  std::uint32_t is_new;  ///< bit i: of the key first + i
  bool will_forget;      ///< instead: it is about to forget these keys
};
static_assert(kBatch <= 32);

class SharedKill : public testing::TestWithParam<std::string> {
 protected:
  SharedKill() {
    if (::pipe2(ends_.data(), O_NONBLOCK) != 0) {
      throw std::runtime_error("no pipe");
    }
  }
  ~SharedKill() override {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }

  [[nodiscard]] std::string path() const { return folder_.file("seen.mk"); }
  [[nodiscard]] Seen opened(std::chrono::milliseconds interval) const {
    auto seen = Seen::open(
        path(), {.kind = parse_kind(GetParam()).value(), .keys = kKeys, .fpr = 1e-9, .sharing = Sharing::processes},
        {.checkpoint_interval = interval});
    if (!seen) {
      std::cerr << seen.error().message() << '\n';
      ::_exit(1);
    }
    return std::move(*seen);
  }

  // In a child, until it is killed.
  [[noreturn]] void observe_until_killed(std::uint64_t life) const {
    Random random(life);
    for (;;) {
      Seen seen = opened(std::chrono::milliseconds(1 + random.below(20)));
      const std::uint64_t batches = random.below(400);
      const std::uint64_t batches_of_keys = kKeys / kBatch / (can_forget() ? 16 : 1);  // few meet more often
      for (std::uint64_t batch = 0; batch < batches; ++batch) {
        observe_batch(seen, static_cast<std::uint32_t>(random.below(batches_of_keys) * kBatch));
        if (random.below(100) == 0 && !seen.sync()) {
          ::_exit(1);
        }
      }
      if (random.below(2) == 0 && !seen.close()) {
        ::_exit(1);
      }
    }
  }
  void observe_batch(Seen& seen, std::uint32_t first) const {
    std::vector<std::string> keys;
    for (std::uint32_t i = 0; i < kBatch; ++i) {
      keys.push_back(key_of(first + i));
    }
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    Flags flags(kBatch);
    if (!seen.observe(views, flags.span())) {
      ::_exit(1);
    }
    Told told{.first = first, .is_new = 0, .will_forget = false};
    std::vector<std::string_view> forgotten;
    for (std::uint32_t i = 0; i < kBatch; ++i) {
      told.is_new |= (flags.span()[i] ? 0U : 1U) << i;
      if (!flags.span()[i]) {
        forgotten.push_back(views[i]);
      }
    }
    tell(told);
    if (can_forget() && first / kBatch % 2 == 0) {
      told.will_forget = true;
      tell(told);
      std::vector<EraseResult> results(forgotten.size());
      if (!seen.forget(forgotten, results) || std::ranges::count(results, EraseResult::absent) != 0) {
        ::_exit(1);
      }
    }
  }
  [[nodiscard]] static bool can_forget() { return GetParam() == "counting-bloom"; }
  void tell(const Told& told) const {
    for (pollfd room{.fd = ends_[1], .events = POLLOUT, .revents = 0};
         ::write(ends_[1], &told, sizeof(told)) != sizeof(told);) {
      ::poll(&room, 1, -1);
    }
  }

  [[nodiscard]] pid_t start(std::uint64_t life) const {
    const pid_t child = ::fork();
    if (child == 0) {
      observe_until_killed(life);
    }
    return child;
  }
  static void kill(pid_t child) {
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "a process ended by itself: " << status;
  }
  void listen() {
    for (Told told{}; ::read(ends_[0], &told, sizeof(told)) == sizeof(told);) {
      for (std::uint32_t i = 0; i < kBatch; ++i) {
        const std::uint32_t key = told.first + i;
        const bool is_new = (told.is_new >> i & 1U) != 0;
        if (told.will_forget) {
          was_told_[key] = was_told_[key] && !is_new;
          times_new_[key] -= is_new ? 1 : 0;
          continue;
        }
        was_told_[key] = is_new || (was_told_[key] || !can_forget());
        times_new_[key] += is_new ? 1 : 0;
        ASSERT_LE(times_new_[key], 1) << key_of(key) << " is new to two";
      }
    }
  }

  void begin_anew() {
    fs::remove(path());
    was_told_.assign(kKeys, false);
    times_new_.assign(kKeys, 0);
  }
  void check_told(const AnyFilter& filter, std::string_view where) const {
    for (std::uint32_t number = 0; number < kKeys; ++number) {
      const std::string key = key_of(number);
      const std::string_view view = key;
      bool is_there = false;
      filter.may_contain({&view, 1}, {&is_there, 1});
      ASSERT_TRUE(is_there || !was_told_[number]) << where << ", " << key;
    }
  }
  [[nodiscard]] std::uint64_t count_told() const {
    return static_cast<std::uint64_t>(std::ranges::count(was_told_, true));
  }
  [[nodiscard]] std::uint64_t count_new() const {
    return static_cast<std::uint64_t>(std::ranges::count(times_new_, 1));
  }

 private:
  TemporaryFolder folder_;
  std::array<int, 2> ends_{};
  std::vector<bool> was_told_ = std::vector<bool>(kKeys);
  std::vector<int> times_new_ = std::vector<int>(kKeys);
};

TEST_P(SharedKill, nothing_that_a_process_was_told_is_lost_and_no_key_is_new_twice) {
  const char* const asked = std::getenv("MANKAI_KILL_ROUNDS");
  const int storms = asked == nullptr ? 2 : std::atoi(asked);
  Random random(3);
  std::uint64_t life = 0;
  std::uint64_t told = 0;
  std::uint64_t told_new = 0;
  for (int storm = 0; storm < storms; ++storm) {
    begin_anew();
    std::array<pid_t, kProcesses> children{};
    for (pid_t& child : children) {
      child = start(++life);
    }
    for (std::size_t death = 0; death < kDeaths; ++death) {
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(20'000)));
      listen();
      pid_t& child = children[random.below(kProcesses)];
      kill(child);
      child = start(++life);
    }
    for (const pid_t child : children) {
      kill(child);
    }
    listen();
    check_told(open_filter(path(), Access::query).value(), "a reader");
    check_told(opened(std::chrono::hours(1)).filter(), "a process that opens it");
    check_told(open_filter(path(), Access::query).value(), "the file");
    EXPECT_EQ(fs::exists(path() + "-shared"), false);
    told += count_told();
    told_new += count_new();
  }
  std::cout << "    " << life << " deaths; " << told << " keys were told, " << told_new << " of them as new\n";
  EXPECT_GT(told, static_cast<std::uint64_t>(storms) * kBatch);
  // A process that is killed before it can say what it was told takes the answer with it.
  EXPECT_GE(told_new + life * kBatch, told);
}

// Goal: a checkpoint is made although whoever made the last ones is killed. Method: each process is killed when it has
// made some, or while it makes one.
TEST_P(SharedKill, checkpoints_continue_when_the_process_that_makes_them_dies) {
  Seen seen = opened(std::chrono::hours(1));
  for (std::uint32_t life = 0; life < 10; ++life) {
    const pid_t child = ::fork();
    if (child == 0) {
      Seen own = opened(std::chrono::milliseconds(1));
      for (std::uint32_t batch = 0;; ++batch) {
        observe_batch(own, batch * kBatch % kKeys);
        if (!own.sync()) {
          ::_exit(1);
        }
      }
    }
    const std::uint64_t before = seen.durable_sequence();
    while (seen.durable_sequence() < before + std::uint64_t{3} * kBatch) {
      listen();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    kill(child);
    listen();
    observe_batch(seen, 0);
    ASSERT_TRUE(seen.sync().has_value());
    EXPECT_GE(seen.durable_sequence(), before + std::uint64_t{4} * kBatch);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, SharedKill, testing::Values("blocked-bloom", "counting-bloom"));

}  // namespace
}  // namespace mankai::test
