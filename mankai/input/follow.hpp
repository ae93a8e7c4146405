#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "mankai/base/error.hpp"
#include "mankai/input/source.hpp"

namespace mankai {

/// Settings of `follow`.
struct FollowOptions {
  /// Time between two polls of the file.
  std::chrono::milliseconds interval{250};

  /// A replaced file is closed when it has not grown for this long: programs log to it until they reopen.
  std::chrono::milliseconds grace{2000};

  /// Begins at the current end of the file, with the next line that begins there.
  bool from_end = false;

  /// As SourceOptions::stop_fd: `read` fails with io and EINTR as soon as the descriptor is readable; -1: none.
  int stop_fd = -1;

  /// If set, called after every poll that found nothing new: a chance to redraw a table or to save.
  std::function<void()> on_idle;
};

/// Reads a growing file, as `tail -F` does; never ends.
///
/// After a rotation (the old file renamed or removed, a new one made at the path) it reads the old file to its end and
/// continues with the new one. If the file becomes shorter than what was read, it starts over. While there is no file,
/// also at the start, it waits. A line feed is inserted between an unfinished last line and the next file.
///
/// No line is lost or read twice across a rotation if every file stays at the path for longer than `interval`. A
/// truncation in place (logrotate's `copytruncate`) loses what was written after the last poll, and goes unnoticed if
/// the file has already outgrown what was read.
///
/// A path that is not a regular file ("-", a pipe) is read as by Source::open. Compressed files cannot be followed.
///
/// Cost:    a poll is one fstat(2), one stat(2) and one read(2).
/// Errors:  io if the path is at first a folder or a file without read permission. Later such a file counts as missing,
///          since permissions are often set after the file is made.
[[nodiscard]] Result<Source> follow(const std::string& path, FollowOptions options = {});

}  // namespace mankai
