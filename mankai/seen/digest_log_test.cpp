#include "mankai/seen/digest_log.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "mankai/hash/checksum.hpp"
#include "mankai/seen/detail/digest_run.hpp"
#include "tests/support/random.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai {
namespace {

namespace fs = std::filesystem;
using test::Random;

const DigestLogKeys kKeys = {.first = {.kind = HashKind::xxh3, .seed = {1, 0}},
                             .second = {.kind = HashKind::xxh3, .seed = {2, 0}}};

class DigestLogTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_.file("seen.log"); }
  [[nodiscard]] std::size_t files() const { return folder_.entries(); }
  [[nodiscard]] std::string bytes(const std::string& file) const {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void write(const std::string& file, const std::string& bytes) const {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  }
  [[nodiscard]] Result<DigestLog> open(std::size_t recent = 1 << 18) const {
    return DigestLog::open(path(), kKeys, {.recent_digests = recent});
  }

 private:
  test::TemporaryFolder folder_;
};

WideDigest digest(Random& random) { return {.first = random.number(), .second = random.number()}; }

std::set<WideDigest> all_of(const DigestLog& log) {
  std::set<WideDigest> all;
  EXPECT_TRUE(log.for_each([&](std::span<const WideDigest> piece) { all.insert(piece.begin(), piece.end()); }));
  return all;
}

// Goal: it holds exactly what was added, through runs, merges and reopening. Method: an exact set, and digests
// with equal first halves, which the search must tell apart.
TEST_F(DigestLogTest, it_holds_what_was_added) {
  Random random(1);
  std::set<WideDigest> exact;
  auto log = open(100);
  ASSERT_TRUE(log.has_value()) << log.error().message();
  std::size_t most_runs = 0;
  for (int batch = 0; batch < 200; ++batch) {
    for (std::uint64_t count = random.below(60); count > 0; --count) {
      WideDigest added = digest(random);
      if (!exact.empty() && random.below(4) == 0) {
        added.first = exact.lower_bound(added) == exact.end() ? 0 : exact.lower_bound(added)->first;
      }
      ASSERT_EQ(log->contains(added), exact.contains(added));
      if (exact.insert(added).second) {
        log->add(added);
      }
    }
    ASSERT_TRUE(log->commit());
    most_runs = std::max(most_runs, log->runs());
    if (batch % 97 == 0) {
      log = fail(ErrorCode::io, "closed");
      log = open(100);
      ASSERT_TRUE(log.has_value()) << log.error().message();
    }
  }
  EXPECT_EQ(all_of(*log), exact);
  EXPECT_EQ(log->digests(), exact.size());
  EXPECT_TRUE(std::ranges::all_of(exact, [&](const WideDigest& added) { return log->contains(added); }));
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_FALSE(log->contains(digest(random)));
  }
  EXPECT_LE(most_runs, 10U);
  EXPECT_EQ(files(), log->runs() + 1) << "runs that were merged are gone";
}

// Digests that are not uniform at all are still found, by bisection.
TEST_F(DigestLogTest, the_search_needs_no_luck) {
  auto log = open(5000);
  std::vector<WideDigest> digests;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    digests.push_back({.first = i < 2500 ? i / 100 : ~std::uint64_t{0} - i % 3, .second = i});
  }
  std::ranges::for_each(digests, [&](const WideDigest& added) { log->add(added); });
  ASSERT_TRUE(log->commit());
  ASSERT_EQ(log->runs(), 1U);
  for (const WideDigest& added : digests) {
    EXPECT_TRUE(log->contains(added));
    EXPECT_FALSE(log->contains({.first = added.first, .second = added.second + 5000}));
    EXPECT_FALSE(log->contains({.first = added.first + 1000, .second = added.second}));
  }
}

TEST_F(DigestLogTest, what_was_not_committed_is_not_there) {
  const WideDigest kept = {.first = 1, .second = 2};
  const WideDigest lost = {.first = 0, .second = 0};
  {
    auto log = open();
    log->add(kept);
    ASSERT_TRUE(log->commit());
    log->add(lost);
    EXPECT_TRUE(log->contains(lost));
  }
  auto log = open();
  EXPECT_TRUE(log->contains(kept));
  EXPECT_FALSE(log->contains(lost));
  EXPECT_EQ(log->dropped_bytes(), 0U);
}

TEST_F(DigestLogTest, the_keys_are_those_it_was_made_with) {
  ASSERT_TRUE(open().has_value());
  const DigestLogKeys others = {.first = {.kind = HashKind::siphash, .seed = {3, 4}},
                                .second = {.kind = HashKind::siphash, .seed = {5, 6}},
                                .canonical_version = 1};
  EXPECT_EQ(DigestLog::open(path(), others)->keys(), kKeys);
}

TEST_F(DigestLogTest, two_at_a_time_are_refused) {
  const auto log = open();
  EXPECT_EQ(open().error().code, ErrorCode::locked);
}

void flip(std::string& bytes, std::size_t bit) {
  bytes[bit / 8] = static_cast<char>(static_cast<unsigned char>(bytes[bit / 8]) ^ (1U << (bit % 8)));
}

std::vector<WideDigest> three_batches(DigestLog& log) {
  Random random(3);
  std::vector<WideDigest> added;
  for (std::size_t i = 0; i < 9; ++i) {
    added.push_back(digest(random));
    log.add(added.back());
    if (i % 3 == 2) {
      EXPECT_TRUE(log.commit());
    }
  }
  return added;
}

// Goal: a file truncated anywhere has the batches before, reports what is lost, and can be changed.
TEST_F(DigestLogTest, a_torn_end_is_dropped_and_reported) {
  std::vector<WideDigest> added;
  {
    auto log = open();
    added = three_batches(*log);
  }
  const std::string whole = bytes(path());
  constexpr std::size_t kBatch = sizeof(DigestBatchHeader) + 3 * sizeof(WideDigest);
  ASSERT_EQ(whole.size(), 4096 + 3 * kBatch);
  for (std::size_t cut = 4096; cut < whole.size(); cut += 9) {
    write(path(), whole.substr(0, cut));
    const std::size_t batches = (cut - 4096) / kBatch;
    for (int again = 0; again < 2; ++again) {
      auto log = open();
      ASSERT_TRUE(log.has_value()) << log.error().message();
      EXPECT_EQ(log->digests(), 3 * batches);
      EXPECT_EQ(log->dropped_bytes(), again == 0 ? cut - 4096 - batches * kBatch : 0U);
      EXPECT_EQ(log->contains(added.back()), false);
    }
    auto log = open();
    log->add(added.back());
    ASSERT_TRUE(log->commit());
    EXPECT_TRUE(open().error().code == ErrorCode::locked);
  }
}

// Goal: no damage adds a digest, and damage that no crash can cause is an error. Method:
// bits of the log's file and of a run, spread over both.
TEST_F(DigestLogTest, damage_is_an_error_or_a_loss_at_the_end) {
  std::set<WideDigest> exact;
  {
    auto log = open(9);
    for (const WideDigest& added : three_batches(*log)) {
      exact.insert(added);
    }
    log->add({.first = 7, .second = 7});
    exact.insert({.first = 7, .second = 7});
    ASSERT_TRUE(log->commit());
    ASSERT_EQ(log->runs(), 1U);
  }
  for (const std::string& file : {path(), detail::digest_run_path(path(), 1)}) {
    const std::string whole = bytes(file);
    for (std::size_t bit = 0; bit < whole.size() * 8;
         bit += bit < sizeof(DigestLogHeader) * 8 && file == path() ? 991 : 13) {
      std::string damaged = whole;
      flip(damaged, bit);
      write(file, damaged);
      const auto log = open(9);
      const bool is_in_batch = file == path() && bit >= sizeof(DigestLogHeader) * 8;
      ASSERT_EQ(log.has_value(), is_in_batch) << file << " bit " << bit;
      if (log) {
        EXPECT_GT(log->dropped_bytes(), 0U);
        EXPECT_TRUE(std::ranges::includes(exact, all_of(*log)));
      } else {
        EXPECT_TRUE(log.error().code == ErrorCode::corrupt || log.error().code == ErrorCode::unsupported_version);
      }
      write(file, whole);
    }
    write(file, whole.substr(0, whole.size() / 2));
    EXPECT_EQ(open().error().code, ErrorCode::corrupt);
    write(file, whole);
  }
  fs::remove(detail::digest_run_path(path(), 1));
  EXPECT_EQ(open().error().code, ErrorCode::not_found);
}

// Goal: damage to digests on the disk is an error that names the offset and changes nothing. Method:
// bits spread over the batch of a closed log.
TEST_F(DigestLogTest, damage_to_what_was_on_the_disk_is_an_error) {
  {
    auto log = open();
    static_cast<void>(three_batches(*log));
    ASSERT_TRUE(log->close());
  }
  const std::string whole = bytes(path());
  ASSERT_EQ(whole.size(), sizeof(DigestLogHeader) + sizeof(DigestBatchHeader) + 9 * sizeof(WideDigest));
  for (std::size_t bit = sizeof(DigestLogHeader) * 8; bit < whole.size() * 8; bit += 13) {
    std::string damaged = whole;
    flip(damaged, bit);
    write(path(), damaged);
    const auto log = open();
    ASSERT_FALSE(log.has_value()) << bit;
    EXPECT_EQ(log.error().code, ErrorCode::corrupt);
    EXPECT_NE(log.error().message().find("offset 4096:"), std::string::npos) << log.error().message();
    EXPECT_EQ(bytes(path()), damaged);
  }
}

// A batch records what the disk had before it: the first damaged one of several is named.
TEST_F(DigestLogTest, the_damaged_batch_is_named) {
  {
    auto log = open();
    static_cast<void>(three_batches(*log));
    ASSERT_TRUE(log->sync());
    log->add({.first = 1, .second = 1});
    ASSERT_TRUE(log->commit());
  }
  const std::string whole = bytes(path());
  constexpr std::size_t kBatch = sizeof(DigestBatchHeader) + 3 * sizeof(WideDigest);
  for (std::size_t batch = 0; batch < 3; ++batch) {
    std::string damaged = whole;
    const std::size_t begin = sizeof(DigestLogHeader) + batch * kBatch;
    flip(damaged, (begin + 50) * 8);
    write(path(), damaged);
    const std::string place = "offset " + std::to_string(begin) + ":";
    EXPECT_NE(open().error().message().find(place), std::string::npos) << batch;
    EXPECT_EQ(bytes(path()), damaged);
  }
}

// Goal: an incomplete copy of a closed log is refused, wherever it ends; it would silently lack keys.
// Method: batches alone, and batches after a run, truncated everywhere.
TEST_F(DigestLogTest, a_closed_log_that_was_cut_short_is_refused) {
  for (const std::size_t recent : {std::size_t{100}, std::size_t{6}}) {
    {
      auto log = open(recent);
      ASSERT_TRUE(log.has_value()) << log.error().message();
      static_cast<void>(three_batches(*log));
      ASSERT_TRUE(log->close());
    }
    const std::string whole = bytes(path());
    for (std::size_t cut = 0; cut < whole.size(); cut += cut < sizeof(DigestLogHeader) ? 512 : 1) {
      write(path(), whole.substr(0, cut));
      ASSERT_EQ(open().error().code, ErrorCode::corrupt) << cut;
    }
    write(path(), whole);
    EXPECT_TRUE(open().has_value());
    fs::remove(path());
  }
}

DigestLogKeys other_keys() {
  return {.first = {.kind = HashKind::xxh3, .seed = {8, 0}}, .second = {.kind = HashKind::xxh3, .seed = {9, 0}}};
}

// Goal: a log that was moved without its runs gets them back unchanged. Method: a new log of its name, right away
// and after as many runs.
TEST_F(DigestLogTest, another_logs_runs_are_left_as_they_are) {
  {
    auto log = open(6);
    static_cast<void>(three_batches(*log));
    ASSERT_EQ(log->runs(), 1U);
  }
  const std::string run = detail::digest_run_path(path(), 1);
  const std::string run_bytes = bytes(run);
  const std::string moved = path() + ".moved";
  fs::rename(path(), moved);
  const auto refused = DigestLog::open(path(), other_keys(), {.recent_digests = 6});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(refused.error().message().find("seen.log-run-1"), std::string::npos) << refused.error().message();
  EXPECT_FALSE(fs::exists(path())) << "no log that can never make a run";
  EXPECT_EQ(bytes(run), run_bytes);

  const std::string aside = (fs::path(path()).parent_path() / "aside").string();
  fs::rename(run, aside);
  {
    auto log = DigestLog::open(path(), other_keys(), {.recent_digests = 6});
    ASSERT_TRUE(log.has_value());
    fs::rename(aside, run);
    Random random(3);
    for (int i = 0; i < 6; ++i) {
      log->add(digest(random));
    }
    EXPECT_EQ(log->commit().error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(bytes(run), run_bytes);
  }
  EXPECT_EQ(open(6).error().code, ErrorCode::invalid_argument) << "before anything is added";
  fs::rename(moved, path());
  EXPECT_EQ(open(6)->digests(), 9U);
}

// A file that never was a run must not be overwritten either.
TEST_F(DigestLogTest, a_file_of_a_runs_name_is_left_as_it_is) {
  for (const std::string& text : {std::string(), std::string("mine"), std::string(500, 'x')}) {
    write(detail::digest_run_path(path(), 1), text);
    EXPECT_EQ(open().error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(bytes(detail::digest_run_path(path(), 1)), text);
  }
}

// What a crash leaves between a run and the first page that lists it, and an incomplete run.
TEST_F(DigestLogTest, its_own_left_over_run_gives_way) {
  ASSERT_TRUE(open(6).has_value());
  const std::string before = bytes(path());
  {
    auto log = open(6);
    static_cast<void>(three_batches(*log));
    ASSERT_EQ(log->runs(), 1U);
  }
  write(path(), before);
  write(detail::new_digest_run_path(path()), "half a run");
  auto log = open(6);
  ASSERT_TRUE(log.has_value()) << log.error().message();
  EXPECT_EQ(log->digests(), 0U);
  static_cast<void>(three_batches(*log));
  EXPECT_EQ(log->runs(), 1U);
  EXPECT_EQ(log->digests(), 9U);
  EXPECT_EQ(files(), 2U);
}

// Goal: a first batch that power loss destroyed ends the log, even if later batches remain: an error would be
// permanent. Method: nothing was synced.
TEST_F(DigestLogTest, what_a_crash_may_take_is_dropped_with_what_is_behind) {
  {
    auto log = open();
    static_cast<void>(three_batches(*log));
  }
  std::string damaged = bytes(path());
  const std::size_t batches = damaged.size() - sizeof(DigestLogHeader);
  std::ranges::fill(std::span(damaged).subspan(sizeof(DigestLogHeader), 64), '\0');
  write(path(), damaged);
  const auto log = open();
  ASSERT_TRUE(log.has_value()) << log.error().message();
  EXPECT_EQ(log->digests(), 0U);
  EXPECT_EQ(log->dropped_bytes(), batches);
}

// Goal: the disk has the contents of a rewritten file, so that truncation of it is damage. Method: a
// log whose torn end was dropped, and one whose batches became a run.
TEST_F(DigestLogTest, a_file_that_was_written_anew_is_on_the_disk) {
  {
    auto log = open(6);
    static_cast<void>(three_batches(*log));
    ASSERT_EQ(log->runs(), 1U);
  }
  const std::string whole = bytes(path());
  write(path(), whole + "torn");
  EXPECT_EQ(open(6)->dropped_bytes(), 4U);
  const std::string anew = bytes(path());
  write(path(), anew.substr(0, anew.size() - 8));
  EXPECT_EQ(open(6).error().code, ErrorCode::corrupt);
  write(path(), anew.substr(0, sizeof(DigestLogHeader)));
  EXPECT_EQ(open(6).error().code, ErrorCode::corrupt);
}

// Batches of an older file whose disk blocks were reused for this one, and which a power loss reveals.
TEST_F(DigestLogTest, batches_of_another_life_say_nothing) {
  {
    auto log = open();
    static_cast<void>(three_batches(*log));
    ASSERT_TRUE(log->sync());
    log->add({.first = 1, .second = 1});
    ASSERT_TRUE(log->commit());
  }
  const std::string old = bytes(path());
  write(path(), old.substr(0, sizeof(DigestLogHeader)) + "torn");
  ASSERT_TRUE(open().has_value());
  const std::string anew = bytes(path());
  ASSERT_EQ(anew.size(), sizeof(DigestLogHeader));
  write(path(), anew + old.substr(sizeof(DigestLogHeader)));
  const auto log = open();
  ASSERT_TRUE(log.has_value()) << log.error().message();
  EXPECT_EQ(log->digests(), 0U);
}

// Goal: closing records once what the disk has, and the log remains usable.
TEST_F(DigestLogTest, a_closed_log_does_not_grow_when_nothing_is_added) {
  std::set<WideDigest> exact;
  for (std::uint64_t i = 0; i < 4; ++i) {
    auto log = open(3);
    ASSERT_TRUE(log.has_value()) << log.error().message();
    EXPECT_EQ(all_of(*log), exact);
    EXPECT_EQ(log->dropped_bytes(), 0U);
    log->add({.first = i, .second = i});
    exact.insert({.first = i, .second = i});
    ASSERT_TRUE(log->commit());
    ASSERT_TRUE(log->close());
    const std::string closed = bytes(path());
    ASSERT_TRUE(log->close());
    EXPECT_EQ(bytes(path()), closed);
    log = fail(ErrorCode::io, "closed");
    log = open(3);
    ASSERT_TRUE(log->close());
    EXPECT_EQ(bytes(path()), closed);
  }
}

// Goal: a first page with a right checksum is refused if its numbers are inconsistent; entries after those in
// use would be counted. Method: each of them changed alone.
TEST_F(DigestLogTest, a_first_page_made_to_mislead_is_refused) {
  {
    auto log = open(6);
    static_cast<void>(three_batches(*log));
    ASSERT_TRUE(log->close());
  }
  const std::string whole = bytes(path());
  const auto with = [&](const auto& change) {
    DigestLogHeader header{};
    std::memcpy(&header, whole.data(), sizeof(header));
    change(header);
    header.checksum = checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(DigestLogHeader, checksum)));
    std::string forged = whole;
    std::memcpy(forged.data(), &header, sizeof(header));
    write(path(), forged);
    return open(6);
  };
  EXPECT_TRUE(with([](DigestLogHeader&) {}).has_value());
  for (const auto& log : {
           with([](DigestLogHeader& header) { header.runs[1] = {.number = 0, .digests = 5, .checksum = 0}; }),
           with([](DigestLogHeader& header) { header.runs[63].checksum = 1; }),
           with([](DigestLogHeader& header) { header.retired[0] = 7; }),
           with([](DigestLogHeader& header) { header.retired[63] = 7; }),
           with([](DigestLogHeader& header) { header.zero = 1; }),
           with([](DigestLogHeader& header) { header.reserved[243] = 1; }),
           with([](DigestLogHeader& header) { header.next_run = 1; }),
           with([](DigestLogHeader& header) { header.run_count = 65; }),
           with([](DigestLogHeader& header) {
             header.runs[1] = header.runs[0];
             header.run_count = 2;
           }),
       }) {
    EXPECT_EQ(log.error().code, ErrorCode::corrupt);
    EXPECT_NE(log.error().message().find("first page"), std::string::npos) << log.error().message();
  }
}

// The bytes of version 1, which only a new version may change.
TEST_F(DigestLogTest, the_bytes_are_those_of_version_1) {
  {
    auto log = open(9);
    static_cast<void>(three_batches(*log));
    log->add({.first = 7, .second = 8});
    ASSERT_TRUE(log->commit());
    ASSERT_TRUE(log->close());
  }
  const auto sum = [&](const std::string& file) {
    const std::string whole = bytes(file);
    return checksum(std::as_bytes(std::span(whole)));
  };
  EXPECT_EQ(sum(path()), 206732190076952001U);
  EXPECT_EQ(sum(detail::digest_run_path(path(), 1)), 4068456919273235669U);
}

TEST_F(DigestLogTest, what_is_no_log_is_refused) {
  for (const std::string& text : {std::string(), std::string("http://a.example/\n"), std::string(10'000, 'x')}) {
    write(path(), text);
    EXPECT_EQ(open().error().code, ErrorCode::corrupt);
    EXPECT_EQ(bytes(path()), text);
  }
  EXPECT_EQ(DigestLog::open(path() + "/no/such", kKeys).error().code, ErrorCode::io);
}

}  // namespace
}  // namespace mankai
