#include "mankai/store/detail/load_store.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/file/file_lock.hpp"
#include "mankai/file/open_file.hpp"
#include "mankai/store/detail/shared_file.hpp"
#include "mankai/store/detail/store_file.hpp"
#include "mankai/store/journal_file.hpp"
#include "mankai/store/journal_reader.hpp"
#include "mankai/store/store_footer.hpp"

namespace mankai::detail {
namespace {

/// Larger images are mapped: opening is immediate, and the first change to a page copies it.
constexpr std::uint64_t kMostReadBytes = std::uint64_t{256} << 20;

/// Attempts of a reader concurrent with a writer, which cannot make checkpoints so quickly for long.
constexpr int kMaxAttempts = 1000;

// Refuses a file that is not an image before anything is allocated for it.
Result<void> check_start(const OpenFile& file, std::uint64_t image_bytes) {
  std::array<std::byte, sizeof(ImageHeader)> bytes{};
  const auto start = std::span(bytes).first(std::min<std::uint64_t>(bytes.size(), image_bytes));
  MANKAI_TRY(file.read(0, start));
  MANKAI_TRY(read_header(start, image_bytes));
  return {};
}

Result<AnyFilter> read_image(const OpenFile& file, std::uint64_t image_bytes, const LoadRequest& request) {
  MANKAI_TRY(check_start(file, image_bytes));
  const bool is_mapped = request.access == Access::query || (image_bytes > kMostReadBytes && !request.was_in_memory);
  MANKAI_ASSIGN(auto region, is_mapped ? file.map_region(image_bytes) : file.read_region(image_bytes, request.memory));
  return filter_from_region(std::move(region), request.trust, request.memory);
}

// A commit without a change is as old as what it commits.
bool is_new(const JournalRecord& record, std::uint64_t file_sequence) noexcept {
  return record.sequence > file_sequence && record.last_sequence() > file_sequence;
}

/// Reads a journal to find which of its records must be replayed, and where they end. Changes nothing.
class Survey {
 public:
  Survey(std::uint64_t file_sequence, RecoveryReport& report) noexcept
      : file_sequence_(file_sequence), report_(report) {}

  Result<JournalState> run(JournalReader& journal) {
    state_ = {.superblock = journal.superblock(),
              .end = journal.offset(),
              .next_sequence = journal.superblock().first_sequence};
    if (state_.next_sequence > file_sequence_ + 1) {
      return fail(ErrorCode::corrupt, "begins with change " + std::to_string(state_.next_sequence) +
                                          ", and its file ends with change " + std::to_string(file_sequence_) +
                                          ": the file is older than its journal; restore both from one copy");
    }
    while (const auto record = journal.next()) {
      MANKAI_TRY(check_not_split(*record));
      take(*record);
    }
    return finish(journal);
  }

 private:
  /// What a batch adds once it is committed.
  struct Batch {
    std::uint64_t records = 0;
    std::uint64_t replayed = 0;
    std::uint64_t changes = 0;
    std::uint64_t sequence = 0;
    std::string_view position = {};
  };

  // The image has all of a record or none of it, since checkpoints are made between batches.
  [[nodiscard]] Result<void> check_not_split(const JournalRecord& record) const {
    if (record.sequence > file_sequence_ || record.last_sequence() <= file_sequence_) {
      return {};
    }
    return fail(ErrorCode::corrupt, "the record at offset " + std::to_string(record.offset) + " has changes " +
                                        std::to_string(record.sequence) + " to " +
                                        std::to_string(record.last_sequence()) +
                                        ", of which the file has some and lacks others, as it ends with change " +
                                        std::to_string(file_sequence_) + "; restore both from one copy");
  }

  void take(const JournalRecord& record) {
    ++batch_.records;
    if (is_new(record, file_sequence_)) {
      ++batch_.replayed;
      batch_.changes += record.change.keys;
      batch_.sequence = record.last_sequence();
      batch_.position = record.position.empty() ? batch_.position : record.position;
    }
    if (!record.more_follows) {
      commit(record);
    }
  }

  void commit(const JournalRecord& last) {
    state_.records += batch_.records;
    state_.end = last.offset + last.bytes;
    state_.next_sequence = last.sequence + last.change.keys;
    if (batch_.replayed != 0) {
      report_.records_replayed += batch_.replayed;
      report_.changes_replayed += batch_.changes;
      report_.sequence = batch_.sequence;
    }
    if (!batch_.position.empty()) {
      report_.position = SourcePosition::of(batch_.position).value_or(SourcePosition());
    }
    batch_ = {};
  }

  Result<JournalState> finish(const JournalReader& journal) {
    MANKAI_ASSIGN(auto end, journal.end(file_sequence_));
    report_.dropped_at = state_.end;
    report_.bytes_dropped = end.offset - state_.end + end.bytes_dropped;
    state_.is_in_batch = batch_.records != 0 && end.reason.empty();
    report_.reason = state_.is_in_batch ? "the batch at offset " + std::to_string(state_.end) + " was not committed"
                                        : std::move(end.reason);
    return state_;
  }

  std::uint64_t file_sequence_;
  RecoveryReport& report_;
  JournalState state_{};
  Batch batch_;
};

bool is_empty(const JournalFile& file) {
  JournalReader journal(file.superblock, file.records.bytes());
  if (journal.next()) {
    return false;
  }
  const auto end = journal.end();
  return end && end->bytes_dropped == 0;
}

// Returns whether a journal no longer counts, or does not count yet: it belongs to a file that this one replaced, or it
// has no records, since it is created before the footer names it.
bool is_void(const StoreFooter& footer, const JournalFile& file) {
  const std::uint64_t id = file.superblock.store_id;
  const bool is_another = footer.is_open == 0 && id != footer.store_id;
  return is_another && (id == footer.replaced_id || is_empty(file));
}

Result<void> check_belongs(const std::optional<FoundFooter>& footer, const JournalReader& journal) {
  if (footer && footer->footer.store_id != journal.superblock().store_id) {
    return fail(ErrorCode::corrupt,
                "belongs to another file than the one beside it; put that one back, or move the journal away if "
                "its changes are not wanted");
  }
  return {};
}

// A writer that ended before its first change leaves a journal without records next to a plain image.
Result<void> check_plain(const std::optional<FoundFooter>& footer, const RecoveryReport& report) {
  if (!footer && report.records_replayed != 0) {
    return fail(ErrorCode::corrupt,
                "has changes of a store, and the file beside it is a plain image; put the store's file back, or move "
                "the journal away if its changes are not wanted");
  }
  return {};
}

/// A store without its image.
struct StoreFiles {
  std::optional<FoundFooter> footer;
  std::optional<JournalFile> file;      ///< none: no journal, or one that does not count
  std::optional<JournalState> journal;  ///< of `file`
  std::optional<OpenFile> shared;       ///< cells that have all changes; none: nobody shares the filter
  RecoveryReport report;

  [[nodiscard]] std::uint64_t file_sequence() const noexcept { return footer ? footer->footer.sequence : 0; }
};

Result<void> read_records(StoreFiles& found, JournalFile file) {
  if (found.footer && is_void(found.footer->footer, file)) {
    return {};
  }
  JournalReader journal(file.superblock, file.records.bytes());
  MANKAI_TRY(check_belongs(found.footer, journal));
  MANKAI_ASSIGN(auto state, Survey(found.file_sequence(), found.report).run(journal));
  found.journal = state;
  found.journal->damaged_superblocks = file.damaged_superblocks;
  found.file = std::move(file);
  return check_plain(found.footer, found.report);
}

// A writer that ended while it created its journal left an invalid one; the footer says that no change is missing.
bool is_unfinished(const Error& error, const RecoveryReport& report) noexcept {
  return error.code == ErrorCode::corrupt && report.was_closed;
}

Result<StoreFiles> read_files(const std::string& path, const OpenFile& file, FileCalls& calls) {
  MANKAI_ASSIGN(const auto footer, within(path, read_footer(file)));
  StoreFiles found{.footer = footer, .file = {}, .journal = {}, .shared = {}, .report = {}};
  if (footer) {
    const StoreFooter& counts = footer->footer;
    found.report.was_closed = counts.is_open == 0;
    found.report.sequence = counts.sequence;
    found.report.position = position_of(counts);
  }
  MANKAI_ASSIGN(found.shared, open_shared(path, footer, calls));
  auto read = read_journal_file(journal_path(path), calls);
  if (!read && is_unfinished(read.error(), found.report)) {
    found.report.had_journal = true;
    return found;
  }
  MANKAI_ASSIGN(auto journal, std::move(read));
  found.report.had_journal = journal.has_value();
  if (!journal && !found.report.was_closed) {
    return fail(ErrorCode::corrupt, path + ": a writer did not close it, and its journal " + journal_path(path) +
                                        " is missing: changes may be lost; put the journal back, or restore both "
                                        "from one copy");
  }
  if (journal) {
    MANKAI_TRY(within(journal_path(path), read_records(found, *std::move(journal))));
  }
  return found;
}

Result<void> redo(AnyFilter& filter, const JournalRecord& record) {
  try {
    return within("the record at offset " + std::to_string(record.offset), filter.apply(record.change));
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::out_of_space, "no memory to replay the record at offset " + std::to_string(record.offset));
  }
}

Result<void> replay(AnyFilter& filter, const StoreFiles& found) {
  if (!found.journal || found.report.records_replayed == 0) {
    return {};
  }
  JournalReader journal(found.file->superblock, found.file->records.bytes());
  while (journal.offset() < found.journal->end) {
    const auto record = journal.next();
    MANKAI_ASSERT(record.has_value());  // the survey has read them, in the same memory
    if (record->has_change && is_new(*record, found.file_sequence())) {
      MANKAI_TRY(redo(filter, *record));
    }
  }
  return {};
}

Result<LoadedStore> load(const std::string& path, const OpenFile& file, StoreFiles found, const LoadRequest& request) {
  if (found.shared) {
    MANKAI_ASSIGN(auto filter,
                  within(shared_path(path), read_shared(*found.shared, request.memory, found.report.sequence)));
    return LoadedStore{.filter = std::move(filter),
                       .footer = found.footer,
                       .journal = std::nullopt,
                       .file_bytes = file.size(),
                       .report = std::move(found.report)};
  }
  const std::uint64_t image_bytes = found.footer ? found.footer->footer.image_bytes : file.size();
  MANKAI_ASSIGN(auto filter, within(path, read_image(file, image_bytes, request)));
  MANKAI_TRY(within(journal_path(path), replay(filter, found)));
  return LoadedStore{.filter = std::move(filter),
                     .footer = found.footer,
                     .journal = found.journal,
                     .file_bytes = file.size(),
                     .report = std::move(found.report)};
}

// 0: no journal.
std::uint64_t journal_number(const std::string& path, FileCalls& calls) {
  const auto superblock = read_journal_superblock(path, calls);
  return superblock ? superblock->number : 0;
}

/// Detects changes by a writer while the files are read one after the other. The image may be read later: an open file
/// is replaced, never written.
class ChangeDetector {
 public:
  ChangeDetector(const std::string& path, const OpenFile& file, FileCalls& calls)
      : path_(path), calls_(calls), identity_(file.identity()), number_(journal_number(journal_path(path), calls)) {}

  [[nodiscard]] bool are_unchanged() const {
    const auto now = identify(path_, calls_);
    return now && *now == identity_ && journal_number(journal_path(path_), calls_) == number_;
  }

 private:
  const std::string& path_;
  FileCalls& calls_;
  FileIdentity identity_;
  std::uint64_t number_;
};

// A writer that is active has not lost the batch that it has not committed yet. It is known by its lock on this very
// file: after a crash, an inode's number alone may be that of a file elsewhere.
void keep_batch(const std::string& path, StoreFiles& found, FileCalls& calls) {
  if (found.journal && found.journal->is_in_batch && lock_owner(path, false, calls) != 0) {
    found.report.bytes_dropped = 0;
    found.report.reason.clear();
  }
}

}  // namespace

Result<LoadedStore> load_store(const std::string& given, const LoadRequest& request) {
  MANKAI_ASSIGN(const std::string path, resolve_links(given, *request.calls));
  // A record that is being written looks damaged or lost; that counts only if further attempts find the same.
  constexpr int kEqualAttempts = 3;
  std::string before;
  int equal_attempts = 0;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    MANKAI_ASSIGN(const auto file, OpenFile::open(path, OpenFile::Mode::read, *request.calls));
    const ChangeDetector files(path, file, *request.calls);
    auto found = read_files(path, file, *request.calls);
    if (request.is_writer || files.are_unchanged()) {
      if (found && !request.is_writer) {
        keep_batch(path, *found, *request.calls);
      }
      const std::string& damage = found ? found->report.reason : found.error().detail;
      equal_attempts = damage == before ? equal_attempts + 1 : 1;
      before = damage;
      if (request.is_writer || damage.empty() || equal_attempts == kEqualAttempts) {
        return found ? load(path, file, std::move(*found), request) : std::unexpected(found.error());
      }
    }
    std::this_thread::sleep_for(request.between_attempts);
  }
  return fail(ErrorCode::io, path + ": a writer replaces the file faster than it can be read; try again");
}

}  // namespace mankai::detail
