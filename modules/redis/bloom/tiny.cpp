#include "modules/redis/bloom/tiny.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "mankai/kernel/scan_ops.hpp"
#include "modules/redis/engine/memory.hpp"

namespace mankai::redis {
std::size_t TinyBloom::cells_for(const ScalableBloom& filter) noexcept {
  const auto& slice = filter.slice(0);
  if (filter.slice_count() != 1 || slice.cells_bytes() > kMostCells) {
    return 0;
  }
  const Growth growth = filter.growth();
  const bool is_usual = (growth.tightening == kTightening || growth.tightening == kNothingLeft) &&
                        growth.factor <= std::numeric_limits<std::uint16_t>::max() &&
                        slice.fpr_target() == slice_fpr(filter.fpr_target(), growth, 0) &&
                        filter.canonical_version() == 0 && slice.canonical_version() == 0;
  // An image of another origin may have had more keys.
  const bool is_countable = slice.keys_inserted() <= slice.capacity_keys() &&
                            slice.capacity_keys() <= std::numeric_limits<std::uint32_t>::max();
  return is_usual && is_countable ? slice.cells_bytes() : 0;
}

TinyBloom::TinyBloom(const ScalableBloom& filter, std::span<std::byte> place) noexcept
    : seed_(filter.hash().seed),
      fpr_target_(filter.fpr_target()),
      capacity_keys_(static_cast<std::uint32_t>(filter.initial_keys())),
      keys_inserted_(static_cast<std::uint32_t>(filter.keys_inserted())),
      growth_factor_(static_cast<std::uint16_t>(filter.growth().factor)),
      hash_kind_(filter.hash().kind),
      bound_(filter.growth().bound),
      lines_(static_cast<std::uint8_t>(place.size() / kCacheLineBytes)),
      blocks_per_key_(static_cast<std::uint8_t>(filter.slice(0).blocks_per_key())),
      cells_offset_(static_cast<std::uint8_t>(place.data() - reinterpret_cast<std::byte*>(this))),
      leaves_nothing_(filter.growth().tightening == kNothingLeft) {
  std::memcpy(place.data(), filter.slice(0).cells().data(), place.size());
  count_engine_bytes(static_cast<std::ptrdiff_t>(cells_bytes()));
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
