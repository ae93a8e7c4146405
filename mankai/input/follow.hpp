#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "mankai/base/error.hpp"
#include "mankai/input/source.hpp"

namespace mankai {

/// How to follow a file.
struct FollowOptions {
  /// How long to wait between two looks.
  std::chrono::milliseconds interval{250};

  /// How long a file that another one has replaced must not have grown before it is closed: programs continue to log
  /// to the old file until they reopen it.
  std::chrono::milliseconds grace{2000};

  /// Begins at the current end of the file, with the next line that begins there.
  bool from_end = false;

  /// As SourceOptions::stop_fd: `read` fails with io and EINTR as soon as it is readable; or -1.
  int stop_fd = -1;

  /// If set, called after every look that found nothing new: the moment to redraw a table or to save.
  std::function<void()> on_idle;
};

/// Reads a file that grows, as `tail -F` does; it never ends.
///
/// After a rotation (the old file renamed or removed, a new one made at the path) it reads the old file to its end and
/// continues with the new one. When the file becomes shorter than what has been read, it starts over. It waits while
/// there is no file, also at the start. A line feed is inserted between an unfinished last line and the next file.
///
/// No line is lost or read twice across a rotation if every file stays at the path for longer than `interval`. When a
/// file is truncated in place (logrotate's `copytruncate`), what was written after the last look is lost; a truncation
/// is not noticed if the file has outgrown what was read by the next look.
///
/// A path that is not a regular file ("-", a pipe) is read as by Source::open. Compressed files cannot be followed.
///
/// Cost:   a look is one fstat(2), one stat(2) and one read(2).
/// Errors: io when the path is a folder or a file without read permission. Later such a file counts as missing, since
///         permissions are often set after the file is made.
[[nodiscard]] Result<Source> follow(const std::string& path, FollowOptions options = {});

}  // namespace mankai
