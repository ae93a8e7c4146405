#pragma once

#include <cstdint>
#include <vector>

#include "mankai/catalog/spec.hpp"

namespace mankai {

/// One kind's answer to a request for a size.
struct PlanRow {
  FilterSpec spec;
  std::uint64_t image_bytes;
  double bits_per_key;
  double fpr;  ///< by the kind's formula, with all keys in
  unsigned probes_per_key;
  double lines_per_key;
  double survival = 1;  ///< of a key, at the age asked for; 1 where nothing is let go of before
};

/// Answers a request for every kind, and its modes where they differ in size. A growing kind is one slice large enough
/// for all the keys. layered-url-bloom is left out: what it takes depends on how deep the URLs are; so are kinds that
/// would take more than 2^48 bytes. Errors: as sizing's, where no kind is left.
[[nodiscard]] Result<std::vector<PlanRow>> plan(const SizeRequest& request);
/// Answers which rate each kind reaches with so many keys in at most so many bytes; kinds whose smallest image is
/// larger are left out. Errors: invalid_argument when that is all of them or the request makes no sense.
[[nodiscard]] Result<std::vector<PlanRow>> plan_for_bytes(std::uint64_t keys, std::uint64_t bytes);

/// What a forgetting memory is for.
struct ForgettingRequest {
  std::uint64_t events = 0;  ///< at this age, counted in keys that came later,
  double survival = 0.9;     ///< at least this share of keys is still known, 0 to 1,
  double fpr = 0.01;         ///< and of strangers at most this share is taken for known
};

/// Answers a request to remember so long for each kind that forgets: fading-fingerprints with each width of fingerprint
/// that does, and rotating-bloom, where the events come evenly over its window. Errors: invalid_argument where no kind
/// does it.
[[nodiscard]] Result<std::vector<PlanRow>> plan_forgetting(const ForgettingRequest& request);

}  // namespace mankai
