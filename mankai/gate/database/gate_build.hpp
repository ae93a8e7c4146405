#pragma once

/// Builds a gate of a table's keys, and takes its parts out of the database again.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "mankai/gate/database/row_source.hpp"
#include "mankai/gate/gate.hpp"

namespace mankai {

/// Settings of a new gate.
struct GateBuild {
  std::optional<std::uint64_t> keys = {};  ///< rows to size it for [default: twice the table's]
  double fpr = 0.01;
  Existing existing = Existing::refuse;
  FileMode mode = {};                      ///< of the gate's file and of its -source file
  std::function<bool()> should_stop = {};  ///< polled; if true, the build ends and leaves nothing behind
};

/// What was built.
struct GateBuilt {
  std::uint64_t keys = 0;
  std::uint64_t position = 0;
  std::string position_text = {};  ///< as the database writes it
  std::string replaced_left = {};  ///< why the parts of the replaced gate could not be uninstalled; else empty
};

/// Installs what the source needs under a new name, makes the gate from a snapshot, and writes both files, completely
/// or not at all. After an error nothing stays installed if the database can be reached. The parts of a replaced gate
/// are uninstalled. What a crash may leave is listed in NAME.mk-leftover, and the next build or drop uninstalls it.
/// Errors: as RowSource's and Gate::save's; locked while another process builds it; invalid_argument or io when it was
/// stopped.
[[nodiscard]] Result<GateBuilt> build_gate(const std::string& path, RowSourceSettings settings, const GateBuild& build);

/// Uninstalls from its database what the builds of a gate have installed, removes NAME.mk-source, and removes the
/// source's name from the position in NAME.mk if that can be opened; returns the number of uninstalled parts. With
/// `is_forced` it succeeds even if the database cannot be reached or is not known, and the parts stay there. Errors: as
/// read_source_settings', RowSource's and Gate::forget_source's; locked while a process builds or syncs the gate.
[[nodiscard]] Result<std::size_t> drop_gate(const std::string& path, bool is_forced = false);

/// Returns the name under which build_gate installed the gate with this filter and position; empty for others.
[[nodiscard]] std::string installed_name_of(const AnyFilter& filter, const SourcePosition& position);

}  // namespace mankai
