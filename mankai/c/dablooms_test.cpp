#include "mankai/c/dablooms.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "mankai/filter/any_filter.hpp"
#include "mankai/store/dablooms_import.hpp"
#include "mankai/store/filter_file.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/dablooms_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai::c {
namespace {

struct Free {
  void operator()(counting_bloom_t* bloom) const noexcept { EXPECT_EQ(free_counting_bloom(bloom), 0); }
  void operator()(scaling_bloom_t* bloom) const noexcept { EXPECT_EQ(free_scaling_bloom(bloom), 0); }
};
using Counting = std::unique_ptr<counting_bloom_t, Free>;
using Scaling = std::unique_ptr<scaling_bloom_t, Free>;

std::string key_of(std::uint64_t number) { return "http://example.org/" + std::to_string(number); }
std::string absent_key_of(std::uint64_t number) { return "http://example.net/" + std::to_string(number); }

int add(const Scaling& bloom, const std::string& key, std::uint64_t id) {
  return scaling_bloom_add(bloom.get(), key.data(), key.size(), id);
}
int remove(const Scaling& bloom, const std::string& key, std::uint64_t id) {
  return scaling_bloom_remove(bloom.get(), key.data(), key.size(), id);
}
bool check(const Scaling& bloom, const std::string& key) {
  return scaling_bloom_check(bloom.get(), key.data(), key.size()) == 1;
}
int add(const Counting& bloom, const std::string& key) {
  return counting_bloom_add(bloom.get(), key.data(), key.size());
}
int remove(const Counting& bloom, const std::string& key) {
  return counting_bloom_remove(bloom.get(), key.data(), key.size());
}
bool check(const Counting& bloom, const std::string& key) {
  return counting_bloom_check(bloom.get(), key.data(), key.size()) == 1;
}

template <class Bloom>
std::uint64_t missing(const Bloom& bloom, std::uint64_t from, std::uint64_t to) {
  std::uint64_t lost = 0;
  for (std::uint64_t i = from; i < to; ++i) {
    lost += check(bloom, key_of(i)) ? 0 : 1;
  }
  return lost;
}

// So many of `trials` events of probability `p` come as good as never: six standard deviations above the mean.
double hardly_more_than(double trials, double p) { return trials * p + 6 * std::sqrt(trials * p) + 1; }

class Dablooms : public testing::Test {
 protected:
  static constexpr unsigned kCapacity = 1000;
  static constexpr double kRate = 0.01;

  Scaling make(unsigned capacity = kCapacity) {
    Scaling bloom(new_scaling_bloom(capacity, kRate, path_.c_str()));
    EXPECT_NE(bloom, nullptr);
    return bloom;
  }
  Scaling open(unsigned capacity = kCapacity) {
    return Scaling(new_scaling_bloom_from_file(capacity, kRate, path_.c_str()));
  }
  Scaling make_with(std::uint64_t keys) {
    Scaling bloom = make();
    for (std::uint64_t i = 0; i < keys; ++i) {
      EXPECT_EQ(add(bloom, key_of(i), i), 1);
    }
    return bloom;
  }

  // Writes over a part of the file.
  void overwrite(std::uint64_t offset, const std::string& bytes) const {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  // Opening is refused, with this errno and these words on stderr.
  void expect_refused(int error, const std::string& words, unsigned capacity = kCapacity, double rate = kRate) const {
    testing::internal::CaptureStderr();
    errno = 0;
    scaling_bloom_t* bloom = new_scaling_bloom_from_file(capacity, rate, path_.c_str());
    const int seen = errno;
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(bloom, nullptr);
    EXPECT_EQ(seen, error) << said;
    EXPECT_NE(said.find(words), std::string::npos) << said;
    EXPECT_NE(said.find(path_), std::string::npos) << said;
  }

  // Of the filter; behind it are its footer's two copies, of which one may be lost.
  std::uint64_t image_bytes() const { return inspect_store(path_)->filter.image_bytes(); }

  test::TemporaryFolder folder_;
  std::string path_ = folder_.file("bloom.bin");
};

TEST_F(Dablooms, version_is_that_of_the_interface) { EXPECT_STREQ(dablooms_version(), "0.9.1"); }

TEST_F(Dablooms, a_scaling_bloom_keeps_its_keys_over_growth_removal_and_reopening) {
  constexpr std::uint64_t kKeys = 20'000;
  {
    const Scaling bloom = make_with(kKeys);
    EXPECT_GT(bloom->num_blooms, 1U);
    EXPECT_EQ(missing(bloom, 0, kKeys), 0U);
    for (std::uint64_t i = 0; i < kKeys; i += 5) {
      EXPECT_EQ(remove(bloom, key_of(i), i), 1);
    }
  }
  const Scaling bloom = open();
  ASSERT_NE(bloom, nullptr);
  std::uint64_t false_positives = 0;
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    if (i % 5 == 0) {
      false_positives += check(bloom, key_of(i)) ? 1 : 0;
    } else {
      EXPECT_TRUE(check(bloom, key_of(i))) << i;
    }
  }
  EXPECT_LT(static_cast<double>(false_positives), hardly_more_than(kKeys / 5.0, kRate));
}

TEST_F(Dablooms, a_counting_bloom_keeps_its_keys_over_removal_and_reopening) {
  constexpr std::uint64_t kKeys = 5000;
  Counting bloom(new_counting_bloom(kKeys, kRate, path_.c_str()));
  ASSERT_NE(bloom, nullptr);
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    EXPECT_EQ(add(bloom, key_of(i)), 0);
  }
  for (std::uint64_t i = 0; i < kKeys / 2; ++i) {
    EXPECT_EQ(remove(bloom, key_of(i)), 0);
  }
  bloom.reset();
  bloom.reset(new_counting_bloom_from_file(kKeys, kRate, path_.c_str()));
  ASSERT_NE(bloom, nullptr);
  EXPECT_EQ(missing(bloom, kKeys / 2, kKeys), 0U);
  EXPECT_EQ(bloom->header->count, kKeys / 2);
  EXPECT_EQ(bitmap_flush(bloom->bitmap), 0);
}

TEST_F(Dablooms, sequence_numbers_count_adds_and_removes_and_tell_what_is_flushed) {
  const Scaling bloom = make();
  EXPECT_EQ(scaling_bloom_mem_seqnum(bloom.get()), 1U);
  EXPECT_EQ(scaling_bloom_disk_seqnum(bloom.get()), 0U);
  EXPECT_EQ(scaling_bloom_flush(bloom.get()), 0);
  EXPECT_EQ(scaling_bloom_disk_seqnum(bloom.get()), 1U);
  add(bloom, "a", 1);
  EXPECT_EQ(scaling_bloom_mem_seqnum(bloom.get()), 2U);
  EXPECT_EQ(scaling_bloom_disk_seqnum(bloom.get()), 0U);
  remove(bloom, "a", 1);
  remove(bloom, "absent key", 1);  // is refused, and counts: it is an entry of the caller's own log
  EXPECT_EQ(scaling_bloom_mem_seqnum(bloom.get()), 4U);
  EXPECT_EQ(scaling_bloom_flush(bloom.get()), 0);
  EXPECT_EQ(scaling_bloom_disk_seqnum(bloom.get()), 4U);
  EXPECT_EQ(bloom->header->mem_seqnum, 4U);
  EXPECT_EQ(bloom->header->disk_seqnum, 4U);
  add(bloom, "b", 2);
  EXPECT_EQ(bloom->header->disk_seqnum, 0U);
  EXPECT_EQ(bitmap_flush(bloom->bitmap), 0);
  EXPECT_EQ(bloom->header->disk_seqnum, 0U);  // as in the original, it does not speak for the bloom
}

TEST_F(Dablooms, sequence_numbers_go_on_after_closing) {
  {
    const Scaling bloom = make_with(10);
    EXPECT_EQ(scaling_bloom_disk_seqnum(bloom.get()), 0U);
  }
  const Scaling bloom = open();
  ASSERT_NE(bloom, nullptr);
  EXPECT_EQ(scaling_bloom_mem_seqnum(bloom.get()), 11U);
  EXPECT_EQ(scaling_bloom_disk_seqnum(bloom.get()), 11U);
  EXPECT_EQ(bloom->header->max_id, 9U);
}

TEST_F(Dablooms, sequence_numbers_tell_the_truth_after_the_end_of_the_process) {
  const Scaling bloom = make_with(100);
  ASSERT_EQ(scaling_bloom_flush(bloom.get()), 0);
  for (std::uint64_t i = 100; i < 250; ++i) {
    add(bloom, key_of(i), i);
    if (i % 50 != 0) {
      continue;
    }
    const Scaling crashed(
        new_scaling_bloom_from_file(kCapacity, kRate, folder_.copy_store(path_, "crash" + std::to_string(i)).c_str()));
    ASSERT_NE(crashed, nullptr);
    EXPECT_EQ(scaling_bloom_mem_seqnum(crashed.get()), i + 2);  // i + 1 additions
    EXPECT_EQ(scaling_bloom_disk_seqnum(crashed.get()), i + 2);
    EXPECT_EQ(missing(crashed, 0, i + 1), 0U);
  }
}

// A change of which the crash left a half is none: the numbers say so, and the caller does it again.
TEST_F(Dablooms, sequence_numbers_tell_the_truth_about_a_torn_change) {
  const Scaling bloom = make_with(100);
  const std::string crash = folder_.copy_store(path_, "crash");
  const std::string journal = crash + "-journal";
  std::string bytes(std::filesystem::file_size(journal), '\0');
  std::ifstream(journal, std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const std::size_t end = bytes.find_last_not_of('\0');
  std::fstream(journal, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(static_cast<std::streamoff>(end))
      .put('\0');
  const Scaling crashed(new_scaling_bloom_from_file(kCapacity, kRate, crash.c_str()));
  ASSERT_NE(crashed, nullptr);
  EXPECT_EQ(scaling_bloom_mem_seqnum(crashed.get()), 100U);
  EXPECT_EQ(missing(crashed, 0, 99), 0U);
}

TEST_F(Dablooms, the_structs_show_what_callers_read) {
  const Scaling bloom = make();
  EXPECT_EQ(bloom->capacity, kCapacity);
  EXPECT_EQ(bloom->error_rate, kRate);
  EXPECT_EQ(bloom->num_blooms, 1U);
  for (std::uint64_t i = 0; i < 5000; ++i) {
    add(bloom, key_of(i), i + 10);
  }
  EXPECT_EQ(bloom->header->max_id, 5009U);
  ASSERT_GT(bloom->num_blooms, 1U);
  EXPECT_EQ(bloom->bitmap->bytes, bloom->num_bytes);
  std::uint64_t keys = 0;
  std::uint64_t cells = 0;
  for (unsigned i = 0; i < bloom->num_blooms; ++i) {
    const counting_bloom_t* part = bloom->blooms[i];
    keys += part->header->count;
    cells += part->size;
    EXPECT_TRUE(i == 0 || part->header->id > bloom->blooms[i - 1]->header->id);
    EXPECT_EQ(part->nfuncs * part->counts_per_func, part->size);
    EXPECT_LT(part->error_rate, kRate);
    EXPECT_EQ(part->bitmap, bloom->bitmap);
  }
  EXPECT_EQ(keys, 5000U);
  EXPECT_GT(bloom->num_bytes, cells / 2);
  remove(bloom, key_of(0), 10);
  std::uint64_t left = 0;
  for (unsigned i = 0; i < bloom->num_blooms; ++i) {
    left += bloom->blooms[i]->header->count;
  }
  EXPECT_EQ(left, 4999U);
}

// Additions reach the counters in groups; calls and structs must not show that.
TEST_F(Dablooms, each_addition_shows_at_once) {
  const Scaling bloom = make();
  for (std::uint64_t i = 0; i < 5000; ++i) {
    ASSERT_EQ(add(bloom, key_of(i), i), 1);
    std::uint64_t keys = 0;
    for (unsigned part = 0; part < bloom->num_blooms; ++part) {
      keys += bloom->blooms[part]->header->count;
    }
    ASSERT_EQ(keys, i + 1);
    ASSERT_EQ(scaling_bloom_mem_seqnum(bloom.get()), i + 2);  // it starts at 1
    ASSERT_EQ(bloom->header->max_id, i);
    if (i % 77 == 0) {
      const std::string key = key_of(i);
      ASSERT_TRUE(i % 2 == 0 ? check(bloom, key)
                             : counting_bloom_check(bloom->blooms[bloom->num_blooms - 1], key.data(), key.size()) == 1);
    }
  }
  EXPECT_EQ(missing(bloom, 0, 5000), 0U);
  const std::string crash = folder_.copy_store(path_, "crash");
  EXPECT_EQ(missing(Scaling(new_scaling_bloom_from_file(kCapacity, kRate, crash.c_str())), 0, 5000), 0U);
}

TEST_F(Dablooms, a_part_is_looked_at_and_not_changed) {
  const Scaling bloom = make_with(100);
  counting_bloom_t* part = bloom->blooms[0];
  EXPECT_EQ(counting_bloom_check(part, key_of(0).data(), key_of(0).size()), 1);
  errno = 0;
  EXPECT_EQ(counting_bloom_remove(part, key_of(0).data(), key_of(0).size()), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(counting_bloom_add(part, "a", 1), -1);
  EXPECT_EQ(free_counting_bloom(part), -1);
  EXPECT_EQ(missing(bloom, 0, 100), 0U);
}

// The misuse cases, T1 to T7, as they were measured on the original: what follows in each is what it did.

// Opening failed once, having made the file long again with zeros; then it opened as clean, and 900 of 900 were lost.
TEST_F(Dablooms, t1_a_truncated_file_is_refused_each_time_and_left_alone) {
  ASSERT_NE(make_with(900), nullptr);
  for (const std::uint64_t bytes : {std::filesystem::file_size(path_) / 2, std::uint64_t{100}, std::uint64_t{1}}) {
    std::filesystem::resize_file(path_, bytes);
    expect_refused(EBADMSG, "corrupt");
    expect_refused(EBADMSG, "corrupt");
    EXPECT_EQ(std::filesystem::file_size(path_), bytes);
  }
  std::filesystem::resize_file(path_, 0);
  expect_refused(EBADMSG, "");
}

// 20 000 keys of one id stayed in one part made for 1000, which answered yes to everything; removing 19 000 of them
// lost 988 of the other 1000.
TEST_F(Dablooms, t2_equal_ids_scale_and_removals_lose_nobody) {
  constexpr std::uint64_t kKeys = 20'000;
  const Scaling bloom = make();
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    EXPECT_EQ(add(bloom, key_of(i), 7), 1);
  }
  EXPECT_GT(bloom->num_blooms, 2U);
  std::uint64_t false_positives = 0;
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    false_positives += check(bloom, absent_key_of(i)) ? 1 : 0;
  }
  EXPECT_LT(static_cast<double>(false_positives), hardly_more_than(kKeys, 2 * kRate));
  std::uint64_t refused = 0;
  for (std::uint64_t i = 1000; i < kKeys; ++i) {
    refused += remove(bloom, key_of(i), 7) == 1 ? 0 : 1;
  }
  EXPECT_EQ(missing(bloom, 0, 1000), 0U);
  // What more than one part may hold stays, at about the false positive rate.
  EXPECT_LT(static_cast<double>(refused), hardly_more_than(kKeys, 3 * kRate));
}

// 20 additions of one key and 19 removals, and it was gone.
TEST_F(Dablooms, t3_a_key_added_more_often_than_removed_is_there) {
  const Scaling bloom = make();
  for (int times = 0; times < 20; ++times) {
    add(bloom, "often", 1);
  }
  for (int times = 0; times < 19; ++times) {
    errno = 0;
    EXPECT_EQ(remove(bloom, "often", 1), 0);
    EXPECT_EQ(errno, EOVERFLOW);
  }
  EXPECT_TRUE(check(bloom, "often"));
}

// 300 removals of keys that had never been added lost 476 of 900 members.
TEST_F(Dablooms, t4_removals_of_absent_keys_are_refused) {
  constexpr double kAbsentKeys = 300;
  constexpr std::uint64_t kCountersOfKey = 8;
  const Scaling bloom = make_with(900);
  std::uint64_t taken_for_members = 0;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(kAbsentKeys); ++i) {
    errno = 0;
    const bool was_taken = remove(bloom, absent_key_of(i), 500) == 1;
    taken_for_members += was_taken ? 1 : 0;
    EXPECT_TRUE(was_taken || errno == ENOENT);
  }
  // At the false positive rate nobody can tell one from a member. What that costs is what its counters are shared by.
  EXPECT_LT(static_cast<double>(taken_for_members), hardly_more_than(kAbsentKeys, kRate));
  EXPECT_LE(missing(bloom, 0, 900), taken_for_members * kCountersOfKey);
}

// 256 bytes of zeros, and it opened as clean with 327 of 900 members lost.
TEST_F(Dablooms, t6_bytes_set_to_zero_are_refused) {
  ASSERT_NE(make_with(900), nullptr);
  const std::uint64_t bytes = image_bytes();
  const std::string zeros(256, '\0');
  for (std::uint64_t offset = 0; offset + zeros.size() < bytes; offset += bytes / 8) {
    const std::string copy = folder_.copy_store(path_, "whole");
    overwrite(offset, zeros);
    expect_refused(EBADMSG, "corrupt");
    std::filesystem::remove(path_);
    std::filesystem::rename(copy, path_);
  }
  EXPECT_NE(open(), nullptr);  // the file itself is fine
}

// A part for each time the capacity: fifty times the capacity took 51 parts and 192 bits per key.
TEST_F(Dablooms, t7_growth_costs_parts_in_proportion_to_its_logarithm) {
  constexpr std::uint64_t kTimes = 50;
  const Scaling bloom = make_with(kTimes * kCapacity);
  EXPECT_LE(bloom->num_blooms, 7U);
  EXPECT_LT(static_cast<double>(bloom->num_bytes) * 8 / static_cast<double>(kTimes * kCapacity), 110);
}

TEST_F(Dablooms, a_file_of_bitly_s_own_is_refused_with_the_way_to_import_it) {
  // The layout of sources: max_id, mem_seqnum, disk_seqnum; then id, count, padding, and counters of 4 bits.
  const std::vector<std::uint64_t> words{0, 1, 1, 0, 0};
  std::ofstream file(path_, std::ios::binary);
  file.write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(words.size() * 8));
  file << std::string(5000, '\0');
  file.close();
  expect_refused(EBADMSG, "mankai import dablooms");
}

TEST_F(Dablooms, a_file_made_for_something_else_is_refused) {
  ASSERT_NE(make_with(10), nullptr);
  expect_refused(EINVAL, "1001", kCapacity + 1);
  expect_refused(EINVAL, "0.02", kCapacity, 0.02);
  testing::internal::CaptureStderr();
  EXPECT_EQ(new_counting_bloom_from_file(kCapacity, kRate, path_.c_str()), nullptr);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("scalable-counting-bloom"), std::string::npos);
  std::filesystem::remove(path_);
  expect_refused(ENOENT, "not_found");
}

TEST_F(Dablooms, impossible_requests_are_refused) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(new_scaling_bloom(0, kRate, path_.c_str()), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(new_scaling_bloom(kCapacity, 0, path_.c_str()), nullptr);
  EXPECT_EQ(new_scaling_bloom(kCapacity, 1, path_.c_str()), nullptr);
  EXPECT_EQ(new_counting_bloom(kCapacity, std::nan(""), path_.c_str()), nullptr);
  EXPECT_EQ(new_counting_bloom(kCapacity, kRate, nullptr), nullptr);
  EXPECT_EQ(new_counting_bloom(kCapacity, kRate, ""), nullptr);
  EXPECT_EQ(new_counting_bloom(kCapacity, kRate, folder_.file("no/such/folder").c_str()), nullptr);
  EXPECT_EQ(errno, ENOENT);
  testing::internal::GetCapturedStderr();
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_EQ(free_scaling_bloom(nullptr), 0);
  EXPECT_EQ(free_counting_bloom(nullptr), 0);
}

TEST_F(Dablooms, making_a_bloom_replaces_the_file) {
  {
    const Scaling old = make_with(100);
  }
  const Scaling bloom = make();
  EXPECT_EQ(missing(bloom, 0, 100), 100U);
  EXPECT_EQ(scaling_bloom_mem_seqnum(bloom.get()), 1U);
}

TEST_F(Dablooms, a_file_that_is_open_is_not_opened_twice) {
  const Scaling bloom = make_with(10);
  expect_refused(EBUSY, "this process has it open");
}

TEST_F(Dablooms, keys_are_checked_from_many_threads_while_one_adds) {
  const Scaling bloom = make_with(1000);
  std::atomic<bool> is_done = false;
  std::atomic<std::uint64_t> added = 1000;
  std::vector<std::jthread> checking;
  for (int i = 0; i < 3; ++i) {
    checking.emplace_back([&] {
      while (!is_done) {
        const std::uint64_t last = added;
        EXPECT_EQ(missing(bloom, last - 1, last), 0U);
        const std::string key = key_of(last - 1);
        int parts_with_key = 0;
        const unsigned parts = std::atomic_ref(bloom->num_blooms).load(std::memory_order_acquire);
        for (unsigned part = 0; part < parts; ++part) {
          parts_with_key += counting_bloom_check(bloom->blooms[part], key.data(), key.size());
        }
        EXPECT_GT(parts_with_key, 0);
        EXPECT_EQ(missing(bloom, 0, 100), 0U);
      }
    });
  }
  for (std::uint64_t i = 1000; i < 10'000; ++i) {
    EXPECT_EQ(add(bloom, key_of(i), i), 1);
    added = i + 1;
  }
  is_done = true;
}

// Freeing replaced the file by the child's copy, and later changes of the parent went into a file without a name. What
// the child added went between the parent's records.
TEST_F(Dablooms, a_bloom_changed_or_freed_in_a_child_process_stays_as_it_is) {
  {
    const Scaling bloom = make_with(20);
    EXPECT_EQ(test::in_child([&] {
                errno = 0;
                const bool is_refused = add(bloom, key_of(20), 20) == 0 && errno == EPERM &&
                                        remove(bloom, key_of(3), 3) == 0 && scaling_bloom_flush(bloom.get()) == -1 &&
                                        bitmap_flush(bloom->bitmap) == -1;
                return is_refused && free_scaling_bloom(bloom.get()) == 0;
              }),
              0);
    for (std::uint64_t i = 20; i < 5000; ++i) {
      ASSERT_EQ(add(bloom, key_of(i), i), 1);
    }
    EXPECT_EQ(scaling_bloom_flush(bloom.get()), 0);
  }
  EXPECT_EQ(missing(Scaling(new_scaling_bloom_from_file(kCapacity, kRate, path_.c_str())), 0, 5000), 0U);
}

TEST_F(Dablooms, a_bloom_freed_or_flushed_in_a_child_without_fork_handlers_stays_as_it_is) {
  {
    const Scaling bloom = make_with(20);
    EXPECT_EQ(
        test::in_child([&] { return scaling_bloom_flush(bloom.get()) == -1 && free_scaling_bloom(bloom.get()) == 0; },
                       ::_Fork),
        0);
    for (std::uint64_t i = 20; i < 5000; ++i) {
      ASSERT_EQ(add(bloom, key_of(i), i), 1);
    }
  }
  EXPECT_EQ(missing(Scaling(new_scaling_bloom_from_file(kCapacity, kRate, path_.c_str())), 0, 5000), 0U);
}

TEST_F(Dablooms, a_counting_bloom_is_not_changed_in_a_child_process) {
  const Counting bloom(new_counting_bloom(kCapacity, kRate, path_.c_str()));
  ASSERT_NE(bloom, nullptr);
  ASSERT_EQ(add(bloom, key_of(0)), 0);
  EXPECT_EQ(test::in_child([&] {
              errno = 0;
              return add(bloom, key_of(1)) == -1 && errno == EPERM && remove(bloom, key_of(0)) == -1 &&
                     bitmap_flush(bloom->bitmap) == -1;
            }),
            0);
  EXPECT_EQ(remove(bloom, key_of(0)), 0);
}

TEST_F(Dablooms, a_bloom_is_changed_and_freed_in_a_child_process_that_was_made_before) {
  {
    const Scaling bloom = make();
    EXPECT_EQ(test::in_child([&] {
                for (std::uint64_t i = 0; i < 100; ++i) {
                  add(bloom, key_of(i), i);
                }
                return free_scaling_bloom(bloom.get()) == 0;
              }),
              0);
  }
  EXPECT_FALSE(std::filesystem::exists(path_ + "-journal"));
  EXPECT_EQ(missing(Scaling(new_scaling_bloom_from_file(kCapacity, kRate, path_.c_str())), 0, 100), 0U);
}

class DabloomsBitmap : public Dablooms {
 protected:
  int make_file() { return ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600); }
};

TEST_F(DabloomsBitmap, counters_go_up_and_down_between_0_and_15) {
  bitmap_t* bitmap = new_bitmap(make_file(), 100);
  ASSERT_NE(bitmap, nullptr);
  EXPECT_EQ(bitmap->bytes, 100U);
  EXPECT_EQ(std::filesystem::file_size(path_), 100U);
  for (int count = 1; count <= 15; ++count) {
    EXPECT_EQ(bitmap_increment(bitmap, 5, 10), 0);
    EXPECT_EQ(bitmap_check(bitmap, 5, 10), count);
  }
  EXPECT_EQ(bitmap_increment(bitmap, 5, 10), -1);
  EXPECT_EQ(errno, ERANGE);
  EXPECT_EQ(bitmap_check(bitmap, 5, 10), 15);
  EXPECT_EQ(bitmap_check(bitmap, 4, 10), 0);
  EXPECT_EQ(bitmap_decrement(bitmap, 4, 10), -1);
  EXPECT_EQ(bitmap_decrement(bitmap, 5, 10), 0);
  EXPECT_EQ(bitmap->array[12], 14);  // the upper half is the even counter's
  EXPECT_EQ(bitmap_increment(bitmap, 4, 10), 0);
  EXPECT_EQ(bitmap->array[12], 0x1E);
  EXPECT_EQ(bitmap_flush(bitmap), 0);
  free_bitmap(bitmap);
}

TEST_F(DabloomsBitmap, what_lies_outside_is_refused) {
  bitmap_t* bitmap = new_bitmap(make_file(), 100);
  ASSERT_NE(bitmap, nullptr);
  EXPECT_EQ(bitmap_increment(bitmap, 199, 0), 0);
  EXPECT_EQ(bitmap_increment(bitmap, 200, 0), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(bitmap_check(bitmap, 0, 100), -1);
  EXPECT_EQ(bitmap_check(bitmap, 0, -1), -1);
  free_bitmap(bitmap);
}

TEST_F(DabloomsBitmap, a_bitmap_grows_with_its_file) {
  bitmap_t* bitmap = new_bitmap(make_file(), 100);
  ASSERT_NE(bitmap, nullptr);
  EXPECT_EQ(bitmap_increment(bitmap, 7, 0), 0);
  EXPECT_EQ(bitmap_resize(bitmap, 100, 10'000), bitmap);
  EXPECT_EQ(bitmap->bytes, 10'000U);
  EXPECT_EQ(bitmap_check(bitmap, 7, 0), 1);
  EXPECT_EQ(bitmap_increment(bitmap, 19'999, 0), 0);
  free_bitmap(bitmap);
  EXPECT_EQ(std::filesystem::file_size(path_), 10'000U);
}

TEST_F(DabloomsBitmap, that_of_a_bloom_is_shown_and_not_changed) {
  const Scaling bloom = make_with(10);
  testing::internal::CaptureStderr();
  errno = 0;
  EXPECT_EQ(bitmap_increment(bloom->bitmap, 0, 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(bitmap_resize(bloom->bitmap, 0, 10), nullptr);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(new_bitmap(-1, 100), nullptr);
  EXPECT_EQ(errno, EBADF);
  testing::internal::GetCapturedStderr();
  free_bitmap(bloom->bitmap);
  free_bitmap(nullptr);
  EXPECT_EQ(missing(bloom, 0, 10), 0U);
}

// Files of the original, taken over.

template <class Bloom, class File>
std::uint64_t different(const Bloom& bloom, const File& file, std::uint64_t keys) {
  std::uint64_t differences = 0;
  for (std::uint64_t i = 0; i < keys; ++i) {
    differences += check(bloom, key_of(i)) != file.may_contain(key_of(i)) ? 1U : 0U;
    differences += check(bloom, absent_key_of(i)) != file.may_contain(absent_key_of(i)) ? 1U : 0U;
  }
  return differences;
}

TEST_F(Dablooms, an_imported_scaling_bloom_goes_on_where_the_original_stopped) {
  constexpr std::uint64_t kKeys = 2500;
  auto file = test::DabloomsFile::scaling(kCapacity, kRate);
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    file.add(key_of(i), i);
  }
  file.remove(key_of(7), 7);
  auto imported = import_dablooms(file.bytes(), {.capacity_keys = kCapacity, .fpr = kRate}).value();
  ASSERT_TRUE(save_import(path_, imported, Existing::refuse).has_value());
  Scaling bloom = open();
  ASSERT_NE(bloom, nullptr);
  const std::uint64_t number = file.get<std::uint64_t>(test::DabloomsFile::kMemorySequence);
  EXPECT_EQ(scaling_bloom_mem_seqnum(bloom.get()), number);
  EXPECT_EQ(scaling_bloom_disk_seqnum(bloom.get()), number);
  EXPECT_EQ(bloom->header->max_id, kKeys - 1);
  ASSERT_EQ(bloom->num_blooms, file.filters().size());
  for (std::size_t i = 0; i < file.filters().size(); ++i) {
    EXPECT_EQ(bloom->blooms[i]->header->count, file.count(i));
    EXPECT_EQ(bloom->blooms[i]->header->id, file.get<std::uint64_t>(file.filters()[i].offset));
    EXPECT_EQ(bloom->blooms[i]->nfuncs, file.filters()[i].k);
    EXPECT_EQ(bloom->blooms[i]->counts_per_func, file.filters()[i].cells);
  }
  EXPECT_EQ(different(bloom, file, kKeys), 0U);
  EXPECT_EQ(remove(bloom, key_of(8), 8), 1);
  file.remove(key_of(8), 8);
  EXPECT_EQ(add(bloom, key_of(kKeys), kKeys), 1);
  file.add(key_of(kKeys), kKeys);
  EXPECT_EQ(scaling_bloom_mem_seqnum(bloom.get()), number + 2);
  bloom.reset();
  bloom = open();
  ASSERT_NE(bloom, nullptr);
  EXPECT_EQ(scaling_bloom_mem_seqnum(bloom.get()), number + 2);
  EXPECT_EQ(different(bloom, file, kKeys + 1), 0U);
}

TEST_F(Dablooms, an_imported_counting_bloom_goes_on) {
  auto file = test::DabloomsFile::counting(kCapacity, kRate);
  for (std::uint64_t i = 0; i < kCapacity; ++i) {
    file.add(key_of(i));
  }
  auto imported = import_dablooms(file.bytes(), {.capacity_keys = kCapacity, .fpr = kRate}).value();
  ASSERT_TRUE(save_import(path_, imported, Existing::refuse).has_value());
  const Counting bloom(new_counting_bloom_from_file(kCapacity, kRate, path_.c_str()));
  ASSERT_NE(bloom, nullptr);
  EXPECT_EQ(bloom->header->count, file.count(0));
  for (std::uint64_t i = 0; i < kCapacity; i += 2) {
    EXPECT_EQ(remove(bloom, key_of(i)), 0);
    file.remove(key_of(i));
  }
  EXPECT_EQ(different(bloom, file, kCapacity), 0U);
}

}  // namespace
}  // namespace mankai::c
