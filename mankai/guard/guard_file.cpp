#include "mankai/guard/guard_file.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/guard/guard_format.hpp"

namespace mankai {
namespace {

// Called before the first change, so that an invalid rule changes nothing.
Result<void> check_rules(std::span<const std::string_view> rules) {
  url::CanonicalUrl url;
  for (const std::string_view rule : rules) {
    MANKAI_TRY(GuardRule::parse(rule, url));
  }
  return {};
}

Result<bool> is_there(const std::string& path, FileCalls& calls) {
  const auto found = identify(path, calls);
  if (!found && found.error().code != ErrorCode::not_found) {
    return std::unexpected(found.error());
  }
  return found.has_value();
}

struct Mapped {
  FileStamp stamp;
  Guard guard;
};

Result<Mapped> map_guard(const std::string& path, FileCalls& calls) {
  MANKAI_ASSIGN(const auto file, OpenFile::open(path, OpenFile::Mode::read, calls));
  if (file.size() == 0) {
    return fail(ErrorCode::corrupt, path + ": is empty");
  }
  MANKAI_ASSIGN(auto region, file.map_region(file.size()));
  auto guard = Guard::from_region(std::move(region));
  if (!guard) {
    return std::unexpected(guard.error().within(path));
  }
  return Mapped{.stamp = file.stamp(), .guard = std::move(*guard)};
}

}  // namespace

Result<void> GuardFile::write(const std::string& path, const Guard& guard, Existing existing, FileCalls& calls,
                              FileMode mode) {
  MANKAI_ASSIGN(const auto exists, is_there(path, calls));
  std::optional<FileLock> lock;
  if (exists && existing == Existing::replace) {
    MANKAI_ASSIGN(lock, FileLock::acquire(path, calls));
    MANKAI_TRY(check_replaceable(path, calls));
  }
  // Must not replace a file that another process has made in between.
  return write_file(path, guard.to_bytes(), exists ? existing : Existing::refuse, lock ? &*lock : nullptr, calls, mode);
}

Result<void> GuardFile::check_replaceable(const std::string& path, FileCalls& calls) {
  MANKAI_ASSIGN(const auto file, OpenFile::open(path, OpenFile::Mode::read, calls));
  std::array<std::byte, kGuardMagic.size()> start{};
  const std::size_t length = std::min<std::size_t>(file.size(), start.size());
  MANKAI_TRY(file.read(0, std::span(start).first(length)));
  const auto magic = std::as_bytes(std::span(kGuardMagic)).first(length);
  return std::ranges::equal(std::span(start).first(length), magic)
             ? Result<void>()
             : fail(ErrorCode::invalid_argument, path + ": is not a guard, so it was not replaced; remove it first");
}

Result<GuardFile> GuardFile::open(const std::string& path, Mode mode, FileCalls& calls) {
  std::optional<FileLock> lock;
  if (mode == Mode::write) {
    MANKAI_ASSIGN(lock, FileLock::acquire(path, calls));
  }
  MANKAI_ASSIGN(auto mapped, map_guard(path, calls));
  if (mode == Mode::write) {
    // A rule that is there already is not written again.
    MANKAI_ASSIGN(const std::string real, resolve_links(path, calls));
    MANKAI_TRY(sync_folder_of(real, calls));
  }
  return GuardFile(path, calls, std::move(lock), mapped.stamp, std::move(mapped.guard));
}

Result<GuardFile::Outcomes> GuardFile::change(std::span<const std::string_view> rules, const Change& make) {
  MANKAI_ASSERT(lock_.has_value());
  if (auto valid = check_rules(rules); !valid) {
    return std::unexpected(valid.error().within(path_));
  }
  Outcomes outcomes;
  const bool was_saved = std::exchange(is_saved_, false);  // also if memory runs out
  for (const std::string_view rule : rules) {
    const auto changed = make(guard_, rule);
    if (!changed) {
      return std::unexpected(undo(changed.error().within(shown_rule(rule)).within(path_)));
    }
    ++(*changed ? outcomes.changed : outcomes.unchanged);
  }
  if (outcomes.changed != 0 || !was_saved) {
    MANKAI_TRY(save());
  }
  is_saved_ = true;
  return outcomes;
}

// The rules before a failed one are in guard(), but not in the file.
Error GuardFile::undo(Error why) {
  auto reloaded = reload();
  return reloaded ? std::move(why) : reloaded.error();
}

Result<void> GuardFile::reload() {
  auto before = map_guard(place_, *calls_);
  if (!before) {
    return std::unexpected(before.error());
  }
  guard_ = std::move(before->guard);
  stamp_ = before->stamp;
  return {};
}

Result<void> GuardFile::save(FileMode mode) {
  is_saved_ = false;
  auto written = lock_->check_at(place_);
  if (written) {
    written = write_file(place_, guard_.to_bytes(), Existing::replace, &*lock_, *calls_, mode);
  }
  if (!written) {
    static_cast<void>(reload());  // what counts is why it was not written
    return written;
  }
  MANKAI_ASSIGN(stamp_, stamp_of(place_, *calls_));
  is_saved_ = true;
  return {};
}

Result<GuardFile::Outcomes> GuardFile::add(std::span<const std::string_view> rules, std::uint64_t id) {
  return change(rules, [id](Guard& guard, std::string_view rule) { return guard.add(rule, id); });
}

Result<GuardFile::Outcomes> GuardFile::remove(std::span<const std::string_view> rules, std::optional<std::uint64_t> id,
                                              const std::function<void(std::string_view, RemoveOutcome)>& tell) {
  return change(rules, [&](Guard& guard, std::string_view rule) -> Result<bool> {
    MANKAI_ASSIGN(const auto outcome, guard.remove(rule, id));
    if (tell) {
      tell(rule, outcome);
    }
    return outcome != RemoveOutcome::not_found;
  });
}

Result<GuardFile::Outcomes> GuardFile::allow(std::span<const std::string_view> rules) {
  return change(rules, [](Guard& guard, std::string_view rule) { return guard.allow(rule); });
}

Result<GuardFile::Outcomes> GuardFile::disallow(std::span<const std::string_view> rules,
                                                const std::function<void(std::string_view, bool)>& tell) {
  return change(rules, [&](Guard& guard, std::string_view rule) {
    auto was_there = guard.disallow(rule);
    if (tell && was_there) {
      tell(rule, *was_there);
    }
    return was_there;
  });
}

Result<void> GuardFile::compact() {
  MANKAI_ASSERT(lock_.has_value());
  if (auto made = guard_.compact(); !made) {
    return std::unexpected(made.error().within(path_));
  }
  return save();
}

Result<void> GuardFile::replace(Guard guard, FileMode mode) {
  MANKAI_ASSERT(lock_.has_value());
  guard_ = std::move(guard);
  return save(mode);
}

Result<bool> GuardFile::is_replaced() const {
  MANKAI_ASSIGN(const auto now, stamp_of(place_, *calls_));
  return now != stamp_;
}

}  // namespace mankai
