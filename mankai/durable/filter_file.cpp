#include "mankai/durable/filter_file.hpp"

#include "mankai/durable/detail/load_store.hpp"
#include "mankai/durable/detail/store_file.hpp"

namespace mankai {

Result<AnyFilter> open_filter(const std::string& path, Access access, Trust trust, const Memory& memory) {
  auto loaded = detail::load_store(path, {.access = access, .trust = trust, .memory = memory});
  return loaded ? Result<AnyFilter>(std::move(loaded->filter)) : std::unexpected(loaded.error());
}

Result<void> save_filter(const std::string& path, AnyFilter& filter, Existing existing) {
  return detail::make_store(path, filter, existing, {}, system_calls());
}

}  // namespace mankai
