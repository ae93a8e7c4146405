#include <new>
#include <system_error>

#include "mankai/durable/detail/store_impl.hpp"

// How a store's changes get to the disk in time, and what becomes of it when they do not.

namespace mankai {

using detail::kLongWait;

std::unexpected<Error> Store::Impl::give_up(const Error& error) {
  const std::scoped_lock lock(failing_);
  has_failed_.store(true, std::memory_order_release);
  if (!failure_) {
    failure_ = Error{
        .code = error.code,
        .os_error = error.os_error,
        .detail = error.detail + "; the store accepts no more changes; open it again to recover what was acknowledged"};
  }
  return std::unexpected(failure_.value_or(Error{.code = ErrorCode::out_of_space, .detail = path_}));
}

Result<void> Store::Impl::check_usable() const {
  if (is_closed_) {
    return fail(ErrorCode::invalid_argument, path_ + ": the store is closed; open it again to change it");
  }
  return check_sound();
}

Result<void> Store::Impl::check_sound() const {
  if (!has_failed_.load(std::memory_order_acquire)) {
    return {};
  }
  const std::scoped_lock lock(failing_);
  return std::unexpected(failure_.value_or(Error{.code = ErrorCode::out_of_space, .detail = path_}));
}

// One sync serves all who wait: whoever comes first takes everything that has been committed by then.
Result<void> Store::Impl::sync_commits(std::uint64_t commits) {
  const std::scoped_lock lock(syncing_);
  if (durable_commits_.load(std::memory_order_relaxed) >= commits) {
    return {};
  }
  if (!journal_) {
    return {};  // closed: everything is in the file
  }
  // The system tells a sync's failure once; the next one would succeed, and nothing that was lost be there.
  MANKAI_TRY(check_sound());
  const std::uint64_t reached = commits_.load(std::memory_order_acquire);
  const std::uint64_t sequence = committed_.load(std::memory_order_acquire);
  if (auto synced = journal_->sync(); !synced) {
    return give_up(synced.error());
  }
  durable_commits_.store(reached, std::memory_order_relaxed);
  raise_durable(sequence);
  return {};
}

void Store::Impl::raise_durable(std::uint64_t sequence) noexcept {
  std::uint64_t durable = durable_.load(std::memory_order_relaxed);
  while (durable < sequence && !durable_.compare_exchange_weak(durable, sequence, std::memory_order_release)) {
  }
}

Result<void> Store::Impl::sync() {
  MANKAI_TRY(check_sound());
  return sync_commits(commits_.load(std::memory_order_acquire));
}

Result<void> Store::Impl::start_worker(std::thread& worker, void (Impl::*work)()) {
  try {
    if (!worker.joinable()) {
      worker = std::thread(work, this);
    }
    return {};
  } catch (const std::system_error& error) {
    return fail(ErrorCode::out_of_space, path_ + ": cannot create a thread", error.code().value());
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::out_of_space, path_ + ": no memory for a thread");
  }
}

// Most stores are opened for a few changes, and have nothing for a worker to do: then none is made.
Result<void> Store::Impl::start_workers() {
  if (options_.checkpoint_interval > Duration::zero()) {
    MANKAI_TRY(start_worker(checkpointer_, &Impl::make_checkpoints));
  }
  return options_.durability == Durability::interval ? start_worker(syncer_, &Impl::sync_at_intervals) : Result<void>{};
}

// Where no thread can be made for it, it is tried again when there is as much journal again.
void Store::Impl::call_for_checkpoint() {
  if (auto started = start_worker(checkpointer_, &Impl::make_checkpoints); !started) {
    checkpoint_failure_ = std::move(started.error());
    checkpoint_delay_ = journal_->record_bytes_held();
    return;
  }
  {
    const std::scoped_lock lock(working_);
    is_checkpoint_due_ = true;
  }
  wake_.notify_all();
}

void Store::Impl::stop_workers() {
  {
    const std::scoped_lock lock(working_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread* worker : {&checkpointer_, &syncer_}) {
    if (worker->joinable()) {
      worker->join();
    }
  }
}

void Store::Impl::sync_at_intervals() {
  std::unique_lock<std::mutex> lock(working_);
  while (!wake_.wait_for(lock, options_.interval, [this] { return is_stopping_; })) {
    lock.unlock();
    static_cast<void>(sync());  // a failure is what the next change is told
    lock.lock();
  }
}

void Store::Impl::make_checkpoints() {
  // So far that no clock overflows.
  constexpr std::chrono::hours kNever{24 * 365 * 100};
  const Duration period = options_.checkpoint_interval > Duration::zero()
                              ? std::min(options_.checkpoint_interval, Duration(kNever))
                              : Duration(kLongWait);
  auto next = std::chrono::steady_clock::now() + period;
  std::unique_lock<std::mutex> lock(working_);
  while (!is_stopping_) {
    const bool is_called = wake_.wait_until(lock, next, [this] { return is_stopping_ || is_checkpoint_due_; });
    is_checkpoint_due_ = false;
    lock.unlock();
    if (!is_called) {
      next = std::chrono::steady_clock::now() + period;
    }
    try_checkpoint(!is_called && options_.checkpoint_interval > Duration::zero());
    lock.lock();
  }
}

// What keeps a checkpoint from being made, such as a full disk, keeps nobody from changing the filter as long as the
// journal can be written; it is tried again when there is as much journal again.
void Store::Impl::try_checkpoint(bool is_time) {
  std::optional<Error> failure;
  try {
    auto made = checkpoint_beside(is_time);
    if (made) {
      return;
    }
    failure = std::move(made.error());
  } catch (const std::bad_alloc&) {
    failure = Error{.code = ErrorCode::out_of_space, .detail = path_ + ": no memory for a checkpoint"};
  }
  const std::scoped_lock lock(changing_);
  checkpoint_failure_ = std::move(failure);
  checkpoint_delay_ = journal_ ? journal_->record_bytes_held() : 0;
}

}  // namespace mankai
