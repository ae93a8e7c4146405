#pragma once

#include <mutex>
#include <shared_mutex>
#include <utility>
#include <variant>

#include "mankai/c/detail/handle.hpp"
#include "mankai/c/mankai.h"
#include "mankai/guard/guard_file.hpp"

/// The handle of guards: one in memory, in a file for changes, or in a file for checks.
struct mankai_guard : mankai::c::HandleOf<mankai::c::HandleType::guard> {
  explicit mankai_guard(mankai::Guard guard) : HandleOf(false), body(std::move(guard)) {}
  mankai_guard(mankai::GuardFile file, mankai::GuardFile::Mode mode)
      : HandleOf(mode == mankai::GuardFile::Mode::write),
        body(std::move(file)),
        is_for_checks(mode == mankai::GuardFile::Mode::read) {}

  /// Calls use(guard), concurrently with other calls, but not with changes.
  template <class Use>
  auto read(const Use& use) const {
    const std::shared_lock lock(checking);
    const auto* file = std::get_if<mankai::GuardFile>(&body);
    return use(file != nullptr ? file->guard() : std::get<mankai::Guard>(body));
  }

  std::mutex changing;                 ///< held for a change or a refresh
  mutable std::shared_mutex checking;  ///< held for as long as the body changes
  std::variant<mankai::Guard, mankai::GuardFile> body;
  bool is_for_checks = false;
};

namespace mankai::c {

[[nodiscard]] Result<GuardSettings> settings_of(const mankai_guard_settings* given);

/// Writes a guard to a file. Errors: as mankai_guard_save_file.
[[nodiscard]] Result<void> write_guard(const Guard& guard, const char* path, const mankai_file_options* options);

}  // namespace mankai::c
