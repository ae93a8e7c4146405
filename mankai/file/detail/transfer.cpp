#include "mankai/file/detail/transfer.hpp"

#include <algorithm>

namespace mankai::detail {
namespace {

/// Linux transfers at most 2 GiB less a page per call.
constexpr std::size_t kTransferBytes = std::size_t{1} << 30;

}  // namespace

Result<void> read_at(const Descriptor& file, std::uint64_t offset, std::span<std::byte> into, const std::string& path) {
  while (!into.empty()) {
    const std::size_t wanted = std::min(into.size(), kTransferBytes);
    const ssize_t got =
        uninterrupted([&] { return file.calls().pread(file.get(), into.data(), wanted, static_cast<off_t>(offset)); });
    if (got < 0) {
      return system_error(path + ": cannot read");
    }
    if (got == 0) {
      return fail(ErrorCode::io, path + ": was truncated while it was read");
    }
    into = into.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return {};
}

Result<void> write_at(const Descriptor& file, std::uint64_t offset, std::span<const std::byte> bytes,
                      const std::string& path) {
  while (!bytes.empty()) {
    const std::size_t wanted = std::min(bytes.size(), kTransferBytes);
    const ssize_t written = uninterrupted(
        [&] { return file.calls().pwrite(file.get(), bytes.data(), wanted, static_cast<off_t>(offset)); });
    if (written < 0) {
      return system_error(path + ": cannot write");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return {};
}

}  // namespace mankai::detail
