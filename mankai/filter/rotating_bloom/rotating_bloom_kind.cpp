#include <cmath>

#include "mankai/base/bits.hpp"
#include "mankai/filter/define_kind.hpp"
#include "mankai/filter/parts/plan_rows.hpp"
#include "mankai/filter/rotating_bloom/rotating_bloom.hpp"

namespace mankai {
namespace {

constexpr Duration kDefaultWindow = std::chrono::hours(7 * 24);

struct RotatingBloomOptions {
  Duration window{};
  std::uint32_t generations = 4;
};

struct RotatingBloomKind : KindDefaults {
  using Filter = RotatingBloom;
  using Options = RotatingBloomOptions;
  static constexpr std::string_view kSummary =
      "seen within a window of time? generations of blocked-bloom, of which the oldest expires";
  static constexpr std::array kOptions = {
      duration_option<Options, &Options::window>(
          "window",
          "Time for which a key is never a false negative [default: 7d]; of decayed-top, time whose keys are counted "
          "instead of decaying [default: none]."),
      number_option<Options, &Options::generations, 2, Filter::kMostGenerations>(
          "generations", "G",
          "Number of generations. A key expires after G / (G - 1) times the window at the latest [default: 4].")};
  static constexpr std::array<std::string_view, 2> kExamples = {"keys=500,window=3h,hash=xxh3",
                                                                "keys=500,window=3h,generations=2,canonical=yes"};

  static Result<Filter> create(const CreateRequest& request, const Options& options) {
    return Filter::create({.keys = request.keys,
                           .fpr = request.fpr,
                           .window = options.window == Duration::zero() ? kDefaultWindow : options.window,
                           .generations = options.generations,
                           .hash = request.hash,
                           .memory = request.memory});
  }
  static Options options_of(const Filter& filter) {
    return {.window = filter.window(), .generations = filter.generations()};
  }

  static void describe(const Filter& filter, FilterInfo& info) {
    info.fpr_formula = "probability that a generation answers yes";
    describe_time(filter.tick(), filter.epoch(), info);
    info.fields.push_back({"window_seconds", "window", seconds_of(filter.window())});
    info.fields.push_back({"generations", "generations", std::uint64_t{filter.generations()}});
    info.fields.push_back({"keys_of_epoch", "keys of this epoch", filter.keys_of_epoch()});
  }

  static Result<std::vector<PlanRow>> plan(const SizeRequest& request) {
    MANKAI_ASSIGN(PlanRow row, row_for(request, Options{}.generations));
    return std::vector{std::move(row)};
  }
  static Result<std::vector<PlanRow>> plan_forgetting(const ForgettingRequest& request) {
    std::vector<PlanRow> rows;
    for (const std::uint32_t generations : {2U, 4U, 8U}) {
      MANKAI_ASSIGN(PlanRow row, row_for({.keys = request.events, .fpr = request.fpr}, generations));
      set_option(row.spec, "generations", std::to_string(generations));
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  static Result<PlanRow> row_for(const SizeRequest& request, std::uint32_t generations) {
    MANKAI_ASSIGN(const std::uint64_t blocks, Filter::blocks_for(request.keys, request.fpr, generations));
    const std::uint64_t keys_of_one = divide_up<std::uint64_t>(request.keys, generations - 1);
    const double others = 1 - blocked_bloom_fpr(keys_of_one, blocks);
    const PlanShape shape{.cells_bytes = blocks * generations * kCacheLineBytes,
                          .fpr = 1 - std::pow(others, generations),
                          .probes = probes::kBlockLanes,
                          .lines = static_cast<double>(generations)};
    return plan_row({.kind = Kind{Filter::kKind}, .keys = request.keys, .fpr = request.fpr}, shape);
  }
};

}  // namespace

MANKAI_DEFINE_KIND(rotating_bloom, RotatingBloomKind)

}  // namespace mankai
