#pragma once

/// "Is it blocked?" in one file: a Guard whose changes are on the disk when the call that made them returns.
///
///     auto file = mankai::GuardFile::open("blocked.mkg", mankai::GuardFile::Mode::write);
///     file->add({"evil.example/malware", "worse.example"});
///
/// Every change writes the whole file anew and puts it in the old one's place, so that a reader has the guard as it was
/// or as it is, and after a crash there is one of the two. So many rules are better given together.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/file/file.hpp"
#include "mankai/guard/guard.hpp"

namespace mankai {

/// A guard and its file.
///
/// Cost:    a change is a write and two syncs of the file: of a million rules 20 MB, or 2 MB without kept rules.
/// Threads: one at a time; checks of guard() beside each other.
class GuardFile {
 public:
  enum class Mode : std::uint8_t {
    read,
    write,  ///< locked against other writers until the end
  };

  /// Writes a guard into a file of its own. Errors: invalid_argument when it exists and must not, or may not be
  /// replaced; locked; io; out_of_space.
  [[nodiscard]] static Result<void> write(const std::string& path, const Guard& guard, Existing existing,
                                          FileCalls& calls = system_calls(), FileMode mode = {});
  /// What `write` replaces: only a regular file that begins as a guard, whole or damaged, or is empty; so no list is
  /// lost to a slip. Errors: invalid_argument for another file; not_found; io.
  [[nodiscard]] static Result<void> check_replaceable(const std::string& path, FileCalls& calls = system_calls());
  /// Maps the file, whole, and checks it. Errors: as Guard::from_region's, with the path; not_found; io; locked.
  [[nodiscard]] static Result<GuardFile> open(const std::string& path, Mode mode = Mode::read,
                                              FileCalls& calls = system_calls());

  [[nodiscard]] const Guard& guard() const noexcept { return guard_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// What was done with each rule of a call. After an error, nothing was done in the file.
  struct Outcomes {
    std::uint64_t changed = 0;    ///< added, removed, excepted
    std::uint64_t unchanged = 0;  ///< was so already, or was not there
  };

  /// As Guard's, of many rules. `tell`, where it is given, hears what became of each, before it is on the disk. The
  /// file stays as it is when nothing changes. Errors: invalid_argument for what is no rule, and corrupt for one that
  /// the hash cannot tell from another, and then nothing is done, also in guard(); io; out_of_space. After an error of
  /// the disk, only opening the file again tells what is in it. Pre: mode write.
  [[nodiscard]] Result<Outcomes> add(std::span<const std::string_view> rules, std::uint64_t id = 0);
  [[nodiscard]] Result<Outcomes> remove(std::span<const std::string_view> rules, std::optional<std::uint64_t> id,
                                        const std::function<void(std::string_view, RemoveOutcome)>& tell = {});
  [[nodiscard]] Result<Outcomes> allow(std::span<const std::string_view> rules);
  [[nodiscard]] Result<Outcomes> disallow(std::span<const std::string_view> rules,
                                          const std::function<void(std::string_view, bool)>& tell = {});
  /// Errors: as Guard::compact's; io; out_of_space. Pre: mode write.
  [[nodiscard]] Result<void> compact();

  /// Whether the path names another file by now than the one that is open, or one that was changed: time to open it
  /// anew. Errors: not_found; io.
  [[nodiscard]] Result<bool> is_replaced() const;
  [[nodiscard]] FileIdentity identity() const noexcept { return identity_; }

 private:
  GuardFile(std::string path, FileCalls& calls, std::optional<FileLock> lock, FileIdentity identity, Guard guard)
      : path_(std::move(path)), calls_(&calls), lock_(std::move(lock)), identity_(identity), guard_(std::move(guard)) {}

  using Change = std::function<Result<bool>(Guard&, std::string_view)>;
  [[nodiscard]] Result<Outcomes> change(std::span<const std::string_view> rules, const Change& make);
  [[nodiscard]] Error undo(Error why);
  [[nodiscard]] Result<void> save();

  std::string path_;
  FileCalls* calls_;
  std::optional<FileLock> lock_;
  FileIdentity identity_;
  Guard guard_;
};

}  // namespace mankai
