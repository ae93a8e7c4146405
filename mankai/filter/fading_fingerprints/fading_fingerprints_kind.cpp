#include "mankai/filter/define_kind.hpp"
#include "mankai/filter/fading_fingerprints/fading_fingerprints.hpp"
#include "mankai/filter/fading_fingerprints/fading_size.hpp"
#include "mankai/filter/parts/common_options.hpp"
#include "mankai/filter/parts/plan_rows.hpp"

namespace mankai {
namespace {

constexpr std::array<std::uint32_t, 2> kPlannedBits = {8, 16};
constexpr std::array<std::uint32_t, 2> kPlannedMatches = {1, 2};

struct FadingFingerprintsOptions {
  std::uint32_t k = 0;
  std::uint32_t width = 0;
  std::uint64_t slots = 0;
  std::uint32_t min_matches = 1;
};

struct FadingFingerprintsKind : KindDefaults {
  using Filter = FadingFingerprints;
  using Options = FadingFingerprintsOptions;
  static constexpr std::string_view kSummary = "seen recently? newer keys overwrite older ones; any size";
  static constexpr std::array kOptions = {
      probes_option<Options>(), width_option<Options>(),
      count_option<Options, &Options::slots>("slots", "Number of slots [default: what --keys needs]."),
      number_option<Options, &Options::min_matches, 1, kernel::kMaxProbes>(
          "min-matches", "R", "Number of fingerprints of a key that must be found [default: 1].")};
  static constexpr std::array<std::string_view, 2> kExamples = {"keys=300,hash=xxh3",
                                                                "slots=1000,k=5,min-matches=2,canonical=yes"};

  static Result<Filter> create(const CreateRequest& request, const Options& options) {
    return Filter::create({.keys = request.keys,
                           .fpr = request.fpr,
                           .slots = options.slots,
                           .k = options.k,
                           .bits = options.width,
                           .min_matches = options.min_matches,
                           .hash = request.hash,
                           .memory = request.memory});
  }
  static Options options_of(const Filter& filter) { return options_of(filter.shape()); }

  static void describe(const Filter& filter, FilterInfo& info) {
    const FadingShape shape = filter.shape();
    info.fpr_formula = "probability that enough slots hold the fingerprint by chance";
    info.fields.push_back({"slots", "slots", shape.slots});
    info.fields.push_back({"fingerprint_bits", "bits per fingerprint", std::uint64_t{shape.bits}});
    info.fields.push_back({"min_matches", "matches needed", std::uint64_t{shape.min_matches}});
    info.fields.push_back({"half_life_keys", "half-life, in keys", filter.half_life()});
    info.fields.push_back({"plateau", "rate when full", fading_fpr(shape)});
  }

  /// Half of the keys are still found after as many others.
  static Result<std::vector<PlanRow>> plan(const SizeRequest& request) {
    MANKAI_ASSIGN(const FadingShape shape, fading_size({.events = request.keys, .survival = 0.5, .fpr = request.fpr}));
    return std::vector{row_of(request.keys, request.fpr, shape)};
  }
  static Result<std::vector<PlanRow>> plan_forgetting(const ForgettingRequest& request) {
    std::vector<PlanRow> rows;
    std::optional<Error> refusal;
    for (const std::uint32_t bits : kPlannedBits) {
      for (const std::uint32_t min_matches : kPlannedMatches) {
        const auto shape = fading_size({.events = request.events,
                                        .survival = request.survival,
                                        .fpr = request.fpr,
                                        .bits = bits,
                                        .min_matches = min_matches});
        if (shape) {
          rows.push_back(row_of(request.events, request.fpr, *shape));
          rows.back().survival = fading_survival(*shape, static_cast<double>(request.events));
        } else {
          refusal = shape.error();
        }
      }
    }
    return rows.empty() ? Result<std::vector<PlanRow>>(std::unexpected(*refusal)) : std::move(rows);
  }

 private:
  static Options options_of(const FadingShape& shape) {
    return {.k = shape.k, .width = shape.bits, .slots = shape.slots, .min_matches = shape.min_matches};
  }
  static PlanRow row_of(std::uint64_t keys, double fpr, const FadingShape& shape) {
    return plan_row({.kind = Kind{Filter::kKind},
                     .keys = keys,
                     .fpr = fpr,
                     .options = detail::texts_of<FadingFingerprintsKind>(options_of(shape))},
                    {.cells_bytes = fading_cells_bytes(shape),
                     .fpr = fading_fpr(shape),
                     .probes = shape.k,
                     .lines = static_cast<double>(shape.k)});
  }
};

}  // namespace

MANKAI_DEFINE_KIND(fading_fingerprints, FadingFingerprintsKind)

}  // namespace mankai
