#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "mankai/file/new_file.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/store/source_position.hpp"
#include "mankai/store/store_footer_format.hpp"

namespace mankai::detail {

/// Where a new store begins.
struct StoreState {
  std::uint64_t sequence = 0;
  SourcePosition position = {};
};

/// Where a store's journal lies.
[[nodiscard]] inline std::string journal_path(const std::string& path) { return path + "-journal"; }

/// Writes an image, which may lie in several pieces, and a footer behind it, and returns when the disk has them: what
/// remains is to put the file in place. The footer is as given, with the image's size. Errors: io; out_of_space.
[[nodiscard]] Result<StoreFooter> write_store(NewFile& file, std::span<const std::span<const std::byte>> parts,
                                              StoreFooter footer);

/// Writes a new, closed store. An old one's journal goes with it. Errors: invalid_argument when it exists, or a journal
/// of that name does, and must not; locked; io; out_of_space.
[[nodiscard]] Result<void> make_store(const std::string& path, AnyFilter& filter, Existing existing,
                                      const StoreState& state, FileCalls& calls, FileMode mode = {});

}  // namespace mankai::detail
