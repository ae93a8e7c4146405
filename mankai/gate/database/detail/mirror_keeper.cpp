#include "mankai/gate/database/detail/mirror_keeper.hpp"

#include <algorithm>

namespace mankai::detail {

Result<void> MirrorKeeper::applied(const GateChanges& changes, const GatePosition& from) {
  return is_in_step_ ? take(mirror_.apply(gate_, changes, from)) : look();
}

Result<void> MirrorKeeper::look() { return Clock::now() < due_ ? Result<void>{} : take(mirror_.bring(gate_)); }

Result<void> MirrorKeeper::finish() {
  const auto state = mirror_.bring(gate_);
  if (!state) {
    return std::unexpected(state.error());
  }
  return take(state);
}

Result<void> MirrorKeeper::take(const Result<MirrorState>& state) {
  if (!state) {
    return take_trouble(state.error());
  }
  wait_ = care_.first_wait;
  due_ = Clock::now() + care_.look_every;
  was_in_step_ = true;
  const bool is_news = !std::exchange(is_in_step_, true) || *state == MirrorState::loaded;
  if (is_news) {
    said_.clear();
    if (care_.on_step) {
      care_.on_step(*state);
    }
  }
  return {};
}

Result<void> MirrorKeeper::take_trouble(const Error& error) {
  is_in_step_ = false;
  due_ = Clock::now() + wait_;
  const bool may_pass = error.code == ErrorCode::io || error.code == ErrorCode::out_of_space;
  if (!was_in_step_ && !may_pass) {
    return std::unexpected(error);
  }
  if (const std::string message = error.message(); care_.on_trouble && message != said_) {
    care_.on_trouble(error, wait_);
    said_ = message;
  }
  wait_ = std::min(2 * wait_, care_.longest_wait);
  return {};
}

}  // namespace mankai::detail
