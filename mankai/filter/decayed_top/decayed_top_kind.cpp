#include "mankai/filter/decayed_top/decayed_top.hpp"
#include "mankai/filter/define_kind.hpp"
#include "mankai/filter/detail/change_payload.hpp"
#include "mankai/filter/parts/common_options.hpp"

namespace mankai {
namespace {

static_assert(detail::kMostNameBytes == DecayedTop::kMostKeyBytes + 1);

constexpr std::uint64_t kMostNames = std::uint64_t{1} << 24;

struct DecayedTopOptions : DecayOptions {
  std::uint64_t bytes = 0;
  std::uint32_t names = 0;
  CountRounding rounding = CountRounding::strict;
  Duration window{};
};

constexpr std::array kRoundings = {CountRounding::strict, CountRounding::balanced};

struct DecayedTopKind : KindDefaults {
  using Filter = DecayedTop;
  using Options = DecayedTopOptions;
  static constexpr std::string_view kSummary = "what is hot? decayed counts, and the names of the hottest keys";
  static constexpr KeyShape kKeyShape = KeyShape::named;
  static constexpr std::array kOptions = {
      half_life_option<Options>(),
      lambda_option<Options>(),
      epoch_option<Options>(),
      bytes_limit_option<Options>(),
      number_option<Options, &Options::names, 1, kMostNames>(
          "names", "N", "Number of keys of 48 bytes stored by name [default: what an eighth of the memory holds]."),
      choice_option<Options, &Options::rounding, kRoundings>(
          "rounding", "ROUNDING",
          "How counts are rounded: strict, never below the truth; balanced, with half of the error, some too low "
          "[default: strict]."),
      duration_option<Options, &Options::window>(
          "window",
          "Count the keys of the last TIME, such as 24h, instead of decaying. The edge of the window moves in "
          "steps of 1/8 of it, and the memory is split nine ways.")};
  static constexpr std::array<std::string_view, 4> kExamples = {
      "keys=300,hash=xxh3", "keys=300,rounding=balanced", "keys=300,names=20,canonical=yes", "keys=300,window=24h"};

  static Result<Filter> create(const CreateRequest& request, const Options& options) {
    const bool decays = options.lambda || options.half_life != Duration::zero() || options.epoch != Duration::zero();
    if (decays && options.window != Duration::zero()) {
      return fail(ErrorCode::invalid_argument,
                  "window cannot be combined with half-life, lambda and epoch: counts of a window do not decay");
    }
    MANKAI_ASSIGN(const Decay decay, decay_from(options, false));
    return Filter::create({.keys = request.keys,
                           .fpr = request.fpr,
                           .bytes = options.bytes,
                           .names = options.names,
                           .rounding = options.rounding,
                           .decay = decay,
                           .window = options.window,
                           .hash = request.hash,
                           .memory = request.memory});
  }
  static Options options_of(const Filter& filter) {
    const bool has_window = filter.window() != Duration::zero();
    return {has_window ? DecayOptions{} : options_from(filter.decay()), filter.image_bytes(),
            static_cast<std::uint32_t>(filter.names_capacity()), filter.rounding(), filter.window()};
  }

  static void describe(const Filter& filter, FilterInfo& info) {
    info.fpr_formula = "square of the fill, and equal tags";
    describe_time(filter.tick(), filter.epoch(), info);
    if (filter.window() != Duration::zero()) {
      info.fields.push_back({"window_seconds", "window", seconds_of(filter.window())});
    } else {
      describe_decay(filter.decay(), info);
    }
    info.fields.push_back({"rounding", "counts", std::string(name(filter.rounding()))});
    info.fields.push_back({"names", "keys by name", filter.names()});
    info.fields.push_back({"names_capacity", "room for names of 48 bytes", filter.names_capacity()});
    info.fields.push_back({"late_records", "late keys", filter.late_records()});
  }
};

}  // namespace

MANKAI_DEFINE_KIND(decayed_top, DecayedTopKind)

}  // namespace mankai
