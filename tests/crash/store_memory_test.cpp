// Goal: where memory ends, a store loses nothing that was acknowledged, says so, and goes on or refuses changes.
// Method: each allocation of a call finds no memory, one after the other; then the file is opened again.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "mankai/filter/spec.hpp"
#include "mankai/store/store.hpp"
#include "tests/support/failing_memory.hpp"

namespace mankai::test {
namespace {

constexpr std::array<std::string_view, 3> kKnown = {"a", "b", "c"};
constexpr std::array<std::string_view, 1> kNew = {"d"};

class StoreMemory : public testing::TestWithParam<const char*> {
 protected:
  StoreMemory() : folder_(std::filesystem::temp_directory_path() / ("mankai-memory-" + std::to_string(::getpid()))) {}
  ~StoreMemory() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path() const { return folder_ / "filter.mk"; }

  // Without threads, which would allocate meanwhile. A growing kind has several parts.
  [[nodiscard]] Store make() const {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    StoreOptions options{.durability = Durability::never};
    options.checkpoint_interval = Duration::zero();
    Store store = Store::create(path(), create_filter(*parse_spec(GetParam())).value(), options).value();
    EXPECT_TRUE(store.insert(kKnown));
    return store;
  }

  // Calls `step` on new stores until memory suffices. `check` gets the store after each call that found none.
  void fail_each_allocation(const std::function<Result<void>(Store&)>& step, const std::function<void(Store&)>& check,
                            bool may_clear = false) const {
    for (int allocation = 0;; ++allocation) {
      SCOPED_TRACE("allocation " + std::to_string(allocation));
      {
        Store store = make();
        failing_allocation = allocation;
        std::optional<Result<void>> done;
        try {
          done = step(store);
        } catch (const std::bad_alloc&) {
          done.reset();
        }
        if (failing_allocation) {
          failing_allocation.reset();
          EXPECT_TRUE(done && done->has_value());
          EXPECT_GT(allocation, 0);
          return;
        }
        check(store);
      }
      const Store again = Store::open(path()).value();
      const auto found =
          std::ranges::count_if(kKnown, [&](std::string_view key) { return again.filter().may_contain(key); });
      EXPECT_TRUE(found == std::ssize(kKnown) || (may_clear && found == 0)) << found;
    }
  }

  std::filesystem::path folder_;
};

TEST_P(StoreMemory, checkpoints) {
  fail_each_allocation([](Store& store) { return store.checkpoint(); },
                       [](Store& store) {
                         EXPECT_TRUE(store.insert(kNew));
                         EXPECT_TRUE(store.checkpoint());
                       });
}

TEST_P(StoreMemory, a_second_close_returns_what_the_first_did) {
  fail_each_allocation(
      [](Store& store) { return store.close(); },
      [this](Store& store) { EXPECT_EQ(store.close().has_value(), !std::filesystem::exists(path() + "-journal")); });
}

TEST_P(StoreMemory, a_destructor_ends_nothing) {
  fail_each_allocation(
      [](Store& store) -> Result<void> {
        const Store destroyed = std::move(store);
        return {};
      },
      [](Store&) {});
}

// The file has the filter of before, so changes of the cleared one must not follow it.
TEST_P(StoreMemory, a_filter_that_is_cleared_in_memory_only_refuses_changes) {
  fail_each_allocation([](Store& store) { return store.clear(); },
                       [](Store& store) {
                         if (!store.filter().may_contain(kKnown[0])) {
                           EXPECT_FALSE(store.insert(kNew));
                         }
                       },
                       true);
}

INSTANTIATE_TEST_SUITE_P(Kinds, StoreMemory,
                         testing::Values("blocked-bloom:keys=1000", "scalable-bloom:keys=2", "recent-values:keys=100"));

}  // namespace
}  // namespace mankai::test
