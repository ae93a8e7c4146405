#include "mankai/file/open_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "mankai/file/detail/transfer.hpp"

namespace mankai {
namespace {

using detail::Descriptor;
using detail::system_error;

constexpr std::uint64_t kHugePageBytes = std::uint64_t{2} << 20;
/// Unit of st_blocks, independent of the disk's block size.
constexpr std::uint64_t kStatBlockBytes = 512;
constexpr std::uint64_t kRewriteBytes = std::uint64_t{1} << 20;

FileStamp stamp_from(const struct stat& status) noexcept {
  constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
  return {.identity = {.device = status.st_dev, .inode = status.st_ino},
          .bytes = static_cast<std::uint64_t>(status.st_size),
          .modified_nanoseconds = status.st_mtim.tv_sec * kNanosecondsPerSecond + status.st_mtim.tv_nsec};
}

void unmap(void* context, void* data, std::size_t bytes) noexcept {
  static_cast<FileCalls*>(context)->munmap(data, bytes);
}

}  // namespace

Result<FileStamp> stamp_of(const std::string& path, FileCalls& calls) {
  struct stat status{};
  if (calls.stat(path.c_str(), &status) != 0) {
    return system_error(path + ": cannot inspect");
  }
  return stamp_from(status);
}

Result<FileIdentity> identify(const std::string& path, FileCalls& calls) {
  MANKAI_ASSIGN(const auto stamp, stamp_of(path, calls));
  return stamp.identity;
}

OpenFile::OpenFile(std::string path, Descriptor file, const struct stat& status) noexcept
    : path_(std::move(path)),
      file_(std::move(file)),
      bytes_on_disk_(static_cast<std::uint64_t>(status.st_blocks) * kStatBlockBytes),
      stamp_(stamp_from(status)),
      links_(status.st_nlink) {}

Result<OpenFile> OpenFile::open(const std::string& path, Mode mode, FileCalls& calls) {
  Descriptor file = detail::open_descriptor(calls, path, mode == Mode::write ? O_RDWR : O_RDONLY);
  if (file.get() < 0) {
    return system_error(path + ": cannot open");
  }
  MANKAI_ASSIGN(const auto status, detail::regular_status(file, path));
  return OpenFile(path, std::move(file), status);
}

Result<void> OpenFile::read(std::uint64_t offset, std::span<std::byte> into) const {
  return detail::read_at(file_, offset, into, path_);
}

Result<void> OpenFile::write(std::uint64_t offset, std::span<const std::byte> bytes) const {
  return detail::write_at(file_, offset, bytes, path_);
}

Result<void> OpenFile::rewrite(std::uint64_t offset, std::uint64_t end) const {
  std::vector<std::byte> bytes(std::min(kRewriteBytes, end - std::min(offset, end)));
  while (offset < end) {
    const auto part = std::span(bytes).first(std::min<std::uint64_t>(bytes.size(), end - offset));
    MANKAI_TRY(read(offset, part));
    MANKAI_TRY(write(offset, part));
    offset += part.size();
  }
  return {};
}

Result<void> OpenFile::sync() const {
  if (detail::uninterrupted([&] { return file_.calls().fdatasync(file_.get()); }) != 0) {
    return system_error(path_ + ": cannot write to the disk");
  }
  return {};
}

Result<Region> OpenFile::read_region(std::uint64_t bytes, const Memory& memory) const {
  auto region = Region::allocate(memory, bytes);
  if (!region) {
    return std::unexpected(region.error().within(path_));
  }
  MANKAI_TRY(read(0, region->bytes()));
  return region;
}

Result<Region> OpenFile::map_region(std::uint64_t bytes) const {
  if (bytes == 0) {
    return Region();
  }
  // A page after the end of the file would not be readable.
  if (bytes > stamp_.bytes) {
    return fail(ErrorCode::io, path_ + ": is only " + std::to_string(stamp_.bytes) + " bytes long");
  }
  void* data = file_.calls().mmap(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file_.get(), 0);
  if (data == MAP_FAILED) {
    return system_error(path_ + ": cannot map");
  }
  // Advice only. Probes are random; pages of 2 MiB, if the file system supports them, avoid half of the TLB misses.
  if (bytes >= kHugePageBytes) {
    static_cast<void>(::madvise(data, bytes, MADV_HUGEPAGE));
  }
  return Region({static_cast<std::byte*>(data), bytes}, unmap, &file_.calls());
}

}  // namespace mankai
