#pragma once

/// The query counts of a gate, summed over processes: NAME.mk-counts, a small text file, for `mankai gate status`.
///
///     mankai gate counts 1
///     asked 5000000
///     empty 4742411
///     ...
///
/// Each process adds its counts when it chooses, such as once a minute and before it exits.

#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/gate/gate_answer.hpp"

namespace mankai {

/// Formats the counts as at the top of this file.
[[nodiscard]] std::string to_text(const GateCounts& counts);
/// Errors: corrupt, naming the line; unsupported_version.
[[nodiscard]] Result<GateCounts> parse_gate_counts(std::string_view text);

/// Returns the difference of two counts.
[[nodiscard]] GateCounts counted_since(const GateCounts& now, const GateCounts& before) noexcept;

/// Returns the path of the counts file of a gate file.
[[nodiscard]] std::string gate_counts_path(const std::string& gate_path);
/// Returns zeros if there is no file. Errors: as parse_gate_counts; io.
[[nodiscard]] Result<GateCounts> read_gate_counts(const std::string& gate_path);
/// Adds counts atomically, one process at a time. Errors: as read_gate_counts; locked after a second; out_of_space.
[[nodiscard]] Result<void> add_gate_counts(const std::string& gate_path, const GateCounts& counts);

}  // namespace mankai
