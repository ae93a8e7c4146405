#include "mankai/durable/filter_pool.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "mankai/filter/fading_fingerprints/fading_fingerprints.hpp"
#include "tests/support/filter_kinds.hpp"
#include "tests/support/random.hpp"

namespace mankai {
namespace {

namespace fs = std::filesystem;
using test::Random;
using Bytes = std::vector<std::byte>;

class FilterPoolTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "mankai-pool-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string path() const { return (folder_ / "filters.pool").string(); }

  static FadingFingerprints filter() { return FadingFingerprints::create({.slots = 128, .hash = test::kXxh3}).value(); }
  /// A filter that no other id has.
  static Bytes image_of(std::uint64_t number) {
    auto made = filter();
    for (const Digest digest : Random(number).digests(20)) {
      made.insert(digest);
    }
    return made.to_bytes();
  }
  [[nodiscard]] FilterPool create() const { return FilterPool::create(path(), filter().to_bytes()).value(); }
  [[nodiscard]] FilterPool open(FilterPool::Mode mode = FilterPool::Mode::write) const {
    auto pool = FilterPool::open(path(), mode);
    EXPECT_TRUE(pool.has_value()) << pool.error().message();
    return std::move(*pool);
  }
  static Bytes get(const FilterPool& pool, std::uint64_t id) {
    Bytes image(pool.image_bytes());
    const auto got = pool.get(id, image);
    EXPECT_TRUE(got.has_value()) << got.error().message();
    return image;
  }
  static ErrorCode error_of(const FilterPool& pool, std::uint64_t id) {
    Bytes image(pool.image_bytes());
    const auto got = pool.get(id, image);
    EXPECT_TRUE(got.has_value() || !got.error().detail.empty());
    return got ? ErrorCode{} : got.error().code;
  }
  void flip(std::uint64_t offset) const {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(offset)).put(static_cast<char>(byte ^ 16));
  }

 private:
  fs::path folder_;
};

TEST_F(FilterPoolTest, filters_come_back_and_outlive_a_close) {
  {
    auto pool = create();
    EXPECT_EQ(pool.size(), 0U);
    EXPECT_EQ(error_of(pool, 1), ErrorCode::not_found);
    for (std::uint64_t id = 0; id < 1000; ++id) {
      ASSERT_TRUE(pool.put(id * 77, image_of(id)).has_value());
    }
  }
  for (const auto mode : {FilterPool::Mode::read, FilterPool::Mode::write}) {
    const auto pool = open(mode);
    EXPECT_EQ(pool.size(), 1000U);
    EXPECT_EQ(pool.damaged(), 0U);
    for (std::uint64_t id = 0; id < 1000; ++id) {
      ASSERT_EQ(get(pool, id * 77), image_of(id));
      ASSERT_EQ(error_of(pool, id * 77 + 1), ErrorCode::not_found);
    }
  }
}

// Goal: whatever the order of operations, closes included, the pool is the map.
TEST_F(FilterPoolTest, random_operations_agree_with_a_map) {
  std::unordered_map<std::uint64_t, Bytes> model;
  auto pool = std::make_unique<FilterPool>(create());
  Random random(1);
  std::size_t most = 0;
  for (int step = 0; step < 20'000; ++step) {
    const std::uint64_t id = random.below(300) * random.below(2) * (std::uint64_t{1} << 33) + random.below(200);
    switch (random.below(8)) {
      case 0:
      case 1: ASSERT_EQ(pool->erase(id), model.erase(id) != 0); break;
      case 2:
        if (random.below(200) == 0) {
          pool.reset();
          pool = std::make_unique<FilterPool>(open());
        }
        break;
      case 3: {
        const Bytes image = image_of(random.below(50));
        ASSERT_TRUE(pool->put(id, image).has_value());
        model[id] = image;
        break;
      }
      case 4: {
        auto made = filter();
        made.insert(random.digest());
        ASSERT_TRUE(pool->put(id, made).has_value());
        model[id] = made.to_bytes();
        break;
      }
      default:
        if (model.contains(id)) {
          ASSERT_EQ(get(*pool, id), model[id]);
        } else {
          ASSERT_EQ(error_of(*pool, id), ErrorCode::not_found);
        }
    }
    ASSERT_EQ(pool->size(), model.size());
    most = std::max(most, model.size());
  }
  std::map<std::uint64_t, int> seen;
  pool->for_each_id([&](std::uint64_t id) { ++seen[id]; });
  EXPECT_EQ(seen.size(), model.size());
  for (const auto& [id, times] : seen) {
    EXPECT_EQ(times, 1);
    EXPECT_TRUE(model.contains(id));
  }
  // Slots of erased filters are used again.
  EXPECT_LT(pool->file_bytes(), 4096U + (most * 9 / 8 + 64) * pool_slot_bytes(pool->image_bytes()) + 4096U);
}

TEST_F(FilterPoolTest, a_filter_can_be_changed_where_it_stands) {
  auto pool = create();
  ASSERT_TRUE(pool.put(5, filter()).has_value());
  auto bytes = pool.view(5);
  ASSERT_TRUE(bytes.has_value());
  auto standing = FadingFingerprints::attach(*bytes).value();
  standing.insert(Digest{123456789});
  EXPECT_EQ(pool.reseal(5).error().code, ErrorCode::corrupt) << "not sealed";
  static_cast<void>(standing.seal());
  EXPECT_EQ(error_of(pool, 5), ErrorCode::corrupt) << "sealed, but not accepted";
  ASSERT_TRUE(pool.reseal(5).has_value());
  const auto copy = FadingFingerprints::from_bytes(get(pool, 5));
  ASSERT_TRUE(copy.has_value());
  EXPECT_TRUE(copy->may_contain(Digest{123456789}));
  EXPECT_EQ(pool.view(6).error().code, ErrorCode::not_found);
  EXPECT_EQ(pool.reseal(6).error().code, ErrorCode::not_found);
}

TEST_F(FilterPoolTest, filters_that_are_not_alike_are_refused) {
  auto pool = create();
  const auto refused = [&](const FilterBase& other) {
    return !pool.put(1, other) && pool.put(1, other.to_bytes()).error().code == ErrorCode::invalid_argument;
  };
  EXPECT_TRUE(refused(FadingFingerprints::create({.slots = 127, .hash = test::kXxh3}).value()));
  EXPECT_TRUE(refused(FadingFingerprints::create({.slots = 128, .hash = test::kSiphash}).value()));
  EXPECT_TRUE(refused(FadingFingerprints::create({.slots = 1280, .hash = test::kXxh3}).value()));
  EXPECT_TRUE(refused(BlockedBloom::create({.keys = 100, .hash = test::kXxh3}).value()));
  EXPECT_EQ(pool.put(1, Bytes(3)).error().code, ErrorCode::invalid_argument);
  Bytes damaged = image_of(1);
  damaged[200] ^= std::byte{1};
  EXPECT_EQ(pool.put(1, damaged).error().code, ErrorCode::corrupt);
  EXPECT_EQ(pool.size(), 0U);
}

TEST_F(FilterPoolTest, a_second_writer_is_kept_away_and_readers_are_not) {
  auto pool = create();
  ASSERT_TRUE(pool.put(1, image_of(1)).has_value());
  EXPECT_EQ(FilterPool::open(path(), FilterPool::Mode::write).error().code, ErrorCode::locked);
  EXPECT_EQ(FilterPool::create(path(), filter().to_bytes()).error().code, ErrorCode::invalid_argument);
  const auto reader = open(FilterPool::Mode::read);
  EXPECT_EQ(get(reader, 1), image_of(1));
  // What is put later is seen where it was there when the reader came.
  ASSERT_TRUE(pool.put(1, image_of(2)).has_value());
  ASSERT_TRUE(pool.put(9, image_of(9)).has_value());
  EXPECT_EQ(get(reader, 1), image_of(2));
  EXPECT_EQ(error_of(reader, 9), ErrorCode::not_found);
  ASSERT_TRUE(pool.erase(1));
  EXPECT_EQ(error_of(reader, 1), ErrorCode::corrupt);
}

// Each byte of a small pool in turn: every filter is its own bytes, or corrupt, or, where its id is hit, the pool says
// of it and of every id that is not there that something is gone. Never a wrong answer.
TEST_F(FilterPoolTest, no_changed_byte_gives_a_wrong_answer) {
  {
    auto pool = create();
    for (std::uint64_t id = 0; id < 3; ++id) {
      ASSERT_TRUE(pool.put(id, image_of(id)).has_value());
    }
  }
  const std::uint64_t first = pool_first_slot(filter().image_bytes());
  const std::uint64_t end = first + 3 * pool_slot_bytes(filter().image_bytes());
  std::uint64_t refused = 0;
  for (std::uint64_t offset = 0; offset < end; offset = offset == 500 ? first : offset + 1) {
    flip(offset);
    const auto opened = FilterPool::open(path(), FilterPool::Mode::read);
    if (!opened) {
      ++refused;
      EXPECT_TRUE(opened.error().code == ErrorCode::corrupt || opened.error().code == ErrorCode::unsupported_version);
      EXPECT_NE(opened.error().detail.find(path()), std::string::npos);
    } else {
      for (std::uint64_t id = 0; id < 3; ++id) {
        Bytes image(opened->image_bytes());
        const auto got = opened->get(id, image);
        ASSERT_TRUE(got ? image == image_of(id) : got.error().code == ErrorCode::corrupt) << offset;
      }
      ASSERT_TRUE(error_of(*opened, 99) == ErrorCode::not_found || opened->damaged() != 0) << offset;
    }
    flip(offset);
  }
  EXPECT_GT(refused, 64U + filter().image_bytes() - 1) << "the header and the prototype";
}

TEST_F(FilterPoolTest, filters_lost_from_a_well_closed_file_are_missed) {
  {
    auto pool = create();
    for (std::uint64_t id = 0; id < 100; ++id) {
      ASSERT_TRUE(pool.put(id, image_of(id)).has_value());
    }
  }
  fs::resize_file(path(), pool_first_slot(filter().image_bytes()) + 40 * pool_slot_bytes(filter().image_bytes()) + 7);
  auto pool = open();
  EXPECT_EQ(pool.size(), 40U);
  EXPECT_EQ(pool.damaged(), 60U);
  EXPECT_EQ(get(pool, 39), image_of(39));
  EXPECT_EQ(error_of(pool, 40), ErrorCode::corrupt);
  ASSERT_TRUE(pool.put(40, image_of(40)).has_value());
  pool.forget_damaged();
  EXPECT_EQ(error_of(pool, 41), ErrorCode::not_found);
  EXPECT_EQ(get(pool, 40), image_of(40));
}

// The damage stays known over a close, and goes when it is given up.
TEST_F(FilterPoolTest, a_damaged_id_is_not_forgotten_until_it_is_given_up) {
  {
    auto pool = create();
    ASSERT_TRUE(pool.put(7, image_of(7)).has_value());
    ASSERT_TRUE(pool.put(8, image_of(8)).has_value());
  }
  flip(pool_first_slot(filter().image_bytes()) + pool_slot_bytes(filter().image_bytes()) - sizeof(PoolTail));
  for (int i = 0; i < 2; ++i) {
    const auto pool = open();
    EXPECT_EQ(pool.damaged(), 1U);
    EXPECT_EQ(error_of(pool, 7), ErrorCode::corrupt);
    EXPECT_EQ(get(pool, 8), image_of(8));
  }
  open().forget_damaged();
  const auto pool = open();
  EXPECT_EQ(pool.damaged(), 0U);
  EXPECT_EQ(error_of(pool, 7), ErrorCode::not_found);
}

TEST_F(FilterPoolTest, what_is_no_pool_is_refused) {
  const auto code = [&] { return FilterPool::open(path(), FilterPool::Mode::read).error().code; };
  EXPECT_EQ(code(), ErrorCode::not_found);
  std::ofstream(path()).flush();
  EXPECT_EQ(code(), ErrorCode::corrupt);
  std::ofstream(path()) << std::string(10'000, 'a');
  EXPECT_EQ(code(), ErrorCode::corrupt);
  fs::remove(path());
  static_cast<void>(create());
  for (const std::uintmax_t size : {1U, 64U, 128U, 300U, 4095U}) {
    fs::resize_file(path(), size);
    EXPECT_EQ(code(), ErrorCode::corrupt) << size;
  }
  EXPECT_EQ(FilterPool::create(path() + "2", Bytes(100)).error().code, ErrorCode::corrupt);
}

// Goal: a writer killed at any moment leaves every filter as it was before or after some put of it, or corrupt.
// Method: a child puts one of two images to each of 50 ids for ever; it is killed after growing times.
TEST_F(FilterPoolTest, a_killed_writer_leaves_earlier_or_later_filters) {
  const Bytes images[] = {image_of(1), image_of(2)};
  {
    auto pool = create();
    for (std::uint64_t id = 0; id < 50; ++id) {
      ASSERT_TRUE(pool.put(id, images[0]));
    }
  }
  for (useconds_t delay = 2000; delay < 30'000; delay += 2000) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto pool = open();
      for (std::uint64_t i = 0;; ++i) {
        static_cast<void>(pool.put(i % 50, images[i / 50 % 2]));
      }
    }
    ::usleep(delay);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    auto pool = open();
    EXPECT_EQ(pool.damaged(), 0U);
    int torn = 0;
    for (std::uint64_t id = 0; id < 50; ++id) {
      Bytes image(pool.image_bytes());
      const auto got = pool.get(id, image);
      ASSERT_TRUE(got ? image == images[0] || image == images[1] : got.error().code == ErrorCode::corrupt);
      torn += got ? 0 : 1;
      ASSERT_TRUE(pool.put(id, images[0]));
    }
    EXPECT_LE(torn, 1) << "only the filter that was being put";
  }
}

}  // namespace
}  // namespace mankai
