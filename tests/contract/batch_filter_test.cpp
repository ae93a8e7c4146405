// Every BatchFilter: a batch means what its single calls in order mean. Each test makes two filters alike, gives one
// the batch and the other the single calls, and compares answers and whole images (cells and count of keys).

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/filter/parts/hash_windows.hpp"
#include "tests/contract/contract_test_support.hpp"
#include "tests/support/counting_memory.hpp"
#include "tests/support/every_kind.hpp"
#include "tests/support/outcomes.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sampled.hpp"

namespace mankai::test {
namespace {

// Every class that offers batches, whatever it promises.
bool takes_batches(const KindDescription& kind) { return calls_of(kind).insert_integers != nullptr; }
bool keeps_batches(const Example& example) { return takes_batches(*example.kind) && keeps_keys(example); }

class BatchFilterContract : public testing::TestWithParam<Example> {};
class BatchFilterPromise : public testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(every_kind, BatchFilterContract, testing::ValuesIn(shapes(takes_batches)), test_name);
INSTANTIATE_TEST_SUITE_P(every_kind, BatchFilterPromise, testing::ValuesIn(shapes(keeps_batches)), test_name);

// Kernels work in windows of 32 keys in cache and 192 beyond it, three at a time, with vectors of up to 8 keys.
constexpr std::size_t kSizesMax = 600;
// Every size up to a window beyond the cache, then steps that share no divisor with a window or a vector.
constexpr std::size_t next_size(std::size_t size, std::size_t step = 1) {
  const std::size_t wide = kIsSampled && size >= 40 ? 5 : 1;
  return size + (size < 200 ? step : step * 7) * wide;
}

TEST_P(BatchFilterContract, may_contain_agrees_with_singles_at_every_size) {
  for (const std::uint64_t keys : {std::uint64_t{400}, keys_beyond_cache(GetParam(), 0.1)}) {
    auto filter = make(GetParam(), {.keys = keys, .fpr = 0.1});
    Random random(1);
    const auto known = random.digests(600);
    filter.insert(std::span(known));
    for (std::size_t size = 0; size <= kSizesMax; size = next_size(size)) {
      const auto asked = mixed(random, known, size);
      ASSERT_EQ(batch_answers(filter, asked), single_answers(filter, asked)) << size << " keys";
    }
  }
}

TEST_P(BatchFilterContract, insert_and_observe_agree_with_singles_at_every_size) {
  auto by_insert = make(GetParam(), {.keys = 400});
  auto by_observe = make(GetParam(), {.keys = 400});
  auto by_singles = make(GetParam(), {.keys = 400});
  Random random(2);
  const auto known = random.digests(600);
  for (std::size_t size = 0; size <= kSizesMax; size = next_size(size)) {
    const auto given = mixed(random, known, size);
    if (size % 20 == 0) {
      by_insert.clear();
      by_observe.clear();
      by_singles.clear();
    }
    by_insert.insert(std::span(given));
    ASSERT_EQ(observe_batch(by_observe, given), observe_singly(by_singles, given)) << size << " keys";
    const auto expected = by_singles.to_bytes();
    ASSERT_EQ(by_insert.to_bytes(), expected) << size << " keys";
    ASSERT_EQ(by_observe.to_bytes(), expected) << size << " keys";
  }
}

TEST_P(BatchFilterContract, insert_and_observe_agree_with_singles_beyond_the_cache) {
  const std::uint64_t keys = keys_beyond_cache(GetParam());
  auto by_insert = make(GetParam(), {.keys = keys});
  auto by_observe = make(GetParam(), {.keys = keys});
  auto by_singles = make(GetParam(), {.keys = keys});
  Random random(3);
  const auto known = random.digests(500);
  const auto both = [&](std::span<const Digest> given) {
    by_insert.insert(given);
    ASSERT_EQ(observe_batch(by_observe, given), observe_singly(by_singles, given)) << given.size() << " keys";
    ASSERT_EQ(by_insert.keys_inserted(), by_singles.keys_inserted());
    ASSERT_EQ(by_observe.keys_inserted(), by_singles.keys_inserted());
  };
  for (std::size_t size = 0; size <= kSizesMax; size = next_size(size)) {
    both(mixed(random, known, size));
  }
  both(random.digests(kIsSampled ? 10000 : 100000));
  EXPECT_EQ(by_insert.to_bytes(), by_singles.to_bytes());
  EXPECT_EQ(by_observe.to_bytes(), by_singles.to_bytes());
}

TEST_P(BatchFilterContract, large_batches_agree_with_singles_in_cache_and_beyond) {
  for (const std::uint64_t keys : {std::uint64_t{100000}, keys_beyond_cache(GetParam())}) {
    auto filter = make(GetParam(), {.keys = keys});
    Random random(4);
    const auto digests = random.digests(kIsSampled ? 20001 : 200001);
    filter.insert(std::span(digests).first(digests.size() / 2));
    EXPECT_EQ(batch_answers(filter, digests), single_answers(filter, digests));
  }
}

TEST_P(BatchFilterContract, spans_may_start_anywhere) {
  auto filter = make(GetParam(), {.keys = 400, .fpr = 0.2});
  const auto digests = Random(5).digests(256);
  filter.insert(std::span(digests).subspan(3, 100));
  const auto expected = single_answers(filter, digests);
  for (std::size_t start = 0; start < 17; ++start) {
    for (std::size_t out = 0; out < 9; ++out) {
      Outcomes outcomes(digests.size() + out);
      const auto asked = std::span(digests).subspan(start);
      filter.may_contain(asked, outcomes.span().subspan(out, asked.size()));
      for (std::size_t i = 0; i < asked.size(); ++i) {
        ASSERT_EQ(outcomes.span()[out + i], expected[start + i]);
      }
      for (std::size_t i = 0; i < out; ++i) {
        ASSERT_FALSE(outcomes.span()[i]) << "written before its start";
      }
    }
  }
}

TEST_P(BatchFilterContract, a_batch_writes_nothing_past_its_answers) {
  auto filter = make(GetParam(), {.keys = 4, .fpr = 0.1});
  insert_random(filter, 6, 500);
  const auto digests = Random(7).digests(kSizesMax);
  for (std::size_t size = 0; size < 70; ++size) {
    Outcomes outcomes(kSizesMax);
    filter.may_contain(std::span(digests).first(size), outcomes.span().first(size));
    for (std::size_t i = size; i < kSizesMax; ++i) {
      ASSERT_FALSE(outcomes.span()[i]);
    }
  }
}

TEST_P(BatchFilterContract, an_empty_batch_does_nothing) {
  auto filter = make(GetParam());
  const auto before = filter.to_bytes();
  filter.insert(std::span<const Digest>{});
  filter.insert(std::span<const std::uint64_t>{});
  filter.observe({}, {});
  filter.may_contain(std::span<const Digest>{}, {});
  filter.may_contain(std::span<const std::uint64_t>{}, {});
  filter.insert_keys({});
  filter.observe_keys({}, {});
  filter.may_contain_keys({}, {});
  EXPECT_EQ(filter.to_bytes(), before);
}

TEST_P(BatchFilterPromise, observe_reports_a_keys_earlier_twin_in_the_same_batch) {
  const double fpr = GetParam().kind->has_ttl ? 1e-5 : 1e-9;  // fingerprints reach no lower rate
  for (const std::uint64_t keys : {std::uint64_t{5000}, keys_beyond_cache(GetParam(), fpr)}) {
    auto filter = make(GetParam(), {.keys = keys, .fpr = fpr});
    for (const std::size_t distance : {1U, 2U, 7U, 8U, 31U, 32U, 33U, 63U, 191U, 192U, 193U, 400U}) {
      // Each key comes twice, `distance` places apart; at such a rate no absent key is a false positive.
      filter.clear();
      const auto fresh = Random(distance).digests(distance);
      std::vector<Digest> batch(fresh);
      batch.insert(batch.end(), fresh.begin(), fresh.end());
      std::vector<bool> expected(distance, false);
      expected.resize(2 * distance, true);
      ASSERT_EQ(observe_batch(filter, batch), expected) << "twins " << distance << " apart";
      ASSERT_EQ(filter.keys_inserted(), counts_repeats(GetParam()) ? 2 * distance : distance);
    }
  }
}

// Every other number is its own place, and so comes again in the next batch.
std::vector<std::uint64_t> half_structured(Random& random, std::size_t count) {
  std::vector<std::uint64_t> integers = random.numbers(count);
  for (std::size_t i = 0; i < count; i += 2) {
    integers[i] = i;
  }
  return integers;
}

void expect_integers_hashed(const Example& example, Subject& batch, Subject& singles,
                            std::span<const std::uint64_t> integers) {
  const Hasher hash = singles.hasher();
  std::vector<Digest> digests;
  for (const std::uint64_t key : integers) {
    digests.push_back(hash(key));
  }
  ASSERT_EQ(batch_answers(batch, integers), single_answers(singles, digests)) << integers.size() << " keys";
  batch.insert(integers);
  for (const Digest digest : digests) {
    singles.insert(digest);
  }
  ASSERT_EQ(batch.keys_inserted(), singles.keys_inserted());
  ASSERT_EQ(batch_answers(batch, integers), single_answers(singles, digests));
  if (keeps_keys(example)) {
    ASSERT_EQ(batch_answers(batch, integers), std::vector<bool>(integers.size(), true));
  }
}

void expect_integers_hashed_at_every_size(const Example& example, const FilterRequest& request, std::size_t step) {
  auto batch = make(example, request);
  auto singles = make(example, request);
  Random random(8);
  for (std::size_t size = 0; size <= kSizesMax; size = next_size(size, step)) {
    if (size % 10 == 0) {
      batch.clear();
      singles.clear();
    }
    expect_integers_hashed(example, batch, singles, half_structured(random, size));
  }
  EXPECT_EQ(batch.to_bytes(), singles.to_bytes());
}

// Goal: integer keys hashed inside a batch get the digests that hasher() gives, for both hashes.
// Method: a filter filled by integer batches is the image of one filled by single digests; answers agree likewise, also
// in batches of several windows.
TEST_P(BatchFilterContract, integer_batches_hash_as_hasher_does) {
  for (const HashSpec& spec : {kXxh3, kNhSiphash, kSiphash}) {
    expect_integers_hashed_at_every_size(GetParam(), {.keys = 300, .hash = spec}, 1);
    expect_integers_hashed_at_every_size(GetParam(), {.keys = keys_beyond_cache(GetParam()), .hash = spec}, 37);
    auto batch = make(GetParam(), {.keys = 20'000, .hash = spec});
    auto singles = make(GetParam(), {.keys = 20'000, .hash = spec});
    Random random(10);
    expect_integers_hashed(GetParam(), batch, singles, half_structured(random, 2 * kHashWindow + 1));
  }
}

// Keys of all lengths from none to longer than any hash's block.
std::vector<std::string> some_texts(Random& random, std::size_t count) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) {
    texts.push_back(random.bytes(random.below(10) == 0 ? random.below(600) : random.below(40)));
  }
  return texts;
}

/// Three filters with the same keys: in string batches, in batches that ask, and in single calls.
class StringBatches {
 public:
  StringBatches(const Example& example, const FilterRequest& request)
      : batch_(make(example, request)), observed_(make(example, request)), singles_(make(example, request)) {}

  void expect_agreement(std::span<const std::string> texts, Random& random, std::size_t size) {
    std::vector<std::string_view> keys;
    std::vector<Digest> digests;
    for (std::size_t i = 0; i < size; ++i) {
      keys.emplace_back(texts[random.below(texts.size())]);
      digests.push_back(singles_.hasher()(keys.back()));
    }
    Outcomes answers(size);
    batch_.may_contain_keys(keys, answers.span());
    ASSERT_EQ(answers.vector(), single_answers(singles_, digests)) << size << " keys";
    Outcomes seen(size);
    observed_.observe_keys(keys, seen.span());
    batch_.insert_keys(keys);
    ASSERT_EQ(seen.vector(), observe_singly(singles_, digests)) << size << " keys";
    ASSERT_EQ(batch_.to_bytes(), singles_.to_bytes()) << size << " keys";
    ASSERT_EQ(observed_.to_bytes(), singles_.to_bytes()) << size << " keys";
  }
  void clear() {
    batch_.clear();
    observed_.clear();
    singles_.clear();
  }

 private:
  Subject batch_;
  Subject observed_;
  Subject singles_;
};

// Goal: the helpers for string keys are the single calls with hasher().
// Method: every size around the filters' windows, then several of the helpers' windows of 4096.
TEST_P(BatchFilterContract, string_batches_agree_with_singles) {
  for (const HashSpec& spec : {kXxh3, kNhSiphash, kSiphash}) {
    Random random(9);
    StringBatches filters(GetParam(), {.keys = 400, .hash = spec});
    const auto texts = some_texts(random, 700);
    for (std::size_t size = 0; size <= 400; size += size < 100 ? 9 : 1) {
      if (size % 8 == 0) {
        filters.clear();
      }
      filters.expect_agreement(texts, random, size);
    }
    StringBatches large(GetParam(), {.keys = 20'000, .hash = spec});
    const auto more = some_texts(random, 9000);
    for (const std::size_t size : {kHashWindow, kHashWindow + 1, 2 * kHashWindow + 1}) {
      large.expect_agreement(more, random, size);
    }
  }
}

// Kinds that offer a bulk build: the cells and the count are those of an ordinary insert, with scratch memory, with
// less than it wants, and without any.
void expect_bulk_is_insert(const Example& example, std::uint64_t capacity, std::size_t count) {
  Random random(11);
  const auto digests = random.digests(count);
  auto integers = random.numbers(count);
  for (std::size_t i = 1; i < count; i += 5) {
    integers[i] = integers[i / 2];
  }
  auto plain = make(example, {.keys = capacity});
  plain.insert(std::span(digests));
  plain.insert(std::span<const std::uint64_t>(integers));
  const auto expected = plain.to_bytes();
  for (const std::size_t grants : {SIZE_MAX, std::size_t{1}, std::size_t{0}}) {
    CountingMemory scratch(grants);
    auto bulk = make(example, {.keys = capacity});
    bulk.insert_bulk(std::span(digests), scratch.memory());
    bulk.insert_bulk(std::span<const std::uint64_t>(integers), scratch.memory());
    ASSERT_TRUE(bulk.to_bytes() == expected) << count << " keys into " << capacity << ", " << grants << " grants";
    ASSERT_EQ(scratch.bytes_in_use, 0U);
  }
}

class BulkInsert : public testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(every_kind, BulkInsert, testing::ValuesIn(shapes([](const KindDescription& kind) {
                           return calls_of(kind).insert_bulk != nullptr;
                         })),
                         test_name);

TEST_P(BulkInsert, is_insert) {
  for (const std::uint64_t capacity : {std::uint64_t{500}, keys_beyond_cache(GetParam()), std::uint64_t{12000000}}) {
    for (const std::size_t count : {0U, 1U, 1000U, 400000U}) {
      if (kIsSampled && capacity > 1'000'000 && count < 400000) {
        continue;
      }
      expect_bulk_is_insert(GetParam(), capacity, count);
    }
  }
}

}  // namespace
}  // namespace mankai::test
