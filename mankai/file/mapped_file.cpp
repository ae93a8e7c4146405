#include "mankai/file/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/file/detail/transfer.hpp"

namespace mankai {
namespace {

using detail::Descriptor;
using detail::system_error;
using detail::uninterrupted;

}  // namespace

MappedFile::MappedFile(std::string path, Descriptor file) noexcept : path_(std::move(path)), file_(std::move(file)) {}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), file_(std::move(other.file_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    reset();
    path_ = std::move(other.path_);
    file_ = std::move(other.file_);
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

MappedFile::~MappedFile() { reset(); }

void MappedFile::reset() noexcept {
  if (!bytes_.empty()) {
    file_.calls().munmap(bytes_.data(), bytes_.size());
  }
}

Result<MappedFile> MappedFile::open(const std::string& path, Mode mode, FileCalls& calls) {
  MappedFile file(path, detail::open_descriptor(calls, path, mode == Mode::write ? O_RDWR : O_RDONLY));
  if (file.file_.get() < 0) {
    return system_error(path + ": cannot open");
  }
  MANKAI_ASSIGN(const auto status, detail::regular_status(file.file_, path));
  if (status.st_size == 0) {
    return fail(ErrorCode::corrupt, path + ": is empty: 0 bytes");
  }
  const int sharing = mode == Mode::write ? MAP_SHARED : MAP_PRIVATE | MAP_NORESERVE;
  MANKAI_TRY(file.map(static_cast<std::size_t>(status.st_size), sharing));
  return file;
}

Result<MappedFile> MappedFile::create(const std::string& path, std::size_t bytes, FileCalls& calls) {
  MANKAI_ASSERT(bytes > 0);
  MappedFile file(path, detail::open_descriptor(calls, path, O_RDWR | O_CREAT | O_EXCL));
  if (file.file_.get() < 0) {
    if (errno == EEXIST) {
      return fail(ErrorCode::invalid_argument, path + ": exists already");
    }
    return system_error(path + ": cannot create");
  }
  auto made = file.grow_file(bytes);
  if (made) {
    made = file.map(bytes, MAP_SHARED);
  }
  if (!made) {
    calls.unlink(path.c_str());
    return std::unexpected(made.error());
  }
  return file;
}

Result<void> MappedFile::map(std::size_t bytes, int sharing) {
  void* data = file_.calls().mmap(bytes, PROT_READ | PROT_WRITE, sharing, file_.get(), 0);
  if (data == MAP_FAILED) {
    return system_error(path_ + ": cannot map");
  }
  bytes_ = {static_cast<std::byte*>(data), bytes};
  return {};
}

Result<void> MappedFile::remap(std::size_t bytes) {
  void* data = file_.calls().mremap(bytes_.data(), bytes_.size(), bytes, MREMAP_MAYMOVE);
  if (data == MAP_FAILED) {
    return system_error(path_ + ": cannot map its new length");
  }
  bytes_ = {static_cast<std::byte*>(data), bytes};
  return {};
}

Result<void> MappedFile::grow_file(std::size_t bytes) {
  const auto from = static_cast<off_t>(bytes_.size());
  const auto more = static_cast<off_t>(bytes - bytes_.size());
  if (uninterrupted([&] { return file_.calls().fallocate(file_.get(), from, more); }) == 0) {
    return {};
  }
  auto refused = system_error(path_ + ": cannot extend");
  // Some file systems keep what they found before the disk was full.
  static_cast<void>(file_.calls().ftruncate(file_.get(), from));
  return refused;
}

Result<void> MappedFile::grow(std::size_t bytes) {
  MANKAI_ASSERT(bytes >= bytes_.size());
  if (bytes == bytes_.size()) {
    return {};
  }
  MANKAI_TRY(grow_file(bytes));
  return remap(bytes);
}

Result<void> MappedFile::truncate(std::size_t bytes) {
  MANKAI_ASSERT(bytes > 0 && bytes <= bytes_.size());
  // First the mapping: it must not contain bytes that the file does not have.
  MANKAI_TRY(remap(bytes));
  if (uninterrupted([&] { return file_.calls().ftruncate(file_.get(), static_cast<off_t>(bytes)); }) != 0) {
    return system_error(path_ + ": cannot truncate");
  }
  return {};
}

Result<void> MappedFile::take_room(std::uint64_t from, std::uint64_t until) {
  const auto taken = uninterrupted(
      [&] { return file_.calls().fallocate(file_.get(), static_cast<off_t>(from), static_cast<off_t>(until - from)); });
  return taken == 0 ? Result<void>{} : system_error(path_ + ": cannot allocate disk space");
}

Result<void> MappedFile::write_zeros(std::uint64_t from, std::uint64_t until) {
  static constexpr std::array<std::byte, std::size_t{64} << 10> kZeros{};
  for (std::uint64_t at = from; at < until; at += kZeros.size()) {
    MANKAI_TRY(detail::write_at(file_, at, std::span(kZeros).first(std::min(kZeros.size(), until - at)), path_));
  }
  return {};
}

namespace {

std::uint64_t page_bytes() noexcept {
  static const auto kBytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return kBytes;
}

/// The whole pages between two offsets.
struct Pages {
  Pages(std::uint64_t from, std::uint64_t until) noexcept
      : first(align_up(from, page_bytes())), bytes(std::max(first, until / page_bytes() * page_bytes()) - first) {}

  std::uint64_t first;
  std::uint64_t bytes;
};

}  // namespace

bool MappedFile::punch_hole(std::uint64_t from, std::uint64_t until) noexcept {
  const Pages pages(from, until);
  return pages.bytes == 0 ||
         file_.calls().punch_hole(file_.get(), static_cast<off_t>(pages.first), static_cast<off_t>(pages.bytes)) == 0;
}

void MappedFile::unload(std::uint64_t from, std::uint64_t until) noexcept {
  if (const Pages pages(from, until); pages.bytes != 0) {
    static_cast<void>(file_.calls().madvise(bytes_.data() + pages.first, pages.bytes, MADV_DONTNEED));
  }
}

Result<void> MappedFile::copy_permissions(const std::string& from) {
  struct stat status{};
  if (file_.calls().stat(from.c_str(), &status) != 0) {
    return system_error(from + ": cannot inspect");
  }
  return detail::set_permissions(file_, status, path_);
}

Result<void> MappedFile::sync() {
  if (uninterrupted([&] { return file_.calls().fdatasync(file_.get()); }) != 0) {
    return system_error(path_ + ": cannot write to the disk");
  }
  return {};
}

}  // namespace mankai
