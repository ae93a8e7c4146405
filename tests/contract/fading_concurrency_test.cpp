// Several writers and readers in one forgetting array, without locks. Also run under ThreadSanitizer, where a race
// fails the test.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <vector>

#include "mankai/filter/fading_fingerprints/fading_fingerprints.hpp"
#include "mankai/hash/probes.hpp"
#include "tests/support/filter_request.hpp"
#include "tests/support/outcomes.hpp"
#include "tests/support/random.hpp"
#include "tests/support/run_threads.hpp"

namespace mankai::test {
namespace {

constexpr std::size_t kWriters = 4;

FadingFingerprints filter_of(std::uint64_t slots, std::uint32_t k, std::uint32_t bits) {
  return FadingFingerprints::create({.slots = slots, .k = k, .bits = bits, .hash = kXxh3}).value();
}

// Goal: a write into half a byte never undoes a neighbor's.
// Method: so many slots that hardly two keys meet in one, but every byte is written by two threads; afterwards the
// array is that of one writer in every slot that only one key wrote to.
TEST(FadingConcurrency, writers_of_neighboring_slots_do_not_harm_each_other) {
  for (const std::uint32_t bits : {4U, 8U, 16U, 32U}) {
    constexpr std::uint64_t kSlots = 4096;
    // Each thread's keys are those whose slot is its own, slot by slot in turns.
    std::vector<std::vector<Digest>> shares(kWriters);
    for (const Digest digest : Random(11).digests(60'000)) {
      shares[probes::CellSequence(digest).next(kSlots) % kWriters].push_back(digest);
    }
    auto together = filter_of(kSlots, 1, bits);
    auto alone = filter_of(kSlots, 1, bits);
    run_threads(kWriters, [&](std::size_t thread) {
      for (const Digest digest : shares[thread]) {
        together.insert_concurrent(digest);
      }
    });
    for (const auto& share : shares) {
      alone.insert(std::span(share));
    }
    EXPECT_EQ(together.to_bytes(), alone.to_bytes()) << bits;
    EXPECT_EQ(together.keys_inserted(), 60'000U);
  }
}

void insert_in_pieces(FadingFingerprints& filter, std::span<const Digest> digests) {
  constexpr std::size_t kPiece = 50;
  for (std::size_t i = 0; i < digests.size(); i += kPiece) {
    filter.insert_concurrent(digests.subspan(i, kPiece));
  }
}

// Every answer about the youngest keys is yes while no more came than the array keeps: writers in one slot leave one of
// the two fingerprints, and readers see no third one.
TEST(FadingConcurrency, readers_beside_writers_see_what_was_written) {
  for (const std::uint32_t bits : {4U, 16U}) {
    auto filter = filter_of(100'000, 4, bits);
    const auto digests = Random(12).digests(8000);
    const auto strangers = Random(13).digests(20'000);
    std::atomic<std::size_t> writing = kWriters;
    std::atomic<std::size_t> rounds = 0;
    run_threads(kWriters + 2, [&](std::size_t thread) {
      if (thread < kWriters) {
        insert_in_pieces(filter, std::span(digests).subspan(thread * 2000, 2000));
        --writing;
        return;
      }
      do {
        Outcomes outcomes(strangers.size());
        filter.may_contain(std::span(strangers), outcomes.span());
        ++rounds;
      } while (writing.load() != 0);
    });
    EXPECT_GE(rounds.load(), 2U);
    const double survival = filter.survival(8000);
    EXPECT_GE(static_cast<double>(std::ranges::count(batch_answers(filter, digests), true)), 8000 * survival - 50);
    const double rate = filter.fpr_estimate();
    EXPECT_NEAR(static_cast<double>(std::ranges::count(batch_answers(filter, strangers), true)), 20'000 * rate,
                4 * std::sqrt(20'000 * rate) + 1);
  }
}

}  // namespace
}  // namespace mankai::test
