// The process crash, on the real file system: a child changes a store and says after each batch that it was
// acknowledged; it is killed at a random moment, of a batch, a checkpoint, its opening or its closing, and another one
// goes on with the files as they are.
//
// After each death: every batch that was acknowledged is there, at most one more is, and nothing of any other; the
// store is, byte for byte, what the same calls make of a filter without a store; its sequence and position are those of
// that batch. Each child has other policies and checkpoints. MANKAI_KILL_ROUNDS says how many die for each filter.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <thread>

#include "mankai/store/detail/load_store.hpp"
#include "tests/support/store_requests.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai::test {
namespace {

constexpr int kUsualRounds = 6;
constexpr std::size_t kMostKeys = 60;

int rounds() {
  const char* const asked = std::getenv("MANKAI_KILL_ROUNDS");
  return asked == nullptr ? kUsualRounds : std::atoi(asked);
}

/// What happens between two acknowledgments.
struct Batch {
  std::vector<Request> requests;  ///< none: a position by itself, or the filter is cleared
  std::optional<BatchMode> mode;  ///< none: one call, which is a batch by itself
  std::string position;           ///< of those with a mode

  [[nodiscard]] bool clears() const noexcept { return requests.empty() && !mode; }
  [[nodiscard]] std::uint64_t changes() const {
    std::uint64_t sum = requests.empty() ? 1 : 0;
    for (const Request& request : requests) {
      sum += request.operation == Operation::advance ? 1 : request.keys.size();
    }
    return sum;
  }
};

/// The batches of a store, from 1 on; the same for child and parent.
Batch batch(const AnyFilter& like, std::uint64_t number) {
  constexpr std::uint64_t kSeed = 77;
  RequestMaker maker(like, kSeed, number);
  Batch made;
  if (number % 50 == 49) {
    return made;
  }
  if (number % 11 != 10) {
    made.requests.push_back(maker.next(kMostKeys));
  }
  if (number % 3 != 0 || made.requests.empty()) {
    made.mode = number % 8 == 1 ? BatchMode::in_memory : BatchMode::journaled;
    made.position = "batch " + std::to_string(number);
  }
  if (made.mode && !made.requests.empty()) {
    made.requests.push_back(maker.next(kMostKeys));
  }
  return made;
}

void do_batch(Store& store, const Batch& batch) {
  if (batch.clears()) {
    store.clear().value();
  }
  if (batch.mode) {
    store.begin(*batch.mode);
  }
  for (const Request& request : batch.requests) {
    asked(store, request).value();
  }
  if (batch.mode) {
    store.commit(batch.position).value();
  }
}

/// A filter without a store, that does the same.
class Model {
 public:
  explicit Model(std::string_view spec) : filter_(filter_of(spec)) {}

  /// Goes on until the change. Returns whether a batch ends there.
  [[nodiscard]] bool goes_on_to(std::uint64_t sequence) {
    while (moment_.sequence < sequence) {
      const Batch next = batch(filter_, ++batches_);
      for (const Request& request : next.requests) {
        done_directly(filter_, request);
      }
      if (next.clears()) {
        filter_.clear();
      }
      moment_.sequence += next.changes();
      moment_.position = next.mode ? next.position : moment_.position;
    }
    moment_.image = image_of(filter_);
    return moment_.sequence == sequence;
  }
  [[nodiscard]] std::uint64_t batches() const noexcept { return batches_; }
  [[nodiscard]] const StoreState& moment() const noexcept { return moment_; }

 private:
  AnyFilter filter_;
  std::uint64_t batches_ = 0;
  StoreState moment_;
};

/// A pipe through which a child says what it was told. Its messages are shorter than what a pipe takes at once.
template <class Message>
class Reports {
 public:
  Reports() {
    if (::pipe(ends_.data()) != 0) {
      throw std::runtime_error("no pipe");
    }
  }
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;
  ~Reports() { ::close(ends_[0]); }

  void send(const Message& message) const {
    if (::write(ends_[1], &message, sizeof(message)) != sizeof(message)) {
      ::_exit(1);
    }
  }
  /// The parent sends nothing, so that it learns when the child is gone.
  void listen() const { ::close(ends_[1]); }
  [[nodiscard]] std::optional<Message> next() const {
    Message message;
    return ::read(ends_[0], &message, sizeof(message)) == sizeof(message) ? std::optional(message) : std::nullopt;
  }

 private:
  std::array<int, 2> ends_{};
};

/// Runs `live` in a child, kills it when it has sent so many messages and some time has passed, and returns what it
/// sent.
template <class Message, class Live>
std::vector<Message> life_of(const Live& live, std::uint64_t messages, std::chrono::microseconds more) {
  const Reports<Message> reports;
  const pid_t child = ::fork();
  if (child == 0) {
    live(reports);
    ::_exit(0);
  }
  reports.listen();
  std::vector<Message> sent;
  while (sent.size() < messages) {
    const auto message = reports.next();
    if (!message) {
      break;
    }
    sent.push_back(*message);
  }
  std::this_thread::sleep_for(more);
  ::kill(child, SIGKILL);
  while (const auto message = reports.next()) {
    sent.push_back(*message);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
      << "a child ended by itself: " << status;
  return sent;
}

StoreOptions options_of(Random& random) {
  constexpr std::array kPolicies{Durability::always, Durability::interval, Durability::never};
  constexpr std::array<std::uint64_t, 3> kCheckpointBytes{1, 5000, 100'000};
  return {.durability = kPolicies[random.below(kPolicies.size())],
          .interval = std::chrono::milliseconds(1),
          .checkpoint_bytes = kCheckpointBytes[random.below(kCheckpointBytes.size())],
          .checkpoint_interval = std::chrono::milliseconds(random.below(3))};
}

class StoreKill : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] std::string path() const { return folder_.file("filter.mk"); }
  [[nodiscard]] std::size_t files() const { return folder_.entries(); }

 private:
  TemporaryFolder folder_;
};

// A life: from its opening to its closing, if it gets so far.
void change_until_killed(const std::string& path, const StoreOptions& options, std::uint64_t batches_before,
                         const Reports<std::uint64_t>& reports) {
  constexpr std::uint64_t kMostBatches = 150;
  Store store = Store::open(path, options).value();
  for (std::uint64_t number = batches_before + 1; number <= batches_before + kMostBatches; ++number) {
    do_batch(store, batch(store.filter(), number));
    reports.send(number);
    if (number % 16 == 5) {
      store.checkpoint().value();
    }
    if (number % 16 == 9) {
      store.sync().value();
    }
  }
  store.close().value();
}

TEST_P(StoreKill, what_was_acknowledged_is_there_and_nothing_but_whole_batches) {
  Store::create(path(), filter_of(GetParam())).value().close().value();
  Model model(GetParam());
  Random random(1);
  std::uint64_t acknowledged = 0;
  int unacknowledged = 0;
  for (int round = 0; round < rounds(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const StoreOptions options = options_of(random);
    const auto sent = life_of<std::uint64_t>(
        [&](const Reports<std::uint64_t>& reports) { change_until_killed(path(), options, model.batches(), reports); },
        random.below(40), std::chrono::microseconds(random.below(3000)));
    acknowledged = sent.empty() ? acknowledged : sent.back();
    const auto found = detail::load_store(path(), {});
    ASSERT_TRUE(found.has_value()) << found.error().message();
    ASSERT_TRUE(model.goes_on_to(found->report.sequence)) << "a part of batch " << model.batches();
    ASSERT_GE(model.batches(), acknowledged);
    ASSERT_LE(model.batches(), acknowledged + 1);
    unacknowledged += model.batches() > acknowledged ? 1 : 0;
    acknowledged = model.batches();
    EXPECT_EQ(found->report.position.view(), model.moment().position);
    ASSERT_TRUE(image_of(found->filter) == model.moment().image);
    // Sometimes it is opened here, sometimes by the next child, which may be killed while it recovers.
    if (random.below(3) == 0) {
      const Store store = Store::open(path()).value();
      ASSERT_TRUE(state_of(store) == model.moment());
    }
  }
  std::cout << "    " << rounds() << " deaths, " << model.batches() << " batches, " << model.moment().sequence
            << " changes; " << unacknowledged << " batches were there that had not been acknowledged yet\n";
  Store store = Store::open(path()).value();
  ASSERT_TRUE(state_of(store) == model.moment());
  ASSERT_TRUE(store.close().has_value());
  EXPECT_EQ(files(), 1U) << "something was left behind";
}

INSTANTIATE_TEST_SUITE_P(every_kind, StoreKill, testing::ValuesIn(first_example_specs()), SpecNames{});
INSTANTIATE_TEST_SUITE_P(large, StoreKill,
                         testing::Values("blocked-bloom:keys=100000,canonical=yes,seed=2",
                                         "rotating-bloom:keys=500,window=30d,seed=12"),
                         SpecNames{});

// ---- several threads

struct ThreadReport {
  std::uint32_t thread;
  std::uint32_t batch;
};

constexpr std::uint32_t kThreads = 4;

std::vector<std::string> keys_of(std::uint32_t life, std::uint32_t thread, std::uint32_t batch) {
  constexpr std::uint32_t kKeys = 25;
  std::vector<std::string> keys;
  for (std::uint32_t i = 0; i < kKeys; ++i) {
    keys.push_back(std::to_string(life) + "/" + std::to_string(thread) + "/" + std::to_string(batch) + "/" +
                   std::to_string(i));
  }
  return keys;
}

std::size_t count_found(const AnyFilter& filter, const std::vector<std::string>& keys) {
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  Flags found(keys.size());
  filter.may_contain(views, found.span());
  return static_cast<std::size_t>(std::ranges::count(found.span(), true));
}

void insert_until_killed(Store& store, std::uint32_t life, std::uint32_t thread, const Reports<ThreadReport>& reports) {
  constexpr std::uint32_t kMostBatches = 2000;
  for (std::uint32_t batch = 0; batch < kMostBatches; ++batch) {
    const auto keys = keys_of(life, thread, batch);
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    store.insert(views).value();
    reports.send({.thread = thread, .batch = batch});
  }
}

void share_until_killed(const std::string& path, const StoreOptions& options, std::uint32_t life,
                        const Reports<ThreadReport>& reports) {
  Store store = Store::open(path, options).value();
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] { insert_until_killed(store, life, thread, reports); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST_F(StoreKill, threads_that_share_a_store_lose_nothing_that_one_of_them_was_told) {
  Store::create(path(), filter_of("scalable-bloom:keys=1000,fpr=1e-9,seed=1")).value().close().value();
  Random random(2);
  std::vector<ThreadReport> all;
  for (int life = 0; life < rounds(); ++life) {
    const auto number = static_cast<std::uint32_t>(life);
    const StoreOptions options = options_of(random);
    const auto sent = life_of<ThreadReport>(
        [&](const Reports<ThreadReport>& reports) { share_until_killed(path(), options, number, reports); },
        random.below(150), std::chrono::microseconds(random.below(3000)));
    const auto filter = open_filter(path(), Access::query);
    ASSERT_TRUE(filter.has_value()) << filter.error().message();
    for (const ThreadReport& report : sent) {
      const auto keys = keys_of(number, report.thread, report.batch);
      ASSERT_EQ(count_found(*filter, keys), keys.size()) << "life " << life;
    }
    all.insert(all.end(), sent.begin(), sent.end());
  }
  std::cout << "    " << rounds() << " deaths, " << all.size() << " batches\n";
  EXPECT_FALSE(all.empty());
}

}  // namespace
}  // namespace mankai::test
