#include "apps/mankai/guard_update_lists.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sodium.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "apps/mankai/child_command.hpp"
#include "apps/mankai/descriptor.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/signals.hpp"
#include "mankai/file/file.hpp"

namespace mankai::command {
namespace {

/// Limit of a list, for a source that never ends.
constexpr std::uint64_t kListBytesMax = std::uint64_t{1} << 30;

Result<bool> are_equal(const std::string& a, const std::string& b) {
  MANKAI_ASSIGN(const auto left, read_file(a));
  MANKAI_ASSIGN(const auto right, read_file(b));
  return std::ranges::equal(left.bytes(), right.bytes());
}

// A digest that whoever serves the list cannot give to two versions of it.
Result<std::string> sha256_of(const std::string& path) {
  MANKAI_ASSIGN(const auto file, read_file(path));
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(file.bytes().data()), file.size());
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

template <class Write>
Result<void> copy_list(const std::string& path, const Write& write) {
  constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  MANKAI_ASSIGN(const auto file, OpenFile::open(path, OpenFile::Mode::read));
  if (file.size() > kListBytesMax) {
    return fail(ErrorCode::io, path + ": is larger than " + human_bytes(kListBytesMax));
  }
  std::vector<std::byte> piece(std::min<std::uint64_t>(kPieceBytes, file.size()));
  for (std::uint64_t offset = 0; offset < file.size(); offset += piece.size()) {
    piece.resize(std::min<std::uint64_t>(kPieceBytes, file.size() - offset));
    MANKAI_TRY(file.read(offset, piece));
    MANKAI_TRY(write(piece));
  }
  return {};
}

}  // namespace

Result<FileLock> ListFolder::lock() const {
  constexpr mode_t kFolderMode = 0700;
  constexpr mode_t kFileMode = 0600;
  if (mkdir(path_.c_str(), kFolderMode) != 0 && errno != EEXIST) {
    return fail(ErrorCode::io, path_ + ": cannot create this folder", errno);
  }
  const std::string path = path_ + "/lock";
  if (Descriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kFileMode)).get() < 0) {
    return fail(ErrorCode::io, path + ": cannot be created", errno);
  }
  MANKAI_ASSIGN(auto lock, FileLock::acquire(path));
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path_, error)) {
    if (entry.path().filename().string().find(".tmp-") != std::string::npos) {
      std::filesystem::remove(entry.path(), error);
    }
  }
  return lock;
}

Result<bool> has_file(const std::string& path) {
  const auto found = identify(path);
  if (!found && found.error().code != ErrorCode::not_found) {
    return std::unexpected(found.error());
  }
  return found.has_value();
}

Result<void> move_file(const std::string& from, const std::string& to) {
  return system_calls().rename(from.c_str(), to.c_str()) == 0 ? Result<void>()
                                                              : fail(ErrorCode::io, to + ": cannot be replaced", errno);
}

Result<AcceptedVersion> parse_accepted_version(const std::string& text, const GuardSources& sources) {
  const std::size_t end = std::min(text.find('='), text.size());
  const std::string name = text.substr(0, end);
  const auto source = std::ranges::find(sources.lists, name, &ListSource::name);
  if (source == sources.lists.end()) {
    return fail(ErrorCode::invalid_argument, fmt::format("--accept: there is no list '{}'", printable(name)));
  }
  constexpr std::size_t kDigits = std::size_t{2} * crypto_hash_sha256_BYTES;
  if (text.size() != end + 1 + kDigits) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("--accept {}: has no digest of {} digits; give {}=SHA256, as the run that refused the list "
                            "printed it",
                            printable(text), kDigits, name));
  }
  return AcceptedVersion{.source = &*source, .sha256 = text.substr(end + 1)};
}

Result<void> check_is_kept(const AcceptedVersion& version, const ListFolder& folder) {
  const std::string path = folder.fetched(*version.source);
  MANKAI_ASSIGN(const bool exists, has_file(path));
  if (!exists) {
    return fail(ErrorCode::invalid_argument,
                path + ": does not exist: no version of this list is refused; run again without --accept");
  }
  MANKAI_ASSIGN(const std::string sha256, sha256_of(path));
  return sha256 == version.sha256
             ? Result<void>()
             : fail(ErrorCode::invalid_argument,
                    fmt::format("{}: is not the version to accept; review it, then use --accept {}={}", path,
                                version.source->name, sha256));
}

std::string_view state_name(ListUpdate::State state) {
  switch (state) {
    case ListUpdate::State::unchanged: return "unchanged";
    case ListUpdate::State::updated: return "updated";
    case ListUpdate::State::refused: return "refused";
    case ListUpdate::State::failed: return "failed";
  }
  return "";
}

Result<ListUpdate> ListFetcher::update(const ListSource& source) const {
  ListUpdate update{.source = &source};
  MANKAI_ASSIGN(const bool has_version, has_file(folder_.list(source)));
  update.has_version = has_version;
  if (const auto fetched = is_accepted(source) ? Result<void>() : fetch(source); !fetched) {
    update.state = ListUpdate::State::failed;
    update.why = fetched.error();
    return update;
  }
  if (has_version) {
    MANKAI_ASSIGN(const bool is_same, are_equal(folder_.list(source), folder_.fetched(source)));
    if (is_same) {
      MANKAI_TRY(remove_file(folder_.fetched(source)));
      return update;
    }
  }
  if (auto checked = check(source, update); !checked) {
    update.state = ListUpdate::State::refused;
    update.why = checked.error();
    return update;
  }
  if (stop_signal() == 0) {
    MANKAI_TRY(move_file(folder_.fetched(source), folder_.list(source)));
    update.state = ListUpdate::State::updated;
    update.has_version = true;
  }
  return update;
}

Result<void> ListFetcher::fetch(const ListSource& source) const {
  MANKAI_ASSIGN(auto file, NewFile::create(folder_.fetched(source), Existing::replace));
  const auto write = [&](std::span<const std::byte> bytes) { return file.write(bytes); };
  MANKAI_TRY(source.path.empty()
                 ? run_child({.words = source.command,
                              .folder = sources_.folder,
                              .timeout = source.timeout,
                              .output_bytes_max = kListBytesMax},
                             write)
                 : copy_list(source.path.starts_with('/') ? source.path : sources_.folder + source.path, write));
  MANKAI_TRY(file.sync());
  return file.put_in_place();
}

Result<void> ListFetcher::check(const ListSource& source, ListUpdate& update) const {
  MANKAI_ASSIGN(const auto list, read_rule_list(folder_.fetched(source), source.format, nullptr));
  update.rules = list.all_rules();
  if (list.all_rules() == 0 && !source.allow_empty) {
    return fail(ErrorCode::corrupt,
                no_rules_text(list) + "; set its format, or allow_empty = true if it may have no rules");
  }
  if (update.has_version) {
    // In another format than before it may not be readable: then nothing is known to be lost.
    if (const auto before = read_rule_list(folder_.list(source), source.format, nullptr); before) {
      update.rules_before = before->all_rules();
    }
  }
  const std::string problem = is_accepted(source) ? "" : too_much(source, list, update);
  if (problem.empty()) {
    return {};
  }
  MANKAI_ASSIGN(update.sha256, sha256_of(folder_.fetched(source)));
  return fail(ErrorCode::corrupt, fmt::format("{}; see {}, and accept it with --accept {}={}", problem,
                                              folder_.fetched(source), source.name, update.sha256));
}

std::string ListFetcher::too_much(const ListSource& source, const ListOutcome& list, const ListUpdate& update) {
  if (list.counts.skipped_for(RuleSkip::long_record) != 0) {
    return long_record_text(list);
  }
  if (list.counts.skipped_share() > source.allow_skipped) {
    return skipped_share_text(list, source.allow_skipped);
  }
  const std::uint64_t before = update.rules_before.value_or(0);
  if (list.all_rules() >= before || source.max_loss == 1) {
    return "";
  }
  const double loss = static_cast<double>(before - list.all_rules()) / static_cast<double>(before);
  return loss < source.max_loss ? ""
                                : fmt::format("has {}, {} fewer than the {} before; a loss of {} or more is refused",
                                              counted(list.all_rules(), "rule"), human_share(loss), human_count(before),
                                              human_share(source.max_loss));
}

bool ListFetcher::is_accepted(const ListSource& source) const {
  return std::ranges::find(accepted_, &source, &AcceptedVersion::source) != accepted_.end();
}

}  // namespace mankai::command
