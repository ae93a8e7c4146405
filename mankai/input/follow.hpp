#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "mankai/base/error.hpp"
#include "mankai/input/source.hpp"

namespace mankai {

/// How a file is followed.
struct FollowOptions {
  /// How long to wait before looking again.
  std::chrono::milliseconds interval{250};

  /// How long a file that another one has replaced must have been silent before it is given up: programs that log go
  /// on writing to the old file until they are told to open the new one.
  std::chrono::milliseconds grace{2000};

  /// Begins at the end of the file that is there now, at the line that begins next.
  bool from_end = false;

  /// As SourceOptions::stop_fd: makes `read` fail with io and EINTR as soon as it becomes readable, or -1.
  int stop_fd = -1;

  /// Called at every look that found nothing new, or empty: the moment to redraw a table or to save.
  std::function<void()> on_idle;
};

/// Reads a file that grows, as `tail -F` does; it never ends.
///
/// It goes on with the new file after a rotation (the old one renamed or removed, a new one made at the path), having
/// read the old one to its end; from the beginning when the file becomes shorter than what has been read; and it waits
/// while there is no file, also at the start. A line feed is put between an unfinished last line and the next file, so
/// that lines of two files never run together.
///
/// No line is lost or read twice across a rotation, as long as every file stays at the path for longer than `interval`.
/// Lost is what was written after the last look at a file and before it was cut to a shorter length in place
/// (logrotate's `copytruncate`), and a cut is not noticed if the file has outgrown what was read by the next look.
///
/// A path that is not a regular file ("-", a pipe) is read as by Source::open; compressed files are not for following.
///
/// Cost:   a look is one fstat(2), one stat(2) and one read(2).
/// Errors: io when the path is a folder or a file that may not be read; later on such a file is taken for a missing
///         one, since permissions are often set after the file is made.
[[nodiscard]] Result<Source> follow(const std::string& path, FollowOptions options = {});

}  // namespace mankai
