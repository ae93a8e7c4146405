#include "mankai/store/store.hpp"

#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/store/detail/load_store.hpp"
#include "mankai/store/detail/shared_file.hpp"
#include "mankai/store/detail/store_file.hpp"
#include "mankai/store/detail/store_impl.hpp"

namespace mankai {
Store::Store(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Result<Store> Store::create(const std::string& path, AnyFilter filter, const StoreOptions& options, Existing existing) {
  FileCalls& calls = options.calls == nullptr ? system_calls() : *options.calls;
  {
    AnyFilter written = std::move(filter);  // freed before the file is read again
    MANKAI_TRY(detail::make_store(path, written, existing, {}, calls, options.mode));
  }
  return open(path, options, Origin::memory);
}

Result<Store> Store::open(const std::string& path, const StoreOptions& options) {
  return open(path, options, Origin::disk);
}

Result<Store> Store::open(const std::string& path, const StoreOptions& options, Origin origin) {
  constexpr std::chrono::hours kMaxInterval{24};
  if (options.durability == Durability::interval &&
      (options.interval <= Duration::zero() || options.interval > kMaxInterval)) {
    return fail(ErrorCode::invalid_argument, "the interval between syncs must be above 0 and at most 24 hours");
  }
  FileCalls& calls = options.calls == nullptr ? system_calls() : *options.calls;
  MANKAI_ASSIGN(const std::string real, resolve_links(path, calls));
  MANKAI_ASSIGN(auto lock, FileLock::acquire(real, calls));
  remove_left_over(real, calls);
  MANKAI_TRY(detail::settle_shared(real, lock, detail::Leftover::save, options.memory, calls));
  MANKAI_ASSIGN(auto loaded, detail::load_store(real, {.access = options.access,
                                                       .trust = options.trust,
                                                       .memory = options.memory,
                                                       .calls = &calls,
                                                       .is_writer = true,
                                                       .was_in_memory = origin == Origin::memory}));
  const auto journal = loaded.journal;
  const bool is_stale = loaded.report.had_journal && loaded.report.was_closed && loaded.report.records_replayed == 0;
  MANKAI_TRY(detail::sync_store(real, loaded.footer, calls));
  auto impl = std::make_unique<Impl>(real, options, std::move(lock), std::move(loaded));
  if (is_stale) {
    static_cast<void>(calls.unlink(detail::journal_path(real).c_str()));
  } else if (journal) {
    MANKAI_TRY(impl->resume_journal(*journal));
  }
  return Store(std::move(impl));
}

const RecoveryReport& Store::recovery() const noexcept { return impl_->report(); }
const AnyFilter& Store::filter() const noexcept { return impl_->filter(); }
void Store::read(const std::function<void(const AnyFilter&)>& use) const { impl_->read(use); }

Result<void> Store::insert(Keys keys) {
  return impl_->change(keys.size(), {}, [&](std::size_t begin, std::size_t count) {
    return impl_->encoder().insert(keys.subspan(begin, count));
  });
}

Result<void> Store::insert(Keys keys, std::span<const std::uint64_t> ids) {
  MANKAI_ASSERT(ids.size() == keys.size());
  return impl_->change(keys.size(), {}, [&](std::size_t begin, std::size_t count) {
    return impl_->encoder().insert(keys.subspan(begin, count), ids.subspan(begin, count));
  });
}

Result<void> Store::insert(Keys keys, std::span<const Time> times) {
  MANKAI_ASSERT(times.size() == keys.size());
  return impl_->change(keys.size(), {}, [&](std::size_t begin, std::size_t count) {
    return impl_->encoder().insert(keys.subspan(begin, count), times.subspan(begin, count));
  });
}

Result<void> Store::insert_until(Keys keys, std::span<const Time> expiries) {
  MANKAI_ASSERT(expiries.size() == keys.size());
  return impl_->change(keys.size(), {}, [&](std::size_t begin, std::size_t count) {
    return impl_->encoder().insert_until(keys.subspan(begin, count), expiries.subspan(begin, count));
  });
}

Result<void> Store::observe(Keys keys, std::span<bool> seen) {
  MANKAI_ASSERT(seen.size() == keys.size());
  return impl_->change(keys.size(), {.seen = seen}, [&](std::size_t begin, std::size_t count) {
    return impl_->encoder().insert(keys.subspan(begin, count));
  });
}

Result<void> Store::erase(Keys keys, std::span<EraseResult> results) {
  MANKAI_ASSERT(results.size() == keys.size());
  return impl_->change(keys.size(), {.erased = results}, [&](std::size_t begin, std::size_t count) {
    return impl_->encoder().erase(keys.subspan(begin, count));
  });
}

Result<void> Store::erase(Keys keys, std::span<const std::uint64_t> ids, std::span<EraseResult> results) {
  MANKAI_ASSERT(ids.size() == keys.size() && results.size() == keys.size());
  return impl_->change(keys.size(), {.erased = results}, [&](std::size_t begin, std::size_t count) {
    return impl_->encoder().erase(keys.subspan(begin, count), ids.subspan(begin, count));
  });
}

Result<void> Store::put(Keys keys, std::span<const std::uint32_t> values, double strength) {
  MANKAI_ASSERT(values.size() == keys.size());
  return impl_->change(keys.size(), {}, [&](std::size_t begin, std::size_t count) {
    return impl_->encoder().put(keys.subspan(begin, count), values.subspan(begin, count), strength);
  });
}

Result<void> Store::advance(Time time) {
  return impl_->change(1, {}, [&](std::size_t, std::size_t) { return impl_->encoder().advance(time); });
}

Result<void> Store::change(const Change& change, const Outcomes& outcomes) {
  return change.keys == 0 ? Result<void>() : impl_->change(change, outcomes);
}

Result<void> Store::change(const Change& change, ApplyFunction* apply, const void* context) {
  return impl_->change(change, apply, context);
}

Result<void> Store::change_later(const Change& change) { return impl_->change_later(change); }
std::size_t Store::pending() const noexcept { return impl_->pending(); }

Result<void> Store::merge(const AnyFilter& other) {
  return impl_->replace([&](AnyFilter& filter) { return filter.merge(other); });
}

Result<void> Store::clear() {
  return impl_->replace([](AnyFilter& filter) -> Result<void> {
    filter.clear();
    return {};
  });
}

void Store::begin(BatchMode mode) { impl_->begin(mode); }
Result<void> Store::commit(std::string_view position) { return impl_->commit(position); }
std::uint64_t Store::sequence() const noexcept { return impl_->sequence(); }
std::uint64_t Store::durable_sequence() const noexcept { return impl_->durable(); }
SourcePosition Store::position() const { return impl_->position(); }
Result<void> Store::sync() { return impl_->sync(); }
Result<void> Store::checkpoint() { return impl_->checkpoint(); }
std::optional<Error> Store::checkpoint_failure() const { return impl_->checkpoint_failure(); }
Result<void> Store::close() { return impl_->close(); }

}  // namespace mankai