#include "mankai/filter/decayed_top/decayed_top.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/filter/parts/hash_windows.hpp"
#include "mankai/filter/parts/sizing.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/bloom_ops.hpp"

namespace mankai {

/// The first line of the cells: what changes with them and has no place in the header.
struct DecayedTop::Ledger {
  std::uint64_t late_records;
  std::uint64_t arena_used;  ///< units from the arena's start to the end of its last record
  std::uint64_t bar;         ///< what a key must be above to enter: where the arena last threw keys out
  CutCells cut;              ///< of the sketch
  std::array<std::uint64_t, 4> zeros;
};

namespace {

constexpr std::uint32_t kWays = 16;
constexpr std::uint32_t kNoWay = kWays;

}  // namespace

/// Sixteen places. An empty one is zero throughout.
struct DecayedTop::Bucket {
  std::array<std::uint64_t, kWays> digests;
  std::array<std::uint64_t, kWays> scores;
  std::array<std::uint64_t, kWays> last_seen;  ///< microseconds since 1970
  std::array<std::uint32_t, kWays> records;    ///< 1 + the unit of the arena where its record begins; 0: empty
};

/// What the arena holds of a key: where it belongs, and its bytes behind.
struct DecayedTop::Record {
  std::uint32_t slot;
  std::uint32_t length;
  std::uint32_t flags;
};

/// What follows from the parameters and the size.
struct DecayedTop::Shape {
  Params params;
  std::uint64_t cells_per_probe;
  std::uint64_t arena_units;
};

namespace {

using Params = DecayedTop::Params;

constexpr std::uint64_t kUnitBytes = sizeof(std::uint64_t);
constexpr std::uint64_t kLineWords = kCacheLineBytes / sizeof(std::uint64_t);
constexpr std::uint64_t kLineCells = kCacheLineBytes / sizeof(std::uint32_t);
constexpr std::uint64_t kBucketBytes = std::uint64_t{kWays} * 28;
constexpr std::uint32_t kCellBits = 32;
constexpr unsigned kUpperHalf = 32;
constexpr std::uint32_t kUsualProbes = 4;
constexpr std::uint32_t kUsualKeyBytes = 48;
constexpr std::uint64_t kTableShare = 4;
/// A record's second half-word: the length, and above it what is to be said of the key.
constexpr std::uint32_t kLengthMask = 0xffff;
constexpr std::uint32_t kCut = 1U << 16;
/// Scores are finer than cells: thousands of events that count for next to nothing each are still next to nothing.
constexpr std::uint32_t kScoreBits = 28;
constexpr std::uint64_t kOneScore = std::uint64_t{1} << kScoreBits;
/// Scores end here, so that two of them can be added.
constexpr std::uint64_t kMostScore = std::uint64_t{1} << 62;
/// What never fades of a cell is no more: 1/64 (fraction_bits_for).
constexpr std::uint64_t kMostStuck = kOneScore / 64;
/// More fraction bits would leave cells that end below 2^12.
constexpr std::uint32_t kMostFractionBits = 20;
/// Slots, arena units and buckets are numbered with 32 bits.
constexpr std::uint64_t kMostBuckets = std::uint64_t{1} << 27;
constexpr std::uint64_t kMostArenaUnits = std::numeric_limits<std::uint32_t>::max() - 1;
constexpr std::uint64_t kMostKeyUnits = std::numeric_limits<std::uint8_t>::max();
/// A key takes at most such a share of the arena.
constexpr std::uint64_t kArenaShare = 8;

constexpr std::uint64_t record_units(std::size_t key_bytes) noexcept {
  return 1 + divide_up<std::uint64_t>(key_bytes, kUnitBytes);
}

constexpr std::uint64_t arena_units_of(const Params& params) noexcept {
  return std::uint64_t{params.buckets} * kWays * params.key_units;
}

// The ledger, the table and the arena.
constexpr std::uint64_t bytes_beside_sketch(const Params& params) noexcept {
  return kCacheLineBytes + params.buckets * kBucketBytes + arena_units_of(params) * kUnitBytes;
}

// What is left of a score after an epoch, rounded up.
std::uint64_t fade(std::uint64_t score, std::uint64_t lambda_q32) noexcept {
  if (lambda_q32 >= kLambdaOne) {
    return score;
  }
  constexpr unsigned kFraction = 32;
  const std::uint64_t high = multiply_high(score, lambda_q32 << kFraction);
  const auto fraction = static_cast<std::uint32_t>(score * lambda_q32);
  return high + static_cast<std::uint64_t>(fraction != 0);
}

// Stops where nothing fades any more.
std::uint64_t fade(std::uint64_t score, std::uint64_t lambda_q32, std::uint64_t epochs) noexcept {
  for (; epochs != 0; --epochs) {
    const std::uint64_t next = fade(score, lambda_q32);
    if (next == score) {
      break;
    }
    score = next;
  }
  return score;
}

// All ways beside each other, an epoch at a time: one after the other each would wait for its own products. There is no
// shorter way to what single epochs give, since what each of them rounds away depends on the one before.
void fade(std::array<std::uint64_t, kWays>& scores, std::uint64_t lambda_q32, std::uint64_t epochs) noexcept {
  std::uint64_t changed = 1;
  for (; epochs != 0 && changed != 0; --epochs) {
    changed = 0;
    for (std::uint64_t& score : scores) {
      const std::uint64_t next = fade(score, lambda_q32);
      changed |= next ^ score;
      score = next;
    }
  }
}

// Counts end where images may: only those that came from outside get so far.
std::uint64_t add_counts(std::uint64_t count, std::uint64_t more) noexcept {
  return std::min(count + more, kMaxKeysInserted);
}

std::int64_t microseconds(Time at) noexcept { return std::max<std::int64_t>(at.time_since_epoch().count(), 0); }

Time time_of(std::uint64_t microseconds) noexcept { return Time(Duration(static_cast<std::int64_t>(microseconds))); }

Result<void> check_options(const DecayedTop::Options& options) {
  if (options.decay.epoch <= Duration::zero() || options.decay.lambda_q32 > kLambdaOne) {
    return fail(ErrorCode::invalid_argument, "no decay: give a half-life, or lambda and an epoch");
  }
  if (fraction_bits_for(options.decay.lambda_q32) > kMostFractionBits) {
    return fail(
        ErrorCode::invalid_argument,
        "lambda is so close to 1 that counts would saturate at 4096; give longer epochs, at most 11000 per half-life");
  }
  if (options.k > kernel::kMaxProbes) {
    return fail(ErrorCode::invalid_argument, "k of " + std::to_string(options.k) + " is more than " +
                                                 std::to_string(kernel::kMaxProbes) + " cells per key");
  }
  if (options.key_bytes > (kMostKeyUnits - 1) * kUnitBytes) {
    return fail(ErrorCode::invalid_argument, "room for keys of " + std::to_string(options.key_bytes) +
                                                 " bytes on average; at most " +
                                                 std::to_string((kMostKeyUnits - 1) * kUnitBytes));
  }
  if (options.keys == 0 && options.bytes == 0) {
    return fail(ErrorCode::invalid_argument, "a filter for 0 keys; give the number of keys, or a size in bytes");
  }
  if (!(options.fpr > 0 && options.fpr < 1)) {
    return fail(ErrorCode::invalid_argument, "the rate of overestimates must lie between 0 and 1, both excluded");
  }
  return {};
}

// The most cells that fit into an image of so many bytes, trailer included.
std::uint64_t cells_bytes_within(std::uint64_t image_bytes) noexcept {
  std::uint64_t cells = std::min(image_bytes, kMaxCellsBytes) / kCacheLineBytes * kCacheLineBytes;
  while (cells != 0 && image_bytes_for(cells) > image_bytes) {
    cells -= kCacheLineBytes;
  }
  return cells;
}

// So many distinct keys overestimate one another at the rate.
std::uint64_t keys_that_fit(double fpr, std::uint64_t cells_per_probe, std::uint32_t k) noexcept {
  const double fill = std::pow(fpr, 1.0 / k);
  const double keys = std::log1p(-fill) / std::log1p(-1 / static_cast<double>(cells_per_probe));
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(keys), 1);
}

}  // namespace

DecayedTop::DecayedTop(Image source, const Shape& shape) noexcept
    : FlatFilter(std::move(source)),
      ledger_(reinterpret_cast<Ledger*>(image().words().data())),
      sketch_(image().words().subspan(kLineWords, shape.cells_per_probe * shape.params.k / 2),
              {.cells_per_probe = shape.cells_per_probe,
               .lambda_q32 = shape.params.lambda_q32,
               .k = shape.params.k,
               .width_bits = kCellBits,
               .fraction_bits = shape.params.fraction_bits,
               .policy = DecayPolicy::fixed_point,
               .rule = IncrementRule::minimum}),
      buckets_(reinterpret_cast<Bucket*>(sketch_.words().data() + sketch_.words().size())),
      arena_(reinterpret_cast<std::uint64_t*>(buckets_ + shape.params.buckets)),
      arena_units_(shape.arena_units),
      bucket_count_(shape.params.buckets),
      most_key_bytes_(
          static_cast<std::uint32_t>(std::min<std::uint64_t>(kMostKeyBytes, arena_units_ / kArenaShare * kUnitBytes))),
      epoch_(static_cast<std::int64_t>(shape.params.epoch_us)) {
  static_assert(sizeof(Ledger) == kCacheLineBytes && sizeof(Bucket) == kBucketBytes);
  take_tick(tick());
}

void DecayedTop::relocate(const Mover& mover) noexcept {
  image().relocate(mover);
  const auto words = image().words();
  ledger_ = reinterpret_cast<Ledger*>(words.data());
  sketch_ = DecayedCells(words.subspan(kLineWords, sketch_.words().size()), sketch_.shape());
  buckets_ = reinterpret_cast<Bucket*>(sketch_.words().data() + sketch_.words().size());
  arena_ = reinterpret_cast<std::uint64_t*>(buckets_ + bucket_count_);
}

namespace {

std::uint64_t line_cells_bytes(const Params& params) noexcept { return params.k * kCacheLineBytes; }

std::uint64_t cells_bytes_of(const Params& params, std::uint64_t cells_per_probe) noexcept {
  return bytes_beside_sketch(params) + cells_per_probe / kLineCells * line_cells_bytes(params);
}

// The bytes of a sketch for so many keys.
Result<std::uint64_t> sketch_bytes_for(const DecayedTop::Options& options, const Params& params) {
  MANKAI_ASSIGN(const auto size, partitioned_size({.keys = options.keys, .fpr = options.fpr}, params.k));
  return divide_up(size.cells_per_probe, kLineCells) * line_cells_bytes(params);
}

// The bytes that the table and the arena leave of so many bytes of cells.
Result<std::uint64_t> sketch_bytes_within(std::uint64_t cells_bytes, const Params& params) {
  const std::uint64_t beside = bytes_beside_sketch(params);
  const std::uint64_t least = beside + line_cells_bytes(params);
  if (cells_bytes < least) {
    return fail(ErrorCode::invalid_argument, "too few bytes: with " + std::to_string(params.buckets * kWays) +
                                                 " candidates an image takes " +
                                                 std::to_string(image_bytes_for(least)) + " and more");
  }
  return (cells_bytes - beside) / line_cells_bytes(params) * line_cells_bytes(params);
}

Result<std::uint32_t> buckets_for(const DecayedTop::Options& options, std::uint64_t table_bytes, const Params& params) {
  const std::uint64_t bucket_bytes = kBucketBytes + std::uint64_t{kWays} * params.key_units * kUnitBytes;
  const std::uint64_t buckets = options.candidates != 0 ? divide_up<std::uint64_t>(options.candidates, kWays)
                                                        : std::max<std::uint64_t>(table_bytes / bucket_bytes, 1);
  if (buckets > kMostBuckets || buckets * kWays * params.key_units > kMostArenaUnits) {
    return fail(ErrorCode::invalid_argument,
                "a table of more than 2^31 places or 32 GiB of keys: ask for fewer candidates");
  }
  return static_cast<std::uint32_t>(buckets);
}

}  // namespace

Result<DecayedTop::Shape> DecayedTop::shape_of(const Options& options) {
  MANKAI_TRY(check_options(options));
  const std::uint32_t key_bytes = options.key_bytes == 0 ? kUsualKeyBytes : options.key_bytes;
  Params params{.lambda_q32 = options.decay.lambda_q32,
                .epoch_us = static_cast<std::uint64_t>(options.decay.epoch.count()),
                .buckets = 0,
                .k = static_cast<std::uint8_t>(options.k == 0 ? kUsualProbes : options.k),
                .fraction_bits = static_cast<std::uint8_t>(fraction_bits_for(options.decay.lambda_q32)),
                .key_units = static_cast<std::uint8_t>(record_units(key_bytes)),
                .score_bits = kScoreBits};
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
  return Shape{.params = params,
               .cells_per_probe = *sketch_bytes / line_cells_bytes(params) * kLineCells,
               .arena_units = arena_units_of(params)};
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

// ---- events

void DecayedTop::take_tick(Tick tick) noexcept {
  image().set_state(kTick, tick.value);
  epoch_begin_ = start_of(tick, epoch_).time_since_epoch().count();
  const std::int64_t room = std::numeric_limits<std::int64_t>::max() - epoch_begin_;
  epoch_last_ = epoch_begin_ + std::min<std::int64_t>(epoch_.count() - 1, room);
}

void DecayedTop::advance(Tick tick) noexcept {
  const Tick from = this->tick();
  const Tick to = std::min(tick, Tick{kMaxTick});
  if (to <= from) {
    return;
  }
  const std::uint64_t epochs = to.value - from.value;
  const std::uint64_t lambda = sketch_.shape().lambda_q32;
  sketch_.decay(from.value + 1, epochs);
  for (Bucket& bucket : std::span(buckets_, bucket_count_)) {
    fade(bucket.scores, lambda, epochs);
  }
  ledger_->bar = fade(ledger_->bar, lambda, epochs);
  ledger_->cut = sketch_.decayed(ledger_->cut, epochs);
  take_tick(to);
}

void DecayedTop::scale(std::uint64_t factor_q32) noexcept {
  sketch_.scale(factor_q32);
  for (Bucket& bucket : std::span(buckets_, bucket_count_)) {
    fade(bucket.scores, factor_q32, 1);
  }
  ledger_->bar = fade(ledger_->bar, factor_q32);
  ledger_->cut = sketch_.scaled(ledger_->cut, factor_q32);
}

namespace {

// λ to the power of so many epochs is a multiple of 2^-32, rounded up; it stays above 2^-16, so that rounding adds
// 2^-16 of it at the most.
constexpr unsigned kFactorBits = 32;
constexpr std::uint64_t kLeastFactor = std::uint64_t{1} << 16;
// As many epochs again would take it below: so each pass takes 8 bits away, and this many leave nothing of 2^62.
constexpr unsigned kMostPasses = 8;

std::uint64_t epochs_of_a_pass(std::uint64_t lambda_q32) noexcept {
  std::uint64_t epochs = 1;
  while (late_count(lambda_q32, 2 * epochs, kFactorBits) >= kLeastFactor) {
    epochs *= 2;
  }
  return epochs;
}

}  // namespace

void DecayedTop::leap(Tick tick) noexcept {
  const Tick to = std::min(tick, Tick{kMaxTick});
  if (to <= this->tick()) {
    return;
  }
  const std::uint64_t lambda = sketch_.shape().lambda_q32;
  if (lambda < kLambdaOne) {
    const std::uint64_t stride = epochs_of_a_pass(lambda);
    std::uint64_t epochs = to.value - this->tick().value;
    for (unsigned pass = 0; pass < kMostPasses && epochs != 0; ++pass) {
      const std::uint64_t now = std::min(epochs, stride);
      scale(late_count(lambda, now, kFactorBits));
      epochs -= now;
    }
  }
  take_tick(to);
}

std::uint64_t DecayedTop::score_of(std::uint64_t units) const noexcept {
  return units << (kScoreBits - sketch_.shape().fraction_bits);
}

std::uint64_t DecayedTop::units_of(std::uint64_t score) const noexcept {
  const std::uint32_t finer = kScoreBits - sketch_.shape().fraction_bits;
  return (score + (std::uint64_t{1} << finer) - 1) >> finer;
}

// Moves on to the events' epoch if it is later. Returns the score that all of them count for: at most 2^60, so that it
// can be added to any other, and to what a cell can hold without passing kMostScore.
std::uint64_t DecayedTop::score_at(std::int64_t at, std::uint32_t count) noexcept {
  if (static_cast<std::uint64_t>(at) > image().state(kNewest)) {
    image().set_state(kNewest, static_cast<std::uint64_t>(at));
  }
  if (at > epoch_last_) {
    advance(tick_of(Time(Duration(at)), epoch_));
  } else if (at < epoch_begin_) [[unlikely]] {
    ledger_->late_records = add_counts(ledger_->late_records, count);
    const std::uint64_t age = tick().value - tick_of(Time(Duration(at)), epoch_).value;
    return late_count(sketch_.shape().lambda_q32, age, kScoreBits) * count;
  }
  return kOneScore * count;
}

std::uint32_t DecayedTop::bucket_index(Digest digest) const noexcept {
  return static_cast<std::uint32_t>(fastrange(probes::remix(digest), bucket_count_));
}

namespace {

// The place of a digest, or kNoWay. All sixteen are compared, as one cannot guess where to stop.
template <class Bucket>
[[gnu::always_inline]] inline std::uint32_t find(const Bucket& bucket, Digest digest) noexcept {
  std::uint32_t matches = 0;
  for (std::uint32_t way = 0; way < kWays; ++way) {
    matches |= static_cast<std::uint32_t>(bucket.digests[way] == digest.value) << way;
  }
  if (digest.value == 0) [[unlikely]] {
    for (std::uint32_t way = 0; way < kWays; ++way) {
      matches &= ~(static_cast<std::uint32_t>(bucket.records[way] == 0) << way);
    }
  }
  return matches == 0 ? kNoWay : static_cast<std::uint32_t>(std::countr_zero(matches));
}

}  // namespace

// A score that ends loses no more than what is added to it.
void DecayedTop::add_to_score(std::uint64_t& score, std::uint64_t more) noexcept {
  score += more;
  if (score > kMostScore) [[unlikely]] {
    score = kMostScore;
    count_saturations(1, units_of(more));
  }
}

bool DecayedTop::add_to_candidate(Digest digest, std::uint64_t score, std::int64_t at) noexcept {
  Bucket& bucket = buckets_[bucket_index(digest)];
  const std::uint32_t way = find(bucket, digest);
  if (way == kNoWay) {
    return false;
  }
  add_to_score(bucket.scores[way], score);
  bucket.last_seen[way] = std::max(bucket.last_seen[way], static_cast<std::uint64_t>(at));
  return true;
}

void DecayedTop::insert(Digest digest, std::string_view key, Time at, std::uint32_t count) noexcept {
  MANKAI_ASSERT(count != 0);
  const std::int64_t when = microseconds(at);
  const std::uint64_t score = score_at(when, count);
  image().set_keys_inserted(add_counts(keys_inserted(), count));
  if (!add_to_candidate(digest, score, when)) {
    add_stranger(digest, key, score, when);
  }
}

void DecayedTop::insert(std::span<const Digest> digests, std::span<const std::string_view> keys,
                        std::span<const Time> times) noexcept {
  MANKAI_ASSERT(digests.size() == keys.size() && digests.size() == times.size());
  for (std::size_t i = 0; i < digests.size(); ++i) {
    insert(digests[i], keys[i], times[i]);
  }
}

void DecayedTop::add_to_sketch(Digest digest, std::uint64_t units) noexcept {
  const auto added = sketch_.insert(digest, units);
  if (added.cut != 0) [[unlikely]] {
    count_saturations(added.cut, units);
  }
}

// Of one insertion or merge: a cell loses no more than what is added to it.
void DecayedTop::count_saturations(std::uint64_t cut, std::uint64_t units) noexcept {
  image().set_state(kSaturations, add_counts(saturations(), cut));
  ledger_->cut = sketch_.with_cut(ledger_->cut, 1, units);
}

void DecayedTop::raise(Digest digest, std::uint64_t bound) noexcept {
  const std::uint64_t there = sketch_.smallest(digest);
  if (bound > there) {
    add_to_sketch(digest, bound - there);
  }
}

void DecayedTop::add_stranger(Digest digest, std::string_view key, std::uint64_t score, std::int64_t at) noexcept {
  const std::uint64_t there = sketch_.smallest(digest);
  const bool is_cut = key.size() > most_key_bytes_;
  const Candidate candidate{.digest = digest,
                            .key = key.substr(0, most_key_bytes_),
                            .score = score_of(there) + score,
                            .last_seen = static_cast<std::uint64_t>(at),
                            .flags = is_cut ? kCut : 0};
  if (offer(candidate)) {
    MANKAI_ASSERT(key.size() > kMostKeyBytes || hasher()(key) == digest);
    return;
  }
  add_to_sketch(digest, units_of(score));
}

std::int64_t DecayedTop::now() const noexcept {
  return std::max(epoch_begin_, static_cast<std::int64_t>(image().state(kNewest)));
}

bool DecayedTop::observe(Digest digest) noexcept {
  const bool seen = may_contain(digest);
  image().add_keys(1);
  const std::int64_t at = now();
  if (!add_to_candidate(digest, score_at(at, 1), at)) {
    add_to_sketch(digest, sketch_.one());
  }
  return seen;
}

void DecayedTop::insert(std::span<const Digest> digests) noexcept {
  for (const Digest digest : digests) {
    insert(digest);
  }
}

void DecayedTop::insert(std::span<const std::uint64_t> keys) noexcept {
  for_each_hashed_window(hasher(), keys, [this](std::size_t, std::span<const Digest> digests) { insert(digests); });
}

void DecayedTop::observe(std::span<const Digest> digests, std::span<bool> seen) noexcept {
  MANKAI_ASSERT(digests.size() == seen.size());
  for (std::size_t i = 0; i < digests.size(); ++i) {
    seen[i] = observe(digests[i]);
  }
}

// ---- answers

std::uint64_t DecayedTop::bound_of(Digest digest) const noexcept {
  const Bucket& bucket = buckets_[bucket_index(digest)];
  const std::uint32_t way = find(bucket, digest);
  return way == kNoWay ? score_of(sketch_.smallest(digest)) : bucket.scores[way];
}

DecayedCount DecayedTop::count_of(std::uint64_t score) const noexcept {
  const double raw = static_cast<double>(score) / static_cast<double>(kOneScore);
  // The mark fades as a cell does, rounded up to its units; what came into the table from a cut cell fades in finer
  // ones, and is below the mark by what never fades of a cell at the most.
  return {.raw = raw,
          .rate = (1 - decay().lambda()) * raw,
          .is_saturated = ledger_->cut.may_concern(units_of(score + kMostStuck)) || score == kMostScore};
}

DecayedCount DecayedTop::estimate(Digest digest) const noexcept { return count_of(bound_of(digest)); }

void DecayedTop::estimate(std::span<const Digest> digests, std::span<DecayedCount> counts) const noexcept {
  MANKAI_ASSERT(digests.size() == counts.size());
  for (std::size_t i = 0; i < digests.size(); ++i) {
    counts[i] = estimate(digests[i]);
  }
}

void DecayedTop::may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept {
  MANKAI_ASSERT(digests.size() == outcomes.size());
  for (std::size_t i = 0; i < digests.size(); ++i) {
    outcomes[i] = may_contain(digests[i]);
  }
}

void DecayedTop::may_contain(std::span<const std::uint64_t> keys, std::span<bool> outcomes) const noexcept {
  MANKAI_ASSERT(keys.size() == outcomes.size());
  for_each_hashed_window(hasher(), keys, [&](std::size_t start, std::span<const Digest> digests) {
    may_contain(digests, outcomes.subspan(start, digests.size()));
  });
}

Time DecayedTop::newest() const noexcept { return time_of(image().state(kNewest)); }
std::uint64_t DecayedTop::late_records() const noexcept { return ledger_->late_records; }
std::uint64_t DecayedTop::candidates_capacity() const noexcept { return std::uint64_t{bucket_count_} * kWays; }

template <class Use>
void DecayedTop::for_each_candidate(const Use& use) const {
  for (std::uint32_t slot = 0; slot < bucket_count_ * kWays; ++slot) {
    if (buckets_[slot / kWays].records[slot % kWays] != 0) {
      use(slot);
    }
  }
}

std::uint64_t DecayedTop::candidates() const noexcept {
  std::uint64_t count = 0;
  for_each_candidate([&](std::uint32_t) { ++count; });
  return count;
}

DecayedTop::Entry DecayedTop::entry_of(std::uint32_t slot) const noexcept {
  const Bucket& bucket = buckets_[slot / kWays];
  const std::uint32_t way = slot % kWays;
  const std::uint64_t unit = bucket.records[way] - 1;
  const Record record = record_at(unit);
  return {.key = {reinterpret_cast<const char*>(arena_ + unit + 1), record.length},
          .count = count_of(bucket.scores[way]),
          .last_seen = time_of(bucket.last_seen[way]),
          .is_cut = (record.flags & kCut) != 0};
}

// Only the page that is asked for is sorted, and only its keys are read, but where counts are equal.
std::vector<DecayedTop::Entry> DecayedTop::hottest(std::uint64_t least_score, std::size_t skip,
                                                   std::size_t most) const {
  struct Ranked {
    double raw;
    std::uint32_t slot;
  };
  std::vector<Ranked> ranked;
  for_each_candidate([&](std::uint32_t slot) {
    const std::uint64_t score = buckets_[slot / kWays].scores[slot % kWays];
    if (score >= least_score) {
      ranked.push_back({.raw = count_of(score).raw, .slot = slot});
    }
  });
  const auto is_before = [this](const Ranked& left, const Ranked& right) {
    return left.raw != right.raw ? left.raw > right.raw : entry_of(left.slot).key < entry_of(right.slot).key;
  };
  const auto page = std::span(ranked).subspan(std::min(skip, ranked.size()));
  const auto listed = page.first(std::min(most, page.size()));
  if (skip != 0 && !listed.empty()) {
    std::nth_element(ranked.begin(), ranked.end() - static_cast<std::ptrdiff_t>(page.size()), ranked.end(), is_before);
  }
  std::partial_sort(page.begin(), page.begin() + static_cast<std::ptrdiff_t>(listed.size()), page.end(), is_before);
  std::vector<Entry> entries;
  entries.reserve(listed.size());
  std::ranges::transform(listed, std::back_inserter(entries), [this](const Ranked& at) { return entry_of(at.slot); });
  return entries;
}

std::vector<DecayedTop::Entry> DecayedTop::top(std::size_t most, std::size_t skip) const {
  return hottest(1, skip, most);
}

std::vector<DecayedTop::Entry> DecayedTop::above(double min_raw) const {
  const double score = std::ceil(min_raw * static_cast<double>(kOneScore));
  if (score > static_cast<double>(kMostScore)) {
    return {};
  }
  return hottest(score > 1 ? static_cast<std::uint64_t>(score) : 1, 0, std::numeric_limits<std::size_t>::max());
}

// ---- the table

// Puts a key into the table if it is hotter than the coldest of its places.
bool DecayedTop::offer(const Candidate& candidate) noexcept {
  if (candidate.score <= ledger_->bar) {
    return false;
  }
  const std::uint32_t index = bucket_index(candidate.digest);
  const Bucket& bucket = buckets_[index];
  const auto coldest = std::ranges::min_element(bucket.scores);
  const auto way = static_cast<std::uint32_t>(coldest - bucket.scores.begin());
  if (candidate.score <= *coldest) {
    return false;
  }
  const std::uint32_t slot = index * kWays + way;
  if (bucket.records[way] != 0) {
    evict(slot);
  }
  place(slot, candidate);
  return true;
}

void DecayedTop::place(std::uint32_t slot, const Candidate& candidate) noexcept {
  const std::uint64_t units = record_units(candidate.key.size());
  if (ledger_->arena_used + units > arena_units_) {
    make_room(units);
  }
  const std::uint64_t unit = ledger_->arena_used;
  std::uint64_t* const record = arena_ + unit;
  record[units - 1] = 0;
  const std::uint64_t header = slot | std::uint64_t{static_cast<std::uint32_t>(candidate.key.size()) | candidate.flags}
                                          << kUpperHalf;
  std::memcpy(record, &header, sizeof(header));
  std::memcpy(record + 1, candidate.key.data(), candidate.key.size());
  ledger_->arena_used += units;
  live_units_ += units;
  Bucket& bucket = buckets_[slot / kWays];
  const std::uint32_t way = slot % kWays;
  bucket.digests[way] = candidate.digest.value;
  bucket.scores[way] = std::min(candidate.score, kMostScore);
  bucket.last_seen[way] = candidate.last_seen;
  bucket.records[way] = static_cast<std::uint32_t>(unit + 1);
}

void DecayedTop::evict(std::uint32_t slot) noexcept {
  Bucket& bucket = buckets_[slot / kWays];
  const std::uint32_t way = slot % kWays;
  live_units_ -= record_units(record_at(bucket.records[way] - 1).length);
  raise({bucket.digests[way]}, units_of(bucket.scores[way]));
  bucket.digests[way] = 0;
  bucket.scores[way] = 0;
  bucket.last_seen[way] = 0;
  bucket.records[way] = 0;
}

// ---- the arena

DecayedTop::Record DecayedTop::record_at(std::uint64_t unit) const noexcept {
  const std::uint64_t header = arena_[unit];
  const auto upper = static_cast<std::uint32_t>(header >> kUpperHalf);
  return {.slot = static_cast<std::uint32_t>(header), .length = upper & kLengthMask, .flags = upper & ~kLengthMask};
}

bool DecayedTop::is_live(const Record& record, std::uint64_t unit) const noexcept {
  return record.slot < bucket_count_ * kWays && buckets_[record.slot / kWays].records[record.slot % kWays] == unit + 1;
}

void DecayedTop::make_room(std::uint64_t units) noexcept {
  // An eighth is kept free, so that the next compaction is that far away.
  const std::uint64_t most_live = arena_units_ - arena_units_ / kArenaShare;
  if (live_units_ + units > most_live) {
    evict_coldest(live_units_ + units - most_live + arena_units_ / kArenaShare);
  }
  compact();
}

namespace {

// Scores in 512 classes, the colder the lower: the highest bit's place and the three bits behind it.
constexpr unsigned kClassBits = 3;
constexpr std::size_t kClasses = std::size_t{64} << kClassBits;

constexpr std::size_t class_of(std::uint64_t score) noexcept {
  const auto width = static_cast<unsigned>(std::bit_width(score));
  return width <= kClassBits ? score
                             : (std::size_t{width - kClassBits} << kClassBits) + (score >> (width - kClassBits - 1)) -
                                   (std::size_t{1} << kClassBits);
}

}  // namespace

// Throws out so many units of records, coldest first to within an eighth of their scores, older ones first.
void DecayedTop::evict_coldest(std::uint64_t units) noexcept {
  std::array<std::uint64_t, kClasses> units_of_class{};
  const auto score_at_slot = [this](std::uint32_t slot) { return buckets_[slot / kWays].scores[slot % kWays]; };
  const auto walk = [this](const auto& use) {
    for (std::uint64_t unit = 0; unit < ledger_->arena_used;) {
      const Record record = record_at(unit);
      const std::uint64_t size = record_units(record.length);
      if (is_live(record, unit)) {
        use(record.slot, size);
      }
      unit += size;
    }
  };
  walk([&](std::uint32_t slot, std::uint64_t size) { units_of_class[class_of(score_at_slot(slot))] += size; });
  std::size_t last = 0;
  for (std::uint64_t colder = 0; last + 1 < kClasses; ++last) {
    colder += units_of_class[last];
    if (colder >= units) {
      break;
    }
  }
  std::uint64_t freed = 0;
  std::uint64_t highest = 0;
  for (std::size_t i = 0; i < last; ++i) {
    freed += units_of_class[i];
  }
  walk([&](std::uint32_t slot, std::uint64_t size) {
    const std::uint64_t score = score_at_slot(slot);
    const std::size_t its_class = class_of(score);
    if (its_class > last || (its_class == last && freed >= units)) {
      return;
    }
    freed += its_class == last ? size : 0;
    highest = std::max(highest, score);
    evict(slot);
  });
  ledger_->bar = std::max(ledger_->bar, highest);
}

// Moves the live records down over the dead ones.
void DecayedTop::compact() noexcept {
  std::uint64_t to = 0;
  for (std::uint64_t unit = 0; unit < ledger_->arena_used;) {
    const Record record = record_at(unit);
    const std::uint64_t size = record_units(record.length);
    if (is_live(record, unit)) {
      std::memmove(arena_ + to, arena_ + unit, size * kUnitBytes);
      buckets_[record.slot / kWays].records[record.slot % kWays] = static_cast<std::uint32_t>(to + 1);
      to += size;
    }
    unit += size;
  }
  std::fill(arena_ + to, arena_ + ledger_->arena_used, 0);
  ledger_->arena_used = to;
}

// ---- two filters

void DecayedTop::clear() noexcept {
  const Tick stays = tick();
  FilterBase::clear();
  live_units_ = 0;
  take_tick(stays);
}

DecayedTop::Candidate DecayedTop::candidate_at(std::uint32_t slot) const noexcept {
  const Bucket& bucket = buckets_[slot / kWays];
  const std::uint32_t way = slot % kWays;
  return {.digest = {bucket.digests[way]},
          .key = entry_of(slot).key,
          .score = bucket.scores[way],
          .last_seen = bucket.last_seen[way],
          .flags = record_at(bucket.records[way] - 1).flags};
}

// Adds to a key of the table what another filter has of it.
void DecayedTop::add_theirs(std::uint32_t slot, const DecayedTop& other) noexcept {
  Bucket& bucket = buckets_[slot / kWays];
  const std::uint32_t way = slot % kWays;
  const Digest digest{bucket.digests[way]};
  const std::uint32_t index = bucket_index(digest);
  const std::uint32_t their_way = find(other.buckets_[index], digest);
  const bool is_theirs = their_way != kNoWay;
  const std::uint64_t theirs =
      is_theirs ? other.buckets_[index].scores[their_way] : score_of(other.sketch_.smallest(digest));
  add_to_score(bucket.scores[way], theirs);
  if (is_theirs) {
    bucket.last_seen[way] = std::max(bucket.last_seen[way], other.buckets_[index].last_seen[their_way]);
  }
}

Result<void> DecayedTop::merge(const DecayedTop& other) {
  MANKAI_TRY(check_mergeable(other));
  if (keys_tag() != 0 && other.keys_tag() != 0 && keys_tag() != other.keys_tag()) {
    return fail(ErrorCode::invalid_argument,
                "the filters count keys of different sorts, such as paths and hosts; merge those of one sort");
  }
  MANKAI_ASSIGN(auto copied, from_bytes(other.to_bytes(), Trust::fast));
  const Tick later = std::max(tick(), other.tick());
  advance(later);
  copied.advance(later);
  // Each table learns what the other filter knows of its keys while the sketches are still apart.
  const auto is_mine = [this](Digest digest) { return find(buckets_[bucket_index(digest)], digest) != kNoWay; };
  copied.for_each_candidate([&](std::uint32_t slot) {
    if (!is_mine(copied.candidate_at(slot).digest)) {
      copied.add_theirs(slot, *this);
    }
  });
  for_each_candidate([&](std::uint32_t slot) { add_theirs(slot, copied); });
  ledger_->cut = ledger_->cut.with(copied.ledger_->cut);
  image().set_state(kSaturations, add_counts(saturations(), copied.saturations()));
  if (const std::uint64_t cut = sketch_.merge(copied.sketch_.words()); cut != 0) {
    count_saturations(cut, sketch_.largest());
  }
  image().set_state(kNewest, std::max(image().state(kNewest), copied.image().state(kNewest)));
  ledger_->late_records = add_counts(ledger_->late_records, copied.late_records());
  ledger_->bar = std::max(ledger_->bar, copied.ledger_->bar);
  image().add_keys(copied.keys_inserted());
  copied.for_each_candidate([&](std::uint32_t slot) {
    const Candidate candidate = copied.candidate_at(slot);
    // A key of both has been added to; that it may have been thrown out since changes nothing about its cells.
    if (!is_mine(candidate.digest) && !offer(candidate)) {
      raise(candidate.digest, units_of(candidate.score));
    }
  });
  return {};
}

double DecayedTop::lines_per_key() const noexcept {
  // The digests, scores and times of a bucket.
  constexpr double kTableLines = 4;
  return kTableLines + probes_per_key();
}

double DecayedTop::fill_ratio() const noexcept {
  std::uint64_t filled = 0;
  for (std::uint32_t probe = 0; probe < probes_per_key(); ++probe) {
    filled += sketch_.count_left(probe);
  }
  return static_cast<double>(filled) / static_cast<double>(cell_count());
}

double DecayedTop::keys_estimate() const noexcept {
  return estimate_keys(fill_ratio(), static_cast<double>(sketch_.shape().cells_per_probe), 1) +
         static_cast<double>(candidates());
}

double DecayedTop::fpr_estimate() const noexcept {
  double rate = 1;
  for (std::uint32_t probe = 0; probe < probes_per_key(); ++probe) {
    rate *= static_cast<double>(sketch_.count_left(probe)) / static_cast<double>(sketch_.shape().cells_per_probe);
  }
  return rate;
}

// ---- images from outside

namespace {

Result<void> check_params(const Params& params) {
  if (params.lambda_q32 > kLambdaOne) {
    return fail(ErrorCode::corrupt, "lambda at offset 64 is above 1");
  }
  if (params.epoch_us == 0 || params.epoch_us > static_cast<std::uint64_t>(Duration::max().count())) {
    return fail(ErrorCode::corrupt, "epoch of " + std::to_string(params.epoch_us) + " microseconds at offset 72");
  }
  if (params.buckets == 0 || params.buckets > kMostBuckets || params.key_units == 0 ||
      arena_units_of(params) > kMostArenaUnits) {
    return fail(ErrorCode::corrupt, std::to_string(params.buckets) + " buckets at offset 80, " +
                                        std::to_string(params.key_units) + " units per key at offset 86");
  }
  if (params.k == 0 || params.k > kernel::kMaxProbes) {
    return fail(ErrorCode::corrupt, "k of " + std::to_string(params.k) + " at offset 84");
  }
  if (params.fraction_bits > kMostFractionBits || params.fraction_bits != fraction_bits_for(params.lambda_q32)) {
    return fail(ErrorCode::corrupt,
                std::to_string(params.fraction_bits) + " fraction bits at offset 85 do not go with lambda");
  }
  if (params.score_bits != kScoreBits) {
    return fail(ErrorCode::corrupt, std::to_string(params.score_bits) + " bits behind a score's point at offset 87");
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
  DecayedTop filter(std::move(source),
                    {.params = params,
                     .cells_per_probe = (cells_bytes - beside) / line_cells_bytes(params) * kLineCells,
                     .arena_units = arena_units_of(params)});
  for (const auto check : {&DecayedTop::check_state, &DecayedTop::check_table, &DecayedTop::check_arena}) {
    MANKAI_TRY((filter.*check)());
  }
  filter.live_units_ = filter.count_live_units();
  return filter;
}

// An error about bytes of the cells, by their offset in the image.
std::unexpected<Error> DecayedTop::wrong_at(const void* place, const std::string& what) const {
  const auto offset = static_cast<const std::byte*>(place) - reinterpret_cast<const std::byte*>(&image().header());
  return fail(ErrorCode::corrupt, what + " at offset " + std::to_string(offset));
}

Result<void> DecayedTop::check_state() const {
  if (image().state(kTick) > kMaxTick) {
    return fail(ErrorCode::corrupt, "tick " + std::to_string(image().state(kTick)) + " at offset 96 is beyond time");
  }
  const std::uint64_t newest = image().state(kNewest);
  if (newest > static_cast<std::uint64_t>(Duration::max().count()) || tick_of(time_of(newest), epoch_) > tick()) {
    return fail(ErrorCode::corrupt, "newest event at offset 112 is later than the tick at offset 96");
  }
  if (ledger_->arena_used > arena_units_) {
    return wrong_at(&ledger_->arena_used, "more of the arena in use than there is");
  }
  if (ledger_->late_records > kMaxKeysInserted || saturations() > kMaxKeysInserted) {
    return wrong_at(&ledger_->late_records, "a count at offset 104 or of late events is too large");
  }
  if (ledger_->bar > kMostScore) {
    return wrong_at(&ledger_->bar, "a bar above all scores");
  }
  if (!ledger_->cut.is_possible(sketch_.largest())) {
    return wrong_at(&ledger_->cut, "impossible cut cells");
  }
  if (ledger_->zeros != decltype(ledger_->zeros){}) {
    return wrong_at(&ledger_->zeros, "reserved bytes are not zero");
  }
  return {};
}

Result<void> DecayedTop::check_slot(std::uint32_t slot) const {
  const Bucket& bucket = buckets_[slot / kWays];
  const std::uint32_t way = slot % kWays;
  const Digest digest{bucket.digests[way]};
  if (bucket.records[way] == 0) {
    const bool is_zero = digest.value == 0 && bucket.scores[way] == 0 && bucket.last_seen[way] == 0;
    return is_zero ? Result<void>{} : wrong_at(&bucket.digests[way], "an empty place that is not zero");
  }
  if (bucket_index(digest) != slot / kWays || find(bucket, digest) != way) {
    return wrong_at(&bucket.digests[way], "a digest that does not belong there, or twice");
  }
  if (bucket.scores[way] > kMostScore) {
    return wrong_at(&bucket.scores[way], "a score that is too large");
  }
  if (bucket.last_seen[way] > image().state(kNewest)) {
    return wrong_at(&bucket.last_seen[way], "a time later than the newest event");
  }
  return {};
}

Result<void> DecayedTop::check_table() const {
  for (std::uint32_t slot = 0; slot < bucket_count_ * kWays; ++slot) {
    MANKAI_TRY(check_slot(slot));
  }
  return {};
}

Result<void> DecayedTop::check_record(std::uint64_t unit) const {
  const Record record = record_at(unit);
  const bool is_cut = (record.flags & kCut) != 0;
  if (record.slot >= bucket_count_ * kWays || record.length > most_key_bytes_ || (record.flags & ~kCut) != 0 ||
      (is_cut && record.length != most_key_bytes_) || record_units(record.length) > ledger_->arena_used - unit) {
    return wrong_at(arena_ + unit, "an impossible key");
  }
  if (is_live(record, unit) && !is_cut) {
    const std::string_view key(reinterpret_cast<const char*>(arena_ + unit + 1), record.length);
    if (hasher()(key).value != buckets_[record.slot / kWays].digests[record.slot % kWays]) {
      return wrong_at(arena_ + unit, "a key of another digest");
    }
  }
  return {};
}

// Every place has one record, since no two live ones name the same.
Result<void> DecayedTop::check_arena() const {
  std::uint64_t live = 0;
  for (std::uint64_t unit = 0; unit < ledger_->arena_used;) {
    MANKAI_TRY(check_record(unit));
    const Record record = record_at(unit);
    live += static_cast<std::uint64_t>(is_live(record, unit));
    unit += record_units(record.length);
  }
  if (live != candidates()) {
    return wrong_at(buckets_,
                    std::to_string(candidates()) + " keys in the table and " + std::to_string(live) + " in the arena");
  }
  const auto free = std::span(arena_, arena_units_).subspan(ledger_->arena_used);
  if (std::ranges::any_of(free, [](std::uint64_t word) { return word != 0; })) {
    return wrong_at(free.data(), "bytes behind the last key are not zero");
  }
  return {};
}

std::uint64_t DecayedTop::count_live_units() const noexcept {
  std::uint64_t units = 0;
  for_each_candidate([&](std::uint32_t slot) { units += record_units(entry_of(slot).key.size()); });
  return units;
}

}  // namespace mankai
