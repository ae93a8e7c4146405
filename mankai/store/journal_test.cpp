#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "mankai/file/file.hpp"
#include "mankai/hash/checksum.hpp"
#include "mankai/store/journal_reader.hpp"
#include "mankai/store/journal_writer.hpp"
#include "tests/support/failing_calls.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai {
namespace {

constexpr std::uint64_t kStoreId = 7;
/// Sizes of a record of one digest without a position.
constexpr std::uint64_t kLong = record_bytes(0, sizeof(std::uint64_t));
constexpr std::uint64_t kShort = short_record_bytes(sizeof(std::uint64_t));
static_assert(kShort == 16);

/// The system's calls; counts the bytes that they write, and limits a file's size.
class CountingCalls final : public test::FailingCalls {
 public:
  CountingCalls() : FailingCalls(system_calls()) {}

  ssize_t pwrite(int file, const void* from, std::size_t bytes, off_t offset) override {
    bytes_written += bytes;
    return FailingCalls::pwrite(file, from, bytes, offset);
  }
  int fallocate(int file, off_t offset, off_t bytes) override {
    if (static_cast<std::uint64_t>(offset + bytes) > room) {
      errno = ENOSPC;
      return -1;
    }
    return FailingCalls::fallocate(file, offset, bytes);
  }

  std::size_t bytes_written = 0;
  std::uint64_t room = std::uint64_t{1} << 40;
};

class JournalTest : public testing::Test {
 protected:
  [[nodiscard]] JournalWriter create(std::uint64_t first_sequence = 1) const {
    return JournalWriter::create(path_, kStoreId, first_sequence, system_calls()).value();
  }
  // Returns what another process would read now.
  [[nodiscard]] Region bytes() const { return read_file(path_).value(); }

  // Appends inserts of one key each, whose digest is its sequence number.
  static void append(JournalWriter& journal, int count, const JournalWriter::Mark& mark = {}) {
    for (int i = 0; i < count; ++i) {
      const std::uint64_t digest = journal.next_sequence();
      const Change change{.operation = Operation::insert, .keys = 1, .payload = std::as_bytes(std::span(&digest, 1))};
      ASSERT_TRUE(journal.append(change, mark));
    }
  }

  // Writes both copies of a superblock, as a writer of its version does.
  void write_superblock(Superblock superblock) const {
    superblock.checksum = checksum(std::as_bytes(std::span(&superblock, 1)).first(offsetof(Superblock, checksum)));
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    for (std::uint64_t copy = 0; copy < kSuperblockCopies; ++copy) {
      file.seekp(static_cast<std::streamoff>(superblock_offset(superblock.number, copy)));
      file.write(reinterpret_cast<const char*>(&superblock), sizeof(superblock));
    }
  }

  test::TemporaryFolder folder_;
  std::string path_ = folder_.file("journal");
};

std::vector<std::uint64_t> sequences(JournalReader& reader) {
  std::vector<std::uint64_t> found;
  while (const auto record = reader.next()) {
    found.push_back(record->sequence);
  }
  return found;
}

TEST_F(JournalTest, what_is_appended_is_read) {
  JournalWriter journal = create();
  append(journal, 1, {.durable = 0, .position = "here", .more_follows = true});
  ASSERT_TRUE(journal.append_commit(0, {.durable = 1, .position = {}, .more_follows = false}));
  const Region region = bytes();
  JournalReader reader = JournalReader::open(region.bytes()).value();
  const auto first = reader.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->offset, kFirstRecord);
  EXPECT_EQ(first->position, "here");
  EXPECT_TRUE(first->more_follows);
  EXPECT_EQ(first->change.operation, Operation::insert);
  const auto second = reader.next();
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->has_change);
  EXPECT_EQ(second->sequence, 2U);
  EXPECT_EQ(second->durable, 1U);
  EXPECT_FALSE(reader.next());
  const auto end = reader.end();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->offset, journal.end());
  EXPECT_EQ(end->reason, "");
}

TEST_F(JournalTest, a_journal_grows_as_it_must) {
  JournalWriter journal = create();
  append(journal, 10'000);
  const std::uint64_t pages = (journal.end() - kFirstRecord + kJournalPage - 1) / kJournalPage;
  EXPECT_EQ(journal.end(), kFirstRecord + 10'000 * kShort + pages * (kLong - kShort));
  const Region region = bytes();
  JournalReader reader = JournalReader::open(region.bytes()).value();
  EXPECT_EQ(sequences(reader).size(), 10'000U);
}

TEST_F(JournalTest, zeros_are_written_ahead_where_the_disk_has_nothing_more_than_before) {
  constexpr int kRecords = 60'000;
  CountingCalls calls;
  JournalWriter journal = JournalWriter::create(path_, kStoreId, 1, calls).value();
  append(journal, kRecords);
  EXPECT_GE(calls.bytes_written, kRecords * kShort - (std::size_t{128} << 10));
  EXPECT_LE(calls.bytes_written, kRecords * kShort + (std::size_t{128} << 10));
  const std::size_t before = calls.bytes_written;
  for (std::uint64_t synced = 1; synced <= kRecords / 1000; ++synced) {
    append(journal, 1000, {.durable = synced});
  }
  EXPECT_LE(calls.bytes_written, before + (std::size_t{64} << 10));
  const Region region = bytes();
  JournalReader reader = JournalReader::open(region.bytes()).value();
  EXPECT_EQ(sequences(reader).size(), 2U * kRecords);
}

// A resumed journal begins its zeros behind its last record, wherever that ends.
TEST_F(JournalTest, zeros_written_ahead_spare_records) {
  constexpr int kRecords = 20'003;  // 320 KB
  CountingCalls calls;
  std::uint64_t end = 0;
  Superblock superblock{};
  {
    JournalWriter journal = JournalWriter::create(path_, kStoreId, 1, calls).value();
    calls.fail(test::Failure::short_transfer, 0, false, "pwrite");
    append(journal, kRecords);
    end = journal.end();
    superblock = JournalReader::open(bytes().bytes())->superblock();
  }
  EXPECT_TRUE(calls.has_failed());
  JournalWriter journal = JournalWriter::resume(path_, superblock, end, kRecords + 1, calls).value();
  const std::size_t before = calls.bytes_written;
  calls.fail(test::Failure::interrupted, 1, false, "pwrite");
  append(journal, kRecords);
  EXPECT_GT(calls.bytes_written, before);
  const Region region = bytes();
  JournalReader reader = JournalReader::open(region.bytes()).value();
  EXPECT_EQ(sequences(reader).size(), 2U * kRecords);
  EXPECT_EQ(reader.end()->reason, "");
}

TEST_F(JournalTest, zeros_that_cannot_be_written_refuse_the_record_that_needs_room) {
  CountingCalls calls;
  JournalWriter journal = JournalWriter::create(path_, kStoreId, 1, calls).value();
  calls.fail(test::Failure::no_space, 0, true, "pwrite");
  const std::uint64_t digest = 1;
  const Change change{.operation = Operation::insert, .keys = 1, .payload = std::as_bytes(std::span(&digest, 1))};
  constexpr std::size_t kMoreThanFits = 20'000;
  std::size_t records = 0;
  while (records < kMoreThanFits && journal.append(change, {})) {
    ++records;
  }
  ASSERT_LT(records, kMoreThanFits);
  EXPECT_EQ(calls.failed(), "pwrite");
  calls.stop();
  ASSERT_TRUE(journal.append(change, {}));
  const Region region = bytes();
  JournalReader reader = JournalReader::open(region.bytes()).value();
  EXPECT_EQ(sequences(reader).size(), records + 1);
}

// A journal of 1 MiB wants another one.
TEST_F(JournalTest, a_disk_that_has_no_room_for_twice_the_journal_is_filled_all_the_same) {
  constexpr std::uint64_t kRoom = std::uint64_t{1200} << 10;
  CountingCalls calls;
  JournalWriter journal = JournalWriter::create(path_, kStoreId, 1, calls).value();
  calls.room = kRoom;
  const std::uint64_t digest = 1;
  const Change change{.operation = Operation::insert, .keys = 1, .payload = std::as_bytes(std::span(&digest, 1))};
  while (journal.end() < kRoom && journal.append(change, {})) {
  }
  EXPECT_LT(journal.end(), kRoom);
  EXPECT_GT(journal.end(), kRoom - (std::uint64_t{128} << 10));
  EXPECT_LE(std::filesystem::file_size(path_), kRoom);
}

TEST_F(JournalTest, a_change_of_one_key_takes_8_bytes_more_than_its_payload) {
  JournalWriter journal = create();
  append(journal, 1);
  const std::array<std::uint64_t, 8> words = {1, 2, 3, 4, 5, 6, 7, 8};
  for (std::size_t count = 1; count <= words.size(); ++count) {
    const Change change{
        .operation = Operation::insert_until, .keys = 1, .payload = std::as_bytes(std::span(words).first(count))};
    ASSERT_TRUE(journal.append(change, {.more_follows = count % 2 == 0}));
  }
  ASSERT_TRUE(
      journal.append({.operation = Operation::erase, .keys = 2, .payload = std::as_bytes(std::span(words))}, {}));
  const Region region = bytes();
  JournalReader reader = JournalReader::open(region.bytes()).value();
  static_cast<void>(reader.next());
  for (std::size_t count = 1; count <= words.size(); ++count) {
    const auto record = reader.next();
    ASSERT_TRUE(record) << count;
    EXPECT_EQ(record->bytes, (count <= kMaxShortWords ? sizeof(ShortHeader) : sizeof(RecordHeader)) + 8 * count);
    EXPECT_EQ(record->sequence, count + 1);
    EXPECT_EQ(record->more_follows, count % 2 == 0);
    EXPECT_EQ(record->change.operation, Operation::insert_until);
    EXPECT_EQ(record->change.keys, 1U);
    EXPECT_TRUE(std::ranges::equal(record->change.payload, std::as_bytes(std::span(words).first(count))));
  }
  EXPECT_EQ(reader.next()->bytes, record_bytes(0, sizeof(words)));
}

// A short record says nothing about the disk, so these are long: the first one of a page, and whatever knows more.
TEST_F(JournalTest, what_the_disk_has_is_said_once_per_page_and_when_it_changes) {
  JournalWriter journal = create();
  append(journal, 1000);
  append(journal, 100, {.durable = 900});
  append(journal, 1, {.durable = 900, .position = "p"});
  const Region region = bytes();
  JournalReader reader = JournalReader::open(region.bytes()).value();
  std::uint64_t page = 0;
  std::uint64_t next_sector = 0;  // where a change is said again
  while (const auto record = reader.next()) {
    const bool is_again = next_sector != 0 && record->offset >= next_sector;
    const bool is_long =
        record->offset / kJournalPage != page || record->sequence == 1001 || is_again || record->sequence == 1101;
    EXPECT_EQ(record->bytes > kShort, is_long) << record->sequence;
    next_sector = record->sequence == 1001 ? (record->offset + record->bytes + 511) / 512 * 512
                                           : (is_again || record->offset / kJournalPage != page ? 0 : next_sector);
    EXPECT_EQ(record->durable, record->sequence > 1000 ? 900U : 0U);
    page = record->offset / kJournalPage;
  }
}

TEST_F(JournalTest, a_record_that_was_removed_leaves_nothing) {
  JournalWriter journal = create();
  append(journal, 2);
  for (const std::uint64_t count : {1U, 5U}) {
    const auto place = journal.place();
    const std::array<std::uint64_t, 5> words = {1, 2, 3, 4, 5};
    const Change change{
        .operation = Operation::put, .keys = 1, .payload = std::as_bytes(std::span(words).first(count))};
    ASSERT_TRUE(journal.append(change, {}));
    journal.remove_last(place);
    const Region region = bytes();
    JournalReader reader = JournalReader::open(region.bytes()).value();
    EXPECT_EQ(sequences(reader), (std::vector<std::uint64_t>{1, 2}));
    EXPECT_EQ(reader.end()->reason, "");
  }
}

TEST_F(JournalTest, version_1_is_continued_as_the_present_one) {
  Superblock superblock{};
  {
    JournalWriter journal = create();
    append(journal, 1);  // long, as in version 1
    superblock = JournalReader::open(bytes().bytes())->superblock();
  }
  superblock.version = 1;
  write_superblock(superblock);
  JournalWriter journal = JournalWriter::resume(path_, superblock, kFirstRecord + kLong, 2, system_calls()).value();
  append(journal, 2);
  const Region region = bytes();
  JournalReader reader = JournalReader::open(region.bytes()).value();
  EXPECT_EQ(reader.superblock().version, kJournalVersion);
  EXPECT_EQ(sequences(reader), (std::vector<std::uint64_t>{1, 2, 3}));
  for (const std::uint64_t at : {0U, 2048U, 4096U, 4096U + 2048U}) {
    Superblock copy{};
    std::memcpy(&copy, region.bytes().data() + at, sizeof(copy));
    EXPECT_EQ(copy.version, kJournalVersion) << at;
  }
}

TEST_F(JournalTest, version_1_has_no_short_records) {
  JournalWriter journal = create();
  append(journal, 3);
  const Region region = bytes();
  Superblock superblock = JournalReader::open(region.bytes())->superblock();
  superblock.version = 1;
  JournalReader reader(superblock, region.bytes().subspan(kFirstRecord));
  EXPECT_EQ(sequences(reader), (std::vector<std::uint64_t>{1}));
}

TEST_F(JournalTest, a_superblock_of_a_later_version_is_not_passed_over) {
  JournalWriter journal = create();
  append(journal, 1);
  Superblock superblock = JournalReader::open(bytes().bytes())->superblock();
  superblock.version = kJournalVersion + 1;
  ++superblock.number;
  write_superblock(superblock);
  EXPECT_EQ(JournalReader::open(bytes().bytes()).error().code, ErrorCode::unsupported_version);
}

// A sync interrupts the writer for each written page that is mapped.
TEST_F(JournalTest, hardly_more_of_it_is_mapped_than_what_is_written_next) {
  constexpr int kRecords = 200'000;
  JournalWriter journal = create();
  append(journal, kRecords);
  std::ifstream maps("/proc/self/smaps");
  std::size_t mapped_kib = 0;
  bool is_journal = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with(path_)) {
      is_journal = true;
    } else if (is_journal && line.starts_with("Rss:")) {
      mapped_kib += std::stoul(line.substr(line.find_first_of("0123456789")));
      is_journal = false;
    }
  }
  EXPECT_GT(mapped_kib, 0U);
  const auto page_kib = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / 1024;
  EXPECT_LE(mapped_kib, 128 + 8 * page_kib);
  // Restarted, all of it is written anew.
  ASSERT_TRUE(journal.restart(9, kRecords + 1));
  append(journal, kRecords);
  const Region region = bytes();
  JournalReader reader = JournalReader::open(region.bytes()).value();
  EXPECT_EQ(sequences(reader).size(), kRecords);
  EXPECT_EQ(reader.end()->bytes_dropped, 0U);
}

TEST_F(JournalTest, a_torn_tail_is_dropped) {
  JournalWriter journal = create();
  append(journal, 3);
  Region region = bytes();
  region.bytes()[journal.end() - 1] ^= std::byte{1};
  JournalReader reader = JournalReader::open(region.bytes()).value();
  EXPECT_EQ(sequences(reader), (std::vector<std::uint64_t>{1, 2}));
  const auto end = reader.end();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->offset, kFirstRecord + kLong + kShort);
  EXPECT_EQ(end->bytes_dropped, kShort);
  EXPECT_NE(end->reason, "");
}

TEST_F(JournalTest, a_hole_is_damage_where_a_later_record_vouches_and_a_crash_elsewhere) {
  for (const std::uint64_t durable : {0U, 1U, 2U}) {
    std::filesystem::remove(path_);
    JournalWriter journal = create();
    append(journal, 2);
    append(journal, 2, {.durable = durable, .position = {}, .more_follows = false});
    Region region = bytes();
    region.bytes()[kFirstRecord + kLong] ^= std::byte{1};  // change 2
    JournalReader reader = JournalReader::open(region.bytes()).value();
    EXPECT_EQ(sequences(reader), (std::vector<std::uint64_t>{1}));
    const auto end = reader.end();
    ASSERT_EQ(end.has_value(), durable < 2) << durable;
    if (end) {
      EXPECT_EQ(end->bytes_dropped, journal.end() - (kFirstRecord + kLong));
    } else {
      EXPECT_EQ(end.error().code, ErrorCode::corrupt);
      EXPECT_NE(end.error().detail.find(std::to_string(kFirstRecord + kLong)), std::string::npos);
    }
  }
}

TEST_F(JournalTest, a_short_record_after_a_damaged_batch_is_found) {
  JournalWriter journal = create();
  append(journal, 1);
  const std::vector<std::uint64_t> digests(100, 5);
  ASSERT_TRUE(
      journal.append({.operation = Operation::insert, .keys = 100, .payload = std::as_bytes(std::span(digests))}, {}));
  append(journal, 1);
  Region region = bytes();
  region.bytes()[kFirstRecord + kLong] ^= std::byte{1};
  JournalReader reader = JournalReader::open(region.bytes()).value();
  EXPECT_EQ(sequences(reader), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(reader.end()->bytes_dropped, journal.end() - (kFirstRecord + kLong));
}

TEST_F(JournalTest, old_records_are_none_after_a_restart) {
  JournalWriter journal = create();
  append(journal, 5);
  ASSERT_TRUE(journal.restart(12345, 6));
  {
    const Region region = bytes();
    JournalReader reader = JournalReader::open(region.bytes()).value();
    EXPECT_TRUE(sequences(reader).empty());
    EXPECT_EQ(reader.end()->reason, "");
  }
  append(journal, 2);
  const Region region = bytes();
  JournalReader reader = JournalReader::open(region.bytes()).value();
  EXPECT_EQ(sequences(reader), (std::vector<std::uint64_t>{6, 7}));
  EXPECT_EQ(reader.end()->reason, "");
}

TEST_F(JournalTest, forgotten_records_are_given_back_and_the_rest_stays) {
  JournalWriter journal = create();
  append(journal, 1000);
  const std::uint64_t middle = journal.end();
  append(journal, 3);
  journal.forget(middle, 1001);
  ASSERT_TRUE(journal.sync());
  static_cast<void>(journal.release_forgotten());  // not every file system can
  EXPECT_EQ(journal.record_bytes_held(), 3 * kShort);
  const Region region = bytes();
  JournalReader reader = JournalReader::open(region.bytes()).value();
  EXPECT_EQ(sequences(reader), (std::vector<std::uint64_t>{1001, 1002, 1003}));
}

TEST_F(JournalTest, a_writer_goes_on_behind_what_is_good) {
  Superblock superblock{};
  {
    JournalWriter journal = create();
    append(journal, 3);
    const Region region = bytes();
    superblock = JournalReader::open(region.bytes())->superblock();
  }
  // The third record is dropped; what follows must not become valid after a new one of the same length.
  JournalWriter journal = JournalWriter::resume(path_, superblock, kFirstRecord + kLong, 2, system_calls()).value();
  append(journal, 1);
  const Region region = bytes();
  JournalReader reader = JournalReader::open(region.bytes()).value();
  EXPECT_EQ(sequences(reader), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(reader.end()->reason, "");
}

TEST_F(JournalTest, one_damaged_superblock_changes_nothing) {
  JournalWriter journal = create();
  append(journal, 2);
  ASSERT_TRUE(journal.restart(99, 3));
  append(journal, 1);
  const Region good = bytes();
  for (const std::uint64_t at : {0U, 2048U, 4096U, 4096U + 2048U}) {
    Region region = bytes();
    region.bytes()[at + 20] ^= std::byte{4};
    JournalReader reader = JournalReader::open(region.bytes()).value();
    EXPECT_EQ(sequences(reader), (std::vector<std::uint64_t>{3})) << at;
  }
}

TEST_F(JournalTest, what_is_no_journal_is_refused) {
  const std::vector<std::byte> zeros(16384);
  EXPECT_EQ(JournalReader::open(zeros).error().code, ErrorCode::corrupt);
  EXPECT_EQ(JournalReader::open(std::span(zeros).first(100)).error().code, ErrorCode::corrupt);
}

}  // namespace
}  // namespace mankai
