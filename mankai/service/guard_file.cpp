#include "mankai/service/guard_file.hpp"

#include <utility>

#include "mankai/base/assert.hpp"

namespace mankai {
namespace {

// Nothing is changed for the sake of one wrong rule among many.
Result<void> check_rules(std::span<const std::string_view> rules) {
  url::CanonicalUrl url;
  for (const std::string_view rule : rules) {
    if (const auto parsed = GuardRule::parse(rule, url); !parsed) {
      return std::unexpected(parsed.error().within("'" + std::string(rule) + "'"));
    }
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

}  // namespace

Result<void> GuardFile::write(const std::string& path, const Guard& guard, Existing existing, FileCalls& calls) {
  const auto exists = is_there(path, calls);
  if (!exists) {
    return std::unexpected(exists.error());
  }
  std::optional<FileLock> lock;
  if (*exists && existing == Existing::replace) {
    auto acquired = FileLock::acquire(path, calls);
    if (!acquired) {
      return std::unexpected(acquired.error());
    }
    lock = std::move(*acquired);
  }
  return write_file(path, guard.to_bytes(), existing, lock ? &*lock : nullptr, calls);
}

Result<GuardFile> GuardFile::open(const std::string& path, Mode mode, FileCalls& calls) {
  std::optional<FileLock> lock;
  if (mode == Mode::write) {
    auto acquired = FileLock::acquire(path, calls);
    if (!acquired) {
      return std::unexpected(acquired.error());
    }
    lock = std::move(*acquired);
  }
  const auto file = OpenFile::open(path, OpenFile::Mode::read, calls);
  if (!file) {
    return std::unexpected(file.error());
  }
  if (file->size() == 0) {
    return fail(ErrorCode::corrupt, path + ": is empty");
  }
  auto region = file->map_region(file->size());
  if (!region) {
    return std::unexpected(region.error());
  }
  auto guard = Guard::from_region(std::move(*region));
  if (!guard) {
    return std::unexpected(guard.error().within(path));
  }
  return GuardFile(path, calls, std::move(lock), file->identity(), std::move(*guard));
}

Result<GuardFile::Outcomes> GuardFile::change(std::span<const std::string_view> rules, const Change& make) {
  MANKAI_ASSERT(lock_.has_value());
  if (auto valid = check_rules(rules); !valid) {
    return std::unexpected(valid.error());
  }
  Outcomes outcomes;
  for (const std::string_view rule : rules) {
    const auto changed = make(guard_, rule);
    if (!changed) {
      return std::unexpected(changed.error());
    }
    ++(*changed ? outcomes.changed : outcomes.unchanged);
  }
  if (outcomes.changed != 0) {
    if (auto saved = save(); !saved) {
      return std::unexpected(saved.error());
    }
  }
  return outcomes;
}

Result<void> GuardFile::save() {
  if (auto written = write_file(path_, guard_.to_bytes(), Existing::replace, &*lock_, *calls_); !written) {
    return written;
  }
  const auto now = identify(path_, *calls_);
  if (!now) {
    return std::unexpected(now.error());
  }
  identity_ = *now;
  return {};
}

Result<GuardFile::Outcomes> GuardFile::add(std::span<const std::string_view> rules, std::uint64_t id) {
  return change(rules, [id](Guard& guard, std::string_view rule) { return guard.add(rule, id); });
}

Result<GuardFile::Outcomes> GuardFile::remove(std::span<const std::string_view> rules, std::optional<std::uint64_t> id,
                                              const std::function<void(std::string_view, RemoveOutcome)>& tell) {
  return change(rules, [&](Guard& guard, std::string_view rule) -> Result<bool> {
    const auto outcome = guard.remove(rule, id);
    if (!outcome) {
      return std::unexpected(outcome.error());
    }
    if (tell) {
      tell(rule, *outcome);
    }
    return *outcome != RemoveOutcome::not_found;
  });
}

Result<GuardFile::Outcomes> GuardFile::allow(std::span<const std::string_view> rules) {
  return change(rules, [](Guard& guard, std::string_view rule) { return guard.allow(rule); });
}

Result<GuardFile::Outcomes> GuardFile::disallow(std::span<const std::string_view> rules) {
  return change(rules, [](Guard& guard, std::string_view rule) { return guard.disallow(rule); });
}

Result<void> GuardFile::compact() {
  MANKAI_ASSERT(lock_.has_value());
  if (auto made = guard_.compact(); !made) {
    return std::unexpected(made.error().within(path_));
  }
  return save();
}

Result<bool> GuardFile::is_replaced() const {
  const auto now = identify(path_, *calls_);
  return now ? Result<bool>(*now != identity_) : std::unexpected(now.error());
}

}  // namespace mankai
