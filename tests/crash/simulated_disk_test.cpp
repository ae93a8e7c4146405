#include "tests/support/simulated_disk.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <string>

#include "tests/support/failing_calls.hpp"

namespace mankai::test {
namespace {

constexpr std::uint64_t kSeeds = 300;
const std::string kPath = "/disk/a";

// What a file has; "-" when there is none.
std::string contents(SimulatedDisk& disk, const std::string& path = kPath) {
  const int file = disk.open(path.c_str(), O_RDONLY, 0);
  if (file < 0) {
    return "-";
  }
  struct stat status{};
  disk.fstat(file, &status);
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  disk.pread(file, bytes.data(), bytes.size(), 0);
  disk.close(file);
  return bytes;
}

// The first byte of each sector, which tells tests of whole sectors apart.
std::string sectors(const std::string& bytes) {
  std::string firsts;
  for (std::size_t at = 0; at < bytes.size(); at += kSectorBytes) {
    firsts += bytes[at] == '\0' ? '0' : bytes[at];
  }
  return firsts;
}

std::string letters(char letter, std::size_t count = kSectorBytes) { return std::string(count, letter); }

int create(SimulatedDisk& disk, const std::string& path = kPath) {
  return disk.open(path.c_str(), O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
}

void write(SimulatedDisk& disk, int file, const std::string& bytes, off_t offset = 0) {
  ASSERT_EQ(disk.pwrite(file, bytes.data(), bytes.size(), offset), static_cast<ssize_t>(bytes.size()));
}

void sync_names(SimulatedDisk& disk) {
  const int folder = disk.open("/disk", O_RDONLY | O_DIRECTORY, 0);
  ASSERT_EQ(disk.fsync(folder), 0);
  disk.close(folder);
}

// A file that is there whatever happens.
int create_for_good(SimulatedDisk& disk, const std::string& bytes) {
  const int file = create(disk);
  write(disk, file, bytes);
  disk.fsync(file);
  sync_names(disk);
  return file;
}

// All that may be found of a file when the machine ends at this moment.
std::set<std::string> found_at(const DiskWalk& walk, const std::string& path = kPath) {
  std::set<std::string> found;
  for (const Loss loss : kLosses) {
    for (std::uint64_t seed = 0; seed < (loss == Loss::some ? kSeeds : 1); ++seed) {
      found.insert(contents(*walk.machine_ends(loss, seed), path));
    }
  }
  return found;
}

std::set<std::string> found_at_end(SimulatedDisk& disk, const std::string& path = kPath) {
  DiskWalk walk(disk);
  while (walk.moment() < disk.moment()) {
    walk.step();
  }
  return found_at(walk, path);
}

std::set<std::string> found_since(SimulatedDisk& disk, std::size_t moment) {
  const std::size_t end = disk.moment();
  std::set<std::string> found;
  for (DiskWalk walk(disk); walk.moment() < end;) {
    walk.step();
    if (walk.moment() >= moment) {
      found.merge(found_at(walk));
    }
  }
  return found;
}

std::set<std::string> firsts(const std::set<std::string>& all) {
  std::set<std::string> cut;
  for (const std::string& each : all) {
    cut.insert(sectors(each));
  }
  return cut;
}

using Found = std::set<std::string>;

TEST(SimulatedDisk, what_is_written_is_read) {
  SimulatedDisk disk;
  const int file = create(disk);
  write(disk, file, "hello");
  write(disk, file, "y", 600);
  EXPECT_EQ(contents(disk), "hello" + std::string(595, '\0') + "y");
  disk.ftruncate(file, 3);
  disk.fallocate(file, 3, 2);
  EXPECT_EQ(contents(disk), std::string("hel\0\0", 5));
  EXPECT_EQ(disk.in_use(), 1U);
  disk.close(file);
  EXPECT_EQ(disk.in_use(), 0U);
}

TEST(SimulatedDisk, writes_are_dropped_reordered_and_torn_between_sectors) {
  SimulatedDisk disk;
  const int file = create_for_good(disk, letters('a') + letters('b'));
  write(disk, file, letters('x') + letters('y'));
  EXPECT_EQ(firsts(found_at_end(disk)), (Found{"ab", "ay", "xb", "xy"}));
  for (const std::string& bytes : found_at_end(disk)) {
    EXPECT_EQ(bytes.substr(0, kSectorBytes), letters(bytes[0])) << "torn within a sector";
  }
  write(disk, file, letters('z'));
  EXPECT_TRUE(found_at_end(disk).contains(letters('x') + letters('b'))) << "what was overwritten in memory";
  disk.fdatasync(file);
  EXPECT_EQ(firsts(found_at_end(disk)), (Found{"zy"}));
}

TEST(SimulatedDisk, a_file_that_is_torn_within_sectors_has_old_lines_new_ones_and_noise) {
  SimulatedDisk disk;
  const int file = create_for_good(disk, letters('a'));
  disk.tear_sectors(kPath);
  write(disk, file, letters('x'));
  bool has_both = false;
  bool has_noise = false;
  for (const std::string& bytes : found_at_end(disk)) {
    has_both = has_both || (bytes.find('a') != std::string::npos && bytes.find('x') != std::string::npos);
    has_noise = has_noise || bytes.find_first_not_of("ax") != std::string::npos;
  }
  EXPECT_TRUE(has_both);
  EXPECT_TRUE(has_noise);
  disk.fdatasync(file);
  EXPECT_EQ(found_at_end(disk), (Found{letters('x')}));
}

TEST(SimulatedDisk, a_size_is_one_of_those_since_the_last_sync) {
  SimulatedDisk disk;
  const int file = create_for_good(disk, letters('a'));
  write(disk, file, letters('b'), kSectorBytes);
  disk.ftruncate(file, 5);
  EXPECT_EQ(found_at_end(disk),
            (Found{"aaaaa", letters('a'), letters('a') + letters('b'), letters('a') + letters('\0'),
                   "aaaaa" + letters('\0', kSectorBytes - 5), "aaaaa" + letters('\0', 2 * kSectorBytes - 5),
                   "aaaaa" + letters('\0', kSectorBytes - 5) + letters('b')}));
  disk.fsync(file);
  EXPECT_EQ(found_at_end(disk), (Found{"aaaaa"}));
}

TEST(SimulatedDisk, a_hole_is_zeros_that_may_be_lost) {
  SimulatedDisk disk;
  const int file = create_for_good(disk, letters('a') + letters('b') + letters('c'));
  ASSERT_EQ(disk.punch_hole(file, kSectorBytes, 5 * kSectorBytes), 0);
  EXPECT_EQ(sectors(contents(disk)), "a00");
  EXPECT_EQ(firsts(found_at_end(disk)), (Found{"abc", "a0c", "ab0", "a00"}));
}

TEST(SimulatedDisk, a_name_lasts_from_the_sync_of_its_folder_on) {
  SimulatedDisk disk;
  const int file = create(disk);
  write(disk, file, "x");
  disk.fsync(file);
  EXPECT_EQ(found_at_end(disk), (Found{"-", "x"}));
  sync_names(disk);
  EXPECT_EQ(found_at_end(disk), (Found{"x"}));
  disk.rename("/disk/a", "/disk/b");
  EXPECT_EQ(found_at_end(disk, "/disk/b"), (Found{"-", "x"}));
  disk.unlink("/disk/b");
  EXPECT_EQ(found_at_end(disk), (Found{"-", "x"}));
  sync_names(disk);
  EXPECT_EQ(found_at_end(disk), (Found{"-"}));
  EXPECT_EQ(found_at_end(disk, "/disk/b"), (Found{"-"}));
}

// Puts a new file in the old one's place, with or without what keeps it whole.
void replace(SimulatedDisk& disk, bool syncs_contents, bool syncs_names) {
  const int file = create(disk, "/disk/new");
  write(disk, file, letters('n') + letters('n'));
  if (syncs_contents) {
    disk.fsync(file);
  }
  disk.close(file);
  disk.rename("/disk/new", kPath.c_str());
  if (syncs_names) {
    sync_names(disk);
  }
}

TEST(SimulatedDisk, a_well_replaced_file_is_old_or_new) {
  SimulatedDisk disk;
  create_for_good(disk, letters('o'));
  const std::size_t begun = disk.moment();
  replace(disk, true, true);
  EXPECT_EQ(firsts(found_since(disk, begun)), (Found{"o", "nn"}));
  EXPECT_EQ(firsts(found_at_end(disk)), (Found{"nn"}));
}

TEST(SimulatedDisk, a_badly_replaced_file_is_caught) {
  for (const bool syncs_names : {false, true}) {
    SimulatedDisk disk;
    create_for_good(disk, letters('o'));
    const std::size_t begun = disk.moment();
    replace(disk, false, syncs_names);
    EXPECT_EQ(firsts(found_since(disk, begun)), (Found{"o", "", "00", "n0", "0n", "nn"}));
  }
  SimulatedDisk disk;
  create_for_good(disk, letters('o'));
  replace(disk, true, false);
  EXPECT_EQ(firsts(found_at_end(disk)), (Found{"o", "nn"})) << "the old one may come back";
}

TEST(SimulatedDisk, a_call_that_is_ignored_is_as_if_it_were_not_there) {
  SimulatedDisk disk;
  create_for_good(disk, letters('o'));
  std::vector<NameChange::Kind> renamed;
  disk.decide_syncs([&](const SyncCall& call) {
    if (call.kind != SyncCall::Kind::folder) {
      return call.path == "/disk/new" ? SimulatedDisk::Fate::ignored : SimulatedDisk::Fate::done;
    }
    for (const NameChange& change : call.names) {
      renamed.push_back(change.kind);
    }
    return SimulatedDisk::Fate::done;
  });
  replace(disk, true, true);
  EXPECT_TRUE(found_at_end(disk).contains(""));
  EXPECT_EQ(renamed, (std::vector{NameChange::Kind::create, NameChange::Kind::rename}));
}

// Goal: after a sync that failed nothing lasts by another one, as with the page caches that there are.
TEST(SimulatedDisk, a_sync_that_failed_is_not_made_up_for) {
  SimulatedDisk disk;
  const int file = create_for_good(disk, letters('a') + letters('b'));
  write(disk, file, letters('x') + letters('y'));
  disk.decide_syncs([](const SyncCall& /*call*/) { return SimulatedDisk::Fate::failed; });
  EXPECT_EQ(disk.fsync(file), -1);
  EXPECT_EQ(errno, EIO);
  disk.decide_syncs({});
  EXPECT_EQ(disk.fsync(file), 0);
  EXPECT_EQ(firsts(found_at_end(disk)), (Found{"ab", "ay", "xb", "xy"}));
  write(disk, file, letters('x'));
  EXPECT_EQ(disk.fsync(file), 0);
  EXPECT_EQ(firsts(found_at_end(disk)), (Found{"xb", "xy"})) << "what was written anew";
}

// A file of two pages, mapped.
std::byte* map(SimulatedDisk& disk, int file, std::size_t bytes) {
  return static_cast<std::byte*>(disk.mmap(bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
}

void fill(std::byte* bytes, char letter, std::size_t count = kSectorBytes) { std::memset(bytes, letter, count); }

constexpr std::size_t kPage = 4096;
constexpr std::size_t kSectorsPerPage = kPage / kSectorBytes;

TEST(SimulatedDisk, mapped_memory_reaches_the_disk_at_any_time) {
  SimulatedDisk disk;
  const int file = create_for_good(disk, letters('a'));
  std::byte* bytes = map(disk, file, kSectorBytes);
  fill(bytes, 'b');
  disk.observe();
  fill(bytes, 'c');
  const auto found = found_at_end(disk);
  EXPECT_TRUE(found.contains(letters('a')));
  EXPECT_TRUE(found.contains(letters('b')));
  EXPECT_TRUE(found.contains(letters('c')));
  EXPECT_TRUE(std::ranges::any_of(found, [](const std::string& each) { return each != letters(each[0]); }))
      << "written to the disk while it was written to memory";
  EXPECT_EQ(disk.fdatasync(file), 0);
  EXPECT_EQ(found_at_end(disk), (Found{letters('c')}));
  disk.munmap(bytes, kSectorBytes);
  EXPECT_EQ(disk.in_use(), 1U);
}

TEST(SimulatedDisk, a_range_of_mapped_memory_lasts_alone) {
  SimulatedDisk disk;
  const int file = create_for_good(disk, letters('a', 2 * kPage));
  std::byte* bytes = map(disk, file, 2 * kPage);
  fill(bytes, 'b', 2 * kPage);
  ASSERT_EQ(disk.msync(bytes + kPage, kPage, MS_SYNC), 0);
  for (const std::string& found : found_at_end(disk)) {
    EXPECT_EQ(found.substr(kPage), letters('b', kPage));
  }
  EXPECT_TRUE(found_at_end(disk).contains(letters('a', kPage) + letters('b', kPage)));
}

TEST(SimulatedDisk, memory_stays_where_it_is_while_a_file_grows) {
  SimulatedDisk disk;
  const int file = create_for_good(disk, letters('a', kPage));
  std::byte* bytes = map(disk, file, kPage);
  ASSERT_EQ(disk.fallocate(file, kPage, kPage), 0);
  EXPECT_EQ(disk.mremap(bytes, kPage, 2 * kPage, MREMAP_MAYMOVE), bytes);
  fill(bytes + kPage, 'b');
  EXPECT_EQ(sectors(contents(disk)), letters('a', kSectorsPerPage) + "b" + letters('0', kSectorsPerPage - 1));
}

TEST(SimulatedDisk, a_private_mapping_is_a_copy) {
  SimulatedDisk disk;
  const int file = create_for_good(disk, letters('a'));
  auto* bytes = static_cast<std::byte*>(disk.mmap(kSectorBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0));
  EXPECT_EQ(bytes[3], std::byte{'a'});
  fill(bytes, 'b');
  EXPECT_EQ(contents(disk), letters('a'));
  disk.munmap(bytes, kSectorBytes);
}

// Goal: what a process has written is there after it, whatever was synchronized; a machine that ends later can lose it.
TEST(SimulatedDisk, the_end_of_the_process_keeps_what_the_machine_s_may_lose) {
  SimulatedDisk disk;
  const int file = create_for_good(disk, letters('a') + letters('a'));
  std::byte* bytes = map(disk, file, 2 * kSectorBytes);
  fill(bytes, 'b');
  disk.observe();
  DiskWalk walk(disk);
  while (!walk.is_at_end()) {
    walk.step();
  }
  const auto after = walk.process_ends(0);
  EXPECT_EQ(contents(*after), letters('b') + letters('a'));
  EXPECT_EQ(after->in_use(), 0U);
  const auto found = firsts(found_at(DiskWalk(*after)));
  EXPECT_TRUE(found.contains("aa"));
  EXPECT_TRUE(found.contains("ba"));
}

TEST(SimulatedDisk, a_process_may_end_while_it_writes_to_memory) {
  SimulatedDisk disk;
  const int file = create_for_good(disk, letters('a') + letters('a'));
  std::byte* bytes = map(disk, file, 2 * kSectorBytes);
  const std::size_t before = disk.moment();
  fill(bytes, 'b', 2 * kSectorBytes);
  ASSERT_EQ(disk.moment(), before + 1);
  DiskWalk walk(disk);
  while (walk.moment() < before) {
    walk.step();
  }
  Found found;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::string bytes_found = contents(*walk.process_ends(seed));
    EXPECT_EQ(bytes_found.find_first_not_of("ab"), std::string::npos);
    found.insert(bytes_found);
  }
  EXPECT_GT(found.size(), kSeeds / 2);
}

TEST(SimulatedDisk, a_lock_is_of_an_open_file_and_ends_with_its_last_number) {
  SimulatedDisk disk;
  const int first = create_for_good(disk, "a");
  const int second = disk.open(kPath.c_str(), O_RDONLY, 0);
  EXPECT_EQ(disk.flock(first, LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(disk.flock(second, LOCK_EX | LOCK_NB), -1);
  EXPECT_EQ(errno, EWOULDBLOCK);
  const int same = disk.duplicate(first);
  disk.close(first);
  EXPECT_EQ(disk.flock(second, LOCK_EX | LOCK_NB), -1);
  EXPECT_EQ(disk.flock(same, LOCK_EX | LOCK_NB), 0);
  disk.close(same);
  EXPECT_EQ(disk.flock(second, LOCK_EX | LOCK_NB), 0);
}

TEST(SimulatedDisk, files_that_are_not_there_are_said_so) {
  SimulatedDisk disk;
  struct stat status{};
  EXPECT_EQ(disk.open("/disk/a", O_RDONLY, 0), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(disk.open("/elsewhere/a", O_RDWR | O_CREAT, S_IRUSR), -1);
  EXPECT_EQ(disk.stat("/disk/a", &status), -1);
  EXPECT_EQ(disk.unlink("/disk/a"), -1);
  EXPECT_EQ(disk.rename("/disk/a", "/disk/b"), -1);
  create(disk);
  create(disk, "/disk/b");
  EXPECT_EQ(disk.rename_no_replace("/disk/a", "/disk/b"), -1);
  EXPECT_EQ(errno, EEXIST);
  EXPECT_EQ(disk.link("/disk/a", "/disk/b"), -1);
  EXPECT_EQ(create(disk), -1);
  EXPECT_EQ(errno, EEXIST);
  EXPECT_EQ(disk.names(), (std::vector<std::string>{"/disk/a", "/disk/b"}));
}

TEST(FailingCalls, the_call_of_the_number_fails_as_told) {
  SimulatedDisk disk;
  FailingCalls calls(disk);
  const int file = calls.open("/disk/a", O_RDWR | O_CREAT, S_IRUSR | S_IWUSR);
  std::array<char, 10> bytes{};
  calls.fail(Failure::io, 1);
  EXPECT_EQ(calls.pwrite(file, bytes.data(), bytes.size(), 0), 10);
  EXPECT_EQ(calls.fsync(file), -1);
  EXPECT_EQ(errno, EIO);
  EXPECT_EQ(calls.failed(), "fsync");
  EXPECT_EQ(calls.fsync(file), 0);
  calls.fail(Failure::short_transfer, 1);
  EXPECT_EQ(calls.pwrite(file, bytes.data(), bytes.size(), 0), 10);
  EXPECT_EQ(calls.fsync(file), 0);
  EXPECT_EQ(calls.pread(file, bytes.data(), bytes.size(), 0), 5);
  calls.fail(Failure::no_space, 0, true);
  EXPECT_EQ(calls.pread(file, bytes.data(), bytes.size(), 0), 10) << "reading needs no room";
  EXPECT_EQ(calls.fallocate(file, 0, 100), -1);
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_EQ(calls.ftruncate(file, 100), -1);
  calls.fail(Failure::interrupted, 0);
  EXPECT_EQ(calls.unlink("/disk/a"), 0);
  EXPECT_EQ(calls.fdatasync(file), -1);
  EXPECT_EQ(errno, EINTR);
  calls.stop();
  EXPECT_EQ(calls.fdatasync(file), 0);
}

}  // namespace
}  // namespace mankai::test
