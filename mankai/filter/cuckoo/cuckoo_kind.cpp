#include "mankai/filter/cuckoo/cuckoo.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

#include "mankai/base/duration.hpp"
#include "mankai/filter/define_kind.hpp"
#include "mankai/filter/parts/plan_rows.hpp"

namespace mankai {
namespace {

struct CuckooOptions {
  std::uint32_t growth = 2;
  std::optional<std::uint32_t> counts = std::nullopt;
  Duration max_ttl{};
  Duration ttl_resolution{};
};

/// Bits of count unless keys expire: 4 take up to six bits more per key, and count to 56 instead of 8.
constexpr std::uint32_t kUsualCounts = 2;

struct CuckooKind {
  using Filter = Cuckoo;
  using Options = CuckooOptions;
  static constexpr std::string_view kSummary =
      "present, how often? keys can be removed and can have a time to live; grows; two cache lines, seldom four";
  static constexpr KeyShape kKeyShape = KeyShape::whole;
  static constexpr bool kCanGrow = true;
  static constexpr bool kHasLockFreeReaders = false;  // lookups may, but a copy of the image would miss what moves
  static constexpr std::array kOptions = {
      number_option<Options, &Options::growth, 0, Growth::kMaxFactor>(
          "growth", "S",
          "Factor by which a full filter grows, a power of 2; 1 to grow by --keys, with two more cache lines per "
          "lookup "
          "each time; 0 for a filter that does not grow, takes fewer bits and refuses keys when it is full "
          "[default: 2]."),
      number_option<Options, &Options::counts, 0, 4>(
          "counts", "BITS",
          "Bits that count how often a key was added: 4, 2 or 0. With 0 each time takes a slot, up to 4; with 0 and "
          "--max-ttl keys cannot be removed [default: 2; with --max-ttl 0]."),
      duration_option<Options, &Options::max_ttl>(
          "max-ttl", "Longest time to live of a key: each key can have a shorter one of its own [default: none]."),
      duration_option<Options, &Options::ttl_resolution>(
          "ttl-resolution", "How much longer than its time to live a key may be found [default: max-ttl / 13]."),
  };
  static constexpr std::array<std::string_view, 5> kExamples = {
      "keys=60,hash=xxh3", "keys=60,counts=0,growth=1,canonical=yes", "keys=60,fpr=0.0001,counts=4",
      "keys=60,max-ttl=13h", "keys=60,max-ttl=13h,counts=2"};
  static const KindDescription& description() noexcept;

  static Result<Filter> create(const CreateRequest& request, const Options& options) {
    return Filter::create({.keys = request.keys,
                           .fpr = request.fpr,
                           .growth = options.growth,
                           .counts = options.counts.value_or(options.max_ttl == Duration::zero() ? kUsualCounts : 0),
                           .max_ttl = options.max_ttl,
                           .ttl_resolution = options.ttl_resolution,
                           .hash = request.hash,
                           .memory = request.memory});
  }
  static Options options_of(const Filter& filter) {
    Options options{
        .growth = filter.growth_factor(), .counts = filter.slot().count, .max_ttl = {}, .ttl_resolution = {}};
    if (filter.has_time()) {
      options.max_ttl = filter.max_ttl();
      options.ttl_resolution = filter.params().lifetime == kCuckooLifetime ? Duration::zero() : filter.epoch();
    }
    return options;
  }

  static void describe(const Filter& filter, FilterInfo& info) {
    info.fpr_formula = "slots compared, times the share of them that is taken, over the values of a fingerprint";
    info.fields.push_back({"slices", "sub-filters", std::uint64_t{filter.slice_count()}});
    info.fields.push_back({"initial_keys", "keys of the first sub-filter", filter.initial_keys()});
    info.fields.push_back({"growth", "growth", std::uint64_t{filter.growth_factor()}});
    info.fields.push_back({"fingerprint_bits", "bits of a fingerprint", std::uint64_t{filter.slot().fingerprint}});
    info.fields.push_back({"count_bits", "bits of a count", std::uint64_t{filter.slot().count}});
    info.fields.push_back({"taken_slots", "slots taken", filter.taken_slots()});
    if (filter.has_time()) {
      describe_now(filter.tick(), filter.epoch(), info);
      info.fields.push_back({"max_ttl_seconds", "longest time to live", seconds_of(filter.max_ttl())});
      info.fields.push_back({"ttl_resolution_seconds", "resolution of times to live", seconds_of(filter.epoch())});
    }
  }

  static Result<std::vector<PlanRow>> plan(const SizeRequest& request) {
    constexpr Duration kWeek = std::chrono::days(7);  // a longest time to live, which does not change the size
    std::vector<PlanRow> rows;
    std::optional<Error> refusal;  // some shapes reach lower rates than others
    for (const std::uint32_t growth : {Options{}.growth, 0U}) {
      for (const auto& [counts, max_ttl] :
           {std::pair(kUsualCounts, Duration()), std::pair(0U, Duration()), std::pair(0U, kWeek)}) {
        const Filter::Options options{
            .keys = request.keys, .fpr = request.fpr, .growth = growth, .counts = counts, .max_ttl = max_ttl};
        if (const auto size = Filter::size_of(options); size) {
          rows.push_back(row_of(options, *size));
        } else {
          refusal = size.error();
        }
      }
    }
    return rows.empty() ? Result<std::vector<PlanRow>>(std::unexpected(std::move(*refusal))) : std::move(rows);
  }
  // With the widest slots for which there is room, and without growth, since a filter that grows is planned for a rate.
  static std::vector<PlanRow> plan_within(std::uint64_t keys, std::uint64_t lines) {
    std::vector<PlanRow> rows;
    for (const std::uint32_t counts : {kUsualCounts, 0U}) {
      for (const unsigned bits : cuckoo::kSlotBits | std::views::reverse) {
        const CuckooSlot slot{.fingerprint = std::min(bits - counts, kMostCuckooFingerprint), .count = counts};
        // Asked for a little more, so that rounding does not choose a bit more.
        const Filter::Options options{
            .keys = keys, .fpr = CuckooTable::fpr_of(slot, 0, 1), .growth = 0, .counts = counts};
        if (const auto size = Filter::size_of(options); size && size->cells_bytes <= lines * kCacheLineBytes) {
          rows.push_back(row_of(options, *size));
          break;
        }
      }
    }
    return rows;
  }

 private:
  static PlanRow row_of(const Filter::Options& options, const Filter::Size& size) {
    FilterSpec spec{.kind = Kind{Filter::kKind}, .keys = options.keys, .fpr = options.fpr};
    if (options.growth != Options{}.growth) {
      set_option(spec, "growth", std::to_string(options.growth));
    }
    const bool has_time = options.max_ttl != Duration::zero();
    if (has_time) {
      set_option(spec, "max-ttl", to_text(options.max_ttl));
    } else if (options.counts == 0) {
      set_option(spec, "counts", "0");
    }
    PlanRow row = plan_row(spec, {.cells_bytes = size.cells_bytes,
                                  .fpr = size.slot.fpr() * size.load,
                                  .probes = 2 * cuckoo::kSlotsPerBucket,
                                  .lines = 2});
    row.can_grow = options.growth != 0;
    row.can_erase = !has_time;
    row.forgets = has_time;
    return row;
  }
};

}  // namespace

MANKAI_DEFINE_KIND(cuckoo, CuckooKind)

}  // namespace mankai
