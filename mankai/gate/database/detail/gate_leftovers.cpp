#include "mankai/gate/database/detail/gate_leftovers.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "mankai/gate/database/source_settings.hpp"

namespace mankai::detail {
namespace {

Result<void> make_file(const std::string& path) {
  auto made = write_file(path, {}, Existing::refuse);
  // Somebody else may have made it meanwhile.
  return made || made.error().code == ErrorCode::invalid_argument ? Result<void>{} : made;
}

Result<std::size_t> uninstall(const RowSourceSettings& settings) {
  MANKAI_ASSIGN(auto source, open_row_source(settings));
  auto removed = source->uninstall();
  return removed ? removed : std::unexpected(removed.error().within(settings.source));
}

Result<std::vector<RowSourceSettings>> read_list(const std::string& path) {
  MANKAI_ASSIGN(const auto bytes, read_file(path));
  const auto text = bytes.bytes();
  auto list = parse_source_list({reinterpret_cast<const char*>(text.data()), text.size()});
  return list ? std::move(list) : std::unexpected(list.error().within(path));
}

}  // namespace

std::string GateLeftovers::path_of(const std::string& gate_path) { return gate_path + "-leftover"; }

Result<std::unique_ptr<GateLeftovers>> GateLeftovers::open(const std::string& gate_path) {
  const std::string path = path_of(gate_path);
  auto lock = FileLock::acquire(path);
  if (!lock && lock.error().code == ErrorCode::not_found) {
    MANKAI_TRY(make_file(path));
    lock = FileLock::acquire(path);
  }
  if (!lock) {
    return std::unexpected(lock.error());
  }
  MANKAI_ASSIGN(auto list, read_list(path));
  return std::unique_ptr<GateLeftovers>(new GateLeftovers(path, std::move(*lock), std::move(list)));
}

GateLeftovers::~GateLeftovers() {
  if (list_.empty()) {
    static_cast<void>(remove_file(path_));
  }
}

Result<void> GateLeftovers::write() {
  std::string text;
  for (const RowSourceSettings& settings : list_) {
    MANKAI_ASSIGN(auto part, to_text(settings));
    text += part;
  }
  return write_file(path_, std::as_bytes(std::span(text)), Existing::replace, &lock_);
}

bool GateLeftovers::lists(std::string_view installed) const {
  return std::ranges::find(list_, installed, &RowSourceSettings::installed) != list_.end();
}

Result<void> GateLeftovers::add(const RowSourceSettings& settings) {
  list_.push_back(settings);
  return write();
}

Result<void> GateLeftovers::forget(std::string_view installed) {
  std::erase_if(list_, [&](const RowSourceSettings& each) { return each.installed == installed; });
  return list_.empty() ? Result<void>{} : write();
}

Result<std::size_t> GateLeftovers::take_out(std::string_view in_use) {
  std::size_t count = 0;
  Result<void> outcome;
  std::vector<RowSourceSettings> stay;
  for (const RowSourceSettings& settings : std::exchange(list_, {})) {
    if (settings.installed == in_use) {
      continue;
    }
    const auto removed = uninstall(settings);
    count += removed.value_or(0);
    if (!removed) {
      outcome = outcome ? std::unexpected(removed.error()) : outcome;
      stay.push_back(settings);
    }
  }
  list_ = std::move(stay);
  MANKAI_TRY(list_.empty() ? Result<void>{} : write());
  return outcome ? Result<std::size_t>(count) : std::unexpected(outcome.error());
}

}  // namespace mankai::detail
