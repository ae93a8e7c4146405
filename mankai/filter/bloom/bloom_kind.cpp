#include <bit>

#include "mankai/base/bits.hpp"
#include "mankai/filter/bloom/bloom.hpp"
#include "mankai/filter/define_kind.hpp"
#include "mankai/filter/parts/common_options.hpp"
#include "mankai/filter/parts/plan_rows.hpp"

namespace mankai {
namespace {

constexpr std::array kAddressings = {BloomAddressing::range, BloomAddressing::fields};

struct BloomOptions {
  std::uint32_t k = 0;
  BloomAddressing addressing = BloomAddressing::range;
};

struct BloomKind : KindDefaults {
  using Filter = Bloom;
  using Options = BloomOptions;
  static constexpr std::string_view kSummary =
      "seen before? the classic filter: fewest bits, up to k cache lines per key";
  static constexpr bool kHasLockFreeReaders = true;
  static constexpr std::array kOptions = {
      probes_option<Options>(),
      choice_option<Options, &Options::addressing, kAddressings>(
          "addressing", "MODE",
          "How bit positions are derived: range, or fields, the white paper's bit fields of one long hash in an array "
          "of a power of two [default: range].")};
  static constexpr std::array<std::string_view, 3> kExamples = {"keys=500", "keys=500,addressing=fields,hash=xxh3",
                                                                "keys=500,hash=siphash"};

  static Result<Filter> create(const CreateRequest& request, const Options& options) {
    return Filter::create({.keys = request.keys,
                           .fpr = request.fpr,
                           .k = options.k,
                           .addressing = options.addressing,
                           .hash = request.hash,
                           .memory = request.memory});
  }
  static Options options_of(const Filter& filter) { return {.k = filter.phase(), .addressing = filter.addressing()}; }

  static void describe(const Filter& filter, FilterInfo& info) {
    info.fpr_formula = "saturation^phase";
    info.fields.push_back({"saturation", "saturation", info.fill_ratio});
    info.fields.push_back({"phase", "phase", std::uint64_t{filter.phase()}});
    info.fields.push_back({"addressing", "addressing", std::string(name(filter.addressing()))});
  }

  static Result<std::vector<PlanRow>> plan(const SizeRequest& request) {
    MANKAI_ASSIGN(const BloomSize range, bloom_size(request));
    MANKAI_ASSIGN(const BloomSize fields, bloom_size_for_fields(request));
    return rows_of(request.keys, request.fpr, range, fields);
  }
  static std::vector<PlanRow> plan_within(std::uint64_t keys, std::uint64_t lines) {
    const std::uint64_t cells = lines * kCacheLineBytes * 8;
    const std::uint64_t power = std::bit_floor(cells);
    return rows_of(keys, std::nullopt, {.cell_count = cells, .k = best_probes(keys, cells)},
                   {.cell_count = power, .k = best_probes(keys, power)});
  }

 private:
  static std::vector<PlanRow> rows_of(std::uint64_t keys, std::optional<double> fpr, const BloomSize& range,
                                      const BloomSize& fields) {
    const PlanShape shape = classic_bits(keys, range);
    const PlanShape power = classic_bits(keys, fields);
    return {plan_row({.kind = Kind{Filter::kKind}, .keys = keys, .fpr = fpr.value_or(shape.fpr)}, shape),
            plan_row({.kind = Kind{Filter::kKind},
                      .keys = keys,
                      .fpr = fpr.value_or(power.fpr),
                      .options = {{"addressing", "fields"}}},
                     power)};
  }
};

}  // namespace

MANKAI_DEFINE_KIND(bloom, BloomKind)

}  // namespace mankai
