#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"
#include "mankai/filter/define_kind.hpp"
#include "mankai/filter/parts/plan_rows.hpp"

namespace mankai {
namespace {

struct BlockedBloomKind : KindDefaults {
  using Filter = BlockedBloom;
  struct Options {};
  static constexpr std::string_view kSummary = "seen before? one cache line per key; the default";
  static constexpr bool kHasLockFreeReaders = true;
  static constexpr std::array<OptionOf<Options>, 0> kOptions = {};
  static constexpr std::array<std::string_view, 3> kExamples = {"keys=500,hash=xxh3", "keys=500,canonical=yes",
                                                                "keys=500,hash=siphash,canonical=yes"};

  static Result<Filter> create(const CreateRequest& request, const Options& /*options*/) {
    return Filter::create({.keys = request.keys, .fpr = request.fpr, .hash = request.hash, .memory = request.memory});
  }
  static Options options_of(const Filter& /*filter*/) { return {}; }

  static void describe(const Filter& filter, FilterInfo& info) {
    info.fpr_formula = "mean over blocks of the product of the lanes' fill";
    info.fields.push_back({"block_count", "blocks", filter.params().block_count});
  }

  static Result<std::vector<PlanRow>> plan(const SizeRequest& request) {
    return blocked_rows(Kind{Filter::kKind}, request, request.fpr);
  }
  static std::vector<PlanRow> plan_within(std::uint64_t keys, std::uint64_t lines) {
    const PlanShape shape = blocked_bits(keys, lines);
    return {plan_row({.kind = Kind{Filter::kKind}, .keys = keys, .fpr = shape.fpr}, shape)};
  }
};

}  // namespace

MANKAI_DEFINE_KIND(blocked_bloom, BlockedBloomKind)

}  // namespace mankai
