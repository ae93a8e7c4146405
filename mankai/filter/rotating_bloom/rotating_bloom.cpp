#include "mankai/filter/rotating_bloom/rotating_bloom.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/filter/parts/sizing.hpp"
#include "mankai/kernel/scan_ops.hpp"

namespace mankai {
namespace {

constexpr std::uint64_t kBlockBytes = probes::kBlockBits / 8;
/// Keys per pass over the generations: enough for the kernels' windows, few enough for the stack.
constexpr std::size_t kAskWindow = 1024;

std::uint64_t keys_of_generation(std::uint64_t keys, std::uint32_t generations) noexcept {
  return divide_up<std::uint64_t>(keys, generations - 1);
}

Result<void> check_options(const RotatingBloom::Options& options) {
  if (options.window > kLongestDuration) {
    return fail(ErrorCode::invalid_argument, "a window lasts at most 1000 years");
  }
  if (options.window <= Duration::zero()) {
    return fail(ErrorCode::invalid_argument, "no window; give the time for which a key must be found, such as 7 days");
  }
  if (options.generations < 2 || options.generations > RotatingBloom::kMostGenerations) {
    return fail(ErrorCode::invalid_argument, std::to_string(options.generations) + " generations: take 2 to " +
                                                 std::to_string(RotatingBloom::kMostGenerations) + "; 4 is usual");
  }
  return check_request({.keys = options.keys, .fpr = options.fpr});
}

}  // namespace

RotatingBloom::RotatingBloom(Image source, const Params& params) noexcept
    : FlatFilter(std::move(source)),
      first_(image().words().data()),
      end_(first_ + image().words().size()),
      newest_(first_),
      block_count_(params.block_count),
      ops_(&kernel::block_ops()),
      generations_(params.generations),
      epoch_(static_cast<std::int64_t>(params.epoch_us)) {
  take_tick(tick().value);
}

Result<std::uint64_t> RotatingBloom::blocks_for(std::uint64_t keys, double fpr, std::uint32_t generations) {
  MANKAI_TRY(check_request({.keys = keys, .fpr = fpr}));
  return blocked_bloom_blocks(
      {.keys = keys_of_generation(keys, generations), .fpr = -std::expm1(std::log1p(-fpr) / generations)});
}

Result<RotatingBloom> RotatingBloom::create(const Options& options) {
  MANKAI_TRY(check_options(options));
  const std::uint32_t generations = options.generations;
  MANKAI_ASSIGN(const auto blocks, blocks_for(options.keys, options.fpr, generations));
  MANKAI_ASSIGN(auto image, Image::create(kKind,
                                          {.capacity_keys = options.keys,
                                           .fpr_target = options.fpr,
                                           .hash = options.hash,
                                           .cells_bytes = blocks * kBlockBytes * generations},
                                          options.memory));
  const Params params{
      .block_count = blocks,
      .epoch_us = divide_up(static_cast<std::uint64_t>(options.window.count()), std::uint64_t{generations - 1}),
      .generations = generations,
      .reserved = 0};
  image.set_params(params);
  return RotatingBloom(std::move(image), params);
}

Result<RotatingBloom> RotatingBloom::from_image(Image source) {
  MANKAI_TRY(check_kind(source, kKind, sizeof(Params) / sizeof(std::uint64_t), kStateWords));
  const auto params = source.params<Params>();
  if (params.generations < 2 || params.generations > kMostGenerations || params.reserved != 0) {
    return fail(ErrorCode::corrupt, std::to_string(params.generations) + " generations at offset 80");
  }
  // Divides instead of multiplying: a hostile count must not overflow to a match.
  const std::uint64_t blocks = source.header().cells_bytes / kBlockBytes;
  if (blocks % params.generations != 0 || params.block_count != blocks / params.generations) {
    return fail(ErrorCode::corrupt,
                std::to_string(params.block_count) + " blocks per generation at offset 64 do not fill the cells");
  }
  // All generations together must be a Duration, with which callers calculate.
  if (params.epoch_us == 0 ||
      params.epoch_us > static_cast<std::uint64_t>(Duration::max().count()) / params.generations) {
    return fail(ErrorCode::corrupt, "epoch of " + std::to_string(params.epoch_us) + " microseconds at offset 72");
  }
  if (source.state(kTick) > kMaxTick) {
    return fail(ErrorCode::corrupt, "tick " + std::to_string(source.state(kTick)) + " at offset 96 is beyond time");
  }
  if (source.state(kEpochKeys) > kMaxKeysInserted) {
    return fail(ErrorCode::corrupt, "count of the epoch's keys at offset 104 is too large");
  }
  return RotatingBloom(std::move(source), params);
}

void RotatingBloom::insert(std::span<const Digest> digests) noexcept {
  count(digests.size(), ops_->insert(newest_, block_count_, digests.data(), digests.size()));
}

void RotatingBloom::insert(std::span<const std::uint64_t> keys) noexcept {
  if (const HashSpec spec = hash(); spec.kind == HashKind::xxh3) {
    count(keys.size(), ops_->insert_integers(newest_, block_count_, keys.data(), spec.seed[0], keys.size()));
    return;
  }
  FlatFilter::insert(keys);
}

// ORs the answers of all generations but the newest into the outcomes; `ask` queries one of them.
template <class Key, class Ask>
void RotatingBloom::ask_older(std::span<const Key> keys, std::span<bool> outcomes, const Ask& ask) const noexcept {
  std::array<bool, kAskWindow> found;
  for (std::size_t start = 0; start < keys.size(); start += kAskWindow) {
    const auto window = keys.subspan(start, std::min(kAskWindow, keys.size() - start));
    for (const std::uint64_t* words = first_; words != end_; words += generation_words()) {
      if (words == newest_) {
        continue;
      }
      ask(words, window, found.data());
      for (std::size_t i = 0; i < window.size(); ++i) {
        outcomes[start + i] |= found[i];
      }
    }
  }
}

void RotatingBloom::observe(std::span<const Digest> digests, std::span<bool> seen) noexcept {
  MANKAI_ASSERT(digests.size() == seen.size());
  count(digests.size(), ops_->observe(newest_, block_count_, digests.data(), digests.size(), seen.data()));
  ask_older(digests, seen, [this](const std::uint64_t* words, std::span<const Digest> asked, bool* found) {
    ops_->may_contain(words, block_count_, asked.data(), asked.size(), found);
  });
}

void RotatingBloom::may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept {
  MANKAI_ASSERT(digests.size() == outcomes.size());
  const auto ask = [this](const std::uint64_t* words, std::span<const Digest> asked, bool* found) {
    ops_->may_contain(words, block_count_, asked.data(), asked.size(), found);
  };
  ask(newest_, digests, outcomes.data());
  ask_older(digests, outcomes, ask);
}

void RotatingBloom::may_contain(std::span<const std::uint64_t> keys, std::span<bool> outcomes) const noexcept {
  MANKAI_ASSERT(keys.size() == outcomes.size());
  if (const HashSpec spec = hash(); spec.kind == HashKind::xxh3) {
    const auto ask = [&](const std::uint64_t* words, std::span<const std::uint64_t> asked, bool* found) {
      ops_->may_contain_integers(words, block_count_, asked.data(), spec.seed[0], asked.size(), found);
    };
    ask(newest_, keys, outcomes.data());
    ask_older(keys, outcomes, ask);
    return;
  }
  FlatFilter::may_contain(keys, outcomes);
}

void RotatingBloom::take_tick(std::uint64_t tick) noexcept {
  image().set_state(kTick, tick);
  newest_ = generation_of(tick);
}

void RotatingBloom::advance(Tick tick) noexcept {
  const std::uint64_t from = this->tick().value;
  const std::uint64_t to = std::min(tick.value, kMaxTick);
  if (to <= from) {
    return;
  }
  const std::uint64_t fresh = std::min<std::uint64_t>(to - from, generations_);
  // Does not write to an empty filter: the first advance of a large one would touch all its memory.
  if (keys_inserted() != 0) {
    for (std::uint64_t i = 0; i < fresh; ++i) {
      std::fill_n(generation_of(to - i), generation_words(), 0);
    }
  }
  image().set_state(kEpochKeys, 0);
  take_tick(to);
}

Result<void> RotatingBloom::merge(const RotatingBloom& other) {
  MANKAI_TRY(check_mergeable(other));
  const std::uint64_t theirs = other.tick().value;
  advance(other.tick());
  const std::uint64_t mine = tick().value;
  // If the other filter is behind, its oldest generations have expired.
  const std::uint64_t behind = mine - theirs;
  const std::uint64_t shared = behind < generations_ ? generations_ - behind : 0;
  for (std::uint64_t age = 0; age < std::min(shared, theirs + 1); ++age) {
    kernel::merge_or(generation_of(theirs - age), other.generation_of(theirs - age), generation_words());
  }
  image().add_keys(other.keys_inserted());
  if (behind == 0) {
    image().set_state(
        kEpochKeys, std::min(merged_keys(keys_of_epoch(), other.keys_of_epoch(), keys_in(newest_)), kMaxKeysInserted));
  }
  return {};
}

void RotatingBloom::clear() noexcept {
  const std::uint64_t now = tick().value;
  FlatFilter::clear();
  take_tick(now);
}

std::uint64_t RotatingBloom::epoch_capacity_keys() const noexcept {
  return keys_of_generation(capacity_keys(), generations_);
}

template <class Use>
void RotatingBloom::for_each_generation(const Use& use) const {
  for (const std::uint64_t* words = first_; words != end_; words += generation_words()) {
    use(words);
  }
}

double RotatingBloom::fill_ratio() const noexcept {
  const auto words = image().words();
  return static_cast<double>(kernel::count_ones(words.data(), words.size())) / static_cast<double>(cell_count());
}

double RotatingBloom::keys_in(const std::uint64_t* generation) const noexcept {
  // Each lane is a filter with one probe into an eighth of the cells.
  const auto cells = static_cast<double>(block_count_ * probes::kBlockBits);
  return estimate_keys(static_cast<double>(kernel::count_ones(generation, generation_words())) / cells,
                       cells / probes::kBlockLanes, 1);
}

double RotatingBloom::keys_estimate() const noexcept {
  double keys = 0;
  for_each_generation([&](const std::uint64_t* words) { keys += keys_in(words); });
  return keys;
}

double RotatingBloom::fpr_estimate() const noexcept {
  double is_new = 1;
  for_each_generation([&](const std::uint64_t* words) { is_new *= 1 - kernel::mean_block_fpr(words, block_count_); });
  return 1 - is_new;
}

double RotatingBloom::fpr_expected(std::uint64_t keys) const noexcept {
  const double rate = blocked_bloom_fpr(keys_of_generation(keys, generations_), block_count_);
  return 1 - std::pow(1 - rate, generations_);
}

}  // namespace mankai
