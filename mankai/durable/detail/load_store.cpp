#include "mankai/durable/detail/load_store.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mankai/durable/detail/store_file.hpp"
#include "mankai/durable/journal_file.hpp"
#include "mankai/durable/journal_reader.hpp"
#include "mankai/durable/store_footer.hpp"
#include "mankai/storage/open_file.hpp"

namespace mankai::detail {
namespace {

/// Larger images are mapped: who changes them has them at once, and pays for a page when it first changes.
constexpr std::uint64_t kMostReadBytes = std::uint64_t{256} << 20;

/// How often a reader looks again when a writer was faster: a writer cannot make checkpoints so quickly for long.
constexpr int kMaxLooks = 1000;

// A file that is no image, however large, is refused before anything is allocated for it.
Result<void> check_start(const OpenFile& file, std::uint64_t image_bytes) {
  std::array<std::byte, sizeof(ImageHeader)> bytes{};
  const auto start = std::span(bytes).first(std::min<std::uint64_t>(bytes.size(), image_bytes));
  if (auto read = file.read(0, start); !read) {
    return read;
  }
  const auto header = read_header(start, image_bytes);
  return header ? Result<void>{} : std::unexpected(header.error());
}

Result<AnyFilter> read_image(const OpenFile& file, std::uint64_t image_bytes, const LoadRequest& request) {
  if (auto valid = check_start(file, image_bytes); !valid) {
    return std::unexpected(valid.error());
  }
  const bool is_mapped = request.access == Access::query || image_bytes > kMostReadBytes;
  auto region = is_mapped ? file.map_region(image_bytes) : file.read_region(image_bytes, request.memory);
  return region ? filter_from_region(std::move(*region), request.trust, request.memory)
                : std::unexpected(region.error());
}

/// Replays the records of a journal into a filter.
class Replay {
 public:
  Replay(AnyFilter& filter, std::uint64_t base, RecoveryReport& report) noexcept
      : filter_(filter), base_(base), report_(report) {}

  Result<JournalState> run(JournalReader& journal) {
    state_ = {.superblock = journal.superblock(),
              .end = journal.offset(),
              .next_sequence = journal.superblock().first_sequence};
    if (state_.next_sequence > base_ + 1) {
      return fail(ErrorCode::corrupt, "begins with change " + std::to_string(state_.next_sequence) +
                                          ", and its file ends with change " + std::to_string(base_) +
                                          ": the file is older than its journal; restore both from one copy");
    }
    while (const auto record = journal.next()) {
      if (auto taken = take(*record); !taken) {
        return std::unexpected(taken.error());
      }
    }
    return finish(journal);
  }

 private:
  Result<void> take(const JournalRecord& record) {
    batch_.push_back(record);
    if (record.more_follows) {
      return {};
    }
    for (const JournalRecord& each : batch_) {
      if (auto done = redo(each); !done) {
        return done;
      }
    }
    state_.records += batch_.size();
    batch_.clear();
    state_.end = record.offset + record.bytes;
    state_.next_sequence = record.sequence + record.change.keys;
    return {};
  }

  Result<void> redo(const JournalRecord& record) {
    // A commit without a change of its own is as old as what it commits.
    if (record.sequence <= base_ || record.last_sequence() <= base_) {
      return check_is_old(record);
    }
    if (record.has_change) {
      if (auto done = apply(record); !done) {
        return done;
      }
    }
    ++report_.records_replayed;
    report_.changes_replayed += record.change.keys;
    report_.sequence = record.sequence + record.change.keys - 1;
    if (!record.position.empty()) {
      report_.position = SourcePosition::of(record.position).value_or(SourcePosition());
    }
    return {};
  }

  // The image has it, since checkpoints are made between batches.
  [[nodiscard]] Result<void> check_is_old(const JournalRecord& record) const {
    if (record.last_sequence() > base_) {
      return fail(ErrorCode::corrupt, "the record at offset " + std::to_string(record.offset) + " has changes " +
                                          std::to_string(record.sequence) + " to " +
                                          std::to_string(record.last_sequence()) +
                                          ", of which the file has some and lacks others, as it ends with change " +
                                          std::to_string(base_) + "; restore both from one copy");
    }
    return {};
  }

  Result<void> apply(const JournalRecord& record) {
    try {
      auto done = apply_change(filter_, record.change);
      return done ? done
                  : std::unexpected(done.error().within("the record at offset " + std::to_string(record.offset)));
    } catch (const std::bad_alloc&) {
      return fail(ErrorCode::out_of_space, "no memory to do the record at offset " + std::to_string(record.offset));
    }
  }

  Result<JournalState> finish(const JournalReader& journal) {
    auto end = journal.end(base_);
    if (!end) {
      return std::unexpected(end.error());
    }
    report_.dropped_at = state_.end;
    report_.bytes_dropped = end->offset - state_.end + end->bytes_dropped;
    report_.reason = !batch_.empty() && end->reason.empty()
                         ? "the batch at offset " + std::to_string(state_.end) + " was not committed"
                         : std::move(end->reason);
    return state_;
  }

  AnyFilter& filter_;
  std::uint64_t base_;
  RecoveryReport& report_;
  JournalState state_{};
  std::vector<JournalRecord> batch_;
};

// Whether a journal is another file's, or one that is over: of a file that this one took the place of, or without
// records, as it is made before the file knows of it.
bool is_over(const StoreFooter& footer, const JournalFile& file) {
  const std::uint64_t id = file.superblock.store_id;
  const bool is_another = footer.is_open == 0 && id != footer.store_id;
  return is_another && (id == footer.replaced_id || !JournalReader(file.superblock, file.records.bytes()).next());
}

Result<void> check_belongs(const std::optional<StoreFooter>& footer, const JournalReader& journal) {
  if (footer && footer->store_id != journal.superblock().store_id) {
    return fail(ErrorCode::corrupt,
                "belongs to another file than the one beside it; put that one back, or move the journal away if "
                "its changes are not wanted");
  }
  return {};
}

// A writer that ended before its first change leaves a journal beside an image without a footer, but no records.
Result<void> check_plain(const std::optional<StoreFooter>& footer, const RecoveryReport& report) {
  if (!footer && report.records_replayed != 0) {
    return fail(ErrorCode::corrupt,
                "has changes of a store, and the file beside it is a plain image; put the store's file back, or move "
                "the journal away if its changes are not wanted");
  }
  return {};
}

Result<void> replay(LoadedStore& loaded, const JournalFile& file) {
  if (loaded.footer && is_over(*loaded.footer, file)) {
    return {};
  }
  JournalReader journal(file.superblock, file.records.bytes());
  if (auto belongs = check_belongs(loaded.footer, journal); !belongs) {
    return belongs;
  }
  const std::uint64_t base = loaded.footer ? loaded.footer->sequence : 0;
  auto state = Replay(loaded.filter, base, loaded.report).run(journal);
  if (!state) {
    return std::unexpected(state.error());
  }
  loaded.journal = *state;
  loaded.journal->damaged_superblocks = file.damaged_superblocks;
  return check_plain(loaded.footer, loaded.report);
}

// A writer that ended while it made its journal left one that is none yet; the file says that nothing is missing.
bool is_unborn(const Error& error, const RecoveryReport& report) noexcept {
  return error.code == ErrorCode::corrupt && report.was_closed;
}

Result<LoadedStore> look_at(const std::string& path, const OpenFile& file, const LoadRequest& request) {
  auto footer = read_footer(file);
  if (!footer) {
    return std::unexpected(footer.error().within(path));
  }
  auto filter = read_image(file, *footer ? (*footer)->image_bytes : file.size(), request);
  if (!filter) {
    return std::unexpected(filter.error().within(path));
  }
  LoadedStore loaded{
      .filter = std::move(*filter), .footer = *footer, .journal = {}, .file_bytes = file.size(), .report = {}};
  if (*footer) {
    loaded.report.was_closed = (*footer)->is_open == 0;
    loaded.report.sequence = (*footer)->sequence;
    loaded.report.position = position_of(**footer);
  }
  auto journal = read_journal_file(journal_path(path), *request.calls);
  if (!journal && is_unborn(journal.error(), loaded.report)) {
    loaded.report.had_journal = true;
    return loaded;
  }
  if (!journal) {
    return std::unexpected(journal.error());
  }
  loaded.report.had_journal = journal->has_value();
  if (!*journal && !loaded.report.was_closed) {
    return fail(ErrorCode::corrupt, path + ": a writer left it open, and its journal " + journal_path(path) +
                                        " is not there: changes may be missing; put the journal back, or restore "
                                        "both from one copy");
  }
  if (*journal) {
    if (auto replayed = replay(loaded, **journal); !replayed) {
      return std::unexpected(replayed.error().within(journal_path(path)));
    }
  }
  return loaded;
}

// Which superblock of a journal counts now; 0 where there is none.
std::uint64_t journal_number(const std::string& path, FileCalls& calls) {
  const auto superblock = read_journal_superblock(path, calls);
  return superblock ? superblock->number : 0;
}

/// Tells whether a writer was at work while the files were read one after the other: then what was read may be of two
/// moments.
class Moment {
 public:
  Moment(const std::string& path, const OpenFile& file, FileCalls& calls)
      : path_(path), calls_(calls), identity_(file.identity()), number_(journal_number(journal_path(path), calls)) {}

  [[nodiscard]] bool is_still() const {
    const auto now = identify(path_, calls_);
    return now && *now == identity_ && journal_number(journal_path(path_), calls_) == number_;
  }

 private:
  const std::string& path_;
  FileCalls& calls_;
  FileIdentity identity_;
  std::uint64_t number_;
};

}  // namespace

Result<LoadedStore> load_store(const std::string& given, const LoadRequest& request) {
  const auto real = resolve_links(given, *request.calls);
  if (!real) {
    return std::unexpected(real.error());
  }
  const std::string& path = *real;
  // A record that was read while it was written is no damage: then the next look differs.
  constexpr int kLooksAtDamage = 3;
  int damaged_looks = 0;
  for (int looks = 0; looks < kMaxLooks; ++looks) {
    const auto file = OpenFile::open(path, OpenFile::Mode::read, *request.calls);
    if (!file) {
      return std::unexpected(file.error());
    }
    if (request.is_writer) {
      return look_at(path, *file, request);
    }
    const Moment moment(path, *file, *request.calls);
    auto loaded = look_at(path, *file, request);
    if (moment.is_still() && (loaded || ++damaged_looks == kLooksAtDamage)) {
      return loaded;
    }
    std::this_thread::yield();
  }
  return fail(ErrorCode::io, path + ": a writer replaces it faster than it can be read; try again");
}

}  // namespace mankai::detail
