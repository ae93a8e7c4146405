#pragma once

#include <cstdint>
#include <vector>

#include "mankai/filter/spec.hpp"

namespace mankai {

/// One kind's answer to a request for a size.
struct PlanRow {
  FilterSpec spec;
  std::uint64_t image_bytes;
  double bits_per_key;
  double fpr;  ///< by the kind's formula, with all keys inserted
  unsigned probes_per_key;
  double lines_per_key;
  double survival = 1;  ///< of a key at the requested age; 1 for a kind that keeps every key until then
};

/// Answers a request for every kind, and for each of its layouts that differ in size. A growing kind is one sub-filter
/// large enough for all the keys. Leaves out kinds whose size depends on more than keys and rate (layered-url-bloom:
/// the depth of the URLs), and kinds that need more than 2^48 bytes. Errors: as sizing's, if no kind is left.
[[nodiscard]] Result<std::vector<PlanRow>> plan(const SizeRequest& request);
/// Returns the rate that each kind reaches with so many keys in at most so many bytes; leaves out kinds whose smallest
/// image is larger. Errors: invalid_argument if that is all of them or the request is impossible.
[[nodiscard]] Result<std::vector<PlanRow>> plan_for_bytes(std::uint64_t keys, std::uint64_t bytes);

/// What a forgetting memory is for.
struct ForgettingRequest {
  std::uint64_t events = 0;  ///< age, counted in keys that arrived later
  double survival = 0.9;     ///< share of keys that must still be found at that age
  double fpr = 0.01;         ///< false-positive rate
};

/// Answers a request to remember so long for each kind that forgets: fading-fingerprints with each width of fingerprint
/// that can, and rotating-bloom, for events that are spread evenly over its window. Errors: invalid_argument if no kind
/// can.
[[nodiscard]] Result<std::vector<PlanRow>> plan_forgetting(const ForgettingRequest& request);

}  // namespace mankai
