#pragma once

/// The rounding option of decayed counts.

#include "mankai/filter/kind_options.hpp"
#include "mankai/filter/parts/decayed_cells.hpp"

namespace mankai {

inline constexpr std::array kDecayPolicies = {DecayPolicy::fixed_point, DecayPolicy::floor, DecayPolicy::ceil,
                                              DecayPolicy::stochastic};
/// Policies of kinds with integer counters.
inline constexpr std::array kWholePolicies = {DecayPolicy::floor, DecayPolicy::ceil};

template <class Options, const auto& policies>
constexpr OptionOf<Options> policy_option() {
  return choice_option<Options, &Options::policy, policies>(
      "policy", "POLICY",
      "How a decayed count is rounded: fixed-point, up, with fraction bits, so that it is never too low; floor, as in "
      "the paper; ceil; stochastic, right on average [default: fixed-point; floor for pooled and tiered counts, which "
      "take floor or ceil only].");
}

}  // namespace mankai
