// Bytes of sliced images pinned forever, as golden_test.cpp has them for flat ones; the same rule for regenerating.
//
// To write the files: golden_test --gtest_also_run_disabled_tests --gtest_filter='GrowingGolden.*write*'

#include <gtest/gtest.h>
#include <xxhash.h>

#include <array>
#include <iostream>
#include <span>
#include <string>
#include <string_view>

#include "mankai/filter/scalable_bloom/scalable_bloom.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"
#include "tests/golden/golden_test_support.hpp"
#include "tests/support/filter_request.hpp"

namespace mankai::test::golden::growing {
namespace {

struct Golden {
  const char* name;         // of the file, without .mk
  Bytes (*make)();          // by today's code
  const char* header;       // the first 128 bytes in hex
  std::uint64_t xxh3;       // of the whole image
  std::uint64_t strangers;  // XXH3 of the answers to 20000 keys that were never inserted, a byte each
};

constexpr int kKeys = 100;
constexpr std::uint64_t kErased = 30;  // the id of a key that was taken out again

std::string key(std::uint64_t number) { return "https://example.org/growing/" + std::to_string(number); }

// A hundred keys, in ids from 7 on where there are any, one of them taken out again.
template <class F>
Bytes filled(const typename F::Options& options) {
  F filter = F::create(options).value();
  const Hasher hash = filter.hasher();
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    if constexpr (NumberedFilter<F>) {
      EXPECT_TRUE(filter.insert(hash(key(i)), 7 + i).has_value());
    } else {
      filter.insert(hash(key(i)));
    }
  }
  if constexpr (NumberedFilter<F>) {
    EXPECT_EQ(filter.erase(hash(key(kErased)), 7 + kErased), EraseResult::erased);
  }
  return filter.to_bytes();
}

template <class F>
std::uint64_t answers_to_strangers(const F& filter) {
  const Hasher hash = filter.hasher();
  std::string answers;
  for (std::uint64_t i = 0; i < 20000; ++i) {
    answers += filter.may_contain(hash(key(1000 + i))) ? '\1' : '\0';
  }
  return XXH3_64bits(answers.data(), answers.size());
}

template <class F>
void expect_answers(const Bytes& bytes, const Golden& golden) {
  const auto filter = F::from_bytes(bytes);
  ASSERT_TRUE(filter.has_value()) << golden.name << ": " << filter.error().detail;
  const Hasher hash = filter->hasher();
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    EXPECT_TRUE(filter->may_contain(hash(key(i))) || (NumberedFilter<F> && i == kErased)) << golden.name << ": " << i;
  }
  if constexpr (NumberedFilter<F>) {
    EXPECT_EQ(filter->max_id(), 106U);
    EXPECT_EQ(filter->keys_inserted(), 99U);
  }
  EXPECT_EQ(answers_to_strangers(*filter), golden.strangers) << golden.name;
}

bool is_counting(const Golden& golden) { return std::string_view(golden.name).starts_with("scalable_counting"); }

const std::array<Golden, 5> kGolden = {{
    {"scalable_bloom_xxh3",
     [] { return filled<ScalableBloom>({.keys = 20, .fpr = 0.01, .growth = {.tightening = 0.5}, .hash = kXxh3}); },
     "4d414e4b41491a0a01000400010100008003000000000000d308a385886a3f24"
     "000000000000000014000000000000007b14ae47e17a843f6400000000000000"
     "000000000000e03f020000000000000000000000000000000000000000000000"
     "0300000000000000a0cab15be499332b0000000000000000e73e2918fc409c5a",
     0x27ab02279cbea6ebU, 0xf497e184e0ee012dU},
    {"scalable_bloom_constant_siphash",
     [] {
       return filled<ScalableBloom>({.keys = 40,
                                     .fpr = 0.05,
                                     .growth = {.factor = 1, .tightening = 0.9, .bound = FprBound::first},
                                     .hash = kSiphash});
     },
     "4d414e4b41491a0a01000400020100000003000000000000447370032e8a1913"
     "d0319f29223809a428000000000000009a9999999999a93f6400000000000000"
     "cdccccccccccec3f010000000100000000000000000000000000000000000000"
     "0300000000000000986ec81673a444910000000000000000f891d9330a7f7248",
     0x984f0f7021f2b882U, 0x9ad678aca859f5baU},
    {"scalable_counting_bloom_xxh3",
     [] {
       return filled<ScalableCountingBloom>(
           {.keys = 20, .fpr = 0.01, .growth = {.tightening = 0.5}, .first_id = 5, .hash = kXxh3});
     },
     "4d414e4b41491a0a01000500010100000007000000000000d308a385886a3f24"
     "000000000000000014000000000000007b14ae47e17a843f6300000000000000"
     "000000000000e03f020000000000000005000000000000000000000000000000"
     "03000000000000000044607b78b2a2660000000000000000366afc42e76de410",
     0x519595f5df9ee0e2U, 0x5266ab67f3b5b387U},
    {"scalable_counting_bloom_faithful_siphash",
     [] {
       return filled<ScalableCountingBloom>({.keys = 40,
                                             .fpr = 0.05,
                                             .growth = {.factor = 1, .tightening = 0.5},
                                             .layout = CountingLayout::partitioned,
                                             .hash = kSiphash});
     },
     "4d414e4b41491a0a0100050002010000c004000000000000447370032e8a1913"
     "d0319f29223809a428000000000000009a9999999999a93f6300000000000000"
     "000000000000e03f010000000000010000000000000000000000000000000000"
     "03000000000000002b54445bcd45758d000000000000000009997c341d61449d",
     0xa998fb3bbc3a0116U, 0xf5e06878783f37a9U},
    {"scalable_counting_bloom_dablooms_murmur3",
     [] {
       return filled<ScalableCountingBloom>({.keys = 40,
                                             .fpr = 0.05,
                                             .growth = {.factor = 1, .tightening = 0.5},
                                             .layout = CountingLayout::dablooms,
                                             .hash = kMurmur3});
     },
     "4d414e4b41491a0a0100050003010000c0040000000000003a9bc29700000000"
     "000000000000000028000000000000009a9999999999a93f6300000000000000"
     "000000000000e03f010000000000020000000000000000000000000000000000"
     "0300000000000000d16f85c44602a11100000000000000008c7f7c6fed6116bf",
     0x1a91797c7855f483U, 0xcf604d4d32e815e4U},
}};

TEST(GrowingGolden, todays_code_writes_the_pinned_bytes) {
  for (const Golden& golden : kGolden) {
    const Bytes bytes = golden.make();
    EXPECT_EQ(hex(std::span(bytes).first(sizeof(ImageHeader))), golden.header) << golden.name;
    EXPECT_EQ(sum_of(bytes), golden.xxh3) << golden.name;
  }
}

TEST(GrowingGolden, todays_code_reads_the_files_of_every_version) {
  for (const Golden& golden : kGolden) {
    const Bytes bytes = read(path_of(golden.name));
    EXPECT_EQ(sum_of(bytes), golden.xxh3) << golden.name;
    is_counting(golden) ? expect_answers<ScalableCountingBloom>(bytes, golden)
                        : expect_answers<ScalableBloom>(bytes, golden);
  }
}

TEST(GrowingGolden, DISABLED_write) {
  for (const Golden& golden : kGolden) {
    const Bytes bytes = golden.make();
    write(path_of(golden.name), bytes);
    const std::uint64_t strangers = is_counting(golden)
                                        ? answers_to_strangers(ScalableCountingBloom::from_bytes(bytes).value())
                                        : answers_to_strangers(ScalableBloom::from_bytes(bytes).value());
    std::cout << golden.name << "\n\"" << hex(std::span(bytes).first(sizeof(ImageHeader))) << "\"\n0x" << std::hex
              << sum_of(bytes) << "U, 0x" << strangers << "U\n"
              << std::dec;
  }
}

}  // namespace
}  // namespace mankai::test::golden::growing
