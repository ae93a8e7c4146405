#pragma once

/// The settings of a gate's source: NAME.mk-source, a small text file beside NAME.mk (docs/formats/gate_source.md).
///
///     mankai gate source 1
///     source sqlite:/srv/shop.db
///     table baskets
///     key cookie
///     where items > 0
///     installed mankai_5f21c07a

#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/file/file.hpp"
#include "mankai/gate/database/row_source.hpp"

namespace mankai {

/// Errors: invalid_argument for a value with a control character or more than 4096 bytes.
[[nodiscard]] Result<std::string> to_text(const RowSourceSettings& settings);
/// Errors: corrupt, naming the line; unsupported_version.
[[nodiscard]] Result<RowSourceSettings> parse_source_settings(std::string_view text);

/// Parses concatenated settings. Errors: as parse_source_settings.
[[nodiscard]] Result<std::vector<RowSourceSettings>> parse_source_list(std::string_view text);

/// Returns the path of the settings file of a gate file.
[[nodiscard]] std::string source_settings_path(const std::string& gate_path);
/// Errors: not_found, with the command that makes one; as parse_source_settings; io.
[[nodiscard]] Result<RowSourceSettings> read_source_settings(const std::string& gate_path);
/// Errors: as to_text and write_file.
[[nodiscard]] Result<void> write_source_settings(const std::string& gate_path, const RowSourceSettings& settings,
                                                 Existing existing, FileMode mode = {});

}  // namespace mankai
