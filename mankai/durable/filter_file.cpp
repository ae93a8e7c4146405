#include "mankai/durable/filter_file.hpp"

#include <variant>

#include "mankai/durable/detail/load_store.hpp"
#include "mankai/durable/detail/store_file.hpp"

namespace mankai {

Result<AnyFilter> open_filter(const std::string& path, Access access, Trust trust, const Memory& memory) {
  auto loaded = detail::load_store(path, {.access = access, .trust = trust, .memory = memory});
  return loaded ? Result<AnyFilter>(std::move(loaded->filter)) : std::unexpected(loaded.error());
}

Result<void> save_filter(const std::string& path, AnyFilter& filter, Existing existing, FileLock* held) {
  const auto parts = std::visit([](auto& f) { return f.seal_parts(); }, filter);
  if (auto written = write_file_parts(path, parts, existing, held); !written) {
    return written;
  }
  // Changes to the filter that was there are none to this one.
  if (existing == Existing::replace) {
    static_cast<void>(system_calls().unlink(detail::journal_path(resolve_links(path).value_or(path)).c_str()));
  }
  return {};
}

}  // namespace mankai
