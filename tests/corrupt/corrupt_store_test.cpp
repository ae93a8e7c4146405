// Stores whose files were damaged, cut, or put together from parts of several. Whatever the damage, opening them ends
// in one of three ways, and never in a crash or in answers that are wrong without a word:
//   - identical: everything is there, what was damaged means nothing;
//   - refused: an error that names the file;
//   - reported: the state after an earlier batch, whole, and the recovery report says that something was dropped.
// One loss cannot be seen, and is counted: a journal's last records set back to zeros, which look as if they had never
// been (docs/formats/journal.md).
//
// Each filter's file and journal are taken from a store as a process leaves them that is killed; then they are damaged
// in memory, and opened by what Store::open and open_filter open with. Some of the cases go through both of these, on
// the disk, and the store goes on afterwards.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>

#include "mankai/file/file.hpp"
#include "mankai/store/detail/load_store.hpp"
#include "mankai/store/journal_reader.hpp"
#include "mankai/store/store_footer_format.hpp"
#include "tests/support/memory_files.hpp"
#include "tests/support/sampled.hpp"
#include "tests/support/store_requests.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai::test {
namespace {

using Bytes = std::vector<std::byte>;

const std::string kPath = "filter.mk";
const std::string kJournalPath = "filter.mk-journal";

Bytes bytes_at(const std::filesystem::path& path) {
  auto read = read_file(path).value();
  return {read.bytes().begin(), read.bytes().end()};
}

/// A store's files when its process is killed, and what the store was after each batch since the last checkpoint.
struct Victim {
  Bytes file;
  Bytes journal;
  std::vector<StoreState> moments;
  std::vector<std::uint64_t> ends;  ///< of the journal's records then

  [[nodiscard]] std::uint64_t end() const noexcept { return ends.back(); }
};

/// What became of so many cases.
struct Tally {
  std::size_t identical = 0;
  std::size_t refused = 0;
  std::size_t reported = 0;
  std::size_t unseen = 0;

  [[nodiscard]] std::size_t total() const noexcept { return identical + refused + reported + unseen; }
  Tally& operator+=(const Tally& other) noexcept {
    identical += other.identical;
    refused += other.refused;
    reported += other.reported;
    unseen += other.unseen;
    return *this;
  }
};

std::ostream& operator<<(std::ostream& out, const Tally& tally) {
  return out << tally.total() << " cases: " << tally.identical << " identical, " << tally.refused << " refused, "
             << tally.reported << " reported, " << tally.unseen << " unseen";
}

/// How large a victim is.
struct Size {
  int batches_before = 3;  ///< a checkpoint
  int batches = 6;
  std::size_t keys = 4;
};

class CorruptStore : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] std::string path() const { return folder_.file(kPath); }
  [[nodiscard]] std::string journal_path() const { return folder_.file(kJournalPath); }

  void put_down(const Victim& victim) const {
    std::filesystem::remove(journal_path());
    ASSERT_TRUE(write_file(path(), victim.file, Existing::replace).has_value());
    ASSERT_TRUE(write_file(journal_path(), victim.journal, Existing::replace).has_value());
  }

  // Some batches are one call, some several; some say where the source stands; some are on the disk before the next.
  [[nodiscard]] Victim victim(std::string_view spec, const Size& size, std::uint64_t seed) const {
    const std::string at = folder_.file("victim.mk");
    auto store = Store::create(at, filter_of(spec), {.durability = Durability::never}, Existing::replace).value();
    RequestMaker maker(store.filter(), seed);
    Random random(seed);
    const auto do_batch = [&](int number) {
      store.begin();
      for (std::uint64_t calls = random.below(3) + 1; calls-- > 0;) {
        asked(store, maker.next(size.keys)).value();
      }
      store.commit(number % 2 == 0 ? "line " + std::to_string(number) : std::string()).value();
    };
    for (int i = 0; i < size.batches_before; ++i) {
      do_batch(i);
    }
    store.checkpoint().value();
    Victim made;
    const auto remember = [&] {
      made.moments.push_back(state_of(store));
      made.ends.push_back(end_of_records(bytes_at(at + "-journal")));
    };
    remember();
    for (int i = 0; i < size.batches; ++i) {
      do_batch(i);
      if (i % 3 == 1) {
        store.sync().value();
      }
      remember();
    }
    made.file = bytes_at(at);
    made.journal = bytes_at(at + "-journal");
    // What follows the records, for which room was taken, is as good shorter.
    constexpr std::size_t kKept = 700;
    made.journal.resize(std::min(made.journal.size(), made.end() + kKept));
    return made;
  }

  static std::uint64_t end_of_records(const Bytes& journal) {
    auto reader = JournalReader::open(journal).value();
    while (reader.next()) {
    }
    return reader.offset();
  }

 private:
  TemporaryFolder folder_{files_in_memory()};
};

bool is_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

// Whether the records look as if they ended there.
bool ends_in_zeros(const Bytes& journal, std::uint64_t end) {
  const auto header = sizeof(RecordHeader);
  return journal.size() >= end + header && is_zero(std::span(journal).subspan(end, header));
}

void expect_names_file(const Error& error, const std::string& what) {
  EXPECT_TRUE(error.code == ErrorCode::corrupt || error.code == ErrorCode::unsupported_version)
      << what << ": " << error.message();
  EXPECT_NE(error.detail.find(kPath), std::string::npos) << what << ": " << error.message();
}

/// What was found, compared with what the store was at each moment.
Tally judged(const Victim& victim, const Bytes& journal, const StoreState& found, const RecoveryReport& report,
             const std::string& what) {
  const auto same = std::ranges::find(victim.moments, found);
  if (same == victim.moments.end()) {
    ADD_FAILURE() << what << ": the store is as it never was, at change " << found.sequence;
    return {};
  }
  if (same + 1 == victim.moments.end()) {
    return {.identical = 1};
  }
  if (!report.reason.empty()) {
    EXPECT_LE(report.dropped_at, victim.end()) << what;
    return {.reported = 1};
  }
  const std::uint64_t end = victim.ends[static_cast<std::size_t>(same - victim.moments.begin())];
  EXPECT_TRUE(ends_in_zeros(journal, end)) << what << ": lost without a word what came after change " << found.sequence;
  return {.unseen = 1};
}

/// Opens damaged files as everything in the library does.
class Judge {
 public:
  explicit Judge(const Victim& victim) : victim_(victim) { files_.put(kPath, victim.file); }

  Tally operator()(const Bytes& file, const std::optional<Bytes>& journal, const std::string& what) {
    files_.at(kPath) = file;
    journal ? files_.put(kJournalPath, *journal) : files_.remove(kJournalPath);
    // Each in its turn: queries map the file, and look at the journal again.
    access_ = access_ == Access::query ? Access::change : Access::query;
    const auto loaded =
        detail::load_store(kPath, {.access = access_,
                                   .calls = &files_,
                                   .is_writer = access_ == Access::change,
                                   .between_attempts = {}});  // nobody writes: waiting took most of the time
    if (!loaded) {
      expect_names_file(loaded.error(), what);
      return {.refused = 1};
    }
    const StoreState found{.sequence = loaded->report.sequence,
                           .position = std::string(loaded->report.position.view()),
                           .image = image_of(loaded->filter)};
    return judged(victim_, journal.value_or(Bytes()), found, loaded->report, what);
  }

 private:
  const Victim& victim_;
  MemoryFiles files_;
  Access access_ = Access::query;
};

void flip(Bytes& bytes, std::size_t bit) { bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8)); }

// Under a sanitizer one case in seven, as each takes ten times as long.
constexpr std::size_t kStep = kIsSampled ? 7 : 1;

/// What is looked at by nobody is damaged here and there.
bool is_taken(std::size_t bit, bool matters) {
  constexpr std::size_t kEvery = 61;
  return bit % (matters ? kStep : kEvery) == 0;
}

bool matters_in_file(std::size_t byte, std::uint64_t image_bytes) {
  const std::uint64_t first = footer_offset(image_bytes, 0);
  return byte < image_bytes || (byte >= first && (byte - first) % kFooterPage < sizeof(StoreFooter));
}

bool matters_in_journal(std::size_t byte, std::uint64_t end) {
  return byte < kFirstRecord ? byte % kSuperblockCopy < sizeof(Superblock) : byte < end + sizeof(RecordHeader);
}

TEST_P(CorruptStore, an_unharmed_one_is_identical) {
  const Victim whole = victim(GetParam(), {}, 1);
  Judge judge(whole);
  EXPECT_EQ(judge(whole.file, whole.journal, "unharmed").identical, 1U);
  EXPECT_EQ(judge(whole.file, whole.journal, "unharmed").identical, 1U);
}

TEST_P(CorruptStore, every_flipped_bit_of_the_file_is_refused_or_means_nothing) {
  const Victim whole = victim(GetParam(), {}, 2);
  Judge judge(whole);
  Bytes bytes = whole.file;
  Tally tally;
  const std::uint64_t image_bytes = image_of(filter_of(GetParam())).size();
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    if (is_taken(bit, matters_in_file(bit / 8, image_bytes))) {
      flip(bytes, bit);
      tally += judge(bytes, whole.journal, "bit " + std::to_string(bit));
      flip(bytes, bit);
    }
  }
  std::cout << "    " << tally << "\n";
  EXPECT_EQ(tally.reported + tally.unseen, 0U);
  // One copy of the footer, as the other one serves, and the zeros next to them, of which nobody reads any.
  EXPECT_LE(tally.identical, (bytes.size() - std::min<std::uint64_t>(image_bytes, bytes.size())) * 8);
}

// What a write leaves that was torn, or whose power was cut, and more: a page of which nothing is left.
TEST_P(CorruptStore, a_lost_copy_of_the_footer_costs_nothing_and_both_are_refused) {
  const Victim whole = victim(GetParam(), {}, 13);
  Judge judge(whole);
  const std::uint64_t first = whole.file.size() - store_bytes(0);
  for (std::uint64_t copy = 0; copy < kFooterCopies; ++copy) {
    Bytes bytes = whole.file;
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(first + copy * kFooterPage);
    for (const int value : {0x00, 0x5a, 0xff}) {
      std::fill(begin, copy == 0 ? begin + kFooterPage : bytes.end(), std::byte(value));
      EXPECT_EQ(judge(bytes, whole.journal, "without copy " + std::to_string(copy)).identical, 1U);
    }
  }
  Bytes bytes = whole.file;
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(first), bytes.end(), std::byte{0x5a});
  EXPECT_EQ(judge(bytes, whole.journal, "without both").refused, 1U);
}

TEST_P(CorruptStore, every_flipped_bit_of_the_journal_is_refused_or_reported_or_means_nothing) {
  const Victim whole = victim(GetParam(), {}, 3);
  Judge judge(whole);
  Bytes bytes = whole.journal;
  Tally records;
  Tally others;
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    if (!is_taken(bit, matters_in_journal(bit / 8, whole.end()))) {
      continue;
    }
    flip(bytes, bit);
    const bool is_in_records = bit / 8 >= kFirstRecord && bit / 8 < whole.end();
    (is_in_records ? records : others) += judge(whole.file, bytes, "bit " + std::to_string(bit));
    flip(bytes, bit);
  }
  std::cout << "    records: " << records << "\n    others: " << others << "\n";
  EXPECT_EQ(records.identical + records.unseen, 0U);
  EXPECT_GT(records.refused, 0U);
  EXPECT_GT(records.reported, 0U);
  // There is another superblock beside each, and behind the records nothing is lost.
  EXPECT_EQ(others.refused + others.unseen, 0U);
}

TEST_P(CorruptStore, every_truncation_of_the_file_is_refused) {
  const Victim whole = victim(GetParam(), {}, 4);
  Judge judge(whole);
  Tally tally;
  for (std::size_t size = 0; size < whole.file.size(); size += kStep) {
    const Bytes cut(whole.file.begin(), whole.file.begin() + static_cast<std::ptrdiff_t>(size));
    tally += judge(cut, whole.journal, "cut to " + std::to_string(size));
  }
  std::cout << "    " << tally << "\n";
  EXPECT_EQ(tally.refused, tally.total());
}

TEST_P(CorruptStore, every_truncation_of_the_journal_is_refused_or_reported) {
  const Victim whole = victim(GetParam(), {}, 5);
  Judge judge(whole);
  Tally records;
  Tally others;
  for (std::size_t size = 0; size < whole.journal.size(); size += kStep) {
    const Bytes cut(whole.journal.begin(), whole.journal.begin() + static_cast<std::ptrdiff_t>(size));
    (size < whole.end() ? records : others) += judge(whole.file, cut, "cut to " + std::to_string(size));
  }
  std::cout << "    records: " << records << "\n    others: " << others << "\n";
  EXPECT_EQ(records.identical + records.unseen, 0U);
  EXPECT_EQ(others.identical, others.total());
}

TEST_P(CorruptStore, files_of_different_stores_and_moments_do_not_go_together) {
  const Victim whole = victim(GetParam(), {}, 6);
  const Victim other = victim(GetParam(), {}, 7);
  Judge judge(whole);
  EXPECT_EQ(judge(whole.file, other.journal, "another store's journal").refused, 1U);
  EXPECT_EQ(judge(other.file, whole.journal, "another store's file").refused, 1U);
  EXPECT_EQ(judge(whole.file, std::nullopt, "no journal").refused, 1U);
  EXPECT_EQ(judge(whole.file, Bytes(), "an empty journal").refused, 1U);
  EXPECT_EQ(judge(image_of(filter_of(GetParam())), whole.journal, "a plain image").refused, 1U);
}

// A store is copied, goes on, and then its file, or its journal, is the old one.
TEST_P(CorruptStore, an_older_file_is_refused_and_an_older_journal_adds_nothing) {
  const std::string at = path();
  auto store = Store::create(at, filter_of(GetParam()), {.durability = Durability::never}).value();
  RequestMaker maker(store.filter(), 8);
  asked(store, maker.of(Operation::insert, 5)).value();
  const Bytes old_file = bytes_at(at);
  const Bytes old_journal = bytes_at(journal_path());
  asked(store, maker.of(Operation::insert, 5)).value();
  store.checkpoint().value();
  Victim now{.file = bytes_at(at), .journal = {}, .moments = {state_of(store)}, .ends = {kFirstRecord}};
  asked(store, maker.of(Operation::insert, 5)).value();
  Judge judge(now);
  EXPECT_EQ(judge(old_file, bytes_at(journal_path()), "an older file").refused, 1U);
  EXPECT_EQ(judge(now.file, old_journal, "an older journal").identical, 1U);
}

// ---- large damage

/// Damages bytes as disks, copies and people do.
class Vandal {
 public:
  explicit Vandal(std::uint64_t seed) : random_(seed) {}

  /// Pre: at least two sectors.
  void damage(Bytes& bytes) {
    switch (random_.below(6)) {
      case 0: return overwrite(bytes, 1 + random_.below(64));
      case 1: return zero(bytes, 256);
      case 2: return zero(bytes, kFooterSector1);
      case 3: return zero(bytes, kFilePage);
      case 4: return swap_sectors(bytes);
      default: return repeat_sector(bytes);
    }
  }

 private:
  static constexpr std::size_t kFilePage = 4096;

  void overwrite(Bytes& bytes, std::size_t count) {
    const std::size_t begin = random_.below(bytes.size());
    for (std::size_t i = begin; i < std::min(bytes.size(), begin + count); ++i) {
      bytes[i] = static_cast<std::byte>(random_.number());
    }
  }
  // In place, as a disk loses it.
  void zero(Bytes& bytes, std::size_t count) {
    const std::size_t begin = random_.below(bytes.size()) / count * count;
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(begin), std::min(count, bytes.size() - begin),
                std::byte{0});
  }
  std::byte* sector(Bytes& bytes) {
    return bytes.data() + random_.below(bytes.size() / kFooterSector1) * kFooterSector1;
  }
  void swap_sectors(Bytes& bytes) {
    std::byte* const one = sector(bytes);
    std::swap_ranges(one, one + kFooterSector1, sector(bytes));
  }
  void repeat_sector(Bytes& bytes) {
    const Bytes one(sector(bytes), bytes.data() + bytes.size());
    std::copy_n(one.begin(), kFooterSector1, sector(bytes));
  }

  Random random_;
};

class DamagedStore : public CorruptStore {
 protected:
  static constexpr Size kLarge{.batches_before = 4, .batches = 20, .keys = 120};
};

TEST_P(DamagedStore, is_refused_or_reported_or_identical) {
  constexpr int kCases = kStep == 1 ? 300 : 60;
  const Victim whole = victim(GetParam(), kLarge, 9);
  Judge judge(whole);
  Vandal vandal(9);
  Random random(10);
  Tally tally;
  for (int i = 0; i < kCases; ++i) {
    Bytes file = whole.file;
    Bytes journal = whole.journal;
    const std::uint64_t which = random.below(8);
    for (std::uint64_t times = which == 7 ? 3 : 1; times-- > 0;) {
      vandal.damage(which < 3 ? file : journal);
    }
    tally += judge(file, journal, "case " + std::to_string(i));
  }
  std::cout << "    " << tally << "\n";
  EXPECT_EQ(tally.total(), static_cast<std::size_t>(kCases));
  EXPECT_GT(tally.refused, 0U);
}

// What a store and a reader do with damaged files on the disk, and that a store that was opened goes on.
TEST_P(DamagedStore, readers_and_writers_agree_and_a_store_that_opens_goes_on) {
  constexpr int kCases = kStep == 1 ? 12 : 4;
  const Victim whole = victim(GetParam(), kLarge, 11);
  Vandal vandal(11);
  for (int i = 0; i < kCases; ++i) {
    const std::string what = "case " + std::to_string(i);
    Victim damaged = whole;
    vandal.damage(i % 4 == 0 ? damaged.file : damaged.journal);
    put_down(damaged);
    const auto read = open_filter(path(), Access::query);
    auto store = Store::open(path(), {.durability = Durability::never});
    ASSERT_EQ(read.has_value(), store.has_value()) << what;
    if (!store) {
      EXPECT_EQ(read.error().code, store.error().code) << what;
      expect_names_file(store.error(), what);
      continue;
    }
    judged(whole, damaged.journal, state_of(*store), store->recovery(), what);
    EXPECT_EQ(image_of(*read), image_of(store->filter())) << what;
    RequestMaker maker(filter_of(GetParam()), 12);
    asked(*store, maker.of(Operation::insert, 20)).value();
    const StoreState expected = state_of(*store);
    if (i % 2 == 0) {
      store->close().value();
    } else {
      const Victim killed{.file = bytes_at(path()), .journal = bytes_at(journal_path()), .moments = {}, .ends = {}};
      store->close().value();
      put_down(killed);
    }
    const auto again = Store::open(path()).value();
    EXPECT_EQ(state_of(again), expected) << what;
    EXPECT_EQ(again.recovery().reason, "") << what;
  }
}

// As small as each kind can be: every bit counts.
std::vector<std::string> smallest_specs() {
  std::vector<std::string> specs;
  for (const KindDescription* kind : kinds()) {
    specs.push_back(std::string(kind->name) + (kind->can_grow ? ":keys=10" : ":keys=20") +
                    ",seed=" + std::to_string(specs.size() + 1));
  }
  return specs;
}

INSTANTIATE_TEST_SUITE_P(every_kind, CorruptStore, testing::ValuesIn(smallest_specs()), SpecNames{});
INSTANTIATE_TEST_SUITE_P(every_example, DamagedStore, testing::ValuesIn(example_specs()), SpecNames{});

}  // namespace
}  // namespace mankai::test
