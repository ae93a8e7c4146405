#include "mankai/store/filter_file.hpp"

#include "mankai/store/detail/load_store.hpp"
#include "mankai/store/detail/store_file.hpp"

namespace mankai {

Result<AnyFilter> open_filter(const std::string& path, Access access, Trust trust, const Memory& memory,
                              RecoveryReport* report) {
  MANKAI_ASSIGN(auto loaded, detail::load_store(path, {.access = access, .trust = trust, .memory = memory}));
  if (report != nullptr) {
    *report = std::move(loaded.report);
  }
  return std::move(loaded.filter);
}

Result<void> save_filter(const std::string& path, AnyFilter& filter, Existing existing, FileMode mode) {
  return detail::make_store(path, filter, existing, {}, system_calls(), mode);
}

}  // namespace mankai
