#include "apps/mankai/gate_file.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "mankai/file/new_file.hpp"
#include "mankai/gate/database/gate_sync.hpp"
#include "mankai/gate/database/source_settings.hpp"
#include "mankai/store/filter_file.hpp"

namespace mankai::command {
namespace {

Result<void> check(const std::string& file, bool is_gate) {
  if (!is_gate) {
    return {};
  }
  return fail(ErrorCode::invalid_argument,
              fmt::format("{0}: is the gate of a database, which only `mankai gate sync` may change: change the "
                          "table's rows, or end the gate by `mankai gate drop {0}` first",
                          file));
}

}  // namespace

Result<void> check_is_no_gate(const std::string& file) {
  const auto resolved = resolve_links(file);
  std::error_code unknown;  // what cannot be looked at is told by whoever opens it
  return check(file, std::filesystem::exists(source_settings_path(file), unknown) ||
                         std::filesystem::exists(source_settings_path(resolved.value_or(file)), unknown));
}

Result<void> check_is_no_gate(const std::string& file, const Store& store) {
  return check(file, !installed_name_of(store.filter(), store.position()).empty());
}

Result<void> check_replaces_no_gate(const std::string& file) {
  MANKAI_TRY(check_is_no_gate(file));
  const auto store = inspect_store(file);  // one that is not there, or damaged, is no gate any more
  return check(file, store && !installed_name_of(store->filter, store->info.recovery.position).empty());
}

}  // namespace mankai::command
