#include "apps/mankai/store_run.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "apps/mankai/file_kind.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/store_report.hpp"
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

StoreRun::StoreRun(Store store, std::string file, std::string position, Mode mode)
    : store_(std::move(store)),
      file_(std::move(file)),
      position_(std::move(position)),
      mode_(mode),
      noted_(store_.sequence()) {
  if (is_whole()) {
    store_.begin(BatchMode::in_memory);
  }
}

Result<StoreRun> StoreRun::open(const std::string& file, const StoreRequest& request, Mode mode) {
  MANKAI_TRY(check_is_no_gate(file));
  MANKAI_ASSIGN(auto store, opened_filter(file, Store::open(file, request.options())));
  MANKAI_TRY(check_is_no_gate(file, store));
  warn_of_loss(file, store.recovery());
  return StoreRun(std::move(store), file, request.position, request.position.empty() ? mode : Mode::whole);
}

Result<void> StoreRun::finish(std::string_view where) {
  if (stop_signal() != 0 && is_whole()) {
    static_cast<void>(store_.close());
    say(file_ + " is unchanged");
    return {};
  }
  if (is_whole()) {
    if (auto committed = store_.commit(position_); !committed) {
      return give_up(committed.error());
    }
  }
  auto closed = store_.close();
  if (!closed && (is_whole() || keys_ != 0)) {
    const std::string done = is_whole() ? "every change is in " + file_ : what_is_in(where) + " (with its journal)";
    const bool is_durable = store_.durable_sequence() == store_.sequence();
    return fail_after(closed.error(),
                      fmt::format("{}{}: do not repeat {}", done, is_durable ? "" : ", unless power is lost",
                                  is_whole() || keys_ == 1 ? "it" : "them"));
  }
  return closed;
}

std::unexpected<Error> StoreRun::give_up(const Error& error, std::string_view where) {
  // Committed changes are safe even if closing fails.
  static_cast<void>(store_.close());
  return fail_after(error, what_is_in(where));
}

std::string StoreRun::what_is_in(std::string_view where) const {
  // Changes whose sync failed: the next process finds them, and a second attempt would count them twice.
  const std::uint64_t unsynced = store_.sequence() - noted_;
  const std::string more = unsynced == 0 ? std::string()
                                         : fmt::format("{}, which a power loss may undo: do not repeat {}",
                                                       counted(unsynced, "more change"), unsynced == 1 ? "it" : "them");
  if (is_whole() || keys_ == 0) {
    return unsynced == 0 ? file_ + " is unchanged" : fmt::format("{} has {}", file_, more);
  }
  const std::string keys = keys_ == 1 ? fmt::format("the first key is {} {}", where, file_)
                                      : fmt::format("the first {} keys are {} {}", keys_, where, file_);
  return unsynced == 0 ? keys : fmt::format("{}; it has {}", keys, more);
}

}  // namespace mankai::command
