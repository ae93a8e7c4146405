#include "mankai/base/bits.hpp"
#include "mankai/filter/define_kind.hpp"
#include "mankai/filter/parts/common_options.hpp"
#include "mankai/filter/recent_values/recent_values.hpp"

namespace mankai {
namespace {

struct RecentValuesOptions {
  std::uint32_t k = 0;
  std::uint64_t slots = 0;
};

struct RecentValuesKind : KindDefaults {
  using Filter = RecentValues;
  using Options = RecentValuesOptions;
  static constexpr std::string_view kSummary =
      "which values came with this key recently? the most frequent and the latest";
  static constexpr KeyShape kKeyShape = KeyShape::valued;
  static constexpr std::array kOptions = {
      probes_option<Options>(),
      count_option<Options, &Options::slots>("slots", "Number of slots [default: what --keys needs].")};
  static constexpr std::array<std::string_view, 2> kExamples = {"keys=200,hash=xxh3",
                                                                "keys=200,hash=siphash,canonical=yes"};

  static Result<Filter> create(const CreateRequest& request, const Options& options) {
    const std::uint32_t k = options.k == 0 ? Filter::kDefaultK : options.k;
    return Filter::create({.keys = request.keys,
                           .cells_per_probe = divide_up<std::uint64_t>(options.slots, k),
                           .k = k,
                           .hash = request.hash,
                           .memory = request.memory});
  }
  static Options options_of(const Filter& filter) {
    return {.k = filter.probes_per_key(), .slots = filter.cell_count()};
  }

  static void describe(const Filter& filter, FilterInfo& info) {
    info.fpr_formula = "probability that an absent value has a match";
    info.fields.push_back({"slots", "slots", filter.cell_count()});
  }
};

}  // namespace

MANKAI_DEFINE_KIND(recent_values, RecentValuesKind)

}  // namespace mankai
