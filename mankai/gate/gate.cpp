#include "mankai/gate/gate.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "mankai/filter/any_filter.hpp"
#include "mankai/gate/detail/gate_core.hpp"
#include "mankai/gate/gate_position.hpp"
#include "mankai/store/filter_file.hpp"

namespace mankai {

// Without this, a basket that is filled and emptied often between two batches would saturate its counters.
KeptChanges without_passing_keys(const GateChanges& changes) {
  std::vector<std::string_view> came(changes.inserted.begin(), changes.inserted.end());
  std::vector<std::string_view> went(changes.erased.begin(), changes.erased.end());
  if (came.empty() || went.empty()) {
    return {.inserted = std::move(came), .erased = std::move(went)};
  }
  std::ranges::sort(came);
  std::ranges::sort(went);
  KeptChanges kept;
  std::ranges::set_difference(came, went, std::back_inserter(kept.inserted));
  std::ranges::set_difference(went, came, std::back_inserter(kept.erased));
  return kept;
}

class Gate::Impl {
 public:
  Impl(AnyFilter filter, const GateOptions& options, std::string source_id)
      : memory_(std::move(filter)),
        options_(options),
        source_id_(std::move(source_id)),
        core_(*memory_->as<CountingBloom>(), options.memo_bytes) {}
  Impl(Store store, const GateOptions& options)
      : store_(std::move(store)), options_(options), core_(*store_->filter().as<CountingBloom>(), options.memo_bytes) {}

  Result<void> take_position() {
    MANKAI_ASSIGN(auto position, gate_position_of(store_->position()));
    if (position) {
      source_id_ = std::move(position->source_id);
      mark_ = std::move(position->mark);
      core_.set_position(position->position);
    }
    return {};
  }

  Result<void> apply(const GateChanges& changes, std::uint64_t position) {
    const std::lock_guard lock(changing_);
    if (failure_) {
      return std::unexpected(*failure_);
    }
    if (const auto at = core_.position(); at && position < *at) {
      return fail(ErrorCode::invalid_argument, "the gate is at position " + std::to_string(*at) +
                                                   " of its source, and the changes end before, at " +
                                                   std::to_string(position));
    }
    MANKAI_TRY(check_position_mark(changes.mark));
    // Stays set if an exception leaves a change half applied.
    failure_ = Error{.code = ErrorCode::out_of_space, .detail = "no memory to apply a change"};
    if (auto done = change(changes, position); !done) {
      failure_ = done.error();
      return done;
    }
    failure_.reset();
    mark_ = changes.mark;
    core_.set_position(position);
    return {};
  }

  Result<void> forget_source() {
    const std::lock_guard lock(changing_);
    if (failure_) {
      return std::unexpected(*failure_);
    }
    source_id_.clear();
    mark_.clear();
    const auto at = core_.position();
    auto done = at ? commit(*at, mark_) : Result<void>{};
    if (done && store_) {
      done = store_->sync();
    }
    if (!done) {
      failure_ = done.error();
    }
    return done;
  }

  Result<void> save(const std::string& path, Existing existing, FileMode mode) {
    const std::lock_guard lock(changing_);
    MANKAI_ASSIGN(auto copy, filter().create_like());
    MANKAI_TRY(copy.merge(filter()));
    SourcePosition position;
    if (const auto at = core_.position()) {
      MANKAI_ASSIGN(position, SourcePosition::of(to_text(GatePosition{*at, source_id_, mark_})));
    }
    FileCalls* const calls = options_.store.calls;
    return save_filter(path, copy, existing, mode, position, calls == nullptr ? system_calls() : *calls);
  }

  Result<void> close() {
    const std::lock_guard lock(changing_);
    if (!store_) {
      return {};
    }
    if (!failure_) {
      failure_ = Error{.code = ErrorCode::invalid_argument, .detail = "the gate is closed"};
    }
    return store_->close();
  }

  [[nodiscard]] const AnyFilter& filter() const noexcept { return store_ ? store_->filter() : *memory_; }
  [[nodiscard]] const CountingBloom& counters() const noexcept { return *filter().as<CountingBloom>(); }

 private:
  friend class Gate;

  // Inserts before erasing, so that a key that is present before and after is never "empty" in between.
  Result<void> change(const GateChanges& changes, std::uint64_t position) {
    if (changes.clears) {
      return replace(changes, position);
    }
    const KeptChanges kept = without_passing_keys(changes);
    if (store_) {
      store_->begin();
    }
    MANKAI_TRY(insert(kept.inserted));
    forget_reports_of(changes.inserted);
    MANKAI_TRY(erase(kept.erased));
    return commit(position, changes.mark);
  }

  // Clears the filter and applies the changes while no query is answered.
  Result<void> replace(const GateChanges& changes, std::uint64_t position) {
    const KeptChanges kept = without_passing_keys(changes);
    Result<void> done;
    core_.exclusive([&](const CountingBloom*&) {
      done = clear();
      if (done) {
        done = insert(kept.inserted);
      }
      if (done) {
        done = erase(kept.erased);
      }
      forget_reports_of(changes.inserted);
    });
    return done ? commit(position, changes.mark) : done;
  }

  Result<void> clear() {
    if (store_) {
      store_->begin(BatchMode::in_memory);
      return store_->clear();
    }
    memory_->as<CountingBloom>()->clear();
    return {};
  }

  Result<void> insert(std::span<const std::string_view> keys) {
    return store_ ? store_->insert(keys) : memory_->insert(keys);
  }

  void forget_reports_of(std::span<const std::string_view> keys) noexcept {
    for (const std::string_view key : keys) {
      core_.memo().drop(core_.digest(key), key);
    }
  }

  Result<void> erase(std::span<const std::string_view> keys) {
    results_.resize(keys.size());
    auto erased = store_ ? store_->erase(keys, results_) : memory_->erase(keys, results_);
    missed_.fetch_add(static_cast<std::uint64_t>(std::ranges::count(results_, EraseResult::absent)),
                      std::memory_order_relaxed);
    return erased;
  }

  Result<void> commit(std::uint64_t position, std::string_view mark) {
    return store_ ? store_->commit(to_text(GatePosition{position, source_id_, std::string(mark)})) : Result<void>{};
  }

  std::optional<AnyFilter> memory_;
  std::optional<Store> store_;
  GateOptions options_;
  std::string source_id_;
  std::string mark_;  // of the position
  detail::GateCore core_;
  std::mutex changing_;
  std::optional<Error> failure_;
  std::vector<EraseResult> results_;
  std::atomic<std::uint64_t> missed_{0};
};

Gate::Gate(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Gate::Gate(Gate&&) noexcept = default;
Gate& Gate::operator=(Gate&&) noexcept = default;
Gate::~Gate() = default;

Result<Gate> Gate::create(const GateRequest& request, const GateOptions& options) {
  MANKAI_TRY(check_source_id(request.source_id));
  MANKAI_ASSIGN(auto filter, create_filter({.kind = Kind{CountingBloom::kKind},
                                            .keys = request.keys,
                                            .fpr = request.fpr,
                                            .hash = request.hash,
                                            .seed = request.seed},
                                           options.store.memory));
  return Gate(std::make_unique<Impl>(std::move(filter), options, request.source_id));
}

Result<Gate> Gate::open(const std::string& path, const GateOptions& options) {
  MANKAI_ASSIGN(auto store, Store::open(path, options.store));
  if (const auto fits = check_is_gate(store.filter()); !fits) {
    return std::unexpected(fits.error().within(path));
  }
  auto impl = std::make_unique<Impl>(std::move(store), options);
  auto read = impl->take_position();
  return read ? Result<Gate>(Gate(std::move(impl))) : std::unexpected(read.error().within(path));
}

Result<void> Gate::save(const std::string& path, Existing existing, FileMode mode) {
  if (impl_->store_) {
    return fail(ErrorCode::invalid_argument, "the gate is in a file already; close it, and copy the file");
  }
  return impl_->save(path, existing, mode);
}

GateAnswer Gate::maybe(std::string_view key) const noexcept { return impl_->core_.maybe(key, 0); }
GateAnswer Gate::maybe(std::string_view key, std::uint64_t after) const noexcept {
  return impl_->core_.maybe(key, after);
}
void Gate::report_false_positive(std::string_view key, const GateAnswer& answer) const noexcept {
  impl_->core_.report(key, answer);
}

Gate::Hold::Hold(const Gate& gate, std::string_view key) : gate_(gate), digest_(gate.impl_->core_.digest(key)) {
  gate_.impl_->core_.memo().hold(digest_);
}
Gate::Hold::~Hold() { gate_.impl_->core_.memo().release(digest_); }

Result<void> Gate::apply(const GateChanges& changes, std::uint64_t position) { return impl_->apply(changes, position); }
Result<void> Gate::forget_source() { return impl_->forget_source(); }
Result<void> Gate::sync() { return impl_->store_ ? impl_->store_->sync() : Result<void>{}; }
Result<void> Gate::close() { return impl_->close(); }

std::optional<std::uint64_t> Gate::position() const noexcept { return impl_->core_.position(); }
const std::string& Gate::source_id() const noexcept { return impl_->source_id_; }
std::string Gate::position_mark() const {
  const std::lock_guard lock(impl_->changing_);
  return impl_->mark_;
}
std::uint64_t Gate::missed_erasures() const noexcept { return impl_->missed_.load(std::memory_order_relaxed); }
GateCounts Gate::counts() const noexcept { return impl_->core_.counts(); }
GateFacts Gate::facts() const { return gate_facts(impl_->counters()); }
const CountingBloom& Gate::filter() const noexcept { return impl_->counters(); }
const Store* Gate::store() const noexcept { return impl_->store_ ? &*impl_->store_ : nullptr; }

}  // namespace mankai
