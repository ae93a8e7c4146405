#pragma once

#include <cstdint>
#include <vector>

#include "mankai/filter/spec.hpp"

namespace mankai {

/// The size of one kind for a request.
struct PlanRow {
  FilterSpec spec;
  std::uint64_t image_bytes;
  double bits_per_key;
  double fpr;  ///< by the kind's formula, with all keys inserted
  unsigned probes_per_key;
  double lines_per_key;
  bool can_erase;
  bool can_grow;
  bool forgets;         ///< keys expire with time, or are overwritten by later keys
  double survival = 1;  ///< of a key at the requested age; 1 if the kind keeps keys until then
};

/// Sizes for every kind, and for each of its layouts that differ in size; a growing kind gets one sub-filter for all
/// keys. Omits kinds whose size depends on more than keys and rate (layered-url-bloom: the depth of the URLs), and
/// kinds that need more than 2^48 bytes. Errors: as sizing's, if no kind is left.
[[nodiscard]] Result<std::vector<PlanRow>> plan(const SizeRequest& request);
/// The rate of each kind for `keys` keys in at most `bytes` bytes; omits kinds whose smallest image is larger, and rows
/// whose filter could only be requested with a rate of 1 or more. Errors: invalid_argument if none is left or the
/// request is impossible.
[[nodiscard]] Result<std::vector<PlanRow>> plan_for_bytes(std::uint64_t keys, std::uint64_t bytes);

/// A request for a filter that forgets.
struct ForgettingRequest {
  std::uint64_t events = 0;  ///< age, counted in keys that arrived later
  double survival = 0.9;     ///< share of keys that must still be found at that age
  double fpr = 0.01;         ///< false-positive rate
};

/// Sizes for each kind that forgets: fading-fingerprints with each feasible width of fingerprint, and rotating-bloom,
/// for events spread evenly over its window. Errors: invalid_argument if no kind can.
[[nodiscard]] Result<std::vector<PlanRow>> plan_forgetting(const ForgettingRequest& request);

}  // namespace mankai
