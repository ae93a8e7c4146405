#include "mankai/storage/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "mankai/base/assert.hpp"

namespace mankai {
namespace {

std::unexpected<Error> system_error(const std::string& what, int error) {
  const bool is_full = error == ENOSPC || error == EDQUOT || error == ENOMEM || error == EFBIG;
  const ErrorCode code = error == ENOENT ? ErrorCode::not_found : is_full ? ErrorCode::out_of_space : ErrorCode::io;
  return fail(code, what, error);
}

Result<std::size_t> regular_size(int file, const std::string& path) {
  struct stat status{};
  if (::fstat(file, &status) != 0) {
    return system_error(path + ": cannot inspect", errno);
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::io, path + ": is no regular file");
  }
  if (status.st_size == 0) {
    return fail(ErrorCode::corrupt, path + ": is empty: 0 bytes");
  }
  return static_cast<std::size_t>(status.st_size);
}

}  // namespace

MappedFile::MappedFile(std::string path, int descriptor, std::span<std::byte> bytes) noexcept
    : path_(std::move(path)), descriptor_(descriptor), bytes_(bytes) {}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    reset();
    path_ = std::move(other.path_);
    descriptor_ = std::exchange(other.descriptor_, -1);
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

MappedFile::~MappedFile() { reset(); }

void MappedFile::reset() noexcept {
  if (!bytes_.empty()) {
    ::munmap(bytes_.data(), bytes_.size());
  }
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

Result<MappedFile> MappedFile::open(const std::string& path, Mode mode) {
  // Not blocking, so that a FIFO that nobody writes is refused below instead of waited for.
  const int flags = (mode == Mode::write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK;
  MappedFile file(path, ::open(path.c_str(), flags), {});
  if (file.descriptor_ < 0) {
    return system_error(path + ": cannot open", errno);
  }
  const auto size = regular_size(file.descriptor_, path);
  if (!size) {
    return std::unexpected(size.error());
  }
  const int sharing = mode == Mode::write ? MAP_SHARED : MAP_PRIVATE | MAP_NORESERVE;
  void* data = ::mmap(nullptr, *size, PROT_READ | PROT_WRITE, sharing, file.descriptor_, 0);
  if (data == MAP_FAILED) {
    return system_error(path + ": cannot map", errno);
  }
  file.bytes_ = {static_cast<std::byte*>(data), *size};
  return file;
}

Result<void> MappedFile::grow(std::size_t bytes) {
  MANKAI_ASSERT(bytes >= bytes_.size());
  const auto more = static_cast<off_t>(bytes - bytes_.size());
  // The result is the error; errno is left alone.
  if (const int error = ::posix_fallocate(descriptor_, static_cast<off_t>(bytes_.size()), more); error != 0) {
    return system_error(path_ + ": cannot make it longer", error);
  }
  void* data = ::mremap(bytes_.data(), bytes_.size(), bytes, MREMAP_MAYMOVE);
  if (data == MAP_FAILED) {
    return system_error(path_ + ": cannot map what was added", errno);
  }
  bytes_ = {static_cast<std::byte*>(data), bytes};
  return {};
}

Result<void> MappedFile::sync(std::size_t offset, std::size_t bytes) {
  // msync wants whole pages.
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t start = offset / page * page;
  const std::size_t length = std::min(bytes_.size(), offset + bytes) - start;
  if (::msync(bytes_.data() + start, length, MS_SYNC) != 0) {
    return system_error(path_ + ": cannot write", errno);
  }
  return {};
}

}  // namespace mankai
