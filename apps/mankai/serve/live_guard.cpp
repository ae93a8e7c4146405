#include "apps/mankai/serve/live_guard.hpp"

#include <utility>

#include "apps/mankai/subcommand.hpp"
#include "mankai/file/file.hpp"

namespace mankai::command::serve {
namespace {

std::optional<FileStamp> stamp_at(const std::string& path) {
  const auto stamp = stamp_of(path);
  return stamp ? std::optional(*stamp) : std::nullopt;
}

}  // namespace

Result<std::unique_ptr<LiveGuard>> LiveGuard::open(std::string path) {
  std::unique_ptr<LiveGuard> guard(new LiveGuard(std::move(path)));
  auto loaded = guard->reload();
  return loaded ? Result<std::unique_ptr<LiveGuard>>(std::move(guard)) : std::unexpected(loaded.error());
}

std::shared_ptr<const LiveGuard::Loaded> LiveGuard::current() const {
  const std::lock_guard lock(mutex_);
  return loaded_;
}

bool LiveGuard::has_changed() {
  const auto now = stamp_at(path_);
  const bool was_missing = std::exchange(was_missing_, !now);
  return now != tried_ && (now || was_missing);
}

Result<void> LiveGuard::reload() {
  // Takes the stamp first: a file replaced while it is read then counts as changed.
  tried_ = stamp_at(path_);
  MANKAI_ASSIGN(auto bytes, read_file(path_));
  if (bytes.size() == 0) {
    return fail(ErrorCode::corrupt, path_ + ": is empty");
  }
  MANKAI_ASSIGN(auto guard, within(path_, Guard::from_region(std::move(bytes))));
  auto loaded =
      std::make_shared<const Loaded>(Loaded{.guard = std::move(guard), .stamp = tried_.value_or(FileStamp())});
  const std::lock_guard lock(mutex_);
  loaded_.swap(loaded);
  return {};
}

}  // namespace mankai::command::serve
