#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "mankai/gate/database/row_source.hpp"
#include "mankai/gate/gate.hpp"

namespace mankai {

/// Settings of a new gate.
struct GateBuild {
  std::optional<std::uint64_t> keys = {};  ///< number of rows to size it for [default: twice the table's]
  double fpr = 0.01;
  Existing existing = Existing::refuse;
  FileMode mode = {};                      ///< of the gate file and its -source file
  std::function<bool()> should_stop = {};  ///< polled; if true, the build stops and removes what it made
};

/// The result of a build.
struct GateBuilt {
  std::uint64_t keys = 0;
  std::uint64_t position = 0;
  std::string position_text = {};  ///< as the database writes it
  std::string replaced_left = {};  ///< why the parts of the replaced gate could not be uninstalled; empty if they were
};

/// Installs what the source needs under a new name, makes the gate from a snapshot, writes both files, completely or
/// not at all, and uninstalls a replaced gate. NAME.mk-leftover lists what errors or crashes may leave, for the next
/// build or drop. Errors: as RowSource, Gate::save; locked during another build; invalid_argument or io if stopped.
[[nodiscard]] Result<GateBuilt> build_gate(const std::string& path, RowSourceSettings settings, const GateBuild& build);

/// Uninstalls the builds of a gate, and removes NAME.mk-source and, if possible, the source's name from NAME.mk.
/// Returns the number of uninstalled parts. `is_forced` gives up parts in a database that is unknown or cannot be
/// reached. Errors: as read_source_settings, RowSource and Gate::forget_source; locked during a build or sync.
[[nodiscard]] Result<std::size_t> drop_gate(const std::string& path, bool is_forced = false);

/// Returns the name under which build_gate installed the gate with this filter and position; empty for other filters.
[[nodiscard]] std::string installed_name_of(const AnyFilter& filter, const SourcePosition& position);

}  // namespace mankai
