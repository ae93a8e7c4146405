#include "mankai/filter/counting_bloom/counting_options.hpp"
#include "mankai/filter/define_kind.hpp"
#include "mankai/filter/parts/common_options.hpp"
#include "mankai/filter/parts/plan_rows.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"

namespace mankai {
namespace {

struct ScalableCountingBloomOptions : Growth {
  CountingLayout layout = CountingLayout::blocked;
  std::uint64_t first_id = 0;
};

struct ScalableCountingBloomKind : KindDefaults {
  using Filter = ScalableCountingBloom;
  using Options = ScalableCountingBloomOptions;
  static constexpr std::string_view kSummary =
      "present, for any number of keys? sub-filters that grow; keys are removed by their ids";
  static constexpr KeyShape kKeyShape = KeyShape::numbered;
  static constexpr bool kCanGrow = true;
  static constexpr bool kHasLockFreeReaders = true;
  static constexpr std::array kOptions = {
      layout_option<Options>(), growth_option<Options>(), tightening_option<Options>(), bound_option<Options>(),
      number_option<Options, &Options::first_id, 0, Filter::kMaxId>(
          "first-id", "N", "Lowest id; keys with lower ids are refused [default: 0].")};
  static constexpr std::array<std::string_view, 4> kExamples = {
      "keys=60", "keys=60,first-id=1000,layout=partitioned,growth=1,hash=xxh3",
      "keys=60,layout=dablooms,growth=1,hash=murmur3", "keys=60,hash=siphash,canonical=yes"};

  static Result<Filter> create(const CreateRequest& request, const Options& options) {
    return Filter::create({.keys = request.keys,
                           .fpr = request.fpr,
                           .growth = options,
                           .layout = options.layout,
                           .first_id = options.first_id,
                           .hash = request.hash,
                           .memory = request.memory});
  }
  static Options options_of(const Filter& filter) { return {{filter.growth()}, filter.layout(), filter.first_id()}; }

  static void describe(const Filter& filter, FilterInfo& info) {
    info.fpr_formula = "probability that a sub-filter answers yes";
    info.fields.push_back({"slices", "sub-filters", std::uint64_t{filter.slice_count()}});
    info.fields.push_back({"overfilled_slices", "overfilled sub-filters", std::uint64_t{filter.overfilled_slices()}});
    info.fields.push_back({"initial_keys", "keys of the first sub-filter", filter.initial_keys()});
    info.fields.push_back({"first_id", "first id", filter.first_id()});
    info.fields.push_back({"max_id", "greatest id", filter.max_id()});
    info.fields.push_back({"layout", "layout", std::string(name(filter.layout()))});
    info.fields.push_back({"saturated_cells", "stuck counters", filter.saturated_cells()});
    describe_growth(filter.growth(), info);
  }

  static Result<std::vector<PlanRow>> plan(const SizeRequest& request) {
    return counter_rows(Kind{Filter::kKind}, request, first_slice_fpr(request.fpr));
  }
  static std::vector<PlanRow> plan_within(std::uint64_t keys, std::uint64_t lines) {
    std::vector<PlanRow> rows = counter_rows_within(Kind{Filter::kKind}, keys, lines);
    for (PlanRow& row : rows) {
      row.spec.fpr = target_of_first_slice(row.fpr);
    }
    return rows;
  }
};

}  // namespace

MANKAI_DEFINE_KIND(scalable_counting_bloom, ScalableCountingBloomKind)

}  // namespace mankai
