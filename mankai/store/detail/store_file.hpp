#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "mankai/file/new_file.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/store/source_position.hpp"
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

/// Writes a new, closed store, and removes the journal of a store that it replaces. Errors: invalid_argument if the
/// file or its journal exists and `existing` refuses that; locked; io; out_of_space.
[[nodiscard]] Result<void> make_store(const std::string& given, AnyFilter& filter, Existing existing,
                                      const StoreState& state, FileCalls& calls, FileMode mode = {});

}  // namespace mankai::detail
