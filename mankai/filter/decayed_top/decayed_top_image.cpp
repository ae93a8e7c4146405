#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "mankai/base/bits.hpp"
#include "mankai/filter/decayed_top/decayed_top.hpp"
#include "mankai/filter/parts/decay_checks.hpp"
#include "mankai/filter/parts/sizing.hpp"
#include "mankai/kernel/bloom_ops.hpp"

// Sizes of a decayed-top, and the checks of its image.

namespace mankai {

struct DecayedTop::Shape {
  Params params;
  std::uint64_t cells_per_probe;
};

namespace {

using Params = DecayedTop::Params;

constexpr std::uint64_t kLineWords = kCacheLineBytes / sizeof(std::uint64_t);
constexpr std::uint64_t kLineCells = kCacheLineBytes / sizeof(std::uint32_t);
constexpr std::uint32_t kCellBits = 32;
constexpr std::uint32_t kDefaultKeyBytes = 48;
constexpr std::uint64_t kTableShare = 4;
/// More fraction bits would leave a largest count below 2^12.
constexpr std::uint32_t kMostFractionBits = 20;
constexpr std::uint64_t kMostKeyUnits = std::numeric_limits<std::uint8_t>::max();

bool has_room_for(std::uint64_t buckets, std::uint64_t key_units) noexcept {
  return buckets <= KeyTable::kMostBuckets && buckets * KeyTable::kWays * key_units <= KeyTable::kMostArenaUnits;
}

// The ledger and the table.
constexpr std::uint64_t bytes_beside_sketch(const Params& params) noexcept {
  return kCacheLineBytes + KeyTable::bytes_of(params.buckets, params.key_units);
}

Result<void> check_options(const DecayedTop::Options& options) {
  MANKAI_TRY(check_decay(options.decay));
  if (fraction_bits_for(options.decay.lambda_q32) > kMostFractionBits) {
    return fail(ErrorCode::invalid_argument,
                "lambda is so near 1 that counts would end at 4096: take longer epochs, at most 11000 a half-life");
  }
  if (options.k > kernel::kMaxProbes) {
    return fail(ErrorCode::invalid_argument, "k of " + std::to_string(options.k) + " is more than " +
                                                 std::to_string(kernel::kMaxProbes) + " cells per key");
  }
  if (options.key_bytes > (kMostKeyUnits - 1) * KeyTable::kUnitBytes) {
    return fail(ErrorCode::invalid_argument, "room for keys of " + std::to_string(options.key_bytes) +
                                                 " bytes on the average: at most " +
                                                 std::to_string((kMostKeyUnits - 1) * KeyTable::kUnitBytes));
  }
  if (options.keys == 0 && options.bytes == 0) {
    return fail(ErrorCode::invalid_argument, "a filter for 0 keys: say for how many, or how many bytes it may take");
  }
  if (!(options.fpr > 0 && options.fpr < 1)) {
    return fail(ErrorCode::invalid_argument, "the rate of overestimates must lie between 0 and 1, both excluded");
  }
  return {};
}

std::uint64_t cells_bytes_within(std::uint64_t image_bytes) noexcept {
  std::uint64_t cells = std::min(image_bytes, kMaxCellsBytes) / kCacheLineBytes * kCacheLineBytes;
  while (cells != 0 && image_bytes_for(cells) > image_bytes) {
    cells -= kCacheLineBytes;
  }
  return cells;
}

// The number of distinct keys with which the sketch reaches the rate of overestimates.
std::uint64_t keys_that_fit(double fpr, std::uint64_t cells_per_probe, std::uint32_t k) noexcept {
  const double fill = std::pow(fpr, 1.0 / k);
  const double keys = std::log1p(-fill) / std::log1p(-1 / static_cast<double>(cells_per_probe));
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(keys), 1);
}

std::uint64_t line_cells_bytes(const Params& params) noexcept { return params.k * kCacheLineBytes; }

std::uint64_t cells_bytes_of(const Params& params, std::uint64_t cells_per_probe) noexcept {
  return bytes_beside_sketch(params) + cells_per_probe / kLineCells * line_cells_bytes(params);
}

Result<std::uint64_t> sketch_bytes_for(const DecayedTop::Options& options, const Params& params) {
  MANKAI_ASSIGN(const auto size, partitioned_size({.keys = options.keys, .fpr = options.fpr}, params.k));
  return divide_up(size.cells_per_probe, kLineCells) * line_cells_bytes(params);
}

Result<std::uint64_t> sketch_bytes_within(std::uint64_t cells_bytes, const Params& params) {
  const std::uint64_t beside = bytes_beside_sketch(params);
  const std::uint64_t least = beside + line_cells_bytes(params);
  if (cells_bytes < least) {
    return fail(ErrorCode::invalid_argument, "too few bytes: with " + std::to_string(params.buckets * KeyTable::kWays) +
                                                 " candidates an image takes " +
                                                 std::to_string(image_bytes_for(least)) + " and more");
  }
  return (cells_bytes - beside) / line_cells_bytes(params) * line_cells_bytes(params);
}

Result<std::uint32_t> buckets_for(const DecayedTop::Options& options, std::uint64_t table_bytes, const Params& params) {
  const std::uint64_t buckets = options.candidates != 0
                                    ? divide_up<std::uint64_t>(options.candidates, KeyTable::kWays)
                                    : std::max<std::uint64_t>(table_bytes / KeyTable::bytes_of(1, params.key_units), 1);
  if (!has_room_for(buckets, params.key_units)) {
    return fail(ErrorCode::invalid_argument,
                "a table of more than 2^31 places or 32 GiB of keys: ask for fewer candidates");
  }
  return static_cast<std::uint32_t>(buckets);
}

}  // namespace

Result<DecayedTop::Shape> DecayedTop::shape_of(const Options& options) {
  MANKAI_TRY(check_options(options));
  const std::uint32_t key_bytes = options.key_bytes == 0 ? kDefaultKeyBytes : options.key_bytes;
  Params params{.lambda_q32 = options.decay.lambda_q32,
                .epoch_us = static_cast<std::uint64_t>(options.decay.epoch.count()),
                .buckets = 0,
                .k = static_cast<std::uint8_t>(options.k == 0 ? kDefaultProbes : options.k),
                .fraction_bits = static_cast<std::uint8_t>(fraction_bits_for(options.decay.lambda_q32)),
                .key_units = static_cast<std::uint8_t>(KeyTable::units_of_key(key_bytes)),
                .score_bits = KeyTable::kScoreBits};
  const std::uint64_t room = cells_bytes_within(options.bytes);
  Result<std::uint64_t> sketch_bytes = options.bytes == 0 ? sketch_bytes_for(options, params) : room;
  if (!sketch_bytes) {
    return std::unexpected(sketch_bytes.error());
  }
  MANKAI_ASSIGN(
      const auto buckets,
      buckets_for(options, options.bytes == 0 ? *sketch_bytes / (kTableShare - 1) : room / kTableShare, params));
  params.buckets = buckets;
  if (options.bytes != 0) {
    sketch_bytes = sketch_bytes_within(room, params);
    if (!sketch_bytes) {
      return std::unexpected(sketch_bytes.error());
    }
  }
  return Shape{.params = params, .cells_per_probe = *sketch_bytes / line_cells_bytes(params) * kLineCells};
}

Result<DecayedTop> DecayedTop::create(const Options& options) {
  MANKAI_ASSIGN(const auto shape, shape_of(options));
  MANKAI_ASSIGN(auto image,
                Image::create(kKind,
                              {.capacity_keys = options.keys != 0
                                                    ? options.keys
                                                    : keys_that_fit(options.fpr, shape.cells_per_probe, shape.params.k),
                               .fpr_target = options.fpr,
                               .hash = options.hash,
                               .cells_bytes = cells_bytes_of(shape.params, shape.cells_per_probe),
                               .slice_tag = options.keys_tag},
                              options.memory));
  image.set_params(shape.params);
  return from_image(std::move(image));
}

Result<std::uint64_t> DecayedTop::image_bytes_of(const Options& options) {
  const auto shape = shape_of(options);
  return shape ? Result<std::uint64_t>(image_bytes_for(cells_bytes_of(shape->params, shape->cells_per_probe)))
               : std::unexpected(shape.error());
}

DecayedTop::DecayedTop(Image source, const Shape& shape) noexcept
    : SingleCallFilter(std::move(source)),
      ledger_(reinterpret_cast<Ledger*>(image().words().data())),
      sketch_(image().words().subspan(kLineWords, shape.cells_per_probe * shape.params.k / 2),
              {.cells_per_probe = shape.cells_per_probe,
               .lambda_q32 = shape.params.lambda_q32,
               .k = shape.params.k,
               .width_bits = kCellBits,
               .fraction_bits = shape.params.fraction_bits,
               .policy = DecayPolicy::fixed_point,
               .rule = IncrementRule::minimum}),
      table_(ledger_->table, image().words().subspan(kLineWords + sketch_.words().size()), shape.params.buckets,
             shape.params.key_units),
      epoch_(static_cast<std::int64_t>(shape.params.epoch_us)) {
  take_tick(tick());
}

void DecayedTop::relocate(const Mover& mover) noexcept {
  image().relocate(mover);
  const auto words = image().words();
  ledger_ = reinterpret_cast<Ledger*>(words.data());
  sketch_ = DecayedCells(words.subspan(kLineWords, sketch_.words().size()), sketch_.shape());
  table_.move_to(ledger_->table, sketch_.words().data() + sketch_.words().size());
}

namespace {

Result<void> check_params(const Params& params) {
  MANKAI_TRY(check_stored_decay(params.lambda_q32, params.epoch_us));
  if (params.buckets == 0 || params.key_units == 0 || !has_room_for(params.buckets, params.key_units)) {
    return fail(ErrorCode::corrupt, std::to_string(params.buckets) + " buckets at offset 80, " +
                                        std::to_string(params.key_units) + " units a key at offset 86");
  }
  if (params.k == 0 || params.k > kernel::kMaxProbes) {
    return fail(ErrorCode::corrupt, "k of " + std::to_string(params.k) + " at offset 84");
  }
  if (params.fraction_bits > kMostFractionBits || params.fraction_bits != fraction_bits_for(params.lambda_q32)) {
    return fail(ErrorCode::corrupt,
                std::to_string(params.fraction_bits) + " fraction bits at offset 85 do not go with lambda");
  }
  if (params.score_bits != KeyTable::kScoreBits) {
    return fail(ErrorCode::corrupt, std::to_string(params.score_bits) + " bits after a score's point at offset 87");
  }
  return {};
}

}  // namespace

Result<DecayedTop> DecayedTop::from_image(Image source) {
  MANKAI_TRY(check_kind(source, kKind, sizeof(Params) / sizeof(std::uint64_t), kStateWords));
  const auto params = source.params<Params>();
  MANKAI_TRY(check_params(params));
  const std::uint64_t beside = bytes_beside_sketch(params);
  const std::uint64_t cells_bytes = source.header().cells_bytes;
  if (cells_bytes <= beside || (cells_bytes - beside) % line_cells_bytes(params) != 0) {
    return fail(ErrorCode::corrupt, std::to_string(params.buckets) + " buckets at offset 80 and k of " +
                                        std::to_string(params.k) + " at offset 84 do not fill the cells");
  }
  DecayedTop filter(
      std::move(source),
      {.params = params, .cells_per_probe = (cells_bytes - beside) / line_cells_bytes(params) * kLineCells});
  MANKAI_TRY(filter.check_state());
  if (const auto wrong = filter.table_.check(filter.hasher(), filter.image().state(kNewest))) {
    return filter.wrong_at(wrong->place, wrong->what);
  }
  return filter;
}

// An error with the offset of `place` in the image.
std::unexpected<Error> DecayedTop::wrong_at(const void* place, const std::string& what) const {
  const auto offset = static_cast<const std::byte*>(place) - reinterpret_cast<const std::byte*>(&image().header());
  return fail(ErrorCode::corrupt, what + " at offset " + std::to_string(offset));
}

Result<void> DecayedTop::check_state() const {
  if (image().state(kTick) > kMaxTick) {
    return fail(ErrorCode::corrupt, "tick " + std::to_string(image().state(kTick)) + " at offset 96 is beyond time");
  }
  const std::uint64_t newest = image().state(kNewest);
  if (newest > static_cast<std::uint64_t>(Duration::max().count()) ||
      tick_of(Time(Duration(static_cast<std::int64_t>(newest))), epoch_) > tick()) {
    return fail(ErrorCode::corrupt, "newest event at offset 112 is later than the tick at offset 96");
  }
  if (ledger_->late_records > kMaxKeysInserted || saturations() > kMaxKeysInserted) {
    return wrong_at(&ledger_->late_records, "a count at offset 104 or of late events is too large");
  }
  if (!ledger_->cut.is_possible(sketch_.largest())) {
    return wrong_at(&ledger_->cut, "impossible cut cells");
  }
  if (ledger_->zeros != decltype(ledger_->zeros){}) {
    return wrong_at(&ledger_->zeros, "reserved bytes are not zero");
  }
  return {};
}

}  // namespace mankai
