// Goal: whatever the order of commits, their application, questions, queries and reports, a question is answered as of
// some moment between the position that is applied and now: "empty" only if the key was not in the table at one of
// these moments; and nothing is "empty" before the position that a question names is applied. Method: schedules drawn
// at random over a filter and a memo so small that every absent key soon is a false positive and every key meets others
// in the memo's one line; beside them the table itself, exact, at each of these moments.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "mankai/gate/gate.hpp"
#include "tests/support/random.hpp"

namespace mankai {
namespace {

constexpr std::size_t kKeys = 24;

using Table = std::array<int, kKeys>;

struct Transaction {
  bool clears = false;
  std::vector<std::size_t> inserted = {};
  std::vector<std::size_t> erased = {};
  std::uint64_t position = 0;
};

struct Shopper {
  std::size_t key;
  GateAnswer answer;
  std::optional<bool> found;  // once the query was made
};

class Schedule {
 public:
  Schedule(std::uint64_t seed, std::size_t memo_bytes)
      : random_(seed),
        gate_(*Gate::create({.keys = kKeys / 4, .fpr = 0.3, .seed = std::array<std::uint64_t, 2>{seed, 1}},
                            {.memo_bytes = memo_bytes})) {
    for (std::size_t i = 0; i < kKeys; ++i) {
      names_.push_back("cookie " + std::to_string(i));
    }
  }

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      step();
    }
  }

  [[nodiscard]] const Gate& gate() const { return gate_; }

 private:
  void step() {
    const std::uint64_t drawn = random_.below(100);
    if (drawn < 8) {
      commit();
    } else if (drawn < 16) {
      apply();
    } else if (drawn < 60) {
      ask();
    } else if (drawn < 80) {
      query();
    } else {
      report();
    }
  }

  void commit() {
    Transaction transaction{.clears = random_.below(60) == 0};
    if (transaction.clears) {
      committed_.fill(0);
    }
    for (std::uint64_t changes = 1 + random_.below(3); changes > 0; --changes) {
      const std::size_t key = random_.below(kKeys);
      // Half of the table empty at any time, and none so often that its counters stick.
      if (committed_[key] > 0 && random_.below(4) > 0) {
        --committed_[key];
        transaction.erased.push_back(key);
      } else if (committed_[key] < 3) {
        ++committed_[key];
        transaction.inserted.push_back(key);
      }
    }
    transaction.position = ++position_;
    log_.push_back(std::move(transaction));
  }

  void apply() {
    if (log_.empty()) {
      return;
    }
    const Transaction transaction = std::move(log_.front());
    log_.pop_front();
    if (transaction.clears) {
      applied_.fill(0);
    }
    std::vector<std::string_view> inserted;
    std::vector<std::string_view> erased;
    for (const std::size_t key : transaction.inserted) {
      inserted.push_back(names_[key]);
      ++applied_[key];
    }
    for (const std::size_t key : transaction.erased) {
      erased.push_back(names_[key]);
      --applied_[key];
    }
    ASSERT_TRUE(
        gate_.apply({.clears = transaction.clears, .inserted = inserted, .erased = erased}, transaction.position));
    EXPECT_EQ(gate_.missed_erasures(), 0U);
    for (std::size_t key = 0; key < kKeys; ++key) {
      check(key, 0, gate_.maybe(names_[key]));
    }
  }

  void check(std::size_t key, std::uint64_t after, const GateAnswer& answer) const {
    EXPECT_TRUE(answer || may_be_absent(key)) << names_[key] << " was lost at " << position_;
    EXPECT_TRUE(answer || after <= gate_.position().value_or(0)) << names_[key] << " was answered too early";
  }

  // Whether there is such a moment.
  [[nodiscard]] bool may_be_absent(std::size_t key) const {
    auto count = static_cast<std::ptrdiff_t>(applied_[key]);
    for (auto next = log_.begin(); count > 0 && next != log_.end(); ++next) {
      count =
          (next->clears ? 0 : count) + std::ranges::count(next->inserted, key) - std::ranges::count(next->erased, key);
    }
    return count == 0;
  }

  void ask() {
    const std::size_t key = random_.below(kKeys);
    const std::uint64_t after = random_.below(2) * random_.below(position_ + 1);
    const GateAnswer answer = gate_.maybe(names_[key], after);
    check(key, after, answer);
    if (answer) {
      shoppers_.push_back({key, answer, std::nullopt});
    }
  }

  void query() {
    if (!shoppers_.empty()) {
      Shopper& shopper = shoppers_[random_.below(shoppers_.size())];
      shopper.found = shopper.found.value_or(committed_[shopper.key] > 0);
    }
  }

  void report() {
    if (shoppers_.empty()) {
      return;
    }
    const auto at = shoppers_.begin() + static_cast<std::ptrdiff_t>(random_.below(shoppers_.size()));
    if (at->found && !*at->found) {
      gate_.report_false_positive(names_[at->key], at->answer);
    }
    if (at->found) {
      shoppers_.erase(at);
    }
  }

  test::Random random_;
  Gate gate_;
  std::vector<std::string> names_;
  Table committed_{};
  Table applied_{};
  std::uint64_t position_ = 0;
  std::deque<Transaction> log_;
  std::vector<Shopper> shoppers_;
};

TEST(GateModel, no_schedule_loses_a_key_that_is_in_the_table) {
  GateCounts sum;
  for (std::uint64_t seed = 1; seed <= 300 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Schedule schedule(seed, seed % 2 == 0 ? 64 : 1024);
    schedule.run(1000);
    sum.memo_hits += schedule.gate().counts().memo_hits;
    sum.late_reports += schedule.gate().counts().late_reports;
    sum.waiting += schedule.gate().counts().waiting;
  }
  // The schedules went where it matters.
  EXPECT_GT(sum.memo_hits, 1000U);
  EXPECT_GT(sum.late_reports, 1000U);
  EXPECT_GT(sum.waiting, 1000U);
}

}  // namespace
}  // namespace mankai
