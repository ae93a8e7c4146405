#include "mankai/input/follow.hpp"

#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>

#include "mankai/input/detail/descriptor.hpp"

namespace mankai {
namespace {

/// A file that is or was at the path. It stays open, so that its inode is not reused.
class OpenFile {
 public:
  static Result<OpenFile> open(const std::string& path) {
    // Without O_NONBLOCK, a pipe that has replaced the file would block until somebody writes to it.
    MANKAI_ASSIGN(auto descriptor, detail::InputDescriptor::open(path, O_NONBLOCK));
    struct stat status{};
    if (fstat(descriptor.fd(), &status) != 0 || !S_ISREG(status.st_mode)) {
      return fail(ErrorCode::io, "only a regular file can be followed", EINVAL);
    }
    return OpenFile(std::move(descriptor), status.st_dev, status.st_ino);
  }

  [[nodiscard]] bool is_at(dev_t device, ino_t inode) const noexcept { return device == device_ && inode == inode_; }
  [[nodiscard]] bool is_same_as(const OpenFile& other) const noexcept { return is_at(other.device_, other.inode_); }

  /// Returns the number of bytes; 0 if there is nothing new.
  [[nodiscard]] Result<std::size_t> read(std::span<char> into) {
    for (;;) {
      const ssize_t got = pread(file_.fd(), into.data(), into.size(), offset_);
      if (got >= 0) {
        offset_ += got;
        return static_cast<std::size_t>(got);
      }
      if (errno != EINTR) {
        return fail(ErrorCode::io, "cannot read", errno);
      }
    }
  }

  /// Starts over if the file has become shorter than what was read; returns whether it has.
  [[nodiscard]] bool start_over_if_cut() noexcept {
    struct stat status{};
    const bool is_cut = fstat(file_.fd(), &status) == 0 && status.st_size < offset_;
    offset_ = is_cut ? 0 : offset_;
    return is_cut;
  }

  /// Seeks to the end; returns whether that is inside a line.
  [[nodiscard]] Result<bool> skip_to_end() {
    struct stat status{};
    if (fstat(file_.fd(), &status) != 0) {
      return fail(ErrorCode::io, "cannot examine", errno);
    }
    offset_ = status.st_size;
    char last = '\n';
    return offset_ > 0 && pread(file_.fd(), &last, 1, offset_ - 1) == 1 && last != '\n';
  }

 private:
  OpenFile(detail::InputDescriptor file, dev_t device, ino_t inode) noexcept
      : file_(std::move(file)), device_(device), inode_(inode) {}

  detail::InputDescriptor file_;
  dev_t device_;
  ino_t inode_;
  off_t offset_ = 0;
};

class Follower {
 public:
  Follower(std::string path, FollowOptions options) : path_(std::move(path)), options_(std::move(options)) {}

  Result<void> begin() {
    auto file = OpenFile::open(path_);
    if (!file) {
      return file.error().code == ErrorCode::not_found ? Result<void>() : std::unexpected(file.error().within(path_));
    }
    if (options_.from_end) {
      const auto is_inside = file->skip_to_end();
      if (!is_inside) {
        return std::unexpected(is_inside.error().within(path_));
      }
      must_skip_line_ = *is_inside;
    }
    files_.push_back(std::move(*file));
    return {};
  }

  Result<std::size_t> read(std::span<char> into) {
    for (;;) {
      MANKAI_TRY(stop_or_wait(std::chrono::milliseconds::zero()));
      look_for_a_new_file();
      const auto got = read_files(into);
      if (!got || *got > 0) {
        return got;
      }
      if (options_.on_idle) {
        options_.on_idle();
      }
      MANKAI_TRY(stop_or_wait(options_.interval));
    }
  }

 private:
  // Reads the oldest file first. Returns 0 if there is nothing new.
  Result<std::size_t> read_files(std::span<char> into) {
    while (!files_.empty()) {
      MANKAI_ASSIGN(const auto got, files_.front().read(into));
      if (got > 0) {
        silent_ = {};
        if (const std::size_t kept = take(into.first(got)); kept > 0) {
          return kept;
        }
        continue;
      }
      if (!files_.front().start_over_if_cut()) {
        if (!may_leave_file()) {
          return std::size_t{0};
        }
        files_.pop_front();
      }
      must_skip_line_ = false;
      if (is_inside_line_) {
        return begin_next_line(into);
      }
    }
    return std::size_t{0};
  }

  // Drops the rest of a line that began before `from_end`. Moves the kept bytes to the front and returns their number.
  std::size_t take(std::span<char> bytes) {
    const std::string_view text(bytes.data(), bytes.size());
    std::size_t dropped = 0;
    if (must_skip_line_) {
      const std::size_t line_feed = text.find('\n');
      must_skip_line_ = line_feed == std::string_view::npos;
      dropped = must_skip_line_ ? text.size() : line_feed + 1;
    }
    const std::size_t kept = text.size() - dropped;
    if (kept > 0) {
      is_inside_line_ = text.back() != '\n';
      text.substr(dropped).copy(bytes.data(), kept);
    }
    return kept;
  }

  std::size_t begin_next_line(std::span<char> into) {
    into.front() = '\n';
    is_inside_line_ = false;
    return 1;
  }

  // The newest file is always kept; an older one until it has not grown for long enough.
  bool may_leave_file() {
    if (files_.size() < 2) {
      return false;
    }
    silent_ += options_.interval;
    if (silent_ < options_.grace) {
      return false;
    }
    silent_ = {};
    return true;
  }

  void look_for_a_new_file() {
    struct stat status{};
    if (stat(path_.c_str(), &status) != 0 || (!files_.empty() && files_.back().is_at(status.st_dev, status.st_ino))) {
      return;
    }
    auto file = OpenFile::open(path_);
    if (file && std::ranges::none_of(files_, [&](const OpenFile& known) { return known.is_same_as(*file); })) {
      files_.push_back(std::move(*file));
    }
  }

  Result<void> stop_or_wait(std::chrono::milliseconds time) const {
    pollfd stop{.fd = options_.stop_fd, .events = POLLIN, .revents = 0};  // poll ignores negative descriptors
    const int ready = poll(&stop, 1, static_cast<int>(time.count()));
    if (ready > 0) {
      return fail(ErrorCode::io, "stopped", EINTR);
    }
    if (ready < 0 && errno != EINTR) {
      return fail(ErrorCode::io, "cannot wait", errno);
    }
    return {};
  }

  std::string path_;
  FollowOptions options_;
  std::deque<OpenFile> files_;  // newest last
  std::chrono::milliseconds silent_{};
  bool is_inside_line_ = false;
  bool must_skip_line_ = false;
};

bool is_other_than_a_file(const std::string& path) {
  struct stat status{};
  return path == "-" || (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode));
}

}  // namespace

Result<Source> follow(const std::string& path, FollowOptions options) {
  if (options.interval.count() <= 0) {
    return fail(ErrorCode::invalid_argument, "the interval between two looks at a file must be at least 1 ms");
  }
  if (is_other_than_a_file(path)) {
    return Source::open(path, {.stop_fd = options.stop_fd});
  }
  auto follower = std::make_unique<Follower>(path, std::move(options));
  MANKAI_TRY(follower->begin());
  return Source::from_function([follower = std::move(follower)](std::span<char> into) { return follower->read(into); },
                               path);
}

}  // namespace mankai
