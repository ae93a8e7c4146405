#include "modules/redis/bloom/early.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>

#include "mankai/base/bits.hpp"
#include "mankai/hash/probes.hpp"

namespace mankai::redis {

/// A filter, as the last command on its key left it. Names that share a place replace each other.
/// Older slices may have moved since: only the newest is compared.
struct EarlyHash::Place {
  struct Cells {
    const std::byte* blocks;
    std::uint64_t block_count;
  };

  std::uint64_t name;
  HashSpec spec;
  std::size_t slice_count;
  unsigned blocks_per_key;       ///< in the newest slice, which has most members of a filter that grows
  std::array<Cells, 12> slices;  ///< the newest: older ones are small, or there are very many
};

namespace {

constexpr std::size_t kPlaces = 64;
/// Smaller slices are in the processor's caches.
constexpr std::size_t kLeastBytes = std::size_t{64} << 10;

}  // namespace

EarlyHash::EarlyHash(std::string_view key, std::span<const std::string_view> items) noexcept {
  if (items.size() != 1) {
    return;
  }
  constinit static std::array<Place, kPlaces> places{};
  name_ = std::hash<std::string_view>()(key);
  place_ = &places[name_ % kPlaces];
  if (place_->name != name_ || place_->slice_count == 0) {
    return;
  }
  spec_ = place_->spec;
  digest_ = Hasher(spec_)(items[0]);
  is_made_ = true;
  for (std::size_t i = 0; i < place_->slice_count; ++i) {
    const auto& [blocks, block_count] = place_->slices[i];
    prefetch_line(blocks + probes::block_index(digest_, block_count) * kCacheLineBytes);
  }
  for (unsigned block = 1; block < place_->blocks_per_key; ++block) {
    const auto& [blocks, block_count] = place_->slices[0];
    prefetch_line(blocks + probes::block_index(probes::block_digest(digest_, block), block_count) * kCacheLineBytes);
  }
}

void EarlyHash::keep(const ScalableBloom& filter) const noexcept {
  if (place_ == nullptr) {
    return;
  }
  const std::size_t count = filter.slice_count();
  const std::span<const std::byte> newest = filter.slice(count - 1).cells();
  if (newest.size() < kLeastBytes) {
    return;
  }
  const std::size_t kept = std::min(count, place_->slices.size());
  if (is_made_ && place_->slice_count == kept && place_->slices[0].blocks == newest.data() && spec_ == filter.hash()) {
    return;
  }
  place_->name = name_;
  place_->spec = filter.hash();
  place_->slice_count = kept;
  place_->blocks_per_key = filter.slice(count - 1).blocks_per_key();
  for (std::size_t i = 0; i < kept; ++i) {
    const std::span<const std::byte> cells = filter.slice(count - 1 - i).cells();
    place_->slices[i] = {.blocks = cells.data(), .block_count = cells.size() / kCacheLineBytes};
  }
}

}  // namespace mankai::redis
