#include "mankai/filter/recent_values/recent_values.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <numbers>
#include <string>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/filter/parts/sizing.hpp"
#include "mankai/hash/hasher.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/bloom_ops.hpp"
#include "mankai/kernel/tuning.hpp"

namespace mankai {
namespace {

using Params = RecentValues::Params;

constexpr std::uint64_t kCellBytes = sizeof(std::uint32_t);
/// Stored instead of an encoded 0, which marks an empty cell.
constexpr std::uint32_t kStandIn = 1;
/// Probability of one 32-bit value.
constexpr double kOneValue = 1.0 / 4294967296.0;

std::uint64_t cells_bytes_for(const Params& params) noexcept {
  return align_up(params.cells_per_probe * params.k * kCellBytes, std::uint64_t{kCacheLineBytes});
}

Result<Params> size_for(const RecentValues::Options& options) {
  if (options.k == 0 || options.k > kernel::kMaxProbes) {
    return fail(ErrorCode::invalid_argument, "k of " + std::to_string(options.k) + " is not from 1 to 64; 12 is usual");
  }
  const std::uint64_t most = kMaxCellsBytes / kCellBytes / options.k;
  if (options.keys == 0 && options.cells_per_probe == 0) {
    return fail(ErrorCode::invalid_argument, "sized for 0 keys; give the number of keys");
  }
  // Half of a partition is used at keys = c ln 2.
  const double wanted = std::ceil(static_cast<double>(options.keys) / std::numbers::ln2);
  if (options.cells_per_probe > most || (options.cells_per_probe == 0 && wanted > static_cast<double>(most))) {
    return fail(ErrorCode::invalid_argument, "more than 2^48 bytes of cells; ask for fewer keys or a smaller k");
  }
  return Params{
      .cells_per_probe = options.cells_per_probe != 0 ? options.cells_per_probe : static_cast<std::uint64_t>(wanted),
      .k = options.k};
}

Result<void> check_params(const Params& params, std::uint64_t cells_bytes) {
  if (params.k == 0 || params.k > kernel::kMaxProbes) {
    return fail(ErrorCode::corrupt, "k of " + std::to_string(params.k) + " at offset 72 is not from 1 to 64");
  }
  // Bounds the size first: a hostile one must not overflow to a match.
  if (params.cells_per_probe == 0 || params.cells_per_probe > kMaxImageBytes ||
      cells_bytes_for(params) != cells_bytes) {
    return fail(ErrorCode::corrupt,
                std::to_string(params.cells_per_probe) + " cells per probe at offset 64 do not fill the cells");
  }
  return {};
}

std::uint32_t load(const std::uint32_t* cell) noexcept {
  // atomic_ref has no const form before C++26; a load changes nothing.
  return std::atomic_ref<std::uint32_t>(*const_cast<std::uint32_t*>(cell)).load(std::memory_order_relaxed);
}

std::uint32_t encoded(std::uint32_t value, std::uint32_t salt) noexcept {
  const std::uint32_t hidden = value ^ salt;
  return hidden != 0 ? hidden : kStandIn;
}

// Number of open cells that a put overwrites.
std::size_t share_of(std::size_t open, double strength) noexcept {
  return std::min(open, static_cast<std::size_t>(std::ceil(static_cast<double>(open) * strength)));
}

// Groups equal values and ranks the groups. For 12 values, sorting is faster than any table.
std::size_t rank(std::span<std::uint32_t> values, std::span<ValueMatches> groups) noexcept {
  std::ranges::sort(values);
  std::size_t count = 0;
  for (const std::uint32_t value : values) {
    if (count == 0 || groups[count - 1].value != value) {
      groups[count++] = {.value = value, .matches = 0};
    }
    ++groups[count - 1].matches;
  }
  std::ranges::sort(groups.first(count), [](const ValueMatches& a, const ValueMatches& b) {
    return a.matches != b.matches ? a.matches > b.matches : a.value < b.value;
  });
  return count;
}

}  // namespace

/// A key's cells, and the salt of each.
struct RecentValues::Probes {
  std::array<std::uint64_t, kernel::kMaxProbes> cells;
  std::array<std::uint32_t, kernel::kMaxProbes> salts;
};

RecentValues::RecentValues(Image source, const Params& params) noexcept
    : FlatFilter(std::move(source)),
      cells_(std::as_writable_bytes(image().words()).data()),
      cells_per_probe_(params.cells_per_probe),
      k_(static_cast<std::uint32_t>(params.k)) {}

Result<RecentValues> RecentValues::create(const Options& options) {
  MANKAI_ASSIGN(const auto params, size_for(options));
  const auto implied = static_cast<std::uint64_t>(static_cast<double>(params.cells_per_probe) * std::numbers::ln2);
  MANKAI_ASSIGN(auto image,
                Image::create(kKind,
                              {.capacity_keys = options.keys != 0 ? options.keys : std::max<std::uint64_t>(1, implied),
                               .fpr_target = static_cast<double>(options.k) / 2 * kOneValue,
                               .hash = options.hash,
                               .cells_bytes = cells_bytes_for(params)},
                              options.memory));
  image.set_params(params);
  return RecentValues(std::move(image), params);
}

Result<RecentValues> RecentValues::from_image(Image source) {
  MANKAI_TRY(check_kind(source, kKind, sizeof(Params) / sizeof(std::uint64_t)));
  const auto params = source.params<Params>();
  MANKAI_TRY(check_params(params, source.header().cells_bytes));
  MANKAI_TRY(check_tail(source, params.cells_per_probe * params.k, kCellBytes * 8));
  return RecentValues(std::move(source), params);
}

std::uint32_t* RecentValues::cell(std::uint64_t at) const noexcept {
  return reinterpret_cast<std::uint32_t*>(cells_ + at * kCellBytes);
}

RecentValues::Probes RecentValues::probes_of(Digest key) const noexcept {
  Probes found;
  probes::CellSequence positions(key);
  probes::SaltSequence salts(key);
  for (std::uint32_t i = 0; i < k_; ++i) {
    found.cells[i] = i * cells_per_probe_ + positions.next(cells_per_probe_);
    found.salts[i] = salts.next();
  }
  return found;
}

void RecentValues::prefetch(Digest key) const noexcept {
  probes::CellSequence positions(key);
  for (std::uint32_t i = 0; i < k_; ++i) {
    prefetch_line(cell(i * cells_per_probe_ + positions.next(cells_per_probe_)));
  }
}

// Visits the keys in order, with prefetch beyond the cache.
template <class Visit>
void RecentValues::for_each_key(std::span<const Digest> keys, const Visit& visit) const noexcept {
  const std::size_t window = std::max<std::size_t>(1, kernel::kLinesAhead / k_);
  std::size_t asked = cells_bytes() <= kernel::kNearBytes ? keys.size() : 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (; asked < std::min(keys.size(), i + window + 1); ++asked) {
      prefetch(keys[asked]);
    }
    visit(i);
  }
}

// Draws without replacement: each step selects one of the open cells that remain.
void RecentValues::overwrite(Probes& probes, std::uint32_t value, double strength, std::uint64_t draw) noexcept {
  std::array<std::uint8_t, kernel::kMaxProbes> open;
  std::size_t open_count = 0;
  for (std::uint32_t i = 0; i < k_; ++i) {
    open[open_count] = static_cast<std::uint8_t>(i);
    open_count += load(cell(probes.cells[i])) != encoded(value, probes.salts[i]) ? 1U : 0U;
  }
  const std::size_t taken = share_of(open_count, strength);
  for (std::size_t i = 0; i < taken; ++i) {
    draw = mix_integer(draw, i).value;
    std::swap(open[i], open[i + static_cast<std::size_t>(fastrange(draw, open_count - i))]);
    const std::uint8_t which = open[i];
    std::atomic_ref<std::uint32_t>(*cell(probes.cells[which]))
        .store(encoded(value, probes.salts[which]), std::memory_order_relaxed);
  }
}

void RecentValues::put(Digest key, std::uint32_t value, double strength) noexcept {
  MANKAI_ASSERT(strength > 0 && strength <= 1);
  Probes probes = probes_of(key);
  const std::uint64_t draw = mix_integer(keys_inserted(), hash().seed[0] ^ key.value).value;
  overwrite(probes, value, strength, draw);
  image().add_keys(1);
}

std::uint32_t RecentValues::count(Digest key, std::uint32_t value) const noexcept {
  const Probes probes = probes_of(key);
  std::uint32_t matches = 0;
  for (std::uint32_t i = 0; i < k_; ++i) {
    matches += load(cell(probes.cells[i])) == encoded(value, probes.salts[i]) ? 1U : 0U;
  }
  return matches;
}

std::size_t RecentValues::get(Digest key, std::span<ValueMatches> ranked, std::uint32_t min_matches) const noexcept {
  const Probes probes = probes_of(key);
  std::array<std::uint32_t, kernel::kMaxProbes> values;
  std::size_t used = 0;
  for (std::uint32_t i = 0; i < k_; ++i) {
    const std::uint32_t stored = load(cell(probes.cells[i]));
    values[used] = stored ^ probes.salts[i];
    used += stored != 0 ? 1U : 0U;
  }
  std::array<ValueMatches, kernel::kMaxProbes> groups;
  const std::size_t count = rank(std::span(values).first(used), groups);
  std::size_t given = 0;
  while (given < std::min(count, ranked.size()) && groups[given].matches >= min_matches) {
    ranked[given] = groups[given];
    ++given;
  }
  return given;
}

std::vector<ValueMatches> RecentValues::get(Digest key, std::uint32_t min_matches) const {
  std::vector<ValueMatches> ranked(k_);
  ranked.resize(get(key, ranked, min_matches));
  return ranked;
}

void RecentValues::put(std::span<const Digest> keys, std::span<const std::uint32_t> values, double strength) noexcept {
  MANKAI_ASSERT(keys.size() == values.size());
  for_each_key(keys, [&](std::size_t i) noexcept { put(keys[i], values[i], strength); });
}

void RecentValues::count(std::span<const Digest> keys, std::span<const std::uint32_t> values,
                         std::span<std::uint32_t> counts) const noexcept {
  MANKAI_ASSERT(keys.size() == values.size() && keys.size() == counts.size());
  for_each_key(keys, [&](std::size_t i) noexcept { counts[i] = count(keys[i], values[i]); });
}

void RecentValues::first(std::span<const Digest> keys, std::span<ValueMatches> firsts,
                         std::uint32_t min_matches) const noexcept {
  MANKAI_ASSERT(keys.size() == firsts.size());
  for_each_key(keys, [&](std::size_t i) noexcept {
    firsts[i] = {};
    static_cast<void>(get(keys[i], firsts.subspan(i, 1), min_matches));
  });
}

double RecentValues::fill_ratio() const noexcept {
  std::uint64_t used = 0;
  for (std::uint64_t i = 0; i < cell_count(); ++i) {
    used += load(cell(i)) != 0 ? 1U : 0U;
  }
  return static_cast<double>(used) / static_cast<double>(cell_count());
}

double RecentValues::keys_estimate() const noexcept {
  return estimate_keys(fill_ratio(), static_cast<double>(cells_per_probe_), 1);
}

double RecentValues::fpr_estimate() const noexcept { return k_ * fill_ratio() * kOneValue; }

double RecentValues::fpr_expected(std::uint64_t keys) const noexcept {
  // With one cell per probe log1p is minus infinity.
  const double fill =
      keys == 0 ? 0 : -std::expm1(static_cast<double>(keys) * std::log1p(-1 / static_cast<double>(cells_per_probe_)));
  return k_ * fill * kOneValue;
}

}  // namespace mankai
