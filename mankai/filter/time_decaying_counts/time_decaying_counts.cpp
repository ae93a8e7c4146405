#include "mankai/filter/time_decaying_counts/time_decaying_counts.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/kernel/bloom_ops.hpp"

namespace mankai {
namespace {

using Params = TimeDecayingCounts::Params;
using Options = TimeDecayingCounts::Options;

constexpr std::uint32_t kStrictWidth = 32;
constexpr std::uint32_t kDefaultWidth = 16;
// A cell counts to at least 15, as those of counting-bloom do.
constexpr std::uint32_t kWholeBits = 4;
constexpr std::uint32_t kByteBits = 8;
constexpr std::size_t kWindow = 1024;

bool is_width(std::uint32_t bits) noexcept { return bits == 8 || bits == 16 || bits == 32; }

Error too_few_bits(std::uint32_t bits, std::uint32_t needed, std::uint32_t width) {
  const bool is_possible = needed + kWholeBits <= kStrictWidth;
  return {.code = ErrorCode::invalid_argument,
          .detail = "fixed-point with " + std::to_string(bits) + " fraction bits in cells of " + std::to_string(width) +
                    " bits would keep more than 1/64 of every count forever; this lambda needs " +
                    std::to_string(needed) +
                    (is_possible ? "; take wider cells, a longer epoch (a smaller lambda) or the stochastic policy"
                                 : "; take a longer epoch (a smaller lambda) or the stochastic policy") +
                    ", or force it (forced=yes)"};
}

// Fraction bits, and whether they required `forced`.
struct Fraction {
  std::uint32_t bits = 0;
  bool is_forced = false;
};

Result<Fraction> fraction_for(const Options& options, std::uint32_t width) {
  const std::uint32_t most = width - kWholeBits;
  if (options.policy != DecayPolicy::fixed_point) {
    if (options.fraction_bits.value_or(0) != 0) {
      return fail(ErrorCode::invalid_argument,
                  "fraction bits belong to the fixed-point policy; leave them out, or take that");
    }
    return Fraction{};
  }
  const std::uint32_t needed = fraction_bits_for(options.decay.lambda_q32);
  const std::uint32_t bits = options.fraction_bits.value_or(std::min(needed, most));
  if (bits > most) {
    return fail(ErrorCode::invalid_argument, std::to_string(bits) + " fraction bits in cells of " +
                                                 std::to_string(width) + " bits: at most " + std::to_string(most) +
                                                 " leave room to count");
  }
  if (bits < needed && !options.forced) {
    return std::unexpected(too_few_bits(bits, needed, width));
  }
  return Fraction{.bits = bits, .is_forced = bits < needed};
}

std::uint64_t cells_per_probe_in(std::uint64_t cells_bytes, std::uint32_t width, std::uint32_t k) noexcept {
  return cells_bytes / (width / kByteBits) / k;
}

struct Size {
  std::uint64_t keys = 0;
  std::uint64_t cells_bytes = 0;
  std::uint32_t k = 0;
};

Result<Size> size_by_bytes(const Options& options, std::uint32_t width) {
  const std::uint32_t k = options.k == 0 ? kDefaultProbes : options.k;
  const std::uint64_t cells_bytes = options.bytes / kCacheLineBytes * kCacheLineBytes;
  if (k > kernel::kMaxProbes) {
    return fail(ErrorCode::invalid_argument, "k of " + std::to_string(k) + ": at most 64 cells per key");
  }
  const std::uint64_t cells = cells_per_probe_in(cells_bytes, width, k);
  if (cells == 0) {
    return fail(ErrorCode::invalid_argument, std::to_string(options.bytes) +
                                                 " bytes are too few: " + std::to_string(k) + " cells of " +
                                                 std::to_string(width) + " bits take whole lines of 64 bytes");
  }
  MANKAI_TRY(check_request({.keys = std::max<std::uint64_t>(options.keys, 1), .fpr = options.fpr}));
  const std::uint64_t keys =
      options.keys == 0 ? partitioned_keys(options.fpr, {.cells_per_probe = cells, .k = k}) : options.keys;
  return Size{.keys = keys, .cells_bytes = cells_bytes, .k = k};
}

Result<Size> size_for(const Options& options, std::uint32_t width) {
  if (options.bytes != 0) {
    return size_by_bytes(options, width);
  }
  MANKAI_ASSIGN(const auto size, partitioned_size({.keys = options.keys, .fpr = options.fpr}, options.k));
  const std::uint64_t bytes = size.cells_per_probe * size.k * (width / kByteBits);
  return Size{.keys = options.keys, .cells_bytes = align_up(bytes, std::uint64_t{kCacheLineBytes}), .k = size.k};
}

DecayedShape shape_of(const Params& params, std::uint64_t cells_bytes, const HashSpec& hash) noexcept {
  return {.cells_per_probe = cells_per_probe_in(cells_bytes, params.width_bits, params.k),
          .lambda_q32 = params.lambda_q32,
          .seed = hash.seed[0] ^ hash.seed[1],
          .k = params.k,
          .width_bits = params.width_bits,
          .fraction_bits = params.fraction_bits,
          .policy = static_cast<DecayPolicy>(params.policy),
          .rule = static_cast<IncrementRule>(params.rule)};
}

Result<void> check_choices(const Params& params) {
  if (params.policy > static_cast<std::uint8_t>(DecayPolicy::stochastic)) {
    return fail(ErrorCode::unsupported_version,
                "policy " + std::to_string(params.policy) + " at offset 82 of a later library: use a newer one");
  }
  if (params.rule > static_cast<std::uint8_t>(IncrementRule::minimum)) {
    return fail(ErrorCode::unsupported_version,
                "rule " + std::to_string(params.rule) + " at offset 83 of a later library: use a newer one");
  }
  return {};
}

Result<void> check_fraction(const Params& params) {
  const bool is_fixed = params.policy == static_cast<std::uint8_t>(DecayPolicy::fixed_point);
  const std::uint32_t most = is_fixed ? params.width_bits - kWholeBits : 0;
  if (params.fraction_bits > most) {
    return fail(ErrorCode::corrupt, std::to_string(params.fraction_bits) +
                                        " fraction bits at offset 84 do not go with "
                                        "the policy and the cells' width");
  }
  const bool is_forced = is_fixed && params.fraction_bits < fraction_bits_for(params.lambda_q32);
  if (params.is_forced != static_cast<std::uint8_t>(is_forced) || params.reserved != 0) {
    return fail(ErrorCode::corrupt, "flag or reserved bytes at offset 85 do not go with lambda and fraction bits");
  }
  return {};
}

Result<void> check_params(const Params& params, std::uint64_t cells_bytes) {
  MANKAI_TRY(check_stored_decay(params.lambda_q32, params.epoch_us));
  if (params.k == 0 || params.k > kernel::kMaxProbes) {
    return fail(ErrorCode::corrupt, "k of " + std::to_string(params.k) + " at offset 80 is not 1 to 64");
  }
  if (!is_width(params.width_bits)) {
    return fail(ErrorCode::corrupt,
                "cells of " + std::to_string(params.width_bits) + " bits at offset 81 are not of 8, 16 or 32");
  }
  if (cells_per_probe_in(cells_bytes, params.width_bits, params.k) == 0) {
    return fail(ErrorCode::corrupt, "k at offset 80: fewer cells than a key has");
  }
  MANKAI_TRY(check_choices(params));
  return check_fraction(params);
}

}  // namespace

TimeDecayingCounts::TimeDecayingCounts(Image source, const DecayedShape& shape) noexcept
    : DecayingCounts(std::move(source)), cells_(image().words(), shape) {}

Result<TimeDecayingCounts> TimeDecayingCounts::create(const Options& options) {
  MANKAI_TRY(check_decay(options.decay));
  const bool is_strict = options.policy == DecayPolicy::fixed_point;
  const std::uint32_t width = options.width_bits != 0 ? options.width_bits : is_strict ? kStrictWidth : kDefaultWidth;
  if (!is_width(width)) {
    return fail(ErrorCode::invalid_argument, "cells of " + std::to_string(width) + " bits: give 8, 16 or 32");
  }
  MANKAI_ASSIGN(const auto fraction, fraction_for(options, width));
  MANKAI_ASSIGN(const auto size, size_for(options, width));
  MANKAI_ASSIGN(auto image, Image::create(kKind,
                                          {.capacity_keys = size.keys,
                                           .fpr_target = options.fpr,
                                           .hash = options.hash,
                                           .cells_bytes = size.cells_bytes},
                                          options.memory));
  const Params params{.lambda_q32 = options.decay.lambda_q32,
                      .epoch_us = static_cast<std::uint64_t>(options.decay.epoch.count()),
                      .k = static_cast<std::uint8_t>(size.k),
                      .width_bits = static_cast<std::uint8_t>(width),
                      .policy = static_cast<std::uint8_t>(options.policy),
                      .rule = static_cast<std::uint8_t>(options.rule),
                      .fraction_bits = static_cast<std::uint8_t>(fraction.bits),
                      .is_forced = static_cast<std::uint8_t>(fraction.is_forced),
                      .reserved = 0};
  image.set_params(params);
  const DecayedShape shape = shape_of(params, size.cells_bytes, image.hash());
  return TimeDecayingCounts(std::move(image), shape);
}

Result<TimeDecayingCounts> TimeDecayingCounts::from_image(Image source) {
  MANKAI_TRY(check_kind(source, kKind, sizeof(Params) / sizeof(std::uint64_t), DecayState::kWords));
  const auto params = source.params<Params>();
  MANKAI_TRY(check_params(params, source.header().cells_bytes));
  MANKAI_TRY(check_decay_state(source, kernel::largest_cell(params.width_bits)));
  const DecayedShape shape = shape_of(params, source.header().cells_bytes, source.hash());
  TimeDecayingCounts filter(std::move(source), shape);
  MANKAI_TRY(check_tail(filter.image(), filter.cell_count(), params.width_bits));
  return filter;
}

double TimeDecayingCounts::stuck_count() const noexcept {
  return cells_.shape().lambda_q32 == kLambdaOne ? std::numeric_limits<double>::infinity()
                                                 : cells_.count_of(cells_.stuck());
}

void TimeDecayingCounts::count_inserted(std::uint64_t keys, std::uint64_t cut, std::uint64_t units) noexcept {
  image().add_keys(keys);
  if (cut != 0) {
    add_saturations(cut);
    set_cut_cells(cells_.with_cut(cut_cells(), cut, units));
  }
}

DecayedCount TimeDecayingCounts::count_of(std::uint32_t units) const noexcept {
  const double raw = cells_.count_of(units);
  return {.raw = raw, .rate = (1 - decay().lambda()) * raw, .is_saturated = cut_cells().may_concern(units)};
}

bool TimeDecayingCounts::observe(Digest digest) noexcept {
  const DecayedCells::Added added = cells_.insert(digest, cells_.one());
  count_inserted(1, added.cut, cells_.one());
  return cells_.is_left(added.least);
}

void TimeDecayingCounts::insert(Digest digest, std::uint32_t times) noexcept {
  const std::uint64_t units = times * cells_.one();
  count_inserted(times, cells_.insert(digest, units).cut, units);
}

void TimeDecayingCounts::insert_late(Digest digest, Tick at) noexcept {
  const std::uint64_t now = tick().value;
  const std::uint64_t age = now - std::min(at.value, now);
  // Each late insert has its own draw, also for the same key and tick.
  const std::uint64_t draw =
      mix_integer(digest.value, cells_.shape().seed ^ mix_integer(keys_inserted(), now).value).value;
  const std::uint64_t units = cells_.late_units(age, draw);
  count_inserted(1, cells_.insert(digest, units).cut, units);
}

void TimeDecayingCounts::insert(std::span<const Digest> digests) noexcept {
  count_inserted(digests.size(), cells_.insert(digests, cells_.one()), cells_.one());
}

void TimeDecayingCounts::observe(std::span<const Digest> digests, std::span<bool> seen) noexcept {
  MANKAI_ASSERT(digests.size() == seen.size());
  count_inserted(digests.size(), cells_.observe(digests, seen, cells_.one()), cells_.one());
}

void TimeDecayingCounts::may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept {
  MANKAI_ASSERT(digests.size() == outcomes.size());
  std::array<std::uint32_t, kWindow> found;
  for (std::size_t start = 0; start < digests.size(); start += kWindow) {
    const std::size_t count = std::min(kWindow, digests.size() - start);
    cells_.smallest(digests.subspan(start, count), std::span(found).first(count));
    for (std::size_t i = 0; i < count; ++i) {
      outcomes[start + i] = cells_.is_left(found[i]);
    }
  }
}

void TimeDecayingCounts::estimate(std::span<const Digest> digests, std::span<DecayedCount> counts) const noexcept {
  MANKAI_ASSERT(digests.size() == counts.size());
  std::array<std::uint32_t, kWindow> found;
  for (std::size_t start = 0; start < digests.size(); start += kWindow) {
    const std::size_t count = std::min(kWindow, digests.size() - start);
    cells_.smallest(digests.subspan(start, count), std::span(found).first(count));
    for (std::size_t i = 0; i < count; ++i) {
      counts[start + i] = count_of(found[i]);
    }
  }
}

// Adds the other filter's cells, decayed by `epochs_behind`. Returns how many were cut.
std::uint64_t TimeDecayingCounts::merge_cells(const TimeDecayingCounts& other, std::uint64_t epochs_behind) {
  const std::span<std::uint64_t> theirs = other.cells_.words();
  if (epochs_behind == 0) {
    return cells_.merge(theirs);
  }
  std::vector<std::uint64_t> faded(theirs.begin(), theirs.end());
  DecayedCells(faded, other.cells_.shape()).decay(other.tick().value + 1, epochs_behind);
  return cells_.merge(faded);
}

Result<void> TimeDecayingCounts::merge(const TimeDecayingCounts& other) {
  MANKAI_TRY(check_mergeable(other));
  advance(other.tick());
  const std::uint64_t behind = tick().value - other.tick().value;
  const CutCells their_cut = other.cells_.decayed(other.cut_cells(), behind);
  const std::uint64_t cut = merge_cells(other, behind);
  image().add_keys(other.keys_inserted());
  add_saturations(other.saturations() + cut);
  // Each cell is added to once, and so cut at most once.
  set_cut_cells(cells_.with_cut(cut_cells().with(their_cut), std::min<std::uint64_t>(cut, 1), cells_.largest()));
  return {};
}

}  // namespace mankai
