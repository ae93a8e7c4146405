#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "mankai/filter/counting_bloom/counting_options.hpp"
#include "mankai/filter/define_kind.hpp"
#include "mankai/filter/parts/common_options.hpp"
#include "mankai/filter/parts/plan_rows.hpp"

namespace mankai {
namespace {

struct CountingBloomOptions {
  std::uint32_t k = 0;
  CountingLayout layout = CountingLayout::blocked;
};

struct CountingBloomKind : KindDefaults {
  using Filter = CountingBloom;
  using Options = CountingBloomOptions;
  static constexpr std::string_view kSummary = "present, how often? keys can be removed; four times the bits";
  static constexpr bool kHasLockFreeReaders = true;
  static constexpr std::array kOptions = {probes_option<Options>(), layout_option<Options>()};
  static constexpr std::array<std::string_view, 4> kExamples = {"keys=300",
                                                                "keys=300,layout=partitioned,canonical=yes,hash=xxh3",
                                                                "keys=300,layout=dablooms,hash=murmur3", "keys=5"};

  static Result<Filter> create(const CreateRequest& request, const Options& options) {
    return Filter::create({.keys = request.keys,
                           .fpr = request.fpr,
                           .layout = options.layout,
                           .k = options.k,
                           .hash = request.hash,
                           .memory = request.memory});
  }
  static Options options_of(const Filter& filter) {
    return {.k = filter.layout() == CountingLayout::partitioned ? filter.probes_per_key() : 0,
            .layout = filter.layout()};
  }

  static void describe(const Filter& filter, FilterInfo& info) {
    info.fpr_formula = filter.layout() == CountingLayout::blocked ? "mean over blocks of the product of the lanes' fill"
                                                                  : "product of the partitions' fill";
    info.fields.push_back({"layout", "layout", std::string(name(filter.layout()))});
    info.fields.push_back({"saturated_cells", "stuck counters", filter.saturated_cells()});
  }

  static Result<std::vector<PlanRow>> plan(const SizeRequest& request) {
    return counter_rows(Kind{Filter::kKind}, request, request.fpr);
  }
  static std::vector<PlanRow> plan_within(std::uint64_t keys, std::uint64_t lines) {
    return counter_rows_within(Kind{Filter::kKind}, keys, lines);
  }
};

}  // namespace

MANKAI_DEFINE_KIND(counting_bloom, CountingBloomKind)

}  // namespace mankai
