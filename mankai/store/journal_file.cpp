#include "mankai/store/journal_file.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "mankai/file/open_file.hpp"
#include "mankai/store/detail/store_file.hpp"
#include "mankai/store/journal_reader.hpp"

namespace mankai {
namespace {

/// Attempts to read a journal that its writer restarts, which it cannot do so often for long.
constexpr int kMaxLooks = 1000;

struct Front {
  alignas(std::uint64_t) std::array<std::byte, kFirstRecord> bytes{};
  Superblock superblock{};
};

Result<Front> read_front(const OpenFile& file) {
  Front front;
  const auto part = std::span(front.bytes).first(std::min<std::uint64_t>(front.bytes.size(), file.size()));
  MANKAI_TRY(file.read(0, part));
  MANKAI_ASSIGN(const auto superblock, read_superblock(part, file.size()));
  front.superblock = superblock;
  return front;
}

// A journal that restarted after its front was released has a hole of its former length, which a writer limits to
// 16 GiB.
Result<void> check_not_sparse(const OpenFile& file, std::uint64_t start) {
  constexpr std::uint64_t kMostSparse = std::uint64_t{64} << 30;
  constexpr std::uint64_t kMostCompression = 16;
  // Some file systems do not report the size on disk, others compress.
  const bool is_sparse = file.bytes_on_disk() != 0 && file.size() / kMostCompression > file.bytes_on_disk();
  if (!is_sparse || file.size() - start <= kMostSparse) {
    return {};
  }
  return fail(ErrorCode::corrupt, "has " + std::to_string(file.size()) + " bytes, of which the disk holds " +
                                      std::to_string(file.bytes_on_disk()) +
                                      ": no writer leaves such holes; restore both files from a copy");
}

Result<JournalFile> read_once(const OpenFile& file, const Front& front) {
  MANKAI_TRY(check_not_sparse(file, front.superblock.start));
  MANKAI_ASSIGN(auto records, Region::allocate(system_memory(), file.size() - front.superblock.start));
  MANKAI_TRY(file.read(front.superblock.start, records.bytes()));
  return JournalFile{.superblock = front.superblock,
                     .records = std::move(records),
                     .damaged_superblocks = count_damaged_superblocks(front.bytes)};
}

// Before a writer releases or overwrites records it writes a superblock that forgets them: equal superblocks before and
// after mean that the records are a snapshot.
Result<JournalFile> read_snapshot(const OpenFile& file) {
  for (int looks = 0; looks < kMaxLooks; ++looks) {
    MANKAI_ASSIGN(const auto front, read_front(file));
    auto journal = read_once(file, front);
    if (!journal) {
      return journal;
    }
    const auto again = read_front(file);
    // Not with ==, which compares one byte after the other.
    if (again && std::memcmp(again->bytes.data(), front.bytes.data(), front.bytes.size()) == 0) {
      return journal;
    }
  }
  return fail(ErrorCode::io, "a writer restarts it faster than it can be read; try again");
}

}  // namespace

Result<std::string> journal_path_of(const std::string& path, FileCalls& calls) {
  MANKAI_ASSIGN(const auto real, resolve_links(path, calls));
  return detail::journal_path(real);
}

Result<std::optional<JournalFile>> read_journal_file(const std::string& path, FileCalls& calls) {
  auto opened = OpenFile::open(path, OpenFile::Mode::read, calls);
  if (!opened && opened.error().code == ErrorCode::not_found) {
    return std::nullopt;
  }
  MANKAI_ASSIGN(const auto file, std::move(opened));
  return within(path, read_snapshot(file));
}

Result<Superblock> read_journal_superblock(const std::string& path, FileCalls& calls) {
  MANKAI_ASSIGN(const auto file, OpenFile::open(path, OpenFile::Mode::read, calls));
  MANKAI_ASSIGN(const auto front, within(path, read_front(file)));
  return front.superblock;
}

}  // namespace mankai
