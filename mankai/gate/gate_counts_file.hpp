#pragma once

/// What was asked of a gate and answered, summed up over the processes that ask it: in NAME.mk-counts, a small text
/// file beside NAME.mk, so that `mankai gate status` can say how many queries were saved.
///
///     mankai gate counts 1
///     asked 5000000
///     empty 4742411
///     ...
///
/// Nobody has to keep it: each process adds what it counted when it likes, such as once a minute and at its end.

#include <string>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/gate/gate_answer.hpp"

namespace mankai {

/// As the top of this file shows.
[[nodiscard]] std::string to_text(const GateCounts& counts);
/// Errors: corrupt, naming the line; unsupported_version.
[[nodiscard]] Result<GateCounts> parse_gate_counts(std::string_view text);

/// Those that were counted after an earlier moment's.
[[nodiscard]] GateCounts counted_since(const GateCounts& now, const GateCounts& before) noexcept;

/// Where they stand for a gate's file.
[[nodiscard]] std::string gate_counts_path(const std::string& gate_path);
/// All zeros where nobody has added any. Errors: as parse_gate_counts; io.
[[nodiscard]] Result<GateCounts> read_gate_counts(const std::string& gate_path);
/// Adds to what is there, whole or not at all, one process after the other. Errors: as read_gate_counts; locked when
/// others take too long; out_of_space.
[[nodiscard]] Result<void> add_gate_counts(const std::string& gate_path, const GateCounts& counts);

}  // namespace mankai
