#include "modules/redis/cuckoo/value.hpp"

#include <cstring>
#include <span>

namespace mankai::redis {

Result<CuckooValue> CuckooValue::create(const CuckooSettings& settings) {
  // Items that expire and can be deleted need counts: see cuckoo.hpp.
  constexpr std::uint32_t kCountsWithTtl = 2;
  MANKAI_ASSIGN(auto filter, Cuckoo::create({.keys = settings.capacity_keys,
                                             .fpr = settings.fpr,
                                             .growth = settings.expansion,
                                             .counts = settings.max_ttl == Duration::zero() ? 0 : kCountsWithTtl,
                                             .max_ttl = settings.max_ttl,
                                             .ttl_resolution = settings.ttl_resolution,
                                             .hash = settings.hash,
                                             .memory = engine_memory()}));
  return CuckooValue(std::move(filter),
                     {.deleted = 0, .bucket_size = settings.bucket_size, .max_iterations = settings.max_iterations});
}

Result<CuckooValue> CuckooValue::from_image(AssembledImage source) {
  State state{};
  std::memcpy(&state, source.state.data(), sizeof(state));
  MANKAI_ASSIGN(auto filter, filter_of<Cuckoo>(std::move(source)));
  return CuckooValue(std::move(filter), state);
}

ImageParts CuckooValue::parts() const {
  ImageParts parts = parts_of(filter());
  const auto bytes = std::as_bytes(std::span(&state_, 1));
  parts.state.assign(bytes.begin(), bytes.end());
  bind_to_moment(parts);
  return parts;
}

}  // namespace mankai::redis
