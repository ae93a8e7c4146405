#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "lab/parts.hpp"
#include "lab/web_profiling/profiles.hpp"
#include "lab/web_profiling/threads.hpp"

namespace mankai::lab::profiling {
namespace {

struct Rounding {
  CountRounding rounding;
  const char* name;
};
constexpr std::array<Rounding, 2> kRoundings = {
    {{CountRounding::strict, "strict"}, {CountRounding::balanced, "balanced"}}};
constexpr std::array<std::uint64_t, 4> kKilobytes = {64, 128, 256, 512};
constexpr std::uint64_t kOneOfKilobytes = 256;

std::uint64_t lines_of_counts(const DecayedTop& filter) noexcept {
  return filter.cells_bytes() / kCacheLineBytes - 1 - filter.params().names_lines;
}

double table_share(const DecayedTop& filter) noexcept {
  return filter.params().bucket_count() / static_cast<double>(lines_of_counts(filter));
}

// The same filter with another share of table and sketch. No option sets it: it is written into an empty image.
Result<DecayedTop> with_table(const DecayedTop& usual, double share, const Context& context) {
  DecayedTop::Params params = usual.params();
  params.buckets = static_cast<std::uint32_t>(share * static_cast<double>(lines_of_counts(usual))) |
                   (params.is_balanced() ? DecayedTop::Params::kBalanced : 0);
  MANKAI_ASSIGN(auto image, Image::create(DecayedTop::kKind,
                                          {.capacity_keys = usual.capacity_keys(),
                                           .fpr_target = usual.fpr_target(),
                                           .hash = context.hash(),
                                           .cells_bytes = usual.cells_bytes()},
                                          system_memory()));
  image.set_params(params);
  return DecayedTop::from_image(std::move(image));
}

struct Stream {
  double z;
  Visits visits;
  Decay decay;
  Truth truth;
  std::uint64_t scale;
};

Stream stream_of(double z, const Context& context) {
  const std::uint64_t scale = context.trials(10, 1);
  Visits visits =
      draw({.visits = 5'000'000 / scale, .pages = 500'000 / scale, .per_epoch = 50'000 / scale, .z = z}, context);
  const Decay decay = drawn_decay(kLambda);
  Truth truth = truth_of(visits, decay.lambda());
  return {.z = z, .visits = std::move(visits), .decay = decay, .truth = std::move(truth), .scale = scale};
}

struct Division {
  std::vector<Cell> row{};
  double error = 0;  // mean absolute
};

// The row of one filter.
Result<Division> measure_division(const Stream& stream, const Rounding& rounding, std::uint64_t kilobytes,
                                  Result<DecayedTop> filter, const Context& context) {
  MANKAI_ASSIGN(auto profile, profile_of(std::move(filter), context));
  profile->insert(stream.visits);
  const Accuracy accuracy = accuracy_of(*profile, stream.visits, stream.truth);
  const DecayedTop& filled = profile->filter();
  return Division{.row = {fmt::format("Zipf, z = {}", stream.z), rounding.name, kilobytes, table_share(filled),
                          static_cast<double>(filled.params().names_lines * kCacheLineBytes) /
                              static_cast<double>(filled.image_bytes()),
                          accuracy.absolute, accuracy.relative_top, accuracy.recall},
                  .error = accuracy.absolute};
}

// All shares at one size: the default, other shares of the table, and other shares of the names. Returns the default's
// mean error over the least of it and the tables'.
Result<double> measure_shares(Figure& figure, const Stream& stream, const Rounding& rounding, std::uint64_t kilobytes,
                              const Context& context) {
  constexpr std::array kTables = {1.0 / 8, 1.0 / 6, 1.0 / 5, 1.0 / 4, 1.0 / 3, 2.0 / 5, 1.0 / 2};
  constexpr std::array kNames = {0.25, 0.5, 2.0};
  context.progress(fmt::format("shares at z = {} in {} KB, {}", stream.z, kilobytes, rounding.name));
  DecayedTop::Options options{
      .bytes = kilobytes * 1024, .rounding = rounding.rounding, .decay = stream.decay, .hash = context.hash()};
  MANKAI_ASSIGN(const auto whole, DecayedTop::create(options));
  options.bytes /= stream.scale;
  options.names = static_cast<std::uint32_t>(whole.names_capacity() / stream.scale);
  MANKAI_ASSIGN(const auto usual, DecayedTop::create(options));
  const auto filter_of = [&](std::size_t job) {
    if (job > 0 && job <= kTables.size()) {
      return with_table(usual, kTables.at(job - 1), context);
    }
    DecayedTop::Options other = options;
    const double times = job == 0 ? 1 : kNames.at(job - 1 - kTables.size());
    other.names = static_cast<std::uint32_t>(times * other.names);
    return DecayedTop::create(other);
  };
  std::vector<Division> divisions(1 + kTables.size() + kNames.size());
  MANKAI_TRY(in_threads(divisions.size(), [&](std::size_t job) -> Result<void> {
    MANKAI_ASSIGN(divisions[job], measure_division(stream, rounding, kilobytes, filter_of(job), context));
    return {};
  }));
  for (const Division& division : divisions) {
    figure.rows.push_back(division.row);
  }
  const auto tables = std::span(divisions).first(1 + kTables.size());
  return divisions[0].error / std::ranges::min_element(tables, {}, &Division::error)->error;
}

// A filter for so many keys at a rate: the share of keys, inserted once each, whose count is too high.
Result<void> judge_keys(const Rounding& rounding, double fpr, const Context& context, Findings& findings) {
  constexpr std::uint64_t kKeys = 200'000;
  const Hasher hasher(context.hash());
  MANKAI_ASSIGN(
      auto filter,
      make_under_test<DecayedTop>(
          {.keys = kKeys, .fpr = fpr, .rounding = rounding.rounding, .decay = drawn_decay(kLambda)}, context));
  const auto digest = [&](std::uint64_t key) { return hasher(std::to_string(key)); };
  for (std::uint64_t key = 0; key < kKeys; ++key) {
    filter.insert(digest(key));
  }
  constexpr double kTooHigh = 1.5;
  const std::uint64_t over =
      count_of(0, kKeys, [&](std::uint64_t key) { return filter.filter().estimate(digest(key)).raw > kTooHigh; });
  findings.judged({"sized-for-keys-{}-{:.0f}", rounding.name, 100 * fpr, kKeys}, at_most(fpr), share(over, kKeys));
  return {};
}

// The claim: the default's mean error is near the least.
Result<void> judge_shares(Figure& figure, const Context& context, Findings& findings) {
  const Stream stream = stream_of(1, context);
  for (const Rounding& rounding : kRoundings) {
    for (const std::uint64_t kilobytes : kKilobytes) {
      const Entry claim{"table-share-{}-{}", rounding.name, kilobytes};
      if (context.quick && kilobytes != kOneOfKilobytes) {
        findings.skipped(claim, at_most(1), Missing::full_run);
        continue;
      }
      MANKAI_ASSIGN(const auto ratio, measure_shares(figure, stream, rounding, kilobytes, context));
      findings.judged(claim, at_most(1), exact(ratio));
    }
  }
  return {};
}

Result<void> add_other_streams(Figure& figure, const Context& context) {
  for (const double z : {0.8, 1.2}) {
    const Stream stream = stream_of(z, context);
    for (const Rounding& rounding : kRoundings) {
      MANKAI_TRY(measure_shares(figure, stream, rounding, kOneOfKilobytes, context));
    }
  }
  return {};
}

}  // namespace

Result<void> measure_sizing(const Context& context, Findings& findings) {
  Figure figure = findings.figure("sizing");
  MANKAI_TRY(judge_shares(figure, context, findings));
  if (!context.quick) {
    MANKAI_TRY(add_other_streams(figure, context));
  }
  findings.add(std::move(figure));
  for (const Rounding& rounding : kRoundings) {
    for (const double fpr : {0.01, 0.1}) {
      MANKAI_TRY(judge_keys(rounding, fpr, context, findings));
    }
  }
  return {};
}

}  // namespace mankai::lab::profiling
