#include "mankai/gate/database/gate_sync.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "mankai/gate/gate_position.hpp"

namespace mankai {
namespace {

// Longest delay before a stop is noticed.
constexpr Duration kSlice = std::chrono::milliseconds(100);

bool may_pass(const Error& error) { return error.code == ErrorCode::io || error.code == ErrorCode::locked; }

}  // namespace

GateSync::GateSync(Gate& gate, RowSourceSettings settings, GateSyncOptions options)
    : gate_(gate), settings_(std::move(settings)), options_(std::move(options)), mirror_wait_(options_.first_wait) {}

void GateSync::stop() noexcept { is_stopped_.store(true, std::memory_order_relaxed); }

bool GateSync::is_stopped() const {
  return is_stopped_.load(std::memory_order_relaxed) || (options_.should_stop && options_.should_stop());
}

Result<void> GateSync::check_gate() const {
  if (gate_.position() && gate_.source_id() == settings_.installed) {
    return {};
  }
  return fail(ErrorCode::invalid_argument,
              "the gate's file and its -source file are of different builds; build the gate again");
}

Result<void> GateSync::look_after_mirror() {
  const bool is_due = options_.mirror != nullptr && Clock::now() >= mirror_due_;
  return is_due ? note_mirror(options_.mirror->bring(gate_)) : Result<void>{};
}

Result<void> GateSync::note_mirror(const Result<MirrorState>& state) {
  if (!state) {
    return note_mirror_trouble(state.error());
  }
  mirror_wait_ = options_.first_wait;
  mirror_due_ = Clock::now() + options_.acknowledge_every;
  was_mirror_in_step_ = true;
  const bool is_news = !std::exchange(is_mirror_in_step_, true) || *state == MirrorState::loaded;
  if (is_news) {
    mirror_said_.clear();
    if (options_.on_mirror_step) {
      options_.on_mirror_step(*state);
    }
  }
  return {};
}

Result<void> GateSync::note_mirror_trouble(const Error& error) {
  is_mirror_in_step_ = false;
  mirror_due_ = Clock::now() + mirror_wait_;
  const bool may_pass = error.code == ErrorCode::io || error.code == ErrorCode::out_of_space;
  if (!was_mirror_in_step_ && !may_pass) {
    return std::unexpected(error);
  }
  if (const std::string message = error.message(); options_.on_mirror_trouble && message != mirror_said_) {
    options_.on_mirror_trouble(error, mirror_wait_);
    mirror_said_ = message;
  }
  mirror_wait_ = std::min(2 * mirror_wait_, options_.longest_wait);
  return {};
}

void GateSync::wait(Duration duration) {
  const auto until = Clock::now() + duration;
  while (!is_stopped() && Clock::now() < until) {
    static_cast<void>(look_after_mirror());  // an error that must end run is returned with the source's
    std::this_thread::sleep_for(std::min<Clock::duration>(kSlice, until - Clock::now()));
  }
}

Result<void> GateSync::run() {
  MANKAI_TRY(check_gate());
  Duration pause = options_.first_wait;
  while (true) {
    auto followed = follow();
    source_.reset();
    if (!followed && was_stopped(followed.error()) && is_stopped()) {
      return {};
    }
    if (followed || is_gate_broken_ || options_.until_caught_up || !may_pass(followed.error())) {
      return followed;
    }
    if (is_stopped()) {
      return {};
    }
    pause = std::exchange(made_progress_, false) ? options_.first_wait : pause;
    if (options_.on_trouble) {
      options_.on_trouble(followed.error(), pause);
    }
    wait(pause);
    pause = std::min(2 * pause, options_.longest_wait);
  }
}

Result<void> GateSync::follow() {
  MANKAI_ASSIGN(auto source, open_row_source(settings_));
  source_ = std::move(source);
  source_->stop_when([this] { return is_stopped(); });
  MANKAI_TRY(source_->start({gate_.position().value_or(0), gate_.position_mark()}));
  RowChanges changes;
  auto acknowledged_at = Clock::now();
  while (!is_stopped()) {
    MANKAI_TRY(take(changes, kSlice));
    MANKAI_TRY(look_after_mirror());
    if (Clock::now() - acknowledged_at >= options_.acknowledge_every) {
      MANKAI_TRY(acknowledge());
      acknowledged_at = Clock::now();
    }
    if (options_.until_caught_up) {
      MANKAI_ASSIGN(const auto is_done, is_caught_up());
      if (is_done) {
        return finish();
      }
    }
  }
  return acknowledge();
}

Result<bool> GateSync::take(RowChanges& changes, Duration patience) {
  const auto came = source_->next(changes, patience);
  if (!came || !*came) {
    return came;
  }
  const GateChanges wanted{.clears = changes.clears,
                           .inserted = changes.inserted.views(),
                           .erased = changes.erased.views(),
                           .mark = changes.mark};
  const GatePosition from{
      .position = gate_.position().value_or(0), .source_id = gate_.source_id(), .mark = gate_.position_mark()};
  if (const auto applied = gate_.apply(wanted, changes.position); !applied) {
    is_gate_broken_ = true;
    return std::unexpected(applied.error());
  }
  made_progress_ = true;
  if (options_.on_applied) {
    options_.on_applied(changes);
  }
  MANKAI_TRY(tell_mirror(wanted, from));
  return true;
}

// The change reaches the disk before the mirror, so that power loss cannot revert what the mirror has answered.
Result<void> GateSync::tell_mirror(const GateChanges& changes, const GatePosition& from) {
  if (options_.mirror == nullptr) {
    return {};
  }
  MANKAI_TRY(sync_gate());
  return is_mirror_in_step_ ? note_mirror(options_.mirror->apply(gate_, changes, from)) : look_after_mirror();
}

Result<void> GateSync::sync_gate() {
  auto synced = gate_.sync();
  is_gate_broken_ = is_gate_broken_ || !synced;
  return synced;
}

Result<bool> GateSync::is_caught_up() {
  if (!target_) {
    MANKAI_ASSIGN(const auto mark, source_->mark());
    target_ = mark;
  }
  return gate_.position().value_or(0) >= *target_;
}

Result<void> GateSync::finish() {
  MANKAI_TRY(acknowledge());
  if (options_.mirror == nullptr) {
    return {};
  }
  const auto state = options_.mirror->bring(gate_);
  return state ? note_mirror(state) : std::unexpected(state.error());
}

Result<void> GateSync::acknowledge() {
  const std::uint64_t position = gate_.position().value_or(0);
  if (position == acknowledged_) {
    return {};
  }
  MANKAI_TRY(sync_gate());
  MANKAI_TRY(source_->acknowledge(position));
  acknowledged_ = position;
  return {};
}

}  // namespace mankai
