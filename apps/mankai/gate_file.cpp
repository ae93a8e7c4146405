#include "apps/mankai/gate_file.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "mankai/file/new_file.hpp"
#include "mankai/gate/database/gate_build.hpp"
#include "mankai/gate/database/source_settings.hpp"
#include "mankai/store/filter_file.hpp"

namespace mankai::command {
namespace {

Result<void> check(const std::string& file, bool is_gate) {
  if (!is_gate) {
    return {};
  }
  return fail(ErrorCode::invalid_argument,
              fmt::format("{0}: is the gate of a database, which only `mankai gate sync` may change; change the "
                          "table's rows, or drop the gate with `mankai gate drop {0}` first",
                          file));
}

}  // namespace

Result<void> check_is_no_gate(const std::string& file) {
  const auto resolved = resolve_links(file);
  std::error_code unknown;  // opening the file reports it
  return check(file, std::filesystem::exists(source_settings_path(file), unknown) ||
                         std::filesystem::exists(source_settings_path(resolved.value_or(file)), unknown));
}

Result<void> check_is_no_gate(const std::string& file, const Store& store) {
  return check(file, !installed_name_of(store.filter(), store.position()).empty());
}

Result<void> check_replaces_no_gate(const std::string& file) {
  MANKAI_TRY(check_is_no_gate(file));
  const auto store = inspect_store(file);  // a missing or corrupt file is not a gate
  return check(file, store && !installed_name_of(store->filter, store->info.recovery.position).empty());
}

}  // namespace mankai::command
