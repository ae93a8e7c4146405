#pragma once

/// The filter behind a CF.* key: fingerprints in buckets, which can be removed again and may have a time to live
/// (cuckoo.hpp).

#include <cstddef>
#include <cstdint>
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
                                          .kinds = {Cuckoo::kKind},
                                          .layout = ImageLayout::sliced,
                                          .flags = 0,
                                          .state_bytes = sizeof(State),
                                          .is_of_one_moment = true,
                                          .load_command = "cf.loadchunk"};

  /// Errors: invalid_argument for an impossible request; out_of_space.
  [[nodiscard]] static Result<CuckooValue> create(const CuckooSettings& settings);
  /// Errors: corrupt.
  [[nodiscard]] static Result<CuckooValue> from_image(AssembledImage source);

  [[nodiscard]] State& state() noexcept { return state_; }
  [[nodiscard]] const State& state() const noexcept { return state_; }

  [[nodiscard]] ImageParts parts() const;

 private:
  CuckooValue(Cuckoo filter, const State& state) noexcept : FilterValue(std::move(filter)), state_(state) {}

  State state_;
};

using CuckooKey = ImageKey<CuckooValue>;
using CuckooLookup = Lookup<CuckooKey>;

}  // namespace mankai::redis
