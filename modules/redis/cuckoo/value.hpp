#pragma once

/// The filter behind a CF.* key: fingerprints in buckets, which can be removed again and may have a time to live
/// (cuckoo.hpp).

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "mankai/filter/cuckoo/cuckoo.hpp"
#include "modules/redis/image/key.hpp"
#include "modules/redis/image/value.hpp"

namespace mankai::redis {

/// What a filter is made with; all of it is told to replicas.
struct CuckooSettings {
  std::uint64_t capacity_keys = 1024;
  double fpr = 0.01;
  std::uint32_t expansion = 1;  ///< a power of 2; 0: it is fixed
  Duration max_ttl{};           ///< 0: items do not expire
  Duration ttl_resolution{};
  // What clients are told, and nothing depends on.
  std::uint32_t bucket_size = 2;
  std::uint32_t max_iterations = 20;
  HashSpec hash;
};

class CuckooValue : public FilterValue<Cuckoo> {
 public:
  /// Behind the prefix of a header.
  struct State {
    std::uint64_t deleted;
    std::uint32_t bucket_size;
    std::uint32_t max_iterations;
  };
  static constexpr ImageFamily kFamily = {.type_name = "mankai-cf",
                                          .magic = {'m', 'a', 'n', 'k', 'a', 'i', 'c', 'f'},
                                          .kind = Cuckoo::kKind,
                                          .layout = ImageLayout::sliced,
                                          .flags = 0,
                                          .state_bytes = sizeof(State),
                                          .is_of_one_moment = true,
                                          .load_command = "cf.loadchunk"};

  /// Errors: invalid_argument for an impossible request; out_of_space.
  [[nodiscard]] static Result<CuckooValue> create(const CuckooSettings& settings) {
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
  /// Errors: corrupt.
  [[nodiscard]] static Result<CuckooValue> from_image(AssembledImage source) {
    State state{};
    std::memcpy(&state, source.state.data(), sizeof(state));
    MANKAI_ASSIGN(auto filter, filter_of<Cuckoo>(std::move(source)));
    return CuckooValue(std::move(filter), state);
  }

  [[nodiscard]] State& state() noexcept { return state_; }
  [[nodiscard]] const State& state() const noexcept { return state_; }

  [[nodiscard]] ImageParts parts() const {
    ImageParts parts = parts_of(filter());
    const auto bytes = std::as_bytes(std::span(&state_, 1));
    parts.state.assign(bytes.begin(), bytes.end());
    bind_to_moment(parts);
    return parts;
  }

 private:
  CuckooValue(Cuckoo filter, const State& state) noexcept : FilterValue(std::move(filter)), state_(state) {}

  State state_;
};

using CuckooKey = ImageKey<CuckooValue>;
using CuckooLookup = Lookup<CuckooKey>;

}  // namespace mankai::redis
