#include "mankai/filter/counting_bloom/counting_bloom.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/filter/parts/hash_windows.hpp"
#include "mankai/filter/parts/sizing.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/bloom_ops.hpp"
#include "mankai/kernel/count_ops_reference.hpp"
#include "mankai/kernel/scan_ops.hpp"

namespace mankai {
namespace {

using Params = CountingBloom::Params;

constexpr std::uint64_t kByteCounters = 2;
constexpr std::byte kFirstCounter{0x0f};
constexpr std::uint64_t kBlockBytes = probes::kBlockBits / 8;

// The kernels' results, 0 or 1, are reinterpreted as EraseResult.
static_assert(static_cast<std::uint8_t>(EraseResult::erased) == 0);
static_assert(static_cast<std::uint8_t>(EraseResult::absent) == 1);

constexpr std::uint32_t number(CountingLayout layout) noexcept { return static_cast<std::uint32_t>(layout); }

Result<void> check_k(const CountingBloom::Options& options) {
  const bool is_free = options.k == 0 || options.layout == CountingLayout::partitioned;
  const bool is_blocks = options.layout == CountingLayout::blocked && options.k == probes::kBlockLanes;
  if (is_free || is_blocks) {
    return {};
  }
  const bool is_blocked = options.layout == CountingLayout::blocked;
  return fail(ErrorCode::invalid_argument,
              "k of " + std::to_string(options.k) + ", but the " + std::string(name(options.layout)) + " layout has " +
                  (is_blocked ? "8 counters per key" : "a number of counters per key that follows from its rate") +
                  "; leave k out, or take the partitioned layout");
}

Result<Params> size_for(const CountingBloom::Options& options) {
  const SizeRequest request{.keys = options.keys, .fpr = options.fpr};
  MANKAI_TRY(check_k(options));
  if (options.layout != CountingLayout::blocked) {
    MANKAI_ASSIGN(const auto size, options.layout == CountingLayout::partitioned ? partitioned_size(request, options.k)
                                                                                 : dablooms_size(request));
    return Params{.size = size.cells_per_probe, .k = size.k, .layout = number(options.layout)};
  }
  MANKAI_ASSIGN(const auto blocks, counting_blocked_blocks(request));
  return Params{.size = blocks, .k = probes::kBlockLanes, .layout = number(CountingLayout::blocked)};
}

std::uint64_t cells_bytes_for(const Params& params) noexcept {
  if (params.layout == number(CountingLayout::blocked)) {
    return params.size * kBlockBytes;
  }
  return align_up(divide_up(params.size * params.k, kByteCounters), std::uint64_t{kCacheLineBytes});
}

Result<void> check_shape(const Params& params, std::uint64_t cells_bytes) {
  if (params.layout > number(CountingLayout::dablooms)) {
    return fail(ErrorCode::unsupported_version,
                "layout " + std::to_string(params.layout) + " at offset 76 of a later library: use a newer one");
  }
  const bool is_blocked = params.layout == number(CountingLayout::blocked);
  const bool is_stepped = params.layout == number(CountingLayout::dablooms);
  const std::uint32_t most_probes = is_stepped ? kMaxDabloomsProbes : kernel::kMaxProbes;
  if (params.k == 0 || params.k > most_probes || (is_blocked && params.k != probes::kBlockLanes)) {
    return fail(ErrorCode::corrupt, "k of " + std::to_string(params.k) + " at offset 72 does not go with the layout");
  }
  // Bounds the size first: a hostile one must not overflow to a match.
  const std::uint64_t most_cells = is_stepped ? kMaxDabloomsCells : kMaxImageBytes * kByteCounters;
  if (params.size == 0 || params.size > most_cells || cells_bytes_for(params) != cells_bytes) {
    return fail(ErrorCode::corrupt, std::to_string(params.size) + (is_blocked ? " blocks" : " counters per probe") +
                                        " at offset 64 do not fill the cells");
  }
  return {};
}

const kernel::CountOps& ops_of(CountingLayout layout) noexcept {
  switch (layout) {
    case CountingLayout::blocked: return kernel::blocked_count_ops();
    case CountingLayout::partitioned: return kernel::partitioned_count_ops();
    case CountingLayout::dablooms: break;
  }
  return kernel::stepped_count_ops();
}

// Calls `use(counters)` with the type of the layout's definition.
template <class Use>
auto with_counters(CountingLayout layout, const Use& use) noexcept {
  switch (layout) {
    case CountingLayout::blocked: return use(kernel::reference::BlockedCounters());
    case CountingLayout::partitioned: return use(kernel::reference::PartitionedCounters());
    case CountingLayout::dablooms: break;
  }
  return use(kernel::reference::SteppedCounters());
}

// Swaps the halves of a byte.
constexpr std::byte turned(std::byte byte) noexcept {
  return byte << probes::kCounterBits | byte >> probes::kCounterBits;
}

KeyCount count_of(std::uint32_t smallest) noexcept {
  return {.value = smallest, .is_saturated = smallest == kernel::kStuckCounter};
}

}  // namespace

CountingBloom::CountingBloom(Image source, const Params& params) noexcept
    : FlatFilter(std::move(source)),
      words_(image().words().data()),
      shape_{.size = params.size, .k = params.k},
      layout_(static_cast<CountingLayout>(params.layout)),
      ops_(&ops_of(layout_)) {}

Result<CountingBloom> CountingBloom::create(const Options& options) {
  MANKAI_ASSIGN(const auto params, size_for(options));
  MANKAI_ASSIGN(auto image, Image::create(kKind,
                                          {.capacity_keys = options.keys,
                                           .fpr_target = options.fpr,
                                           .hash = options.hash,
                                           .cells_bytes = cells_bytes_for(params),
                                           .slice_tag = options.slice_tag},
                                          options.memory));
  image.set_params(params);
  return CountingBloom(std::move(image), params);
}

Result<CountingBloom> CountingBloom::from_counters(const Options& options, const Counters& counters) {
  auto filter = create(options);
  if (!filter) {
    return filter;
  }
  const std::uint64_t bytes = divide_up(filter->cell_count(), kByteCounters);
  if (counters.bytes.size() != bytes) {
    return fail(ErrorCode::invalid_argument, std::to_string(counters.bytes.size()) + " bytes of counters, but " +
                                                 std::to_string(filter->cell_count()) + " counters take " +
                                                 std::to_string(bytes));
  }
  const std::span<std::uint64_t> words = filter->image().words();
  const auto cells = std::as_writable_bytes(words).first(counters.bytes.size());
  if (counters.is_high_first) {
    std::ranges::transform(counters.bytes, cells.begin(), turned);
  } else {
    std::ranges::copy(counters.bytes, cells.begin());
  }
  if (filter->cell_count() % kByteCounters != 0) {
    cells.back() &= kFirstCounter;
  }
  filter->count_inserted(counters.keys, kernel::count_stuck(words.data(), words.size()));
  return filter;
}

Result<CountingBloom> CountingBloom::from_image(Image source) {
  MANKAI_TRY(check_kind(source, kKind, sizeof(Params) / sizeof(std::uint64_t), kStateWords));
  const auto params = source.params<Params>();
  MANKAI_TRY(check_shape(params, source.header().cells_bytes));
  CountingBloom filter(std::move(source), params);
  MANKAI_TRY(check_tail(filter.image(), filter.cell_count(), probes::kCounterBits));
  if (filter.saturated_cells() > filter.cell_count()) {
    return fail(ErrorCode::corrupt, std::to_string(filter.saturated_cells()) +
                                        " stuck counters at offset 96 are more than there are counters");
  }
  return filter;
}

void CountingBloom::count_inserted(std::uint64_t keys, std::uint64_t stuck) noexcept {
  image().add_keys(keys);
  if (stuck != 0) {
    image().set_state(kSaturatedCells, saturated_cells() + stuck);
  }
}

void CountingBloom::count_erased(std::uint64_t keys) noexcept {
  image().set_keys_inserted(keys_inserted() - std::min(keys_inserted(), keys));
}

void CountingBloom::prefetch(Digest digest) const noexcept {
  if (layout_ == CountingLayout::blocked) {
    prefetch_line(words_ + probes::block_index(digest, shape_.size) * probes::kBlockLanes);
  }
}

bool CountingBloom::observe(Digest digest) noexcept {
  const kernel::Counted counted = ops_->insert_one(words_, shape_, digest);
  count_inserted(1, counted.stuck);
  return counted.seen;
}

KeyCount CountingBloom::estimate(Digest digest) const noexcept {
  return count_of(ops_->estimate_one(words_, shape_, digest));
}

EraseResult CountingBloom::erase(Digest digest) noexcept {
  if (saturated_cells() != 0 && estimate(digest).is_saturated) {
    return EraseResult::stuck;
  }
  if (!ops_->erase_one(words_, shape_, digest)) {
    return EraseResult::absent;
  }
  count_erased(1);
  return EraseResult::erased;
}

EraseResult CountingBloom::erase_distinct(Digest digest) noexcept {
  const std::uint64_t before = keys_inserted();
  const EraseResult result = erase(digest);
  if (result == EraseResult::erased && may_contain(digest)) {
    image().set_keys_inserted(before);
  }
  return result;
}

void CountingBloom::insert(std::span<const Digest> digests) noexcept {
  count_inserted(digests.size(), ops_->insert(words_, shape_, digests.data(), digests.size()));
}

void CountingBloom::insert(std::span<const std::uint64_t> keys) noexcept {
  if (const HashSpec spec = hash(); spec.kind == HashKind::xxh3) {
    count_inserted(keys.size(), ops_->insert_integers(words_, shape_, keys.data(), spec.seed[0], keys.size()));
    return;
  }
  FlatFilter::insert(keys);
}

void CountingBloom::observe(std::span<const Digest> digests, std::span<bool> seen) noexcept {
  MANKAI_ASSERT(digests.size() == seen.size());
  count_inserted(digests.size(), ops_->observe(words_, shape_, digests.data(), digests.size(), seen.data()));
}

void CountingBloom::observe_distinct(std::span<const Digest> digests, std::span<bool> seen) noexcept {
  MANKAI_ASSERT(digests.size() == seen.size());
  const std::uint64_t stuck = ops_->observe(words_, shape_, digests.data(), digests.size(), seen.data());
  count_inserted(static_cast<std::uint64_t>(std::ranges::count(seen, false)), stuck);
}

void CountingBloom::may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept {
  MANKAI_ASSERT(digests.size() == outcomes.size());
  ops_->may_contain(words_, shape_, digests.data(), digests.size(), outcomes.data());
}

void CountingBloom::may_contain(std::span<const std::uint64_t> keys, std::span<bool> outcomes) const noexcept {
  MANKAI_ASSERT(keys.size() == outcomes.size());
  if (const HashSpec spec = hash(); spec.kind == HashKind::xxh3) {
    ops_->may_contain_integers(words_, shape_, keys.data(), spec.seed[0], keys.size(), outcomes.data());
    return;
  }
  FlatFilter::may_contain(keys, outcomes);
}

void CountingBloom::estimate(std::span<const Digest> digests, std::span<KeyCount> counts) const noexcept {
  MANKAI_ASSERT(digests.size() == counts.size());
  std::array<std::uint8_t, kHashWindow> smallest;
  for (std::size_t start = 0; start < digests.size(); start += kHashWindow) {
    const std::size_t count = std::min(kHashWindow, digests.size() - start);
    ops_->estimate(words_, shape_, digests.data() + start, count, smallest.data());
    std::transform(smallest.begin(), smallest.begin() + static_cast<std::ptrdiff_t>(count), counts.data() + start,
                   count_of);
  }
}

void CountingBloom::erase(std::span<const Digest> digests, std::span<EraseResult> results) noexcept {
  MANKAI_ASSERT(digests.size() == results.size());
  std::uint64_t erased =
      ops_->erase(words_, shape_, digests.data(), digests.size(), reinterpret_cast<std::uint8_t*>(results.data()));
  if (saturated_cells() != 0) {
    erased -= refuse_stuck(digests, results);
  }
  count_erased(erased);
}

// Takes back what another call had done at the same time. If several did, and all of them did, the last one finds the
// key absent.
bool CountingBloom::insert_absent(Digest digest) noexcept {
  return with_counters(layout_, [&]<class Counters>(Counters) {
    while (!may_contain(digest)) {
      if (kernel::reference::count_key_concurrent<Counters>(words_, shape_, digest)) {
        return true;
      }
      kernel::reference::uncount_key_concurrent<Counters>(words_, shape_, digest);
    }
    return false;
  });
}

std::uint64_t CountingBloom::observe_concurrent(std::span<const Digest> digests, std::span<bool> seen) noexcept {
  return observe_absent(digests, seen, [this](Digest digest) { return insert_absent(digest); });
}

std::uint64_t CountingBloom::erase_concurrent(std::span<const Digest> digests,
                                              std::span<EraseResult> results) noexcept {
  MANKAI_ASSERT(digests.size() == results.size());
  std::ranges::transform(digests, results.begin(), [this](Digest digest) {
    const std::uint32_t smallest = with_counters(layout_, [&]<class Counters>(Counters) {
      return kernel::reference::uncount_key_concurrent<Counters>(words_, shape_, digest);
    });
    return smallest == 0                       ? EraseResult::absent
           : smallest == kernel::kStuckCounter ? EraseResult::stuck
                                               : EraseResult::erased;
  });
  return static_cast<std::uint64_t>(std::ranges::count(results, EraseResult::erased));
}

void CountingBloom::count_again(std::uint64_t keys) noexcept {
  image().set_keys_inserted(keys);
  image().set_state(kSaturatedCells, kernel::count_stuck(words_, image().words().size()));
}

// A key with all counters stuck after an erase had them before: none has changed. Reports and counts these keys.
std::uint64_t CountingBloom::refuse_stuck(std::span<const Digest> digests,
                                          std::span<EraseResult> results) const noexcept {
  constexpr std::size_t kWindow = 1024;
  std::array<KeyCount, kWindow> counts;
  std::uint64_t stuck = 0;
  for (std::size_t start = 0; start < digests.size(); start += kWindow) {
    const std::size_t count = std::min(kWindow, digests.size() - start);
    estimate(digests.subspan(start, count), std::span(counts).first(count));
    for (std::size_t i = 0; i < count; ++i) {
      if (counts[i].is_saturated) {
        results[start + i] = EraseResult::stuck;
        ++stuck;
      }
    }
  }
  return stuck;
}

Result<void> CountingBloom::merge(const CountingBloom& other) {
  MANKAI_TRY(check_mergeable(other));
  const std::uint64_t stuck = kernel::merge_counters(words_, other.words_, image().words().size());
  image().add_keys(other.keys_inserted());
  image().set_state(kSaturatedCells, stuck);
  return {};
}

std::uint64_t CountingBloom::cell_count() const noexcept {
  return layout_ == CountingLayout::blocked ? shape_.size * probes::kBlockLanes * probes::kLaneCounters
                                            : shape_.size * shape_.k;
}

std::uint64_t CountingBloom::cells_per_probe() const noexcept {
  return layout_ == CountingLayout::blocked ? shape_.size * probes::kLaneCounters : shape_.size;
}

double CountingBloom::fill_ratio() const noexcept {
  return static_cast<double>(kernel::count_nonzero(words_, 0, cell_count())) / static_cast<double>(cell_count());
}

double CountingBloom::keys_estimate() const noexcept {
  return estimate_keys(fill_ratio(), static_cast<double>(cells_per_probe()), 1);
}

double CountingBloom::fpr_estimate() const noexcept {
  if (layout_ == CountingLayout::blocked) {
    return kernel::mean_counting_block_fpr(words_, shape_.size);
  }
  double product = 1;
  for (std::uint32_t probe = 0; probe < shape_.k; ++probe) {
    product *= static_cast<double>(kernel::count_nonzero(words_, probe * shape_.size, shape_.size)) /
               static_cast<double>(shape_.size);
  }
  return product;
}

double CountingBloom::fpr_expected(std::uint64_t keys) const noexcept {
  return layout_ == CountingLayout::blocked ? counting_blocked_fpr(keys, shape_.size)
                                            : partitioned_fpr(keys, {.cells_per_probe = shape_.size, .k = shape_.k});
}

}  // namespace mankai
