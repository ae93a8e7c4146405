#pragma once

/// The lists of `guard update`: how they are fetched, and whether a new version is accepted.
///
/// FILE.lists is the folder beside the guard's file with the last accepted version of each list (NAME.list), a version
/// that was fetched and not accepted (NAME.fetched), the guard as it was made from the lists, without later changes
/// (built.mkg), what it was made from (built.txt), and the lock of the run (lock).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "apps/mankai/guard_sources.hpp"
#include "mankai/base/error.hpp"
#include "mankai/file/file_lock.hpp"

namespace mankai::command {

/// The names in FILE.lists.
class ListFolder {
 public:
  explicit ListFolder(const std::string& file) : path_(file + ".lists") {}

  [[nodiscard]] std::string list(const ListSource& source) const { return path_ + "/" + source.name + ".list"; }
  [[nodiscard]] std::string fetched(const ListSource& source) const { return path_ + "/" + source.name + ".fetched"; }
  [[nodiscard]] std::string built() const { return path_ + "/built.mkg"; }
  /// Of a guard that is about to be put in place.
  [[nodiscard]] std::string next_built() const { return path_ + "/built-next.mkg"; }
  [[nodiscard]] std::string record() const { return path_ + "/built.txt"; }

  /// Creates the folder, keeps other runs away, and removes temporaries of a run that was killed. Errors: locked; io.
  [[nodiscard]] Result<FileLock> lock() const;

 private:
  std::string path_;
};

/// Errors: io.
[[nodiscard]] Result<bool> has_file(const std::string& path);
/// Errors: io.
[[nodiscard]] Result<void> move_file(const std::string& from, const std::string& to);

/// Names a version of a list that was fetched and not accepted, and that is accepted now.
struct AcceptedVersion {
  const ListSource* source = nullptr;
  std::string sha256;  ///< of NAME.fetched, in hexadecimal
};

/// Reads NAME=SHA256 of --accept. Errors: invalid_argument.
[[nodiscard]] Result<AcceptedVersion> parse_accepted_version(const std::string& text, const GuardSources& sources);
/// Errors: invalid_argument if the folder has another version; io.
[[nodiscard]] Result<void> check_is_kept(const AcceptedVersion& version, const ListFolder& folder);

/// What happened to one list.
struct ListUpdate {
  enum class State : std::uint8_t { unchanged, updated, refused, failed };

  const ListSource* source = nullptr;
  State state = State::unchanged;
  std::optional<Error> why = {};
  bool has_version = true;  ///< there is an accepted one
  std::optional<std::uint64_t> rules = {};
  std::optional<std::uint64_t> rules_before = {};
  std::string sha256 = {};  ///< of a refused version that can be accepted

  [[nodiscard]] bool is_bad() const { return state == State::refused || state == State::failed; }
};

[[nodiscard]] std::string_view state_name(ListUpdate::State state);

/// Fetches lists and decides whether to accept them. `accepted` are versions that are not fetched again, and accepted
/// although they are shorter or more of them is skipped. The arguments must outlive the object.
class ListFetcher {
 public:
  ListFetcher(std::span<const AcceptedVersion> accepted, const GuardSources& sources, const ListFolder& folder)
      : accepted_(accepted), sources_(sources), folder_(folder) {}

  /// Errors: io for the folder of the lists only. After a request to stop, the list is not accepted.
  [[nodiscard]] Result<ListUpdate> update(const ListSource& source) const;

 private:
  [[nodiscard]] Result<void> fetch(const ListSource& source) const;
  /// Errors: why the fetched version is not accepted.
  [[nodiscard]] Result<void> check(const ListSource& source, ListUpdate& update) const;
  /// Returns what is wrong; empty if nothing is.
  [[nodiscard]] static std::string too_much(const ListSource& source, const ListOutcome& list,
                                            const ListUpdate& update);
  [[nodiscard]] bool is_accepted(const ListSource& source) const;

  std::span<const AcceptedVersion> accepted_;
  const GuardSources& sources_;
  const ListFolder& folder_;
};

}  // namespace mankai::command
