#include "mankai/filter/time_decaying_pooled_counts/time_decaying_pooled_counts.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <string>
#include <utility>

#include "mankai/base/bits.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/scan_ops.hpp"

namespace mankai {
namespace {

using Params = TimeDecayingPooledCounts::Params;
using Options = TimeDecayingPooledCounts::Options;

constexpr double kMostShare = pool::kMaxExtraDigits;
constexpr std::uint64_t kWordBits = 64;
constexpr std::uint32_t kLargestCount = ~std::uint32_t{0};
// Growing by half copies each digit about three times in all.
constexpr std::uint64_t kLeastGrowth = 64;

std::uint8_t number(bool flag) noexcept { return static_cast<std::uint8_t>(flag); }

Result<void> check_choices(const Options& options) {
  MANKAI_TRY(check_decay(options.decay));
  if (options.policy != DecayPolicy::floor && options.policy != DecayPolicy::ceil) {
    return fail(ErrorCode::invalid_argument,
                "pooled counts are whole numbers: give the policy floor or ceil, or take time-decaying-counts");
  }
  if (!(options.pool_share >= 0 && options.pool_share <= kMostShare)) {
    return fail(ErrorCode::invalid_argument,
                "a pool share of " + std::to_string(options.pool_share) + " digits a counter: give 0 to 7");
  }
  return {};
}

std::uint64_t pool_words_for(PoolLookup lookup, const pool::Shape& shape) noexcept {
  switch (lookup) {
    case PoolLookup::links: return pool::DigitLists::words_for(shape, pool::DigitLists::Heads::shared);
    case PoolLookup::array: return pool::DigitLists::words_for(shape, pool::DigitLists::Heads::each);
    default: return pool::DigitTable::words_for(shape);
  }
}

Result<void> check_enums(const Params& params) {
  const bool is_known = params.lookup <= static_cast<std::uint8_t>(PoolLookup::array) &&
                        params.overflow <= static_cast<std::uint8_t>(OverflowRule::all) &&
                        params.when_empty <= static_cast<std::uint8_t>(EmptyPool::saturate) &&
                        (params.policy == static_cast<std::uint8_t>(DecayPolicy::floor) ||
                         params.policy == static_cast<std::uint8_t>(DecayPolicy::ceil));
  if (!is_known) {
    return fail(ErrorCode::unsupported_version,
                "a policy, lookup or rule at offset 81 of a later library: use a newer one");
  }
  return {};
}

Result<void> check_params(const Params& params) {
  MANKAI_TRY(check_stored_decay(params.lambda_q32, params.epoch_us));
  if (params.k == 0 || params.k > kernel::kMaxProbes) {
    return fail(ErrorCode::corrupt, "k of " + std::to_string(params.k) + " at offset 80 is not 1 to 64");
  }
  MANKAI_TRY(check_enums(params));
  if (params.has_gate > 1 || params.reserved != 0) {
    return fail(ErrorCode::corrupt, "flag or reserved bytes at offset 85 are impossible");
  }
  return {};
}

// Whether one more needs another digit.
bool is_at_ceiling(std::uint64_t high) noexcept { return pool::digits_of(high + 1) > pool::digits_of(high); }

// The gate has its own k positions per key: with the counters' positions it would add no information.
probes::CellSequence gate_positions(Digest digest) noexcept {
  return probes::CellSequence(Digest{probes::remix(digest)});
}

}  // namespace

TimeDecayingPooledCounts::TimeDecayingPooledCounts(Image source) noexcept : DecayingCounts(std::move(source)) {
  const Params stored = params();
  k_ = stored.k;
  lookup_ = static_cast<PoolLookup>(stored.lookup);
  overflow_ = static_cast<OverflowRule>(stored.overflow);
  when_empty_ = static_cast<EmptyPool>(stored.when_empty);
  has_gate_ = stored.has_gate != 0;
  find_parts();
}

TimeDecayingPooledCounts::Layout TimeDecayingPooledCounts::layout_of(const Params& params,
                                                                     std::uint64_t cells_per_probe,
                                                                     std::uint64_t pool_digits) noexcept {
  const std::uint64_t counters = cells_per_probe * params.k;
  Layout layout;
  layout.gate = sizeof(Head) / sizeof(std::uint64_t) + pool::FirstDigits::words_for(counters);
  layout.pool = layout.gate + (params.has_gate != 0 ? divide_up(counters, kWordBits) : 0);
  layout.end = layout.pool +
               pool_words_for(static_cast<PoolLookup>(params.lookup), {.counters = counters, .digits = pool_digits});
  return layout;
}

void TimeDecayingPooledCounts::find_parts() noexcept {
  const Params stored = params();
  cells_per_probe_ = head().cells_per_probe;
  const Layout layout = layout_of(stored, cells_per_probe_, head().pool_digits);
  std::uint64_t* words = image().words().data();
  const pool::Shape shape{.counters = cell_count(), .digits = head().pool_digits};
  first_ = pool::FirstDigits(words + sizeof(Head) / sizeof(std::uint64_t), cell_count());
  gate_ = words + layout.gate;
  if (lookup_ == PoolLookup::hash) {
    pool_ = pool::DigitTable(words + layout.pool, shape, &head().ledger);
  } else {
    const auto heads = lookup_ == PoolLookup::array ? pool::DigitLists::Heads::each : pool::DigitLists::Heads::shared;
    pool_ = pool::DigitLists(words + layout.pool, shape, heads, &head().ledger);
  }
}

Result<Image> TimeDecayingPooledCounts::make_image(const FilterSettings& settings, const Params& params,
                                                   std::uint64_t cells_per_probe, std::uint64_t pool_digits,
                                                   const Memory& memory) {
  FilterSettings sized = settings;
  const Layout layout = layout_of(params, cells_per_probe, pool_digits);
  sized.cells_bytes = align_up<std::uint64_t>(layout.end * sizeof(std::uint64_t), kCacheLineBytes);
  auto image = Image::create(kKind, sized, memory);
  if (image) {
    image->set_params(params);
    image->words()[0] = cells_per_probe;
    image->words()[1] = pool_digits;
  }
  return image;
}

Result<TimeDecayingPooledCounts> TimeDecayingPooledCounts::create(const Options& options) {
  MANKAI_TRY(check_choices(options));
  MANKAI_ASSIGN(
      const auto size,
      counters_size({.keys = options.keys, .fpr = options.fpr, .counters = options.counters, .k = options.k}));
  if (size.cells_per_probe > pool::kMaxCounters / size.k) {
    return fail(ErrorCode::invalid_argument,
                "more than 2^31 counters; ask for fewer keys or a higher false positive rate");
  }
  const std::uint64_t counters = size.cells_per_probe * size.k;
  const auto share = static_cast<std::uint64_t>(std::ceil(options.pool_share * static_cast<double>(counters)));
  const Params params{.lambda_q32 = options.decay.lambda_q32,
                      .epoch_us = static_cast<std::uint64_t>(options.decay.epoch.count()),
                      .k = static_cast<std::uint8_t>(size.k),
                      .policy = static_cast<std::uint8_t>(options.policy),
                      .lookup = static_cast<std::uint8_t>(options.lookup),
                      .overflow = static_cast<std::uint8_t>(options.overflow),
                      .when_empty = static_cast<std::uint8_t>(options.when_empty),
                      .has_gate = number(options.gate),
                      .reserved = 0};
  MANKAI_ASSIGN(auto image, make_image({.capacity_keys = size.keys, .fpr_target = options.fpr, .hash = options.hash},
                                       params, size.cells_per_probe,
                                       std::clamp<std::uint64_t>(share, 1, pool::kMaxDigits), options.memory));
  TimeDecayingPooledCounts filter(std::move(image));
  filter.memory_ = options.memory;
  return filter;
}

Result<TimeDecayingPooledCounts> TimeDecayingPooledCounts::create_like(const Memory& memory) const {
  MANKAI_ASSIGN(auto image, make_image({.capacity_keys = capacity_keys(), .fpr_target = fpr_target(), .hash = hash()},
                                       params(), cells_per_probe_, head().pool_digits, memory));
  TimeDecayingPooledCounts filter(std::move(image));
  filter.set_canonical_version(canonical_version());
  filter.memory_ = memory;
  return filter;
}

// Bounds the sizes before adding them: hostile ones must not overflow to a match.
Result<void> TimeDecayingPooledCounts::check_head(const Image& image) {
  const auto params = image.params<Params>();
  const auto& head = *reinterpret_cast<const Head*>(image.words().data());
  if (head.cells_per_probe == 0 || head.cells_per_probe > pool::kMaxCounters / params.k) {
    return fail(ErrorCode::corrupt,
                "impossible number of counters " + std::to_string(head.cells_per_probe) + " at offset 128");
  }
  const bool is_possible = head.pool_digits != 0 && head.pool_digits <= pool::kMaxDigits;
  const std::uint64_t words = is_possible ? layout_of(params, head.cells_per_probe, head.pool_digits).end : 0;
  if (align_up<std::uint64_t>(words * sizeof(std::uint64_t), kCacheLineBytes) != image.header().cells_bytes) {
    return fail(ErrorCode::corrupt, std::to_string(head.pool_digits) + " digits at offset 136 do not fill the cells");
  }
  if (!is_zero(head.reserved)) {
    return fail(ErrorCode::corrupt, "reserved bytes at offset 168 are not zero");
  }
  return {};
}

Result<void> TimeDecayingPooledCounts::check_cells() const {
  const Layout layout = layout_of(params(), cells_per_probe_, head().pool_digits);
  const auto words = image().words();
  const auto offset_of = [](std::uint64_t word) { return sizeof(ImageHeader) + word * sizeof(std::uint64_t); };
  const unsigned gate_rest = cell_count() % kWordBits;
  const bool is_gate_zero = !has_gate_ || gate_rest == 0 || words[layout.pool - 1] >> gate_rest == 0;
  if (!first_.is_tail_zero() || !is_gate_zero || !is_zero(words.subspan(layout.end))) {
    return fail(ErrorCode::corrupt, "bits after the last counter before offset " +
                                        std::to_string(offset_of(layout.pool)) + " or the last digit are not zero");
  }
  return std::visit([&](const auto& pool) { return pool.check(offset_of(layout.pool)); }, pool_);
}

Result<TimeDecayingPooledCounts> TimeDecayingPooledCounts::from_image(Image source) {
  MANKAI_TRY(check_kind(source, kKind, sizeof(Params) / sizeof(std::uint64_t), DecayState::kWords));
  MANKAI_TRY(check_params(source.params<Params>()));
  MANKAI_TRY(check_head(source));
  MANKAI_TRY(check_decay_state(source, kLargestCount));
  TimeDecayingPooledCounts filter(std::move(source));
  MANKAI_TRY(filter.check_cells());
  return filter;
}

void TimeDecayingPooledCounts::decay_cells(std::uint64_t /*now*/, std::uint64_t epochs) noexcept {
  const WholeDecay decay{.lambda_q32 = params().lambda_q32, .rounds_up = policy() == DecayPolicy::ceil};
  if (decay.lambda_q32 == kLambdaOne) {
    return;
  }
  const pool::Fading fading(decay, epochs);
  std::visit([&](auto& pool) { pool.fade(first_, fading); }, pool_);
  const auto oldest = static_cast<std::uint32_t>(fading(cut_cells().oldest));
  set_cut_cells(cut_cells().faded(oldest, decay.lambda_q32, epochs));
}

template <class Visit>
void TimeDecayingPooledCounts::for_each_counter(Digest digest, const Visit& visit) const {
  probes::CellSequence cells(digest);
  std::uint64_t start = 0;
  for (std::uint32_t probe = 0; probe < k_; ++probe) {
    visit(start + cells.next(cells_per_probe_));
    start += cells_per_probe_;
  }
}

std::uint64_t TimeDecayingPooledCounts::high(std::uint64_t counter) const noexcept {
  return std::visit([counter](const auto& pool) { return pool.high(counter); }, pool_);
}

std::uint64_t TimeDecayingPooledCounts::smallest_counter(Digest digest) const noexcept {
  std::uint64_t smallest = ~std::uint64_t{0};
  for_each_counter(digest, [&](std::uint64_t counter) {
    // Extra digits only raise a counter above its first digit.
    if (const std::uint64_t first = first_[counter]; first < smallest) {
      smallest = std::min(smallest, high(counter) << pool::kDigitBits | first);
    }
  });
  return smallest;
}

std::uint64_t TimeDecayingPooledCounts::smallest(Digest digest) const noexcept {
  return has_gate_ && !passes_gate(digest) ? 0 : smallest_counter(digest);
}

bool TimeDecayingPooledCounts::passes_gate(Digest digest) const noexcept {
  probes::CellSequence bits = gate_positions(digest);
  for (std::uint32_t probe = 0; probe < k_; ++probe) {
    const std::uint64_t bit = bits.next(cell_count());
    if ((gate_[bit / kWordBits] >> (bit % kWordBits) & 1) == 0) {
      return false;
    }
  }
  return true;
}

void TimeDecayingPooledCounts::open_gate(Digest digest) noexcept {
  probes::CellSequence bits = gate_positions(digest);
  for (std::uint32_t probe = 0; probe < k_; ++probe) {
    const std::uint64_t bit = bits.next(cell_count());
    gate_[bit / kWordBits] |= std::uint64_t{1} << (bit % kWordBits);
  }
}

TimeDecayingPooledCounts::Carries TimeDecayingPooledCounts::find_carries(Digest digest) const noexcept {
  Carries carries;
  for_each_counter(digest, [&](std::uint64_t counter) {
    if (first_[counter] == pool::kLargestDigit) {
      carries.counters[carries.count++] = counter;
    }
  });
  if (carries.count == 0) {
    return carries;
  }
  const std::uint64_t smallest = overflow_ == OverflowRule::all ? smallest_counter(digest) : ~std::uint64_t{0};
  const unsigned full = std::exchange(carries.count, 0);
  for (unsigned i = 0; i < full; ++i) {
    const std::uint64_t counter = carries.counters[i];
    const std::uint64_t digits = high(counter);
    if (is_at_ceiling(digits)) {
      if (smallest < (digits << pool::kDigitBits | pool::kLargestDigit)) {
        continue;
      }
      carries.digits += pool::digits_of(digits) < pool::kMaxExtraDigits ? 1 : 0;
    }
    carries.counters[carries.count] = counter;
    carries.highs[carries.count++] = digits;
  }
  return carries;
}

void TimeDecayingPooledCounts::count_cut(std::uint64_t counter_value) noexcept {
  add_saturations(1);
  set_cut_cells(cut_cells().with(CutCells::one(static_cast<std::uint32_t>(counter_value), 1)));
}

void TimeDecayingPooledCounts::carry(std::uint64_t counter, std::uint64_t high) noexcept {
  const bool has_room = std::visit([](const auto& pool) { return pool.has_room(1); }, pool_);
  if (is_at_ceiling(high) && (!has_room || pool::digits_of(high) == pool::kMaxExtraDigits)) {
    count_cut(high << pool::kDigitBits | pool::kLargestDigit);
    return;
  }
  std::visit([&](auto& pool) { pool.raise(counter, high + 1); }, pool_);
  first_.set(counter, 0);
}

void TimeDecayingPooledCounts::make_room(unsigned digits) {
  if (std::visit([digits](const auto& pool) { return pool.has_room(digits); }, pool_)) {
    return;
  }
  const std::uint64_t counters = cell_count();
  // The most digits that all counters can use.
  const std::uint64_t most = std::min(pool::kMaxDigits, counters * pool::kMaxExtraDigits);
  for (std::uint64_t size = head().pool_digits; size < most;) {
    size = std::min(most, size + std::max(size / 2, kLeastGrowth));
    const pool::Shape shape{.counters = counters, .digits = size};
    if (std::visit([&](const auto& pool) { return pool.fits(shape, digits); }, pool_)) {
      grow(size);
      return;
    }
  }
}

void TimeDecayingPooledCounts::grow(std::uint64_t pool_digits) {
  auto made = make_image({.capacity_keys = capacity_keys(), .fpr_target = fpr_target(), .hash = hash()}, params(),
                         cells_per_probe_, pool_digits, memory_);
  if (!made) {
    throw std::bad_alloc();
  }
  made->header().canonical_version = canonical_version();
  made->header().kind_state = image().header().kind_state;
  made->set_keys_inserted(keys_inserted());
  constexpr std::uint64_t kStart = sizeof(Head) / sizeof(std::uint64_t);
  std::copy_n(first_.words(), layout_of(params(), cells_per_probe_, pool_digits).pool - kStart,
              made->words().data() + kStart);
  // The old image lives until its digits have been copied.
  const Image old = std::exchange(image(), std::move(*made));
  const auto from = pool_;
  find_parts();
  std::visit(
      [](const auto& before, auto& after) {
        before.for_each([&after](std::uint64_t counter, std::uint64_t high) { after.raise(counter, high); });
      },
      from, pool_);
}

void TimeDecayingPooledCounts::insert(Digest digest) {
  const Carries carries = find_carries(digest);
  if (carries.digits != 0 && when_empty_ == EmptyPool::grow) {
    make_room(carries.digits);
  }
  for_each_counter(digest, [this](std::uint64_t counter) {
    if (first_[counter] != pool::kLargestDigit) {
      first_.increment(counter);
    }
  });
  for (unsigned i = 0; i < carries.count; ++i) {
    carry(carries.counters[i], carries.highs[i]);
  }
  if (has_gate_) {
    open_gate(digest);
  }
  image().add_keys(1);
}

void TimeDecayingPooledCounts::prefetch(Digest digest) const noexcept {
  for_each_counter(digest, [this](std::uint64_t counter) { first_.prefetch(counter); });
}

template class SingleCallFilter<TimeDecayingPooledCounts>;

void TimeDecayingPooledCounts::clear() noexcept {
  const std::uint64_t digits = head().pool_digits;
  DecayingCounts::clear();
  head().cells_per_probe = cells_per_probe_;
  head().pool_digits = digits;
}

TimeDecayingPooledCounts::Use TimeDecayingPooledCounts::use() const noexcept {
  constexpr std::uint64_t kByteBits = 8;
  const pool::Bits bits = std::visit([](const auto& pool) { return pool.bits(); }, pool_);
  const pool::Ledger& ledger = head().ledger;
  return {.counters_bytes = pool::FirstDigits::words_for(cell_count()) * sizeof(std::uint64_t),
          .gate_bytes = has_gate_ ? divide_up(cell_count(), kWordBits) * sizeof(std::uint64_t) : 0,
          .digits_bytes = divide_up(bits.digits, kByteBits),
          .lookup_bytes = divide_up(bits.lookup, kByteBits),
          .digits_bytes_used = divide_up(bits.digits_used, kByteBits),
          .lookup_bytes_used = divide_up(bits.lookup_used, kByteBits),
          .digits = head().pool_digits,
          .digits_in_use = ledger.in_use,
          .digits_peak = ledger.peak};
}

PartitionFill TimeDecayingPooledCounts::partitions() const noexcept {
  PartitionFill fill{.size = {.cells_per_probe = cells_per_probe_, .k = k_}};
  for (std::uint32_t probe = 0; probe < k_; ++probe) {
    fill.used[probe] = kernel::count_nonzero(first_.words(), probe * cells_per_probe_, cells_per_probe_);
  }
  std::visit(
      [&](const auto& pool) {
        pool.for_each([&](std::uint64_t counter, std::uint64_t) {
          fill.used[counter / cells_per_probe_] += first_[counter] == 0 ? 1 : 0;
        });
      },
      pool_);
  return fill;
}

double TimeDecayingPooledCounts::fpr_estimate() const noexcept {
  double product = DecayingCounts::fpr_estimate();
  if (has_gate_) {
    std::uint64_t open = 0;
    for (const std::uint64_t word : std::span(gate_, divide_up(cell_count(), kWordBits))) {
      open += static_cast<std::uint64_t>(std::popcount(word));
    }
    product *= std::pow(static_cast<double>(open) / static_cast<double>(cell_count()), k_);
  }
  return product;
}

}  // namespace mankai
