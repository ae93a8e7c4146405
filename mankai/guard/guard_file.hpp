#pragma once

/// A guard stored in a file: each change is on disk when the call returns.
///
///     auto file = mankai::GuardFile::open("blocked.mkg", mankai::GuardFile::Mode::write);
///     file->add({"evil.example/malware", "worse.example"});
///
/// Every change replaces the whole file atomically, so that readers and recovery after a crash see the guard before or
/// after it. Give many rules in one call. The file is mapped: a program that overwrites it in place changes the
/// answers, and one that truncates it ends the process with SIGBUS.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mankai/file/file.hpp"
#include "mankai/guard/guard.hpp"

namespace mankai {

/// A guard and its file. Cost: a change writes and syncs the file: 20 MB for a million rules, 2 MB without kept rules.
/// Threads: one at a time; checks of guard() are safe together.
class GuardFile {
 public:
  enum class Mode : std::uint8_t {
    read,
    write,  ///< locked against other writers while open
  };

  /// Errors: invalid_argument if the file exists and must not, or is not replaceable; locked; io; out_of_space.
  [[nodiscard]] static Result<void> write(const std::string& path, const Guard& guard, Existing existing,
                                          FileCalls& calls = system_calls(), FileMode mode = {});
  /// Fails unless the file is regular, and empty or a (possibly corrupt) guard: `write` must not replace a list by
  /// mistake. Errors: invalid_argument; not_found; io.
  [[nodiscard]] static Result<void> check_replaceable(const std::string& path, FileCalls& calls = system_calls());
  /// Maps the file and checks all of it. To write, returns when its name is on disk, which the last writer may have
  /// ended before. Errors: as Guard::from_region, with the path; not_found; io; locked.
  [[nodiscard]] static Result<GuardFile> open(const std::string& path, Mode mode = Mode::read,
                                              FileCalls& calls = system_calls());

  [[nodiscard]] const Guard& guard() const noexcept { return guard_; }
  /// As it was given to open().
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  struct Outcomes {
    std::uint64_t changed = 0;    ///< added or removed
    std::uint64_t unchanged = 0;  ///< present or absent already
  };

  /// As the functions of Guard, for many rules; writes the file if anything changes. Calls `tell` per rule before that.
  /// Errors: invalid_argument for an invalid rule and corrupt for a digest collision, without any change; io, also if
  /// another file was moved to the path; out_of_space. After these two guard() is read from the file again, and the
  /// next of these calls writes the file even if it changes nothing. Pre: mode write; `tell` does not throw.
  [[nodiscard]] Result<Outcomes> add(std::span<const std::string_view> rules, std::uint64_t id = 0);
  [[nodiscard]] Result<Outcomes> remove(std::span<const std::string_view> rules, std::optional<std::uint64_t> id,
                                        const std::function<void(std::string_view, RemoveOutcome)>& tell = {});
  [[nodiscard]] Result<Outcomes> allow(std::span<const std::string_view> rules);
  [[nodiscard]] Result<Outcomes> disallow(std::span<const std::string_view> rules,
                                          const std::function<void(std::string_view, bool)>& tell = {});
  /// Errors: as Guard::compact; io; out_of_space. Pre: mode write.
  [[nodiscard]] Result<void> compact();
  /// Writes another guard in place of this one. Errors: io; out_of_space. Pre: mode write.
  [[nodiscard]] Result<void> replace(Guard guard, FileMode mode = {});

  /// Whether the path now names another file or other content, so that it should be opened again. Errors: not_found;
  /// io.
  [[nodiscard]] Result<bool> is_replaced() const;

 private:
  GuardFile(const std::string& path, FileCalls& calls, std::optional<FileLock> lock, FileStamp stamp, Guard guard)
      : path_(path),
        place_(absolute_path(path)),
        calls_(&calls),
        lock_(std::move(lock)),
        stamp_(stamp),
        guard_(std::move(guard)) {}

  using Change = std::function<Result<bool>(Guard&, std::string_view)>;
  [[nodiscard]] Result<Outcomes> change(std::span<const std::string_view> rules, const Change& make);
  [[nodiscard]] Error undo(Error why);
  [[nodiscard]] Result<void> reload();
  [[nodiscard]] Result<void> save(FileMode mode = {});

  std::string path_;
  std::string place_;  ///< the same path, also after the process has changed its folder
  FileCalls* calls_;
  std::optional<FileLock> lock_;
  FileStamp stamp_;
  Guard guard_;
  bool is_saved_ = true;  ///< the disk is known to have guard_
};

}  // namespace mankai
