// Goal: where memory ends, a store loses nothing that was acknowledged, says so, and goes on or refuses changes.
// Method: each allocation of a call finds no memory, one after the other; then the file is opened again.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <iterator>
#include <new>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "mankai/filter/spec.hpp"
#include "mankai/store/shared_filter.hpp"
#include "mankai/store/store.hpp"
#include "tests/support/failing_memory.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai::test {
namespace {

constexpr std::array<std::string_view, 3> kKnown = {"a", "b", "c"};
constexpr std::array<std::string_view, 1> kNew = {"d"};

struct Case {
  const char* spec;
  bool fails_on;

  friend void PrintTo(const Case& each, std::ostream* out) {
    *out << each.spec << (each.fails_on ? ", all that follow" : ", one");
  }
};

// What a filter's cells take, which may fail like any other allocation.
void* allocate_cells(void* /*context*/, std::size_t bytes) noexcept {
  if (failing_allocation && --*failing_allocation < 0) {
    if (!fails_on) {
      failing_allocation.reset();
    }
    return nullptr;
  }
  return system_memory().allocate(nullptr, bytes);
}

class StoreMemory : public testing::TestWithParam<Case> {
 protected:
  StoreMemory() { fails_on = GetParam().fails_on; }

  [[nodiscard]] std::string path() const { return folder_.file("filter.mk"); }

  // Without threads, which would allocate meanwhile.
  [[nodiscard]] static StoreOptions options() {
    StoreOptions options{.durability = Durability::never};
    options.checkpoint_interval = Duration::zero();
    options.memory.allocate = allocate_cells;
    return options;
  }
  [[nodiscard]] Store make() const {
    std::filesystem::remove_all(folder_.path());
    std::filesystem::create_directory(folder_.path());
    Store store = Store::create(path(), create_filter(*parse_spec(GetParam().spec)).value(), options()).value();
    EXPECT_TRUE(store.insert(kKnown));
    return store;
  }
  // Without a journal, until its first change.
  [[nodiscard]] Store reopened() const {
    EXPECT_TRUE(make().close());
    return Store::open(path(), options()).value();
  }

  // The files as they would be found if this process were killed now.
  [[nodiscard]] Store opened_copy() const {
    const std::filesystem::path copy = folder_.file("copy");
    std::filesystem::create_directory(copy);
    for (const std::string suffix : {"", "-journal"}) {
      if (std::filesystem::exists(path() + suffix)) {
        std::filesystem::copy_file(path() + suffix, copy / ("filter.mk" + suffix),
                                   std::filesystem::copy_options::overwrite_existing);
      }
    }
    return Store::open(copy / "filter.mk", options()).value();
  }
  [[nodiscard]] std::ptrdiff_t known_in_files() const {
    const Store store = opened_copy();
    return std::ranges::count_if(kKnown, [&](auto key) { return store.filter().may_contain(key); });
  }

  // Calls `step` on new stores until memory suffices. `check` gets the store after each call that found none.
  void fail_each_allocation(const std::function<Store()>& make, const std::function<Result<void>(Store&)>& step,
                            const std::function<void(Store&)>& check, bool may_clear = false) const {
    for (int allocation = 0;; ++allocation) {
      SCOPED_TRACE("allocation " + std::to_string(allocation));
      Store store = make();
      failing_allocation = allocation;
      std::optional<Result<void>> done;
      try {
        done = step(store);
      } catch (const std::bad_alloc&) {
        done.reset();
      }
      const bool has_failed = !failing_allocation || *failing_allocation < 0;
      failing_allocation.reset();
      if (!has_failed) {
        EXPECT_TRUE(done && done->has_value());
        EXPECT_GT(allocation, 0);
        return;
      }
      check(store);
      const std::ptrdiff_t known = known_in_files();
      EXPECT_TRUE(known == std::ssize(kKnown) || (may_clear && known == 0)) << known;
    }
  }

  TemporaryFolder folder_{files_in_memory()};
};

TEST_P(StoreMemory, the_first_change) {
  fail_each_allocation([this] { return reopened(); }, [](Store& store) { return store.insert(kNew); },
                       [](Store& store) { static_cast<void>(store.insert(kNew)); });
}

TEST_P(StoreMemory, a_change_whose_call_failed_is_not_found_later) {
  constexpr std::array<std::string_view, 9> kMany = {"1", "2", "3", "4", "5", "6", "7", "8", "9"};
  fail_each_allocation([this] { return make(); }, [&](Store& store) { return store.insert(kMany); },
                       [this](Store& store) { EXPECT_EQ(opened_copy().sequence(), store.sequence()); });
}

TEST_P(StoreMemory, checkpoints) {
  fail_each_allocation([this] { return make(); }, [](Store& store) { return store.checkpoint(); },
                       [](Store& store) {
                         EXPECT_TRUE(store.insert(kNew));
                         EXPECT_TRUE(store.checkpoint());
                       });
}

TEST_P(StoreMemory, a_second_close_returns_what_the_first_did) {
  fail_each_allocation(
      [this] { return make(); }, [](Store& store) { return store.close(); },
      [this](Store& store) { EXPECT_EQ(store.close().has_value(), !std::filesystem::exists(path() + "-journal")); });
}

TEST_P(StoreMemory, a_destructor_ends_nothing) {
  fail_each_allocation([this] { return make(); },
                       [](Store& store) -> Result<void> {
                         const Store destroyed = std::move(store);
                         return {};
                       },
                       [](Store&) {});
}

// The file has the filter of before, so changes of the cleared one must not follow it.
TEST_P(StoreMemory, a_filter_that_is_cleared_in_memory_only_refuses_changes) {
  fail_each_allocation([this] { return make(); }, [](Store& store) { return store.clear(); },
                       [](Store& store) {
                         if (!store.filter().may_contain(kKnown[0])) {
                           EXPECT_FALSE(store.insert(kNew));
                         }
                       },
                       true);
}

class SharedMemory : public StoreMemory {};

TEST_P(SharedMemory, a_shared_filter_is_closed_or_destroyed) {
  for (const bool closes : {true, false}) {
    bool has_failed = true;
    for (int allocation = 0; has_failed; ++allocation) {
      SCOPED_TRACE("allocation " + std::to_string(allocation));
      EXPECT_TRUE(make().close());
      std::optional<SharedFilter> shared(
          SharedFilter::open(path(), [] { return create_filter(*parse_spec(GetParam().spec)); }, options()).value());
      std::array<bool, 1> seen{};
      EXPECT_TRUE(shared->observe(kNew, seen));
      failing_allocation = allocation;
      bool is_closed = false;
      try {
        if (closes) {
          is_closed = shared->close().has_value();
        } else {
          shared.reset();
        }
      } catch (const std::bad_alloc&) {
        is_closed = false;
      }
      has_failed = !failing_allocation || *failing_allocation < 0;
      failing_allocation.reset();
      if (closes) {
        EXPECT_EQ(shared->close().has_value(), is_closed) << "a second close";
      }
      shared.reset();
      const SharedFilter again = SharedFilter::open(path(), [] { return create_filter({}); }, options()).value();
      EXPECT_TRUE(again.filter().may_contain(kNew[0]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, SharedMemory,
                         testing::Values(Case{"blocked-bloom:keys=1000", false},
                                         Case{"blocked-bloom:keys=1000", true}));
// A growing kind has several parts.
INSTANTIATE_TEST_SUITE_P(Kinds, StoreMemory,
                         testing::Values(Case{"blocked-bloom:keys=1000", false}, Case{"blocked-bloom:keys=1000", true},
                                         Case{"scalable-bloom:keys=2", false}, Case{"scalable-bloom:keys=2", true},
                                         Case{"recent-values:keys=100", false}));

}  // namespace
}  // namespace mankai::test
