#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "mankai/base/time.hpp"
#include "mankai/filter/parts/cut_cells.hpp"
#include "mankai/filter/parts/decay_checks.hpp"
#include "mankai/filter/parts/single_call_filter.hpp"
#include "mankai/filter/parts/sizing.hpp"

namespace mankai {

/// Base of the kinds time-decaying-…: time, saturated cells, and estimates from the fill of the partitions.
///
/// `Derived` befriends this class and has `decay_cells(now, epochs)`, which multiplies every cell by λ^epochs, and
/// `partitions()`, the fill. The image's state words are those of DecayState.
template <class Derived>
class DecayingCounts : public SingleCallFilter<Derived> {
 public:
  /// Decays every count up to a later tick; an earlier tick has no effect. Cost: see the kind. Threads: needs the
  /// filter alone.
  void advance(Tick tick) noexcept {
    const std::uint64_t now = image().state(DecayState::kTick);
    const std::uint64_t then = std::min(tick.value, kMaxTick);
    if (then <= now) {
      return;
    }
    if (keys_inserted() != 0) {
      self().decay_cells(now, then - now);
    }
    image().set_state(DecayState::kTick, then);
  }
  [[nodiscard]] Tick tick() const noexcept { return {image().state(DecayState::kTick)}; }
  [[nodiscard]] Duration epoch() const noexcept { return decay().epoch; }
  [[nodiscard]] Decay decay() const noexcept {
    const auto stored = self().params();
    return {.lambda_q32 = stored.lambda_q32, .epoch = Duration(static_cast<std::int64_t>(stored.epoch_us))};
  }

  bool observe(Digest digest) {
    const bool seen = self().may_contain(digest);
    self().insert(digest);
    return seen;
  }
  using SingleCallFilter<Derived>::observe;

  void clear() noexcept {
    const Tick now = tick();
    FilterBase::clear();
    image().set_state(DecayState::kTick, now.value);
  }

  /// Number of insertions, repeated keys included.
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept { return FilterBase::keys_inserted(); }
  /// How often a cell could not hold what was added to it. Estimates that this may have made too low, and others as
  /// high, are reported as saturated until the loss has decayed (CutCells).
  [[nodiscard]] std::uint64_t saturations() const noexcept { return image().state(DecayState::kSaturations); }

  [[nodiscard]] double fill_ratio() const noexcept { return self().partitions().ratio(); }
  [[nodiscard]] double keys_estimate() const noexcept { return self().partitions().keys(); }
  [[nodiscard]] double fpr_estimate() const noexcept { return self().partitions().product(); }
  [[nodiscard]] double fpr_expected(std::uint64_t keys) const noexcept {
    return partitioned_fpr(keys, {.cells_per_probe = self().cells_per_probe(), .k = self().probes_per_key()});
  }

 protected:
  using FilterBase::image;

  [[nodiscard]] CutCells cut_cells() const noexcept { return CutCells::of_word(image().state(DecayState::kCutCells)); }
  void set_cut_cells(CutCells cells) noexcept { image().set_state(DecayState::kCutCells, cells.word()); }
  void add_saturations(std::uint64_t count) noexcept {
    image().set_state(DecayState::kSaturations, std::min(saturations() + count, kMaxKeysInserted));
  }

 private:
  friend Derived;
  explicit DecayingCounts(Image source) noexcept : SingleCallFilter<Derived>(std::move(source)) {}

  [[nodiscard]] Derived& self() noexcept { return static_cast<Derived&>(*this); }
  [[nodiscard]] const Derived& self() const noexcept { return static_cast<const Derived&>(*this); }
};

}  // namespace mankai
