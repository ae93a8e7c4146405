#include "mankai/durable/filter_file.hpp"

#include <algorithm>
#include <array>
#include <variant>

namespace mankai {
namespace {

template <class T>
std::unexpected<Error> in_file(const std::string& path, const Result<T>& result) {
  return std::unexpected(result.error().within(path));
}

// A file that is no image, however large, is refused before anything is allocated for it.
Result<void> check_start(const std::string& path) {
  std::array<std::byte, sizeof(ImageHeader)> start{};
  const auto size = read_start(path, start);
  if (!size) {
    return std::unexpected(size.error());
  }
  const auto header = read_header(std::span(start).first(std::min<std::uint64_t>(start.size(), *size)), *size);
  return header ? Result<void>{} : Result<void>(in_file(path, header));
}

}  // namespace

Result<AnyFilter> open_filter(const std::string& path, Access access, Trust trust, const Memory& memory) {
  if (auto valid = check_start(path); !valid) {
    return std::unexpected(valid.error());
  }
  auto region = access == Access::query ? map_file(path) : read_file(path, memory);
  if (!region) {
    return std::unexpected(region.error());
  }
  auto filter = filter_from_region(std::move(*region), trust, memory);
  return filter ? std::move(filter) : Result<AnyFilter>(in_file(path, filter));
}

Result<void> save_filter(const std::string& path, AnyFilter& filter, Existing existing, FileLock* held) {
  const auto parts = std::visit([](auto& f) { return f.seal_parts(); }, filter);
  return write_file_parts(path, parts, existing, held);
}

}  // namespace mankai
