#include "mankai/filter/define_kind.hpp"
#include "mankai/filter/parts/common_options.hpp"
#include "mankai/filter/parts/plan_rows.hpp"
#include "mankai/filter/scalable_bloom/scalable_bloom.hpp"

namespace mankai {
namespace {

struct ScalableBloomKind : KindDefaults {
  using Filter = ScalableBloom;
  using Options = Growth;
  static constexpr std::string_view kSummary =
      "seen before, for any number of keys? sub-filters that grow; a cache line per sub-filter";
  static constexpr bool kCanGrow = true;
  static constexpr bool kHasLockFreeReaders = true;
  static constexpr std::array kOptions = {growth_option<Options>(), tightening_option<Options>(),
                                          bound_option<Options>()};
  static constexpr std::array<std::string_view, 3> kExamples = {"keys=60,hash=xxh3", "keys=60,growth=1,canonical=yes",
                                                                "keys=150,fpr=0.000001,bound=gradual"};

  static Result<Filter> create(const CreateRequest& request, const Options& options) {
    return Filter::create(
        {.keys = request.keys, .fpr = request.fpr, .growth = options, .hash = request.hash, .memory = request.memory});
  }
  static Options options_of(const Filter& filter) { return filter.growth(); }

  static void describe(const Filter& filter, FilterInfo& info) {
    info.fpr_formula = "probability that a sub-filter answers yes";
    info.fields.push_back({"slices", "sub-filters", std::uint64_t{filter.slice_count()}});
    info.fields.push_back({"initial_keys", "keys of the first sub-filter", filter.initial_keys()});
    describe_growth(filter.growth(), info);
  }

  static Result<std::vector<PlanRow>> plan(const SizeRequest& request) {
    return blocked_rows(Kind{Filter::kKind}, request, first_slice_fpr(request.fpr));
  }
  static std::vector<PlanRow> plan_within(std::uint64_t keys, std::uint64_t lines) {
    const PlanShape shape = blocked_bits(keys, lines);
    return {plan_row({.kind = Kind{Filter::kKind}, .keys = keys, .fpr = target_of_first_slice(shape.fpr)}, shape)};
  }
};

}  // namespace

MANKAI_DEFINE_KIND(scalable_bloom, ScalableBloomKind)

}  // namespace mankai
