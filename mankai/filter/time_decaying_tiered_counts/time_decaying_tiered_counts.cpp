#include "mankai/filter/time_decaying_tiered_counts/time_decaying_tiered_counts.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "mankai/base/bits.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/bloom_ops.hpp"

namespace mankai {
namespace {

using Params = TimeDecayingTieredCounts::Params;
using Options = TimeDecayingTieredCounts::Options;

constexpr unsigned kValueBits = 32;
constexpr std::uint32_t kMaxShrink = 8;
constexpr std::uint64_t kMaxCounters = std::uint64_t{1} << 31;
constexpr std::uint32_t kLargestCount = ~std::uint32_t{0};
constexpr std::uint8_t kDownwards = 16;
// With slower decay, skipping many epochs takes too long: each is a pass over dependent counters.
constexpr std::uint64_t kLeastLoss = kLambdaOne >> 12;

bool is_width(std::uint32_t bits) noexcept { return bits == 4 || bits == 8; }

bool is_lambda(std::uint64_t lambda_q32) noexcept {
  return lambda_q32 == kLambdaOne || lambda_q32 <= kLambdaOne - kLeastLoss;
}

bool is_policy(DecayPolicy policy) noexcept { return policy == DecayPolicy::floor || policy == DecayPolicy::ceil; }

std::uint64_t per_probe_in(const Params& params, unsigned tier) noexcept {
  return ((params.cells_per_probe - std::uint64_t{1}) >> (params.shrink_bits * tier)) + 1;
}

std::uint64_t tier_words(const Params& params, unsigned tier) noexcept {
  return PackedFields::words_for(per_probe_in(params, tier) * params.k, params.width_bits);
}

std::uint64_t cells_bytes_for(const Params& params) noexcept {
  std::uint64_t words = 0;
  for (unsigned tier = 0; tier < kValueBits / params.width_bits; ++tier) {
    words += tier_words(params, tier);
  }
  return align_up<std::uint64_t>(words * sizeof(std::uint64_t), kCacheLineBytes);
}

Result<void> check_choices(const Options& options) {
  MANKAI_TRY(check_decay(options.decay));
  if (!is_lambda(options.decay.lambda_q32)) {
    return fail(ErrorCode::invalid_argument,
                "lambda is closer to 1 than 1 / 4096, a half-life of more than 2839 epochs: take a longer epoch");
  }
  if (!is_policy(options.policy)) {
    return fail(ErrorCode::invalid_argument,
                "tiered counts are whole numbers: give the policy floor or ceil, or take time-decaying-counts");
  }
  if (!is_width(options.width_bits)) {
    return fail(ErrorCode::invalid_argument,
                "counters of " + std::to_string(options.width_bits) + " bits: give 4 or 8");
  }
  if (options.shrink_bits > kMaxShrink) {
    return fail(ErrorCode::invalid_argument, "a parent for 2^" + std::to_string(options.shrink_bits) +
                                                 " counters: give at most 8 bits to shrink by");
  }
  return {};
}

Result<void> check_params(const Params& params, std::uint64_t cells_bytes) {
  MANKAI_TRY(check_stored_decay(params.lambda_q32, params.epoch_us));
  if (!is_lambda(params.lambda_q32)) {
    return fail(ErrorCode::corrupt, "lambda at offset 64 is too close to 1");
  }
  if (params.k == 0 || params.k > kernel::kMaxProbes) {
    return fail(ErrorCode::corrupt, "k of " + std::to_string(params.k) + " at offset 84 is not 1 to 64");
  }
  if (!is_width(params.width_bits) || params.shrink_bits > kMaxShrink) {
    return fail(ErrorCode::corrupt, "counters of " + std::to_string(params.width_bits) + " bits, shrinking by " +
                                        std::to_string(params.shrink_bits) + ", at offset 85 are impossible");
  }
  if (!is_policy(static_cast<DecayPolicy>(params.rounding & ~kDownwards))) {
    return fail(ErrorCode::unsupported_version,
                "rounding " + std::to_string(params.rounding) + " at offset 87 of a later library: use a newer one");
  }
  // Bounds the size first: a hostile one must not overflow to a match.
  if (params.cells_per_probe == 0 || params.cells_per_probe > kMaxCounters / params.k ||
      cells_bytes_for(params) != cells_bytes) {
    return fail(ErrorCode::corrupt,
                std::to_string(params.cells_per_probe) + " counters per probe at offset 80 do not fill the cells");
  }
  return {};
}

}  // namespace

TimeDecayingTieredCounts::TimeDecayingTieredCounts(Image source, const Params& params) noexcept
    : DecayingCounts(std::move(source)),
      lambda_q32_(params.lambda_q32),
      cells_per_probe_(params.cells_per_probe),
      k_(params.k),
      width_bits_(params.width_bits),
      shrink_bits_(params.shrink_bits),
      tier_count_(kValueBits / params.width_bits),
      rounds_up_((params.rounding & ~kDownwards) == static_cast<std::uint8_t>(DecayPolicy::ceil)),
      takes_back_((params.rounding & kDownwards) == 0) {
  std::uint64_t* words = image().words().data();
  for (unsigned tier = 0; tier < tier_count_; ++tier) {
    per_probe_[tier] = per_probe_in(params, tier);
    tiers_[tier] = PackedFields(words, per_probe_[tier] * k_, width_bits_);
    words += tier_words(params, tier);
  }
}

Result<TimeDecayingTieredCounts> TimeDecayingTieredCounts::create(const Options& options) {
  MANKAI_TRY(check_choices(options));
  MANKAI_ASSIGN(
      const auto size,
      counters_size({.keys = options.keys, .fpr = options.fpr, .counters = options.counters, .k = options.k}));
  if (size.cells_per_probe > kMaxCounters / size.k) {
    return fail(ErrorCode::invalid_argument,
                "more than 2^31 counters; ask for fewer keys or a higher false positive rate");
  }
  const auto rounding = static_cast<std::uint8_t>(static_cast<unsigned>(options.policy) +
                                                  (options.remainder == RemainderRule::downwards ? kDownwards : 0));
  const Params params{.lambda_q32 = options.decay.lambda_q32,
                      .epoch_us = static_cast<std::uint64_t>(options.decay.epoch.count()),
                      .cells_per_probe = static_cast<std::uint32_t>(size.cells_per_probe),
                      .k = static_cast<std::uint8_t>(size.k),
                      .width_bits = static_cast<std::uint8_t>(options.width_bits),
                      .shrink_bits = static_cast<std::uint8_t>(options.shrink_bits),
                      .rounding = rounding};
  MANKAI_ASSIGN(auto image, Image::create(kKind,
                                          {.capacity_keys = size.keys,
                                           .fpr_target = options.fpr,
                                           .hash = options.hash,
                                           .cells_bytes = cells_bytes_for(params)},
                                          options.memory));
  image.set_params(params);
  return TimeDecayingTieredCounts(std::move(image), params);
}

Result<TimeDecayingTieredCounts> TimeDecayingTieredCounts::from_image(Image source) {
  MANKAI_TRY(check_kind(source, kKind, sizeof(Params) / sizeof(std::uint64_t), DecayState::kWords));
  const auto params = source.params<Params>();
  MANKAI_TRY(check_params(params, source.header().cells_bytes));
  MANKAI_TRY(check_decay_state(source, kLargestCount));
  std::uint64_t used = 0;
  TimeDecayingTieredCounts filter(std::move(source), params);
  for (unsigned tier = 0; tier < filter.tier_count_; ++tier) {
    used += tier_words(params, tier);
    if (!filter.tiers_[tier].is_tail_zero()) {
      return fail(ErrorCode::corrupt, "bits after the last counter before offset " +
                                          std::to_string(sizeof(ImageHeader) + used * sizeof(std::uint64_t)) +
                                          " are not zero");
    }
  }
  if (!is_zero(filter.image().words().subspan(used))) {
    return fail(ErrorCode::corrupt, "bytes from offset " +
                                        std::to_string(sizeof(ImageHeader) + used * sizeof(std::uint64_t)) +
                                        " to the end of the cells are not zero");
  }
  return filter;
}

template <class Visit>
void TimeDecayingTieredCounts::for_each_cell(Digest digest, const Visit& visit) const {
  probes::CellSequence cells(digest);
  for (std::uint32_t probe = 0; probe < k_; ++probe) {
    visit(Node{.tier = 0, .at = cells.next(cells_per_probe_), .probe = probe});
  }
}

std::uint64_t TimeDecayingTieredCounts::path_value(const Node& cell) const noexcept {
  std::uint64_t value = 0;
  Node node = cell;
  for (; node.tier < tier_count_; ++node.tier, node.at >>= shrink_bits_) {
    value |= digit(node) << (width_bits_ * node.tier);
  }
  return value;
}

// Adds 1 to a path; returns false, with nothing changed, if all its digits are at their largest.
bool TimeDecayingTieredCounts::raise(const Node& cell) noexcept {
  Node node = cell;
  while (digit(node) == largest_digit()) {
    if (++node.tier == tier_count_) {
      return false;
    }
    node.at >>= shrink_bits_;
  }
  tiers_[node.tier].set(number(node), digit(node) + 1);
  for (Node below = cell; below.tier < node.tier; ++below.tier, below.at >>= shrink_bits_) {
    tiers_[below.tier].set(number(below), 0);
  }
  return true;
}

std::uint64_t TimeDecayingTieredCounts::smallest(Digest digest) const noexcept {
  std::uint64_t smallest = kLargestCount;
  for_each_cell(digest, [&](const Node& cell) { smallest = std::min(smallest, path_value(cell)); });
  return smallest;
}

void TimeDecayingTieredCounts::insert(Digest digest) noexcept {
  for_each_cell(digest, [this](const Node& cell) {
    if (!raise(cell)) {
      add_saturations(1);
      set_cut_cells(cut_cells().with(CutCells::one(kLargestCount, 1)));
    }
  });
  image().add_keys(1);
}

// Only the lowest tier: more makes no significant difference.
void TimeDecayingTieredCounts::prefetch(Digest digest) const noexcept {
  for_each_cell(digest, [this](const Node& cell) { tiers_[0].prefetch(number(cell)); });
}

template class SingleCallFilter<TimeDecayingTieredCounts>;

void TimeDecayingTieredCounts::decay_cells(std::uint64_t /*now*/, std::uint64_t epochs) noexcept {
  if (lambda_q32_ == kLambdaOne) {
    return;
  }
  const unsigned top = tier_count_ - 1;
  for (std::uint32_t probe = 0; probe < k_; ++probe) {
    for (std::uint64_t at = 0; at < per_probe_[top]; ++at) {
      fade_tree({.tier = top, .at = at, .probe = probe}, epochs);
    }
  }
  const WholeDecay down{.lambda_q32 = lambda_q32_, .rounds_up = false};
  const auto oldest = static_cast<std::uint32_t>(down.after(cut_cells().oldest, epochs));
  set_cut_cells(cut_cells().faded(oldest, lambda_q32_, epochs));
}

TimeDecayingTieredCounts::Children TimeDecayingTieredCounts::children_of(const Node& node) const noexcept {
  return {.begin = node.at << shrink_bits_, .end = std::min((node.at + 1) << shrink_bits_, per_probe_[node.tier - 1])};
}

// Once a counter is 0 it stays 0, and its children decay independently.
void TimeDecayingTieredCounts::fade_tree(const Node& root, std::uint64_t epochs) noexcept {
  if (root.tier == 0) {
    const WholeDecay decay{.lambda_q32 = lambda_q32_, .rounds_up = rounds_up_};
    if (const std::uint64_t before = digit(root); before != 0) {
      tiers_[0].set(number(root), decay.after(before, epochs));
    }
    return;
  }
  for (; epochs != 0 && digit(root) != 0; --epochs) {
    if (!fade_once(root, 0)) {
      return;
    }
  }
  if (epochs != 0) {
    const Children children = children_of(root);
    for (std::uint64_t at = children.begin; at < children.end; ++at) {
      fade_tree({.tier = root.tier - 1, .at = at, .probe = root.probe}, epochs);
    }
  }
}

// Whether all children can hold the remainder of rounding the counter down.
bool TimeDecayingTieredCounts::can_take(const Node& node, std::uint64_t rest_q32) const noexcept {
  const Children children = children_of(node);
  for (std::uint64_t at = children.begin; at < children.end; ++at) {
    const Node child{.tier = node.tier - 1, .at = at, .probe = node.probe};
    if (!can_hold(child, digit(child) * lambda_q32_ + rest_q32)) {
      return false;
    }
  }
  return true;
}

// A child that must be rounded down can be if its own children hold the remainder; at the bottom the policy decides.
// `downwards` does not look ahead.
bool TimeDecayingTieredCounts::can_hold(const Node& node, std::uint64_t target_q32) const noexcept {
  if (target_q32 <= largest_digit() * kLambdaOne) {
    return true;
  }
  if (!takes_back_ || target_q32 / kLambdaOne > largest_digit()) {
    return false;
  }
  return node.tier == 0 ? !rounds_up_ : can_take(node, target_q32 % kLambdaOne << width_bits_);
}

// Decays a counter and all below it by one epoch. The parent adds `rest_q32`, or subtracts it if negative. Returns
// whether anything changed.
bool TimeDecayingTieredCounts::fade_once(const Node& node, std::int64_t rest_q32) noexcept {
  const std::uint64_t before = digit(node);
  const std::int64_t target = static_cast<std::int64_t>(before * lambda_q32_) + rest_q32;
  const std::uint64_t fraction = target > 0 ? static_cast<std::uint64_t>(target) % kLambdaOne : 0;
  const std::uint64_t down = target > 0 ? static_cast<std::uint64_t>(target) / kLambdaOne : 0;
  const std::uint64_t up = down + (fraction != 0 ? 1 : 0);
  const bool is_down = node.tier == 0 ? !rounds_up_ : can_take(node, fraction << width_bits_);
  const std::uint64_t after = is_down ? down : up;
  tiers_[node.tier].set(number(node), after);
  bool has_changed = after != before;
  if (node.tier == 0) {
    return has_changed;
  }
  // Negative if the children must return more than the parent has: they have it, or the path is rounded up.
  const std::int64_t left = (target - static_cast<std::int64_t>(after * kLambdaOne)) * (std::int64_t{1} << width_bits_);
  const std::int64_t rest = takes_back_ ? left : std::max<std::int64_t>(left, 0);
  const Children children = children_of(node);
  for (std::uint64_t at = children.begin; at < children.end; ++at) {
    has_changed |= fade_once({.tier = node.tier - 1, .at = at, .probe = node.probe}, rest);
  }
  return has_changed;
}

// Number of nonzero paths through a counter.
std::uint64_t TimeDecayingTieredCounts::count_nonzero(const Node& node) const noexcept {
  if (digit(node) != 0) {
    const unsigned shift = shrink_bits_ * node.tier;
    return std::min((node.at + 1) << shift, cells_per_probe_) - (node.at << shift);
  }
  std::uint64_t count = 0;
  if (node.tier != 0) {
    const Children children = children_of(node);
    for (std::uint64_t at = children.begin; at < children.end; ++at) {
      count += count_nonzero({.tier = node.tier - 1, .at = at, .probe = node.probe});
    }
  }
  return count;
}

PartitionFill TimeDecayingTieredCounts::partitions() const noexcept {
  PartitionFill fill{.size = {.cells_per_probe = cells_per_probe_, .k = k_}};
  const unsigned top = tier_count_ - 1;
  for (std::uint32_t probe = 0; probe < k_; ++probe) {
    for (std::uint64_t at = 0; at < per_probe_[top]; ++at) {
      fill.used[probe] += count_nonzero({.tier = top, .at = at, .probe = probe});
    }
  }
  return fill;
}

}  // namespace mankai
