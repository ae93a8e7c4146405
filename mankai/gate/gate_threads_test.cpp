// Goal: what the gate promises, with threads that ask, query and report beside one that commits and applies; and no
// data race, which the thread sanitizer's build of this test looks for. Method: a table of atomic counts. A key is
// `settled` from the moment at which its insertion was applied until just before its erasure is committed: who finds it
// settled under the same number before and after a question must not have been told "empty".

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "mankai/gate/gate.hpp"
#include "tests/support/random.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai {
namespace {

constexpr std::size_t kSharedKeys = 64;
constexpr std::uint64_t kTransactions = 4000;
constexpr unsigned kAskers = 3;

struct Row {
  std::atomic<bool> is_in_table{false};
  std::atomic<std::uint64_t> settled{0};  // odd while it is
};

struct World {
  Gate gate;
  std::array<Row, kSharedKeys> rows;
  std::vector<std::string> names;
  std::atomic<std::uint64_t> position{0};
  std::atomic<bool> is_over{false};
  std::atomic<std::uint64_t> lost{0};
  std::atomic<std::uint64_t> checked{0};
};

void toggle(World& world, std::size_t key, std::uint64_t position) {
  Row& row = world.rows[key];
  const std::string_view name = world.names[key];
  if (row.is_in_table.load()) {
    ++row.settled;
    row.is_in_table = false;
    ASSERT_TRUE(world.gate.apply({.erased = {&name, 1}}, position));
  } else {
    row.is_in_table = true;
    world.position = position;
    ASSERT_TRUE(world.gate.apply({.inserted = {&name, 1}}, position));
    ++row.settled;
  }
}

// The shop's own write, applied without a stream, in the order that a Hold makes safe: applied after a while.
void insert_under_hold(World& world, std::size_t key, std::uint64_t position) {
  Row& row = world.rows[key];
  const std::string_view name = world.names[key];
  const Gate::Hold hold(world.gate, name);
  row.is_in_table = true;
  ++row.settled;
  ASSERT_TRUE(world.gate.apply({.inserted = {&name, 1}}, position));
}

void truncate(World& world, std::uint64_t position) {
  for (Row& row : world.rows) {
    if (row.is_in_table.load()) {
      ++row.settled;
      row.is_in_table = false;
    }
  }
  ASSERT_TRUE(world.gate.apply({.clears = true}, position));
}

void write(World& world) {
  test::Random random(1);
  // Until enough was asked at the right time, however the threads are run.
  for (std::uint64_t i = 1; i <= kTransactions || world.checked.load() < kTransactions; ++i) {
    const std::size_t key = random.below(kSharedKeys);
    if (random.below(200) == 0) {
      truncate(world, i);
    } else if (!world.rows[key].is_in_table.load() && random.below(2) == 0) {
      insert_under_hold(world, key, i);
    } else {
      toggle(world, key, i);
    }
  }
  world.is_over = true;
}

void ask(World& world, std::uint64_t seed) {
  test::Random random(seed);
  while (!world.is_over.load()) {
    const std::size_t key = random.below(kSharedKeys);
    Row& row = world.rows[key];
    const std::uint64_t before = row.settled.load();
    const GateAnswer answer = random.below(4) == 0 ? world.gate.maybe(world.names[key], world.position.load())
                                                   : world.gate.maybe(world.names[key]);
    if (before % 2 == 1 && row.settled.load() == before) {
      ++world.checked;
      world.lost += answer ? 0 : 1;
    }
    if (answer && !row.is_in_table.load()) {
      world.gate.report_false_positive(world.names[key], answer);
    }
  }
}

TEST(GateThreads, nobody_is_told_that_a_settled_row_is_not_there) {
  // A rate at which most absent keys are false positives, and lines of the memo that many keys share.
  World world{.gate = *Gate::create({.keys = kSharedKeys / 4, .fpr = 0.3, .seed = std::array<std::uint64_t, 2>{3, 4}},
                                    {.memo_bytes = 512}),
              .rows = {},
              .names = {}};
  for (std::size_t i = 0; i < kSharedKeys; ++i) {
    world.names.push_back("cookie " + std::to_string(i));
  }
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < kAskers; ++i) {
      threads.emplace_back([&world, i] { ask(world, i + 2); });
    }
    threads.emplace_back([&world] { write(world); });
  }
  EXPECT_EQ(world.lost.load(), 0U) << "of " << world.checked.load();
  EXPECT_EQ(world.gate.missed_erasures(), 0U);
  const GateCounts counts = world.gate.counts();
  EXPECT_EQ(counts.asked, counts.empty + counts.maybe);
}

// Goal: the same beside a gate in a file, whose store journals and checkpoints meanwhile; the file has everything.
TEST(GateThreads, questions_beside_a_file_that_is_checkpointed) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("gate.mk");
  ASSERT_TRUE(Gate::create({.keys = 1000})->save(path));
  GateOptions options;
  options.store.checkpoint_bytes = 4096;
  {
    auto gate = Gate::open(path, options);
    std::atomic<std::uint64_t> applied{0};
    std::atomic<std::uint64_t> lost{0};
    std::jthread asker([&] {
      test::Random random(5);
      for (std::uint64_t known = 0; known < 1000; known = applied.load()) {
        if (known > 0 && !gate->maybe("key " + std::to_string(1 + random.below(known)))) {
          ++lost;
        }
      }
    });
    for (std::uint64_t i = 1; i <= 1000; ++i) {
      const std::string key = "key " + std::to_string(i);
      const std::string_view view = key;
      EXPECT_TRUE(gate->apply({.inserted = {&view, 1}}, i));
      applied = i;
    }
    asker.join();
    EXPECT_EQ(lost.load(), 0U);
    ASSERT_TRUE(gate->close());
  }
  EXPECT_EQ(Gate::open(path)->facts().keys, 1000U);
}

}  // namespace
}  // namespace mankai
