#include <atomic>
#include <thread>

#include "mankai/c/c_test_support.hpp"

namespace mankai::c {
namespace {

/// Goal: any call from any thread on one handle. Method: two threads insert keys of their own, one clears and merges
/// another filter of its own, three ask; afterwards every key is there. Data races are the thread sanitizer's to find.
class CThreads : public testing::TestWithParam<std::string> {};

TEST_P(CThreads, any_thread_may_make_any_call) {
  constexpr std::size_t kEach = 3000;
  const Handle filter = create(GetParam() + ":keys=20000,seed=7");
  const Handle other = create(GetParam() + ":keys=20000,seed=7");
  const Keys first("first", kEach);
  const Keys second("second", kEach);
  std::atomic<bool> is_done = false;
  const auto insert = [&](const Keys& keys) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      EXPECT_EQ(mankai_insert_one(filter.get(), keys[i].data(), keys[i].size()), MANKAI_OK);
    }
  };
  const auto ask_often = [&] {
    while (!is_done) {
      mankai_info info{};
      info.size = sizeof(info);
      EXPECT_EQ(mankai_get_info(filter.get(), &info), MANKAI_OK);
      EXPECT_LE(count_of(filter.get(), first), first.size());
#ifndef __SANITIZE_THREAD__  // which sees a race where whole words are copied plainly (docs/adr/0004)
      void* image = nullptr;
      std::size_t bytes = 0;
      EXPECT_EQ(mankai_to_image(filter.get(), &image, &bytes), MANKAI_OK);
      mankai_free(image);
#endif
    }
  };
  const auto merge_both_ways = [&] {
    while (!is_done) {
      EXPECT_EQ(mankai_merge(other.get(), filter.get()), MANKAI_OK) << mankai_last_error();
      EXPECT_EQ(mankai_clear(other.get()), MANKAI_OK);
    }
  };
  {
    std::vector<std::jthread> asking;
    asking.emplace_back(ask_often);
    asking.emplace_back(ask_often);
    asking.emplace_back(merge_both_ways);
    {
      const std::jthread one([&] { insert(first); });
      const std::jthread two([&] { insert(second); });
      for (int times = 0; times < 20; ++times) {
        EXPECT_EQ(mankai_merge(filter.get(), other.get()), MANKAI_OK) << mankai_last_error();
      }
    }
    is_done = true;
  }
  EXPECT_EQ(count_of(filter.get(), first), first.size());
  EXPECT_EQ(count_of(filter.get(), second), second.size());
}

INSTANTIATE_TEST_SUITE_P(kinds, CThreads, testing::Values("blocked-bloom", "bloom", "time-decaying-counts"),
                         [](const auto& kind) {
                           std::string name = kind.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(CThreadsOfTwo, merges_in_opposite_directions_do_not_wait_for_each_other) {
  const Handle first = create("bloom:keys=1000,seed=7");
  const Handle second = create("bloom:keys=1000,seed=7");
  const auto merge_often = [](mankai_filter* into, const mankai_filter* from) {
    for (int times = 0; times < 2000; ++times) {
      EXPECT_EQ(mankai_merge(into, from), MANKAI_OK);
    }
  };
  const std::jthread one([&] { merge_often(first.get(), second.get()); });
  const std::jthread two([&] { merge_often(second.get(), first.get()); });
}

}  // namespace
}  // namespace mankai::c
