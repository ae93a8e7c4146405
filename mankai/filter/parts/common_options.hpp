#pragma once

/// Options with the same name, text and meaning in several kinds.

#include <chrono>
#include <optional>
#include <string_view>

#include "mankai/base/number.hpp"
#include "mankai/base/time.hpp"
#include "mankai/filter/kind_options.hpp"
#include "mankai/filter/parts/growth.hpp"
#include "mankai/kernel/bloom_ops.hpp"

namespace mankai {

/// Probes per key, in a member `k` [default: 0].
template <class Options>
constexpr OptionOf<Options> probes_option() {
  return number_option<Options, &Options::k, 1, kernel::kMaxProbes>("k", "K",
                                                                    "Probes per key [default: the best number].");
}

/// The decay options of a kind.
struct DecayOptions {
  std::optional<double> lambda = std::nullopt;
  Duration epoch{};
  Duration half_life{};
};

inline constexpr Duration kDefaultHalfLife = std::chrono::hours(1);

/// Integer counts lose up to one per epoch by rounding, so their default epoch is the half-life. Errors: as Decay's;
/// invalid_argument for a lambda without an epoch or with a half-life.
[[nodiscard]] Result<Decay> decay_from(const DecayOptions& options, bool counts_in_wholes);
/// Inverse of decay_from.
[[nodiscard]] inline DecayOptions options_from(const Decay& decay) {
  return {.lambda = decay.lambda(), .epoch = decay.epoch, .half_life = {}};
}

template <class Options>
constexpr OptionOf<Options> half_life_option() {
  return duration_option<Options, &DecayOptions::half_life>(
      "half-life", "Time after which a count has halved: 90s, 10m, 1h, 7d [default: 1h].");
}
template <class Options>
constexpr OptionOf<Options> lambda_option() {
  return ratio_option<Options, &DecayOptions::lambda, 1>(
      "lambda", "L", "Decay factor, instead of a half-life: every epoch multiplies counts by L, from 0 to 1.");
}
template <class Options>
constexpr OptionOf<Options> epoch_option() {
  return duration_option<Options, &DecayOptions::epoch>(
      "epoch",
      "Time between two decay steps [default: 1/64 of the half-life; the half-life itself for counts that are whole "
      "numbers, which lose up to 1 per step].");
}

template <class Options>
constexpr OptionOf<Options> bytes_limit_option() {
  return bytes_option<Options, &Options::bytes>("bytes",
                                                "Size of the filter, instead of the one that --keys at --fpr needs: of "
                                                "the cells for time-decaying-counts, of the "
                                                "whole image for decayed-top. The file is some KiB larger.");
}
template <class Options>
constexpr OptionOf<Options> counters_option() {
  return count_option<Options, &Options::counters>("counters",
                                                   "Number of counters [default: what --keys at --fpr needs].");
}
/// Bits of a cell, in a member `width` [default: 0].
template <class Options>
constexpr OptionOf<Options> width_option() {
  OptionOf<Options> option = number_option<Options, &Options::width, 4, 32>(
      "width", "BITS",
      "Bits of a cell: 8, 16 or 32 for counts, 4, 8, 16 or 32 for fingerprints, 4 or 8 for tiers [default: the kind's "
      "choice].");
  option.read = [](std::string_view what, Options& options, std::string_view text) -> Result<void> {
    const std::uint32_t width = to_number<std::uint32_t>(text).value_or(0);
    if (width != 4 && width != 8 && width != 16 && width != 32) {
      return detail::bad(what, text, "4, 8, 16 or 32 bits");
    }
    options.width = width;
    return {};
  };
  return option;
}

/// The members of `Growth` as options of a kind.
template <class Options>
constexpr OptionOf<Options> growth_option() {
  return number_option<Options, &Options::factor, 1, Growth::kMaxFactor>(
      "growth", "S", "Factor by which the capacity of each sub-filter exceeds that of the one before [default: 2].");
}
template <class Options>
constexpr OptionOf<Options> tightening_option() {
  return ratio_option<Options, &Options::tightening, 1, true>(
      "tightening", "R",
      "Ratio of the rate of each sub-filter to that of the one before; with --bound gradual, the share of the whole "
      "rate "
      "that the first one leaves to the others [default: 0.7].");
}
template <class Options>
constexpr OptionOf<Options> bound_option() {
  return choice_option<Options, &Options::bound, kFprBounds>(
      "bound", "WHAT",
      "What the rate bounds: total, the whole filter however far it grows; gradual, the same, in less memory after "
      "eight doublings or at rates below 0.01%, else in more; or first, its first sub-filter only [default: total].");
}

}  // namespace mankai
