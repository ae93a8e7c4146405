#include "modules/redis/bloom/tiny.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "mankai/kernel/scan_ops.hpp"
#include "modules/redis/engine/memory.hpp"

namespace mankai::redis {
namespace {

// That this class has room for the parameters.
bool is_usual(const Growth& growth, std::uint64_t capacity_keys) noexcept {
  return (growth.tightening == TinyBloom::kTightening || growth.tightening == TinyBloom::kNothingLeft) &&
         growth.factor <= std::numeric_limits<std::uint16_t>::max() &&
         capacity_keys <= std::numeric_limits<std::uint32_t>::max();
}

}  // namespace

std::optional<TinyBloom::Plan> TinyBloom::plan(const ScalableBloom::Options& options) {
  if (!is_usual(options.growth, options.keys) || !check_growth(options.growth) ||
      !check_request({.keys = options.keys, .fpr = options.fpr})) {
    return std::nullopt;
  }
  const auto size = blocked_slice_size({.keys = options.keys, .fpr = slice_fpr(options.fpr, options.growth, 0)},
                                       options.growth.bound);
  if (!size || size->blocks > kMostCells / kCacheLineBytes) {
    return std::nullopt;
  }
  return Plan{.capacity_keys = static_cast<std::uint32_t>(options.keys),
              .fpr_target = options.fpr,
              .growth = options.growth,
              .hash = options.hash,
              .size = *size};
}

std::size_t TinyBloom::cells_for(const ScalableBloom& filter) noexcept {
  const auto& slice = filter.slice(0);
  if (filter.slice_count() != 1 || slice.cells_bytes() > kMostCells) {
    return 0;
  }
  const bool is_of_formula = slice.fpr_target() == slice_fpr(filter.fpr_target(), filter.growth(), 0) &&
                             filter.canonical_version() == 0 && slice.canonical_version() == 0;
  // An image of another origin may have had more keys.
  const bool is_countable = slice.keys_inserted() <= slice.capacity_keys();
  return is_usual(filter.growth(), slice.capacity_keys()) && is_of_formula && is_countable ? slice.cells_bytes() : 0;
}

TinyBloom::TinyBloom(const Plan& plan, std::span<std::byte> place) noexcept
    : seed_(plan.hash.seed),
      fpr_target_(plan.fpr_target),
      capacity_keys_(plan.capacity_keys),
      growth_factor_(static_cast<std::uint16_t>(plan.growth.factor)),
      hash_kind_(plan.hash.kind),
      bound_(plan.growth.bound),
      lines_(static_cast<std::uint8_t>(plan.size.blocks)),
      blocks_per_key_(static_cast<std::uint8_t>(plan.size.per_key)),
      cells_offset_(static_cast<std::uint8_t>(place.data() - reinterpret_cast<std::byte*>(this))),
      leaves_nothing_(plan.growth.tightening == kNothingLeft) {
  std::ranges::fill(place, std::byte{0});
  count_engine_bytes(static_cast<std::ptrdiff_t>(cells_bytes()));
}

TinyBloom::TinyBloom(const ScalableBloom& filter, std::span<std::byte> place) noexcept
    : TinyBloom(Plan{.capacity_keys = static_cast<std::uint32_t>(filter.initial_keys()),
                     .fpr_target = filter.fpr_target(),
                     .growth = filter.growth(),
                     .hash = filter.hash(),
                     .size = {.blocks = place.size() / kCacheLineBytes, .per_key = filter.slice(0).blocks_per_key()}},
                place) {
  std::memcpy(place.data(), filter.slice(0).cells().data(), place.size());
  keys_inserted_ = static_cast<std::uint32_t>(filter.keys_inserted());
}

TinyBloom::~TinyBloom() { count_engine_bytes(-static_cast<std::ptrdiff_t>(cells_bytes())); }

ScalableBloom::Options TinyBloom::options(const Memory& memory) const noexcept {
  return {.keys = capacity_keys_, .fpr = fpr_target_, .growth = growth(), .hash = hash(), .memory = memory};
}

Result<ScalableBloom> TinyBloom::full() const {
  return ScalableBloom::create_with(options(engine_memory()), size(), cells(), keys_inserted_);
}

Result<ScalableBloom> TinyBloom::create_like(const Memory& memory) const {
  return ScalableBloom::create(options(memory));
}

ImageParts TinyBloom::parts() const {
  const auto filter = full();
  if (!filter) {
    throw std::bad_alloc();
  }
  ImageParts parts = parts_of(*filter);
  parts.cells = {cells()};
  return parts;
}

Growth TinyBloom::growth() const noexcept {
  return {.factor = growth_factor_, .tightening = leaves_nothing_ ? kNothingLeft : kTightening, .bound = bound_};
}

double TinyBloom::fpr_estimate() const noexcept {
  const double fpr = std::pow(kernel::mean_block_fpr(words(), lines_), blocks_per_key_);
  return 0 - std::expm1(std::log1p(-fpr));  // as a ScalableBloom sums its slices'
}

}  // namespace mankai::redis
