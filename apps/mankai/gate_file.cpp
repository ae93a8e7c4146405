#include "apps/mankai/gate_file.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "mankai/database/source_settings.hpp"
#include "mankai/storage/new_file.hpp"

namespace mankai::command {

Result<void> check_is_no_gate(const std::string& file) {
  const auto resolved = resolve_links(file);
  std::error_code unknown;  // what cannot be looked at is told by whoever opens it
  for (const std::string& name : {file, resolved.value_or(file)}) {
    if (std::filesystem::exists(source_settings_path(name), unknown)) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{0}: is the gate of a database, which only `mankai gate sync` may change: change the "
                              "table's rows, or end the gate by `mankai gate drop {0}` first",
                              file));
    }
  }
  return {};
}

}  // namespace mankai::command
