#include <algorithm>
#include <string>
#include <utility>

#include "mankai/base/bits.hpp"
#include "mankai/filter/decayed_top/decayed_top.hpp"
#include "mankai/filter/parts/decay_checks.hpp"
#include "mankai/filter/parts/sizing.hpp"

// Sizes of a decayed-top, and the checks of its image.

namespace mankai {

struct DecayedTop::Shape {
  Params params;
  std::uint64_t lines;  ///< of a pane
};

namespace {

using Params = DecayedTop::Params;

constexpr std::uint64_t kLedgerLines = 1;
constexpr std::uint32_t kRows = 2;
/// A name with a key of 48 bytes takes 80 bytes: its record, directory entries, and a share of the free arena. So four
/// names take five lines.
constexpr std::uint64_t kNamesOfGroup = 4;
constexpr std::uint64_t kLinesOfGroup = 5;
/// Sizes of table and names: within 12 % of the lowest error measured from 128 to 512 KiB, for Zipf 1.0.
constexpr std::uint64_t kStrictTableShare = 4;
constexpr std::uint64_t kBalancedTableShare = 3;
constexpr std::uint64_t kNamesShare = 8;
constexpr std::uint64_t kSmallNamesShare = 5;
/// Each pane needs names for the whole list: a fifth has 72 in 256 KiB, a third has 121.
constexpr std::uint64_t kSmallWindowNamesShare = 3;
constexpr std::uint64_t kSmallNamesLines = (std::uint64_t{12} << 10) / kCacheLineBytes;
/// Of eight tags of 16 bits, one equals an absent key's so often: more cells would not lower the rate.
constexpr double kLeastFpr = 1e-4;
/// Slots have numbers of 32 bits.
constexpr std::uint64_t kMostBuckets = std::uint64_t{1} << 27;

constexpr std::uint64_t table_share(CountRounding rounding) noexcept {
  return rounding == CountRounding::balanced ? kBalancedTableShare : kStrictTableShare;
}

constexpr std::uint64_t lines_beside_sketch(const Params& params) noexcept {
  return kLedgerLines + params.bucket_count() + params.names_lines;
}

Result<void> check_options(const DecayedTop::Options& options) {
  if (options.window == Duration::zero()) {
    MANKAI_TRY(check_decay(options.decay));
  } else if (options.window < Duration::zero() || options.window > kLongestDuration ||
             options.window.count() % DecayedTop::kPanesOfWindow != 0) {
    return fail(ErrorCode::invalid_argument,
                "a window of " + std::to_string(options.window.count()) +
                    " us is not valid: it must be a multiple of 8 us, and at most 1000 years");
  }
  if (options.keys == 0 && options.bytes == 0) {
    return fail(ErrorCode::invalid_argument, "a filter for 0 keys: say for how many, or how many bytes it may take");
  }
  if (!(options.fpr > 0 && options.fpr < 1)) {
    return fail(ErrorCode::invalid_argument, "the rate of overestimates must lie between 0 and 1, both excluded");
  }
  return {};
}

std::uint64_t cells_per_line(CountRounding rounding) noexcept {
  return rounding == CountRounding::balanced ? BalancedCounts::Cells::kPlaces : StrictCounts::Cells::kPlaces;
}

// The number of distinct keys with which the sketch reaches the rate of overestimates.
std::uint64_t keys_that_fit(const DecayedTop::Options& options, std::uint64_t sketch_lines) noexcept {
  return partitioned_keys(options.fpr,
                          {.cells_per_probe = sketch_lines * cells_per_line(options.rounding) / kRows, .k = kRows});
}

// Lines of a whole number of names.
std::uint32_t names_lines_for(const DecayedTop::Options& options, std::uint64_t of_share, std::uint64_t small) {
  const std::uint64_t names =
      options.names != 0 ? options.names
                         : std::max(of_share, std::min(small, kSmallNamesLines)) * kNamesOfGroup / kLinesOfGroup;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(names, kNamesOfGroup, Names::kMostLines / 2) *
                                    kLinesOfGroup / kNamesOfGroup);
}

std::uint32_t buckets_within(std::uint64_t lines, CountRounding rounding) noexcept {
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(lines / table_share(rounding), 1, kMostBuckets));
}

}  // namespace

Result<DecayedTop::Shape> DecayedTop::shape_of(const Options& options) {
  MANKAI_TRY(check_options(options));
  const bool has_window = options.window != Duration::zero();
  const Duration epoch = has_window ? options.window / kPanesOfWindow : options.decay.epoch;
  Params params{.lambda_q32 = has_window ? kLambdaOne : options.decay.lambda_q32,
                .epoch_us = static_cast<std::uint64_t>(epoch.count()),
                .buckets = (has_window ? Params::kWindow : 0) |
                           (options.rounding == CountRounding::balanced ? Params::kBalanced : 0),
                .names_lines = 0};
  const std::uint64_t small_share = has_window ? kSmallWindowNamesShare : kSmallNamesShare;
  if (options.bytes == 0) {
    const double fpr = std::max(options.fpr, kLeastFpr);
    MANKAI_ASSIGN(const auto size, partitioned_size({.keys = options.keys, .fpr = fpr}, kRows));
    const std::uint64_t share = table_share(options.rounding);
    const std::uint64_t sketch = divide_up(size.cells_per_probe * kRows, cells_per_line(options.rounding));
    params.buckets |= buckets_within(divide_up(sketch * share, share - 1), options.rounding);
    const std::uint64_t counts = sketch + params.bucket_count();
    params.names_lines = names_lines_for(options, counts / (kNamesShare - 1), counts / (small_share - 1));
    return Shape{.params = params, .lines = lines_beside_sketch(params) + sketch};
  }
  const std::uint64_t lines =
      std::min(cell_lines_within(options.bytes), kMaxCellsBytes / kCacheLineBytes) / params.panes();
  params.names_lines = names_lines_for(options, lines / kNamesShare, lines / small_share);
  const std::uint64_t least = kLedgerLines + params.names_lines + 2;
  if (lines < least) {
    return fail(
        ErrorCode::invalid_argument,
        "too few bytes; give at least " + std::to_string(image_bytes_for(params.panes() * least * kCacheLineBytes)));
  }
  params.buckets |= buckets_within(lines - kLedgerLines - params.names_lines, options.rounding);
  return Shape{.params = params, .lines = lines};
}

Result<DecayedTop> DecayedTop::create(const Options& options) {
  MANKAI_ASSIGN(const auto shape, shape_of(options));
  const std::uint64_t sketch = shape.lines - lines_beside_sketch(shape.params);
  MANKAI_ASSIGN(auto image,
                Image::create(kKind,
                              {.capacity_keys = options.keys != 0 ? options.keys : keys_that_fit(options, sketch),
                               .fpr_target = options.fpr,
                               .hash = options.hash,
                               .cells_bytes = shape.params.panes() * shape.lines * kCacheLineBytes,
                               .slice_tag = options.keys_tag},
                              options.memory));
  image.set_params(shape.params);
  return from_image(std::move(image));
}

Result<std::uint64_t> DecayedTop::image_bytes_of(const Options& options) {
  const auto shape = shape_of(options);
  return shape ? Result<std::uint64_t>(image_bytes_for(shape->params.panes() * shape->lines * kCacheLineBytes))
               : std::unexpected(shape.error());
}

std::uint64_t DecayedTop::names_capacity() const noexcept {
  return divide_up<std::uint64_t>(names_lines_ * kNamesOfGroup, kLinesOfGroup);
}

DecayedTop::DecayedTop(Image source, const Params& params) noexcept
    : SingleCallFilter(std::move(source)),
      rounding_(params.is_balanced() ? CountRounding::balanced : CountRounding::strict),
      buckets_(params.bucket_count()),
      names_lines_(params.names_lines),
      pane_count_(params.panes()),
      epoch_(static_cast<std::int64_t>(params.epoch_us)),
      decay_(params.lambda_q32) {
  attach_to_words();
}

void DecayedTop::attach_to_words() noexcept {
  constexpr std::size_t kLineWords = kCacheLineBytes / sizeof(std::uint64_t);
  const std::size_t pane_words = image().words().size() / pane_count_;
  const std::size_t names_words = names_lines_ * kLineWords;
  for (std::size_t i = 0; i < pane_count_; ++i) {
    const auto words = image().words().subspan(i * pane_words, pane_words);
    auto* const ledger = reinterpret_cast<Ledger*>(words.data());
    const auto after = words.subspan(kLedgerLines * kLineWords);
    panes_[i] = {.ledger = ledger,
                 .lines = std::as_writable_bytes(after.first(after.size() - names_words)),
                 .names = Names(ledger->names, after.last(names_words))};
  }
}

void DecayedTop::relocate(const Mover& mover) noexcept {
  image().relocate(mover);
  attach_to_words();
}

Result<DecayedTop> DecayedTop::from_image(Image source) {
  MANKAI_TRY(check_kind(source, kKind, sizeof(Params) / sizeof(std::uint64_t), kStateWords));
  const auto params = source.params<Params>();
  MANKAI_TRY(check_stored_decay(params.lambda_q32, params.epoch_us));
  const std::uint64_t lines = source.header().cells_bytes / kCacheLineBytes;
  const auto longest_pane = static_cast<std::uint64_t>(kLongestDuration.count()) / kPanesOfWindow;
  if (params.panes() != 1 &&
      (params.lambda_q32 != kLambdaOne || params.epoch_us > longest_pane || lines % params.panes() != 0)) {
    return fail(
        ErrorCode::corrupt,
        "a window, at offset 80, of counts that decay, of panes that are too long, or of no whole number of panes");
  }
  if (params.bucket_count() == 0 || params.bucket_count() > kMostBuckets || params.names_lines < Names::kLeastLines ||
      params.names_lines > Names::kMostLines || lines / params.panes() <= lines_beside_sketch(params)) {
    return fail(ErrorCode::corrupt, std::to_string(params.bucket_count()) + " buckets at offset 80 and " +
                                        std::to_string(params.names_lines) +
                                        " lines of names at offset 84 leave no room for a sketch");
  }
  DecayedTop filter(std::move(source), params);
  MANKAI_TRY(filter.check_state());
  filter.take_tick(filter.tick());
  return filter;
}

// An error with the offset of `place` in the image.
std::unexpected<Error> DecayedTop::wrong_at(const void* place, const std::string& what) const {
  const auto offset = static_cast<const std::byte*>(place) - reinterpret_cast<const std::byte*>(&image().header());
  return fail(ErrorCode::corrupt, what + " at offset " + std::to_string(offset));
}

Result<void> DecayedTop::check_state() const {
  const std::uint64_t newest = image().state(kNewest);
  if (image().state(kTick) > kMaxTick) {
    return fail(ErrorCode::corrupt, "tick " + std::to_string(image().state(kTick)) + " at offset 96 is beyond time");
  }
  if (newest > static_cast<std::uint64_t>(Duration::max().count()) || tick_of(time_of(newest), epoch_) > tick()) {
    return fail(ErrorCode::corrupt, "newest event at offset 104 is later than the tick at offset 96");
  }
  for (const Pane& pane : panes()) {
    MANKAI_TRY(check_pane(pane));
  }
  return {};
}

Result<void> DecayedTop::check_pane(const Pane& pane) const {
  const Ledger& ledger = *pane.ledger;
  if (ledger.late_records > (&pane == panes_.data() ? kMaxKeysInserted : 0)) {
    return wrong_at(&ledger.late_records, "a count of late events that is too large");
  }
  const std::int64_t octave = decay_.weight(tick()).octave;
  if (ledger.base_octave < 0 || ledger.base_octave > octave || relative(octave) > kMostHotOctave) {
    return wrong_at(&ledger.base_octave, "a base that does not go with the tick");
  }
  if (ledger.bar_count > kMostScaled || !is_hot_exponent(ledger.bar_exponent)) {
    return wrong_at(&ledger.bar_count, "an impossible bar");
  }
  if (ledger.zero != 0 || (ledger.draws != 0 && rounding_ == CountRounding::strict) || !is_zero(ledger.zeros)) {
    return wrong_at(&ledger.zero, "reserved bytes are not zero");
  }
  return with_table(pane, [&](auto& table) -> Result<void> {
    std::uint64_t named = 0;
    if (const void* const wrong = table.find_wrong(named)) {
      return wrong_at(wrong, "an impossible line");
    }
    const auto is_of = [&](std::string_view key, std::uint32_t slot) {
      return table.find(table.place_of(hasher()(key))) == slot;
    };
    if (const auto wrong = pane.names.check(image().state(kNewest), table.slots(), is_of)) {
      return wrong_at(wrong->place, wrong->what);
    }
    bool are_marked = named == pane.names.count();
    pane.names.for_each([&](const Names::Name& name) { are_marked = are_marked && table.is_named(name.slot); });
    return are_marked ? Result<void>() : wrong_at(&ledger.names, "names of other slots than those that are marked");
  });
}

}  // namespace mankai
