#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "mankai/file/new_file.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/store/source_position.hpp"
#include "mankai/store/store_footer.hpp"
#include "mankai/store/store_footer_format.hpp"

namespace mankai::detail {

/// The state that a new store starts with.
struct StoreState {
  std::uint64_t sequence = 0;
  SourcePosition position = {};
};

/// Returns a random id for a store, or a salt for its journal.
[[nodiscard]] std::uint64_t random_word();

[[nodiscard]] inline std::string journal_path(const std::string& path) { return path + "-journal"; }

/// Writes an image in parts, and a footer after it; returns once the disk has both. The caller then puts the file in
/// place. Returns the footer with the size of the image. Errors: io; out_of_space.
[[nodiscard]] Result<StoreFooter> write_store(NewFile& file, std::span<const std::span<const std::byte>> parts,
                                              StoreFooter footer);

/// Returns when the disk has a file that is about to be changed, its name and its current footer. The last writer may
/// have ended before the disk had them, or after a failed sync; until then the journal must be neither removed nor
/// continued. Pre: the lock on the file is held. Errors: io.
[[nodiscard]] Result<void> sync_store(const std::string& path, std::optional<FoundFooter>& found, FileCalls& calls);

/// Replaces a file by a closed store with this footer and removes its journal. Pre: the lock on the file is held.
/// Errors: io; out_of_space.
[[nodiscard]] Result<void> replace_store(const std::string& path, AnyFilter& filter, FileLock& lock, StoreFooter footer,
                                         FileCalls& calls, FileMode mode = {});

/// Writes a new, closed store, and removes the journal of a store that it replaces. Errors: invalid_argument if the
/// file, its journal or its shared cells exist and `existing` refuses that; locked; io; out_of_space.
[[nodiscard]] Result<void> make_store(const std::string& given, AnyFilter& filter, Existing existing,
                                      const StoreState& state, FileCalls& calls, FileMode mode = {});

}  // namespace mankai::detail
