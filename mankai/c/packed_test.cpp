#include <array>
#include <limits>

#include "mankai/c/c_test_support.hpp"

namespace mankai::c {
namespace {

/// Keys "NAME 0", "NAME 1", … in one buffer, with offsets of either width.
class PackedTexts {
 public:
  PackedTexts(const std::string& name, std::size_t count) {
    narrow_.push_back(0);
    for (std::size_t i = 0; i < count; ++i) {
      data_ += name + ' ' + std::to_string(i);
      narrow_.push_back(static_cast<std::int32_t>(data_.size()));
    }
    wide_.assign(narrow_.begin(), narrow_.end());
  }

  [[nodiscard]] mankai_packed narrow() const { return with(narrow_.data(), sizeof(std::int32_t)); }
  [[nodiscard]] mankai_packed wide() const { return with(wide_.data(), sizeof(std::int64_t)); }
  [[nodiscard]] std::size_t size() const { return wide_.size() - 1; }
  [[nodiscard]] std::vector<std::int64_t>& offsets() { return wide_; }

 private:
  [[nodiscard]] mankai_packed with(const void* offsets, std::uint32_t offset_bytes) const {
    mankai_packed packed{};
    packed.size = sizeof(packed);
    packed.data = data_.data();
    packed.data_bytes = data_.size();
    packed.offsets = offsets;
    packed.offset_bytes = offset_bytes;
    packed.count = size();
    return packed;
  }

  std::string data_;
  std::vector<std::int32_t> narrow_;
  std::vector<std::int64_t> wide_;
};

std::vector<bool> ask_packed(const mankai_filter* filter, const mankai_packed& keys) {
  const auto outcomes = std::make_unique<bool[]>(keys.count);
  EXPECT_EQ(mankai_may_contain_packed(filter, &keys, outcomes.get()), MANKAI_OK) << mankai_last_error();
  return std::vector<bool>(outcomes.get(), outcomes.get() + keys.count);
}

std::size_t count_packed(const mankai_filter* filter, const mankai_packed& keys) {
  const auto outcomes = ask_packed(filter, keys);
  return static_cast<std::size_t>(std::count(outcomes.begin(), outcomes.end(), true));
}

constexpr std::size_t kPackedKeys = 5000;  // more than one window

TEST(CPacked, packed_keys_are_the_same_keys_as_single_ones) {
  const Keys keys("key", kPackedKeys);
  const PackedTexts packed("key", kPackedKeys);
  for (const mankai_packed& form : {packed.narrow(), packed.wide()}) {
    const Handle filter = create("blocked-bloom:keys=20000,fpr=1e-6,seed=7");
    ASSERT_EQ(mankai_insert_packed(filter.get(), &form), MANKAI_OK) << mankai_last_error();
    EXPECT_EQ(count_of(filter.get(), keys), kPackedKeys);
    EXPECT_EQ(count_packed(filter.get(), form), kPackedKeys);
    mankai_packed part = form;
    part.first = 4990;
    part.count = 10;
    const Handle few = create("blocked-bloom:keys=20000,fpr=1e-6,seed=7");
    ASSERT_EQ(mankai_insert_packed(few.get(), &part), MANKAI_OK);
    EXPECT_EQ(count_of(few.get(), keys), 10U);
    for (std::size_t i = 0; i < kPackedKeys; ++i) {
      bool is_found = false;
      ASSERT_EQ(mankai_may_contain_one(few.get(), keys[i].data(), keys[i].size(), &is_found), MANKAI_OK);
      EXPECT_EQ(is_found, i >= 4990) << i;
    }
  }
}

TEST(CPacked, keys_of_equal_width_need_no_offsets) {
  const std::array<std::uint64_t, 4> numbers{1, 2, 3, 4};
  mankai_packed packed{};
  packed.size = sizeof(packed);
  packed.data = numbers.data();
  packed.data_bytes = sizeof(numbers);
  packed.width = sizeof(std::uint64_t);
  packed.first = 1;
  packed.count = 3;
  const Handle filter = create("bloom:keys=100,fpr=1e-6");
  ASSERT_EQ(mankai_insert_packed(filter.get(), &packed), MANKAI_OK) << mankai_last_error();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    bool is_found = false;
    ASSERT_EQ(mankai_may_contain_one(filter.get(), &numbers[i], sizeof(std::uint64_t), &is_found), MANKAI_OK);
    EXPECT_EQ(is_found, i >= 1) << i;
  }
  packed.count = 4;
  EXPECT_EQ(mankai_insert_packed(filter.get(), &packed), MANKAI_INVALID_ARGUMENT);
}

TEST(CPacked, skipped_keys_are_not_inserted_and_answer_false) {
  const PackedTexts texts("key", kPackedKeys);
  std::vector<std::uint8_t> validity(kPackedKeys / 8 + 1, 0b1010'1010);  // odd keys
  mankai_packed odd = texts.wide();
  odd.validity = validity.data();
  const Handle filter = create("counting-bloom:keys=20000,fpr=1e-6,seed=7");
  const auto seen = std::make_unique<bool[]>(kPackedKeys);
  ASSERT_EQ(mankai_observe_packed(filter.get(), &odd, seen.get()), MANKAI_OK) << mankai_last_error();
  EXPECT_EQ(std::count(seen.get(), seen.get() + kPackedKeys, true), 0);
  ASSERT_EQ(mankai_observe_packed(filter.get(), &odd, seen.get()), MANKAI_OK);
  const std::vector<bool> in_all = ask_packed(filter.get(), texts.wide());
  std::vector<mankai_count> counts(kPackedKeys, {9, true});
  ASSERT_EQ(mankai_counts_packed(filter.get(), &odd, counts.data()), MANKAI_OK);
  std::vector<mankai_erase_result> erased(kPackedKeys, MANKAI_STUCK);
  ASSERT_EQ(mankai_erase_packed(filter.get(), &odd, erased.data()), MANKAI_OK);
  for (std::size_t i = 0; i < kPackedKeys; ++i) {
    const bool is_odd = i % 2 == 1;
    EXPECT_EQ(seen[i], is_odd) << i;
    EXPECT_EQ(in_all[i], is_odd) << i;
    EXPECT_EQ(counts[i].value, is_odd ? 2U : 0U) << i;
    EXPECT_EQ(erased[i], is_odd ? MANKAI_ERASED : MANKAI_ABSENT) << i;
  }
  ASSERT_EQ(mankai_erase_packed(filter.get(), &odd, nullptr), MANKAI_OK);
  EXPECT_EQ(count_packed(filter.get(), texts.wide()), 0U);
}

TEST(CPacked, times_belong_to_their_keys) {
  const PackedTexts texts("key", 3);
  const std::uint8_t validity = 0b101;
  mankai_packed packed = texts.narrow();
  packed.validity = &validity;
  const std::array<std::int64_t, 3> times{1'000'000, 2'000'000, 3'000'000};
  const Handle filter = create("decayed-top:bytes=64KiB");
  ASSERT_EQ(mankai_insert_packed_at(filter.get(), &packed, times.data()), MANKAI_OK) << mankai_last_error();
  mankai_top_entry* entries = nullptr;
  std::size_t count = 0;
  ASSERT_EQ(mankai_top(filter.get(), 10, &entries, &count), MANKAI_OK);
  ASSERT_EQ(count, 2U);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(entries[i].last_seen_us,
              std::string_view(entries[i].key, entries[i].bytes) == "key 0" ? 1'000'000 : 3'000'000);
  }
  mankai_free(entries);
}

TEST(CPacked, ids_belong_to_their_keys) {
  const PackedTexts texts("key", 3);
  const std::uint8_t validity = 0b101;
  mankai_packed packed = texts.narrow();
  packed.validity = &validity;
  const std::array<std::uint64_t, 3> ids{10, 20, 30};
  const Handle filter = create("scalable-counting-bloom:keys=1000,fpr=1e-6");
  ASSERT_EQ(mankai_insert_packed_with_ids(filter.get(), &packed, ids.data()), MANKAI_OK) << mankai_last_error();
  EXPECT_EQ(ask_packed(filter.get(), texts.wide()), (std::vector<bool>{true, false, true}));
  std::array<mankai_erase_result, 3> results{MANKAI_STUCK, MANKAI_STUCK, MANKAI_STUCK};
  ASSERT_EQ(mankai_erase_packed_with_ids(filter.get(), &packed, ids.data(), results.data()), MANKAI_OK);
  EXPECT_EQ(results, (std::array<mankai_erase_result, 3>{MANKAI_ERASED, MANKAI_ABSENT, MANKAI_ERASED}));
  EXPECT_EQ(count_packed(filter.get(), texts.wide()), 0U);
  EXPECT_EQ(mankai_erase_packed_with_ids(filter.get(), &packed, ids.data(), nullptr), MANKAI_OK);
  EXPECT_EQ(mankai_insert_packed_with_ids(filter.get(), &packed, nullptr), MANKAI_INVALID_ARGUMENT);
  EXPECT_EQ(mankai_erase_packed_with_ids(filter.get(), &packed, nullptr, results.data()), MANKAI_INVALID_ARGUMENT);
}

TEST(CPacked, keys_that_are_not_in_the_data_change_nothing) {
  PackedTexts texts("key", 100);
  const Handle filter = create("bloom:keys=1000,fpr=1e-6");
  const auto refused = [&](const mankai_packed& packed, std::string_view why) {
    EXPECT_EQ(mankai_insert_packed(filter.get(), &packed), MANKAI_INVALID_ARGUMENT) << why;
    EXPECT_NE(std::string_view(mankai_last_error()).find(why), std::string_view::npos) << mankai_last_error();
  };
  mankai_packed packed = texts.wide();
  packed.size = 0;
  refused(packed, "size");
  packed = texts.wide();
  packed.data = nullptr;
  refused(packed, "data");
  packed = texts.wide();
  packed.data_bytes -= 1;
  refused(packed, "beyond data");
  packed = texts.wide();
  packed.offset_bytes = 2;
  refused(packed, "offset_bytes");
  packed = texts.wide();
  packed.width = 4;
  refused(packed, "width");
  packed = texts.wide();
  packed.offsets = nullptr;
  refused(packed, "offsets");
  packed = texts.wide();
  packed.offsets = static_cast<const char*>(packed.offsets) + 1;
  refused(packed, "aligned");
  packed = texts.wide();
  packed.count = std::numeric_limits<std::size_t>::max();
  refused(packed, "more bytes or keys");
  packed = texts.wide();
  packed.first = std::numeric_limits<std::size_t>::max();
  refused(packed, "more bytes or keys");
  texts.offsets()[50] = texts.offsets()[49] - 1;
  refused(texts.wide(), "an offset");
  texts.offsets()[0] = -1;
  refused(texts.wide(), "an offset");
  EXPECT_EQ(mankai_insert_packed(filter.get(), nullptr), MANKAI_INVALID_ARGUMENT);
  mankai_estimates estimates{};
  estimates.size = sizeof(estimates);
  ASSERT_EQ(mankai_estimate(filter.get(), &estimates), MANKAI_OK);
  EXPECT_EQ(estimates.fill_ratio, 0);
}

TEST(CPacked, no_keys_need_no_data) {
  mankai_packed packed{};
  packed.size = sizeof(packed);
  const Handle filter = create("bloom:keys=1000");
  EXPECT_EQ(mankai_insert_packed(filter.get(), &packed), MANKAI_OK) << mankai_last_error();
  EXPECT_EQ(mankai_may_contain_packed(filter.get(), &packed, nullptr), MANKAI_OK);
}

}  // namespace
}  // namespace mankai::c
