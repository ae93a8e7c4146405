#include "mankai/store/dablooms_import.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"
#include "mankai/store/store.hpp"
#include "tests/support/counting_memory.hpp"
#include "tests/support/dablooms_file.hpp"
#include "tests/support/memory_files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai {
namespace {

using test::DabloomsFile;

constexpr std::uint64_t kAbsentKeys = 20000;

std::string key(std::uint64_t number) { return "http://example.org/spam/" + std::to_string(number); }
std::string absent_key(std::uint64_t number) { return "http://example.net/" + std::to_string(number); }

struct Shape {
  std::uint32_t capacity = 1000;
  double fpr = 0.05;
  std::uint64_t keys = 2500;
};

DabloomsRequest request_of(const Shape& shape) { return {.capacity_keys = shape.capacity, .fpr = shape.fpr}; }

// Keys with their numbers as ids; every fifth is removed again.
DabloomsFile filled(const Shape& shape) {
  auto file = DabloomsFile::scaling(shape.capacity, shape.fpr);
  for (std::uint64_t i = 0; i < shape.keys; ++i) {
    file.add(key(i), i);
  }
  for (std::uint64_t i = 0; i < shape.keys; i += 5) {
    file.remove(key(i), i);
  }
  file.flush();
  return file;
}

bool may_contain(const AnyFilter& filter, std::string_view text) {
  bool found = false;
  filter.may_contain({&text, 1}, {&found, 1});
  return found;
}

ScalableCountingBloom& scaling_of(DabloomsImport& imported) { return *imported.filter.as<ScalableCountingBloom>(); }

void expect_same_answers(const AnyFilter& filter, const DabloomsFile& file, std::uint64_t keys,
                         std::uint64_t absent_keys = kAbsentKeys) {
  std::size_t differences = 0;
  for (std::uint64_t i = 0; i < keys; ++i) {
    differences += may_contain(filter, key(i)) != file.may_contain(key(i)) ? 1U : 0U;
  }
  for (std::uint64_t i = 0; i < absent_keys; ++i) {
    differences += may_contain(filter, absent_key(i)) != file.may_contain(absent_key(i)) ? 1U : 0U;
  }
  EXPECT_EQ(differences, 0U);
}

// Goal: added keys are found, removed ones are not, and a false positive of the original is one here. Method: shapes
// with one filter and many, sizes that leave half a byte, capacities down to 2.
TEST(DabloomsImport, answers_as_the_original) {
  for (const Shape& shape :
       {Shape{}, Shape{.capacity = 100, .fpr = 0.01, .keys = 60}, Shape{.capacity = 101, .fpr = 0.3, .keys = 1000},
        Shape{.capacity = 2, .fpr = 0.9, .keys = 30}, Shape{.capacity = 5000, .fpr = 1e-4, .keys = 12000}}) {
    SCOPED_TRACE(shape.capacity);
    const DabloomsFile file = filled(shape);
    auto imported = import_dablooms(file.bytes(), request_of(shape));
    ASSERT_TRUE(imported.has_value()) << imported.error().detail;
    EXPECT_EQ(imported->form, DabloomsForm::scaling);
    EXPECT_TRUE(imported->damage.empty());
    EXPECT_EQ(imported->filters.size(), file.filters().size());
    expect_same_answers(imported->filter, file, shape.keys);
    const ScalableCountingBloom& filter = scaling_of(*imported);
    EXPECT_EQ(filter.keys_inserted(), shape.keys - (shape.keys + 4) / 5);
    EXPECT_EQ(filter.max_id(), shape.keys - 1);
    EXPECT_EQ(filter.fpr_target(), shape.fpr);
    EXPECT_TRUE(ScalableCountingBloom::from_bytes(filter.to_bytes()).has_value());
  }
}

TEST(DabloomsImport, says_what_the_file_says) {
  const DabloomsFile file = filled({});
  const auto imported = import_dablooms(file.bytes(), request_of({})).value();
  EXPECT_EQ(imported.max_id, 2499U);
  EXPECT_EQ(imported.memory_sequence, 3001U);
  EXPECT_EQ(imported.disk_sequence, 3001U);
  EXPECT_EQ(imported.removals, 500U);
  ASSERT_EQ(imported.warnings.size(), 1U);
  EXPECT_NE(imported.warnings[0].what.find("3000 changes, 2000 keys: 500 were removed"), std::string::npos);
  ASSERT_EQ(imported.filters.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const DabloomsFilter& filter = imported.filters[i];
    EXPECT_EQ(filter.offset, file.filters()[i].offset);
    EXPECT_EQ(filter.cells_per_probe, file.filters()[i].cells);
    EXPECT_EQ(filter.k, file.filters()[i].k);
    EXPECT_EQ(filter.keys, file.count(i));
    EXPECT_EQ(filter.least_sum, filter.keys);
    EXPECT_EQ(filter.greatest_sum, filter.keys);
    EXPECT_EQ(filter.first_id, i * 999);
    EXPECT_EQ(filter.fpr, 0.05 / static_cast<double>(2U << i));
  }
}

// Removes the same keys from both, and compares the remaining and absent keys.
TEST(DabloomsImport, takes_keys_out_by_their_ids) {
  const Shape shape{.capacity = 300, .fpr = 0.02, .keys = 2000};
  DabloomsFile file = filled(shape);
  auto imported = import_dablooms(file.bytes(), request_of(shape)).value();
  ScalableCountingBloom& filter = scaling_of(imported);
  const Hasher hash = filter.hasher();
  for (std::uint64_t i = 1; i < shape.keys; i += 5) {
    file.remove(key(i), i);
    EXPECT_EQ(filter.erase(hash(key(i)), i), EraseResult::erased) << i;
  }
  expect_same_answers(imported.filter, file, shape.keys);
}

TEST(DabloomsImport, goes_on_with_new_keys_and_slices) {
  const DabloomsFile file = filled({});
  auto imported = import_dablooms(file.bytes(), request_of({})).value();
  ScalableCountingBloom& filter = scaling_of(imported);
  const Hasher hash = filter.hasher();
  for (std::uint64_t i = 2500; i < 6000; ++i) {
    ASSERT_TRUE(filter.insert(hash(key(i)), i).has_value());
  }
  EXPECT_EQ(filter.slice_count(), 6U);
  for (std::uint64_t i = 1; i < 6000; ++i) {
    EXPECT_TRUE(filter.may_contain(hash(key(i))) || (i < 2500 && i % 5 == 0)) << i;
  }
  for (std::uint64_t i = 1; i < 6000; i += 5) {
    EXPECT_EQ(filter.erase(hash(key(i)), i), EraseResult::erased) << i;
  }
  EXPECT_LE(filter.fpr_estimate(), 0.05);
}

// dablooms decrements a full counter and may lose the key; here the counter stays full.
TEST(DabloomsImport, full_counters_stick_and_are_said) {
  auto file = DabloomsFile::scaling(1000, 0.05);
  for (int times = 0; times < 20; ++times) {
    file.add(key(1), 7);
  }
  auto imported = import_dablooms(file.bytes(), request_of({}));
  ASSERT_TRUE(imported.has_value()) << imported.error().detail;
  EXPECT_EQ(imported->filters[0].full_counters, 6U);
  ASSERT_EQ(imported->warnings.size(), 2U);
  EXPECT_NE(imported->warnings[0].what.find("6 full counters, which missed up to 5 additions"), std::string::npos)
      << imported->warnings[0].what;
  ScalableCountingBloom& filter = scaling_of(*imported);
  EXPECT_EQ(filter.saturated_cells(), 6U);
  const Digest digest = filter.hasher()(key(1));
  for (int times = 0; times < 19; ++times) {
    file.remove(key(1), 7);
    EXPECT_EQ(filter.erase(digest, 7), EraseResult::stuck);
  }
  EXPECT_FALSE(file.may_contain(key(1)));
  EXPECT_TRUE(filter.may_contain(digest));
}

TEST(DabloomsImport, a_counting_file_is_known_by_its_size) {
  for (const Shape& shape : {Shape{}, Shape{.capacity = 11, .fpr = 0.3, .keys = 11}}) {
    auto file = DabloomsFile::counting(shape.capacity, shape.fpr);
    for (std::uint64_t i = 0; i < shape.capacity; ++i) {
      file.add(key(i));
    }
    for (std::uint64_t i = 0; i < shape.capacity; i += 3) {
      file.remove(key(i));
    }
    auto imported = import_dablooms(file.bytes(), request_of(shape));
    ASSERT_TRUE(imported.has_value()) << imported.error().detail;
    EXPECT_EQ(imported->form, DabloomsForm::counting);
    EXPECT_TRUE(imported->warnings.empty());
    expect_same_answers(imported->filter, file, shape.capacity);
    auto& filter = *imported->filter.as<CountingBloom>();
    EXPECT_EQ(filter.keys_inserted(), file.count(0));
    EXPECT_EQ(filter.erase(filter.hasher()(key(1))), EraseResult::erased);
  }
}

TEST(DabloomsImport, a_new_file_has_no_ids_yet) {
  auto file = DabloomsFile::scaling(1000, 0.05);
  auto imported = import_dablooms(file.bytes(), request_of({})).value();
  EXPECT_EQ(scaling_of(imported).keys_inserted(), 0U);
  EXPECT_EQ(scaling_of(imported).next_id(), 0U);
  file.add(key(0), 0);
  imported = import_dablooms(file.bytes(), request_of({})).value();
  EXPECT_EQ(scaling_of(imported).next_id(), 1U);
}

// Each filter has one probe more than the one before, and more than any other filter of Mankai has.
TEST(DabloomsImport, takes_over_very_many_filters) {
  const Shape shape{.capacity = 3, .fpr = 0.01, .keys = 400};
  const DabloomsFile file = filled(shape);
  const auto imported = import_dablooms(file.bytes(), request_of(shape));
  ASSERT_TRUE(imported.has_value()) << imported.error().detail;
  EXPECT_GT(imported->filters.back().k, 200U);
  expect_same_answers(imported->filter, file, shape.keys, shape.keys);
}

// Refusals.

void expect_refused(const DabloomsFile::Bytes& bytes, const DabloomsRequest& request, std::string_view says,
                    ErrorCode code = ErrorCode::corrupt) {
  test::CountingMemory counter;
  DabloomsRequest counted = request;
  counted.memory = counter.memory();
  const auto refused = import_dablooms(bytes, counted);
  ASSERT_FALSE(refused.has_value()) << says;
  EXPECT_EQ(refused.error().code, code) << refused.error().detail;
  EXPECT_NE(refused.error().detail.find(says), std::string::npos) << refused.error().detail;
  EXPECT_EQ(counter.calls, 0U) << says;
}

// The file is refused by default, and imported on request with the same finding.
DabloomsImport taken_damaged(const DabloomsFile& file, const Shape& shape, std::string_view says) {
  expect_refused(file.bytes(), request_of(shape), says);
  DabloomsRequest request = request_of(shape);
  request.take_damaged = true;
  auto imported = import_dablooms(file.bytes(), request).value();
  EXPECT_FALSE(imported.damage.empty());
  EXPECT_NE(imported.damage.front().what.find(says), std::string::npos) << imported.damage.front().what;
  EXPECT_LE(imported.damage.front().offset, file.bytes().size());
  return imported;
}

TEST(DabloomsImport, another_capacity_or_rate_is_found_by_the_size) {
  const DabloomsFile file = filled({});
  for (const DabloomsRequest& other :
       {DabloomsRequest{.capacity_keys = 1001, .fpr = 0.05}, DabloomsRequest{.capacity_keys = 999, .fpr = 0.05},
        DabloomsRequest{.capacity_keys = 1000, .fpr = 0.0501}, DabloomsRequest{.capacity_keys = 2000, .fpr = 0.05},
        DabloomsRequest{.capacity_keys = 1, .fpr = 0.9}, DabloomsRequest{.capacity_keys = 1000000000, .fpr = 0.5}}) {
    expect_refused(file.bytes(), other, "another capacity or rate");
  }
}

// The same size in another division: not 4 probes of 995 counters, but 2 of 1990 or 5 of 796.
TEST(DabloomsImport, another_shape_of_one_size_is_found_by_the_counters) {
  auto file = DabloomsFile::counting(830, 0.1);
  ASSERT_EQ(file.filters()[0].cells * file.filters()[0].k, 3980U);
  for (std::uint64_t i = 0; i < 830; ++i) {
    file.add(key(i));
  }
  std::size_t tried = 0;
  for (std::uint64_t capacity = 500; capacity < 2000; ++capacity) {
    for (int percent = 1; percent < 60; ++percent) {
      const DabloomsRequest other{.capacity_keys = capacity, .fpr = percent / 100.0};
      const auto imported = import_dablooms(file.bytes(), other);
      if (imported) {
        EXPECT_EQ(imported->filters[0].k, 4U) << capacity << " keys at " << percent << " %";
      } else if (imported.error().detail.find("add up") != std::string::npos) {
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 10U);
}

TEST(DabloomsImport, what_dablooms_cannot_have_is_refused) {
  const DabloomsFile file = filled({});
  for (const DabloomsRequest& impossible :
       {DabloomsRequest{.capacity_keys = 0, .fpr = 0.05}, DabloomsRequest{.capacity_keys = 1000, .fpr = 0},
        DabloomsRequest{.capacity_keys = 1000, .fpr = 1}, DabloomsRequest{.capacity_keys = 4000000000, .fpr = 0.01},
        DabloomsRequest{.capacity_keys = std::uint64_t{1} << 33, .fpr = 0.99}}) {
    expect_refused(file.bytes(), impossible, "", ErrorCode::invalid_argument);
  }
}

// Filters may be missing, or all of one but its id: then there are too many changes for the keys.
bool is_said_incomplete(const DabloomsImport& imported) {
  return std::ranges::any_of(imported.warnings, [](const DabloomsFinding& warning) {
    return warning.what.find("if the file is complete") != std::string::npos;
  });
}

// Goal: a truncated file is refused, or a warning says what may be missing.
// Method: every length, as it is and padded with zeros to the old one, as the original leaves a file that it was
// told to open.
TEST(DabloomsImport, every_truncation_is_refused_or_said) {
  const Shape shape{.capacity = 20, .fpr = 0.05, .keys = 50};
  const DabloomsFile file = filled(shape);
  std::size_t accepted = 0;
  for (std::size_t size = 0; size < file.bytes().size(); ++size) {
    DabloomsFile::Bytes cut(file.bytes().begin(), file.bytes().begin() + static_cast<std::ptrdiff_t>(size));
    for (const bool is_filled_up : {false, true}) {
      cut.resize(is_filled_up ? file.bytes().size() : size);
      const auto imported = import_dablooms(cut, request_of(shape));
      if (!imported) {
        EXPECT_EQ(imported.error().code, ErrorCode::corrupt) << size;
      } else if (cut != file.bytes()) {
        EXPECT_TRUE(is_said_incomplete(*imported)) << size;
        ++accepted;
      }
    }
  }
  // After each filter, and with the first bytes of the id of the last one.
  EXPECT_LE(accepted, file.filters().size() - 1 + sizeof(std::uint64_t));
  DabloomsFile::Bytes longer = file.bytes();
  longer.push_back({});
  expect_refused(longer, request_of(shape), "bytes");
}

// Without removals the file tells how many keys there are.
TEST(DabloomsImport, a_missing_filter_is_said) {
  auto file = DabloomsFile::scaling(20, 0.05);
  for (std::uint64_t keys = 1; keys <= 50; ++keys) {
    file.add(key(keys), keys);
    const auto imported = import_dablooms(file.bytes(), {.capacity_keys = 20, .fpr = 0.05});
    ASSERT_TRUE(imported.has_value()) << imported.error().detail;
    EXPECT_FALSE(is_said_incomplete(*imported)) << keys;
    if (file.filters().size() > 1) {
      const auto cut = std::span(file.bytes()).first(file.filters().back().offset);
      const auto shorter = import_dablooms(cut, {.capacity_keys = 20, .fpr = 0.05});
      const bool is_odd = file.count(file.filters().size() - 1) % 2 != 0;
      EXPECT_EQ(shorter.has_value(), !is_odd) << keys;
      EXPECT_TRUE(!shorter || is_said_incomplete(*shorter)) << keys;
      EXPECT_TRUE(shorter || shorter.error().detail.find("may be missing") != std::string::npos) << keys;
    }
  }
}

// Goal: no flipped bit causes a silent false negative.
// Method: every bit of a small file. An import that succeeds has every member: the flip was in an id or in a
// number of changes, which the file stores only once.
TEST(DabloomsImport, every_flipped_bit_is_refused_or_harmless) {
  const Shape shape{.capacity = 20, .fpr = 0.05, .keys = 50};
  DabloomsFile file = filled(shape);
  std::size_t accepted = 0;
  for (std::size_t bit = 0; bit < file.bytes().size() * 8; ++bit) {
    const std::byte mask{static_cast<std::uint8_t>(1U << (bit % 8))};
    file.bytes()[bit / 8] ^= mask;
    const auto imported = import_dablooms(file.bytes(), request_of(shape));
    file.bytes()[bit / 8] ^= mask;
    if (!imported) {
      EXPECT_EQ(imported.error().code, ErrorCode::corrupt) << bit;
      continue;
    }
    ++accepted;
    for (std::uint64_t i = 1; i < shape.keys; ++i) {
      EXPECT_TRUE(i % 5 == 0 || may_contain(imported->filter, key(i))) << "bit " << bit << ", key " << i;
    }
  }
  // Of the 64 bits of the greatest id and of each of two first ids.
  EXPECT_LE(accepted, 3U * 64) << "of " << file.bytes().size() * 8;
}

TEST(DabloomsImport, zeroed_bytes_are_refused) {
  const Shape shape{.capacity = 1000, .fpr = 0.05, .keys = 900};
  DabloomsFile file = filled(shape);
  std::fill_n(file.bytes().begin() + 1000, 256, std::byte{0});
  const auto imported = taken_damaged(file, shape, "add up to");
  expect_same_answers(imported.filter, file, shape.keys);
}

TEST(DabloomsImport, removals_of_absent_keys_are_refused) {
  const Shape shape{.capacity = 1000, .fpr = 0.05, .keys = 900};
  DabloomsFile file = filled(shape);
  for (std::uint64_t i = 0; i < 300; ++i) {
    file.remove(absent_key(i), i);
  }
  const auto imported = taken_damaged(file, shape, "absent keys were removed");
  expect_same_answers(imported.filter, file, shape.keys);
}

TEST(DabloomsImport, more_removals_than_additions_are_refused) {
  const Shape shape{.capacity = 1000, .fpr = 0.05, .keys = 0};
  DabloomsFile file = filled(shape);
  file.remove(absent_key(1), 0);
  auto imported = taken_damaged(file, shape, "more keys were removed than added");
  EXPECT_EQ(scaling_of(imported).keys_inserted(), 0U);
}

TEST(DabloomsImport, keys_that_filled_a_counter_and_left_are_refused) {
  auto file = DabloomsFile::scaling(1000, 0.05);
  for (int times = 0; times < 20; ++times) {
    file.add(key(1), 7);
  }
  file.remove(key(1), 7);
  taken_damaged(file, {}, "or keys that filled a counter were removed");
}

TEST(DabloomsImport, a_change_that_was_cut_off_is_refused) {
  DabloomsFile file = filled({});
  file.put(DabloomsFile::kDiskSequence, std::uint64_t{0});
  file.tear();
  const auto imported = taken_damaged(file, {}, "a change was interrupted");
  EXPECT_EQ(imported.damage.front().offset, 8U);
  expect_same_answers(imported.filter, file, 2500);
}

TEST(DabloomsImport, a_filter_that_was_being_opened_is_left_out) {
  DabloomsFile file = filled({});
  file.tear_growing();
  ASSERT_EQ(file.filters().size(), 4U);
  auto imported = taken_damaged(file, {}, "a crash interrupted its creation");
  EXPECT_EQ(imported.filters.size(), 3U);
  EXPECT_EQ(scaling_of(imported).slice_count(), 3U);
  EXPECT_EQ(imported.damage.size(), 2U);
  expect_same_answers(imported.filter, file, 2500);
}

TEST(DabloomsImport, numbers_of_changes_that_contradict_each_other_are_refused) {
  DabloomsFile file = filled({});
  file.put(DabloomsFile::kDiskSequence, std::uint64_t{7});
  taken_damaged(file, {}, "change 7 was flushed");
}

TEST(DabloomsImport, a_number_of_changes_that_nobody_reaches_is_refused) {
  DabloomsFile file = filled({});
  file.put(DabloomsFile::kMemorySequence, ~std::uint64_t{0});
  file.put(DabloomsFile::kDiskSequence, ~std::uint64_t{0});
  const auto imported = taken_damaged(file, {}, "no program can reach");
  EXPECT_EQ(imported.damage.front().offset, 8U);
  EXPECT_EQ(imported.removals, 0U);
}

TEST(DabloomsImport, a_filter_of_our_own_is_known) {
  auto filter = create_filter({.kind = Kind{CountingBloom::kKind}, .keys = 1000, .fpr = 0.05}).value();
  const auto image = filter.to_bytes();
  expect_refused(image, request_of({}), "is already a Mankai filter");
}

TEST(DabloomsImport, what_was_not_flushed_is_said) {
  DabloomsFile file = filled({});
  file.add(key(2500), 2500);
  const auto imported = import_dablooms(file.bytes(), request_of({})).value();
  ASSERT_EQ(imported.warnings.size(), 2U);
  EXPECT_NE(imported.warnings[0].what.find("not flushed"), std::string::npos);
}

// The program that opens such a file restarts its numbers.
TEST(DabloomsImport, a_program_that_went_on_after_a_crash_is_said) {
  DabloomsFile file = filled({});
  file.tear();
  file.add(key(2500), 2500);
  file.flush();
  const auto imported = import_dablooms(file.bytes(), request_of({}));
  ASSERT_TRUE(imported.has_value()) << imported.error().detail;
  ASSERT_EQ(imported->warnings.size(), 1U);
  EXPECT_NE(imported->warnings[0].what.find("restarted the numbers"), std::string::npos);
}

TEST(DabloomsImport, headers_that_nobody_writes_are_refused) {
  DabloomsFile file = filled({});
  file.put(file.filters()[1].offset + 12, 1U);
  taken_damaged(file, {}, "filter 2 has nonzero reserved bytes in its header");
  auto counting = DabloomsFile::counting(1000, 0.05);
  counting.put(0, std::uint64_t{1});
  taken_damaged(counting, {}, "a counting file has no id");
}

TEST(DabloomsImport, half_a_byte_behind_the_last_counter_must_be_zero) {
  const Shape shape{.capacity = 101, .fpr = 0.3, .keys = 90};
  DabloomsFile file = filled(shape);
  ASSERT_EQ(file.filters()[0].cells * file.filters()[0].k % 2, 1U);
  file.bytes().back() |= std::byte{3};
  const auto imported = taken_damaged(file, shape, "a nonzero half byte after its last counter");
  EXPECT_EQ(imported.damage.front().offset, file.bytes().size() - 1);
  expect_same_answers(imported.filter, file, shape.keys);
}

// Then every slice has every id: no false results, and a key is removed if exactly one slice may hold it.
void expect_ids_damage(const DabloomsFile& file, std::string_view says) {
  auto imported = taken_damaged(file, {}, says);
  ScalableCountingBloom& filter = scaling_of(imported);
  expect_same_answers(imported.filter, file, 2500);
  EXPECT_TRUE(ScalableCountingBloom::from_bytes(filter.to_bytes()).has_value());
  std::size_t erased = 0;
  for (std::uint64_t i = 1; i < 2500; i += 5) {
    erased += filter.erase(filter.hasher()(key(i)), i) == EraseResult::erased ? 1U : 0U;
  }
  EXPECT_GE(erased, 450U);
  EXPECT_TRUE(filter.insert(filter.hasher()("another"), 5000).has_value());
}

TEST(DabloomsImport, ids_out_of_order_are_refused) {
  DabloomsFile file = filled({});
  file.put(file.filters()[0].offset, std::uint64_t{1});
  expect_ids_damage(file, "filter 1 has the first id 1, but that is 0");
  file = filled({});
  file.put(file.filters()[2].offset, std::uint64_t{999});
  expect_ids_damage(file, "filter 3 has the first id 999, which is not above the one before");
  file = filled({});
  file.put(0, std::uint64_t{1000});
  expect_ids_damage(file, "the greatest id is 1000, but the last filter has the first id 1998");
  file = filled({});
  file.put(file.filters()[1].offset, ~std::uint64_t{0});
  expect_ids_damage(file, "filter 3 has the first id 1998, which is not above");
}

TEST(DabloomsImport, the_greatest_id_of_all_is_refused) {
  auto file = DabloomsFile::scaling(1000, 0.05);
  file.add(key(1), ~std::uint64_t{0});
  auto imported = taken_damaged(file, {}, "the greatest id is 2^64 - 1");
  EXPECT_EQ(scaling_of(imported).max_id(), ScalableCountingBloom::kMaxId);
}

// Files.

TEST(DabloomsImportFile, names_the_file_and_leaves_it_alone) {
  test::MemoryFiles files;
  const DabloomsFile file = filled({});
  files.put("spam.bloom", file.bytes());
  const auto imported = import_dablooms_file("spam.bloom", request_of({}), files);
  ASSERT_TRUE(imported.has_value()) << imported.error().message();
  expect_same_answers(imported->filter, file, 2500);
  files.at("spam.bloom").pop_back();
  const auto refused = import_dablooms_file("spam.bloom", request_of({}), files);
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().detail.starts_with("spam.bloom: ")) << refused.error().detail;
  EXPECT_EQ(files.at("spam.bloom").size(), file.bytes().size() - 1);
  EXPECT_EQ(import_dablooms_file("ham.bloom", request_of({}), files).error().code, ErrorCode::not_found);
}

/// Files that a program changes after they are read.
class LiveFiles final : public test::MemoryFiles {
 public:
  explicit LiveFiles(DabloomsFile file) : file_(std::move(file)) { put("live.bloom", file_.bytes()); }
  int open(const char* path, int flags, mode_t mode) override {
    if (++opened_ == 2) {
      file_.add(key(2500), 2500);
      put("live.bloom", file_.bytes());
    }
    return MemoryFiles::open(path, flags, mode);
  }

 private:
  DabloomsFile file_;
  int opened_ = 0;
};

TEST(DabloomsImportFile, that_changes_meanwhile_is_refused) {
  LiveFiles files(filled({}));
  const auto refused = import_dablooms_file("live.bloom", request_of({}), files);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::locked);
  EXPECT_NE(refused.error().detail.find("live.bloom: changed while"), std::string::npos) << refused.error().detail;
}

// Goal: the result is a store with the state of the original, and can be changed.
class SavedImport : public testing::Test {
 protected:
  Result<void> save(const DabloomsFile& file, bool take_damaged = false, Existing existing = Existing::refuse) const {
    DabloomsRequest request = request_of({});
    request.take_damaged = take_damaged;
    auto imported = import_dablooms(file.bytes(), request).value();
    return save_import(path_, imported, existing);
  }
  std::uint64_t saved_sequence() const { return Store::open(path_).value().sequence(); }

  test::TemporaryFolder folder_;
  std::string path_ = folder_.file("spam.mk");
};

TEST_F(SavedImport, stands_at_the_originals_number) {
  DabloomsFile file = filled({});
  ASSERT_TRUE(save(file).has_value());
  EXPECT_FALSE(std::filesystem::exists(path_ + "-journal"));
  auto store = Store::open(path_).value();
  EXPECT_EQ(store.sequence(), 3000U);
  EXPECT_EQ(store.durable_sequence(), 3000U);
  expect_same_answers(store.filter(), file, 2500);
  const std::string added = key(2500);
  const std::string gone = key(1);
  const std::array<std::string_view, 1> add{added};
  const std::array<std::string_view, 1> remove{gone};
  ASSERT_TRUE(store.insert(add, std::array<std::uint64_t, 1>{2500}).has_value());
  std::array<EraseResult, 1> results{};
  ASSERT_TRUE(store.erase(remove, std::array<std::uint64_t, 1>{1}, results).has_value());
  EXPECT_EQ(results[0], EraseResult::erased);
  ASSERT_TRUE(store.close().has_value());
  file.add(added, 2500);
  file.remove(gone, 1);
  store = Store::open(path_).value();
  EXPECT_EQ(store.sequence(), 3002U);
  expect_same_answers(store.filter(), file, 2501);
}

TEST_F(SavedImport, begins_anew_where_the_number_is_lost) {
  DabloomsFile torn = filled({});
  torn.tear();
  ASSERT_TRUE(save(torn, true).has_value());
  EXPECT_EQ(saved_sequence(), 0U);
  DabloomsFile absurd = filled({});
  absurd.put(DabloomsFile::kMemorySequence, ~std::uint64_t{0});
  ASSERT_TRUE(save(absurd, true, Existing::replace).has_value());
  EXPECT_EQ(saved_sequence(), 0U);
  ASSERT_TRUE(save(DabloomsFile::counting(1000, 0.05), false, Existing::replace).has_value());
  EXPECT_EQ(saved_sequence(), 0U);
}

TEST_F(SavedImport, replaces_only_what_it_may) {
  ASSERT_TRUE(save(filled({})).has_value());
  const auto refused = save(DabloomsFile::scaling(1000, 0.05));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(saved_sequence(), 3000U);
  ASSERT_TRUE(save(DabloomsFile::scaling(1000, 0.05), false, Existing::replace).has_value());
  EXPECT_EQ(saved_sequence(), 0U);
}

}  // namespace
}  // namespace mankai
