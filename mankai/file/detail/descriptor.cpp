#include "mankai/file/detail/descriptor.hpp"

#include <fcntl.h>

namespace mankai::detail {
namespace {

constexpr mode_t kPermissionBits = 07777;
constexpr mode_t kNewFileMode = 0600;

ErrorCode code_of(int error) {
  switch (error) {
    case ENOENT: return ErrorCode::not_found;
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EFBIG: return ErrorCode::out_of_space;
    default: return ErrorCode::io;
  }
}

}  // namespace

Descriptor open_descriptor(FileCalls& calls, const std::string& path, int flags) {
  return {calls, uninterrupted([&] { return calls.open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, kNewFileMode); })};
}

std::unexpected<Error> system_error(std::string what) {
  const int error = errno;
  return fail(code_of(error), std::move(what), error);
}

Result<bool> is_at(const std::string& path, const Descriptor& file) {
  struct stat opened{};
  if (file.calls().fstat(file.get(), &opened) != 0) {
    return system_error(path + ": cannot inspect");
  }
  struct stat current{};
  if (file.calls().stat(path.c_str(), &current) != 0) {
    return errno == ENOENT ? Result<bool>(false) : system_error(path + ": cannot inspect");
  }
  return opened.st_ino == current.st_ino && opened.st_dev == current.st_dev;
}

Result<struct stat> regular_status(const Descriptor& file, const std::string& path) {
  struct stat status{};
  if (file.calls().fstat(file.get(), &status) != 0) {
    return system_error(path + ": cannot inspect");
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::io,
                path + (S_ISDIR(status.st_mode) ? ": is a directory; give a file" : ": is not a regular file"));
  }
  return status;
}

Result<void> set_permissions(const Descriptor& file, const struct stat& alike, const std::string& path) {
  static_cast<void>(file.calls().fchown(file.get(), alike.st_uid, alike.st_gid) != 0);
  if (file.calls().fchmod(file.get(), alike.st_mode & kPermissionBits) != 0) {
    return system_error(path + ": cannot copy its permissions");
  }
  return {};
}

}  // namespace mankai::detail
