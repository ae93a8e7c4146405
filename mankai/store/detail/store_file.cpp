#include "mankai/store/detail/store_file.hpp"

#include <array>
#include <optional>

#include "mankai/file/file_lock.hpp"
#include "mankai/file/open_file.hpp"
#include "mankai/store/detail/shared_file.hpp"
#include "mankai/store/journal_file.hpp"
#include "mankai/store/store_footer.hpp"

namespace mankai::detail {
namespace {

Result<bool> exists(const std::string& path, FileCalls& calls) {
  const auto found = identify(path, calls);
  if (!found && found.error().code == ErrorCode::not_found) {
    return false;
  }
  MANKAI_TRY(found);
  return true;
}

// A journal without its file would be taken for that of the new file, and so would shared cells.
Result<void> check_alone(const std::string& path, FileCalls& calls) {
  for (const std::string& companion : {journal_path(path), shared_path(path)}) {
    MANKAI_ASSIGN(const auto is_there, exists(companion, calls));
    if (is_there) {
      return fail(ErrorCode::invalid_argument, companion +
                                                   ": exists without its file; put the file back, or remove this one "
                                                   "if its changes are not wanted");
    }
  }
  return {};
}

// Returns the id of the journal of a file that is about to be replaced: the new footer says that it no longer counts,
// even if a crash keeps it from being removed. 0: no journal.
std::uint64_t journal_id(const std::string& path, FileCalls& calls) {
  const auto journal = read_journal_superblock(journal_path(path), calls);
  return journal ? journal->store_id : 0;
}

Result<void> write_new(const std::string& path, AnyFilter& filter, Existing existing, FileLock* held,
                       StoreFooter footer, FileCalls& calls, FileMode mode) {
  MANKAI_ASSIGN(auto file, NewFile::create(path, existing, held, calls, mode));
  const auto parts = filter.seal_parts();
  MANKAI_TRY(write_store(file, parts, footer));
  return file.put_in_place();
}

Result<void> make_first(const std::string& path, AnyFilter& filter, const StoreFooter& footer, FileCalls& calls,
                        FileMode mode) {
  MANKAI_ASSIGN(const auto is_there, exists(path, calls));
  // If the file exists, write_new reports that instead.
  if (auto none = check_alone(path, calls); !is_there && !none) {
    return none;
  }
  return write_new(path, filter, Existing::refuse, nullptr, footer, calls, mode);
}

// The journal of a closed file is an old one. The lock guarantees that no writer is about to open the file.
void remove_old_journal(const std::string& path, FileCalls& calls) {
  const auto lock = FileLock::acquire(path, calls);
  const auto file = OpenFile::open(path, OpenFile::Mode::read, calls);
  const auto footer = file ? read_footer(*file) : Result<std::optional<FoundFooter>>(std::nullopt);
  if (lock && footer && *footer && (*footer)->footer.is_open == 0) {
    static_cast<void>(calls.unlink(journal_path(path).c_str()));
  }
}

// Replaces the file or creates it. It may appear or disappear between two steps, which then start again.
Result<void> replace_any(const std::string& path, AnyFilter& filter, const StoreFooter& footer, FileCalls& calls,
                         FileMode mode) {
  for (;;) {
    auto lock = FileLock::acquire(path, calls);
    if (lock) {
      MANKAI_TRY(settle_shared(path, *lock, Leftover::drop, system_memory(), calls));
      return replace_store(path, filter, *lock, footer, calls, mode);
    }
    if (lock.error().code != ErrorCode::not_found) {
      return std::unexpected(lock.error());
    }
    // The new footer invalidates a journal whose file is missing. Without a lock it must not be removed yet: another
    // process may create the file with a writer at any time.
    StoreFooter first = footer;
    first.replaced_id = journal_id(path, calls);
    auto written = write_new(path, filter, Existing::refuse, nullptr, first, calls, mode);
    if (written) {
      remove_old_journal(path, calls);
    }
    if (written || written.error().code != ErrorCode::invalid_argument) {
      return written;
    }
  }
}

Result<void> write_after_zeros(NewFile& file, std::uint64_t end, const StoreFooter& footer) {
  static constexpr std::array<std::byte, kFooterPage> kZeros{};
  MANKAI_TRY(file.write(std::span(kZeros).first(bytes_of(footer).begin - end)));
  return file.write(std::as_bytes(std::span(&footer, 1)));
}

// Writes the current footer once more. A torn write must not destroy its only copy: if the other copy is damaged or
// stale, the other copy is written.
Result<void> write_again(const OpenFile& file, FoundFooter& found) {
  if (found.is_other_copy_stale) {
    // The last writer may have ended between writing the current copy and its sync.
    MANKAI_TRY(file.sync());
    return refresh_footer(file, found.footer);
  }
  const FooterBytes bytes = bytes_of(found.footer);
  return file.rewrite(bytes.begin, bytes.end);
}

}  // namespace

Result<void> sync_store(const std::string& path, std::optional<FoundFooter>& found, FileCalls& calls) {
  MANKAI_ASSIGN(const auto file, OpenFile::open(path, OpenFile::Mode::write, calls));
  if (found) {
    MANKAI_TRY(write_again(file, *found));
  }
  MANKAI_TRY(file.sync());
  return sync_folder_of(path, calls);
}

Result<void> replace_store(const std::string& path, AnyFilter& filter, FileLock& lock, StoreFooter footer,
                           FileCalls& calls, FileMode mode) {
  footer.replaced_id = journal_id(path, calls);
  MANKAI_TRY(write_new(path, filter, Existing::replace, &lock, footer, calls, mode));
  static_cast<void>(calls.unlink(journal_path(path).c_str()));
  return {};
}

std::uint64_t random_word() { return HashSpec::random().seed[0]; }

Result<StoreFooter> write_store(NewFile& file, std::span<const std::span<const std::byte>> parts, StoreFooter footer) {
  footer.image_bytes = 0;
  for (const auto part : parts) {
    MANKAI_TRY(file.write(part));
    footer.image_bytes += part.size();
  }
  std::uint64_t end = footer.image_bytes;
  for (const std::uint64_t generation : {kFooterCopies, kFooterCopies + 1}) {
    footer.generation = generation;
    footer = sealed(footer);
    MANKAI_TRY(write_after_zeros(file, end, footer));
    end = bytes_of(footer).end;
  }
  MANKAI_TRY(file.sync());
  return footer;
}

Result<void> make_store(const std::string& given, AnyFilter& filter, Existing existing, const StoreState& state,
                        FileCalls& calls, FileMode mode) {
  StoreFooter footer{};
  footer.store_id = random_word();
  footer.sequence = state.sequence;
  set_position(footer, state.position);
  MANKAI_ASSIGN(const auto path, resolve_links(given, calls));
  return existing == Existing::replace ? replace_any(path, filter, footer, calls, mode)
                                       : make_first(given, filter, footer, calls, mode);
}

}  // namespace mankai::detail
