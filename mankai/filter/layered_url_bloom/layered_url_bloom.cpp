#include "mankai/filter/layered_url_bloom/layered_url_bloom.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <new>
#include <string>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/hash/path_mix.hpp"
#include "mankai/hash/probes.hpp"
#include "mankai/kernel/atomic_words.hpp"

namespace mankai {
namespace {

/// URLs queried array by array: as many as a batch of lines has, and 27 KiB of stack.
constexpr std::size_t kWindow = 1024;
/// URLs whose XORed cells are prefetched before the first is queried.
constexpr std::size_t kGroup = 16;
constexpr std::uint64_t kByteCells = 8;
constexpr std::uint64_t kLineCells = kCacheLineBytes * kByteCells;

Result<BloomSize> level_size(const LayeredUrlBloom::Options& options) {
  const SizeRequest request{.keys = options.keys, .fpr = options.fpr};
  if (options.layering == UrlLayering::repaired) {
    return bloom_size(request);
  }
  MANKAI_TRY(check_request(request));
  // The source rounds (m/n) ln 2 = log2(1/p) down: 4 probes at 5 %, 3 at 10 %.
  const double k = std::clamp(std::floor(-std::log2(options.fpr)), 1.0, double{kernel::kMaxProbes});
  auto size = bloom_size(request, static_cast<std::uint32_t>(k));
  if (size) {
    size->cell_count = std::bit_ceil(size->cell_count);
  }
  return size;
}

Result<UrlLevel> make_array(const ImageHeader& outer, std::uint64_t place, const Memory& memory) {
  const auto params = params_in<LayeredUrlBloom::Params>(outer);
  MANKAI_ASSIGN(auto image, Image::create(Bloom::kKind,
                                          {.capacity_keys = outer.capacity_keys,
                                           .fpr_target = std::bit_cast<double>(outer.fpr_target_bits),
                                           .hash = {.kind = static_cast<HashKind>(outer.hash_kind), .seed = outer.seed},
                                           .cells_bytes = align_up(params.cell_count, kLineCells) / kByteCells,
                                           .slice_tag = place},
                                          memory));
  image.set_params(Bloom::Params{.cell_count = params.cell_count, .k = params.k, .field_bits = 0});
  return UrlLevel::from_image(std::move(image));
}

std::size_t levels_for(std::span<const Digest> segments, std::size_t max_levels) noexcept {
  return std::min(segments.size(), max_levels);
}

Digest level_digest(UrlLayering layering, Digest segment, std::size_t level) noexcept {
  return layering == UrlLayering::repaired ? at_level(segment, level) : segment;
}

Digest whole_digest(std::span<const Digest> segments) noexcept {
  Digest whole{};
  std::uint64_t level = 0;
  for (const Digest segment : segments) {
    whole = chain(whole, segment, level++);
  }
  return whole;
}

/// The cells of a URL in the last array of a faithful filter.
class XoredCells {
 public:
  XoredCells() noexcept = default;
  XoredCells(std::span<const Digest> segments, const LayeredUrlBloom::Params& params) noexcept : count_(params.k) {
    std::fill_n(cells_.begin(), count_, 0);
    for (const Digest segment : segments) {
      probes::CellSequence sequence(segment);
      for (std::uint32_t j = 0; j < count_; ++j) {
        cells_[j] ^= sequence.next(params.cell_count);
      }
    }
  }

  [[nodiscard]] std::span<const std::uint64_t> cells() const noexcept { return std::span(cells_).first(count_); }

 private:
  std::array<std::uint64_t, kernel::kMaxProbes> cells_;
  std::uint32_t count_ = 0;
};

struct Paths {
  std::span<const Digest> segments;
  std::span<const std::uint32_t> ends;

  [[nodiscard]] std::span<const Digest> operator[](std::size_t index) const noexcept {
    const std::uint32_t begin = index == 0 ? 0 : ends[index - 1];
    MANKAI_ASSERT(begin <= ends[index] && ends[index] <= segments.size());
    return segments.subspan(begin, ends[index] - begin);
  }
};

/// A window of a batch, queried array by array. Sets `outcomes[i]` to false if an array lacks URL i; else leaves it
/// unchanged.
class Window {
 public:
  Window(const Paths& batch, std::size_t start, std::size_t count, bool* outcomes) noexcept
      : count_(count), outcomes_(outcomes) {
    for (std::size_t i = 0; i < count; ++i) {
      paths_[i] = batch[start + i];
    }
    take_all();
  }

  [[nodiscard]] std::size_t levels_needed(std::size_t max_levels) const noexcept {
    std::size_t needed = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      needed = std::max(needed, levels_for(paths_[i], max_levels));
    }
    return needed;
  }
  /// A URL that needs more levels than exist is absent.
  void drop_deeper_than(std::size_t levels, std::size_t max_levels) noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      outcomes_[i] = outcomes_[i] && levels_for(paths_[i], max_levels) <= levels;
    }
    take_open();
  }

  /// Queries the digests of whole URLs, and keeps those that may be present.
  void ask_whole(const UrlLevel& array) noexcept {
    hash_whole();
    array.may_contain(digests(), answers());
    note();
    take_open();
  }
  void observe_whole(UrlLevel& array) noexcept {
    hash_whole();
    array.observe(digests(), answers());
    note();
  }

  void ask_level(const UrlLevel& array, UrlLayering layering, std::size_t level) noexcept {
    hash_level(layering, level);
    array.may_contain(digests(), answers());
    note();
    keep([this](std::size_t place) { return outcomes_[place]; });
  }
  void observe_level(UrlLevel& array, UrlLayering layering, std::size_t level) noexcept {
    hash_level(layering, level);
    array.observe(digests(), answers());
    note();
  }
  /// Inserts the segments from level `first` on, which share an array: URL by URL, in order.
  void observe_rest(UrlLevel& array, UrlLayering layering, std::size_t first) noexcept {
    for (std::size_t i = 0; i < open_; ++i) {
      const auto path = paths_[places_[i]];
      answers_[i] = true;
      for (std::size_t level = first; level < path.size(); ++level) {
        answers_[i] &= array.observe(level_digest(layering, path[level], level));
      }
    }
    note();
  }
  /// Keeps the URLs that have a segment at the level; returns whether there are any.
  [[nodiscard]] bool keep_those_at(std::size_t level) noexcept {
    keep([this, level](std::size_t place) { return level < paths_[place].size(); });
    return open_ != 0;
  }

  /// Calls `use(cells)` for the kept URLs, with prefetch, and records the answers.
  template <class Use>
  void for_each_xored(const UrlLevel& array, const LayeredUrlBloom::Params& params, const Use& use) noexcept {
    std::array<XoredCells, kGroup> group;
    for (std::size_t start = 0; start < open_; start += kGroup) {
      const std::size_t size = std::min(kGroup, open_ - start);
      for (std::size_t i = 0; i < size; ++i) {
        group[i] = XoredCells(paths_[places_[start + i]], params);
        array.prefetch_cells(group[i].cells());
      }
      for (std::size_t i = 0; i < size; ++i) {
        answers_[start + i] = use(group[i].cells());
      }
    }
    note();
  }

  void take_all() noexcept {
    take([](std::size_t) { return true; });
  }
  void take_open() noexcept {
    take([this](std::size_t place) { return outcomes_[place]; });
  }

 private:
  [[nodiscard]] std::span<const Digest> digests() const noexcept { return std::span(digests_).first(open_); }
  [[nodiscard]] std::span<bool> answers() noexcept { return std::span(answers_).first(open_); }

  void hash_whole() noexcept {
    for (std::size_t i = 0; i < open_; ++i) {
      digests_[i] = whole_digest(paths_[places_[i]]);
    }
  }
  void hash_level(UrlLayering layering, std::size_t level) noexcept {
    for (std::size_t i = 0; i < open_; ++i) {
      digests_[i] = level_digest(layering, paths_[places_[i]][level], level);
    }
  }
  void note() noexcept {
    for (std::size_t i = 0; i < open_; ++i) {
      outcomes_[places_[i]] &= answers_[i];
    }
  }
  template <class Wanted>
  void take(const Wanted& wanted) noexcept {
    open_ = 0;
    for (std::size_t place = 0; place < count_; ++place) {
      places_[open_] = static_cast<std::uint16_t>(place);
      open_ += wanted(place) ? 1U : 0U;
    }
  }
  template <class Wanted>
  void keep(const Wanted& wanted) noexcept {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < open_; ++i) {
      places_[kept] = places_[i];
      kept += wanted(places_[i]) ? 1U : 0U;
    }
    open_ = kept;
  }

  std::array<std::span<const Digest>, kWindow> paths_;
  std::array<std::uint16_t, kWindow> places_;  // of the kept URLs
  std::array<Digest, kWindow> digests_;
  std::array<bool, kWindow> answers_;
  std::size_t count_;
  std::size_t open_ = 0;
  bool* outcomes_;
};

}  // namespace

Result<UrlLevel> UrlLevel::from_image(Image source) {
  auto filter = Bloom::from_image(std::move(source));
  return filter ? Result<UrlLevel>(UrlLevel(std::move(*filter))) : std::unexpected(filter.error());
}

bool UrlLevel::may_contain_cells(std::span<const std::uint64_t> cells) const noexcept {
  return std::ranges::all_of(cells, [this](std::uint64_t cell) {
    return (kernel::load_word(words() + cell / probes::kLaneBits) >> (cell % probes::kLaneBits) & 1U) != 0;
  });
}

bool UrlLevel::observe_cells(std::span<const std::uint64_t> cells) noexcept {
  std::uint64_t missing = 0;
  for (const std::uint64_t cell : cells) {
    std::uint64_t* const word = words() + cell / probes::kLaneBits;
    const std::uint64_t bit = std::uint64_t{1} << (cell % probes::kLaneBits);
    const std::uint64_t before = kernel::load_word(word);
    missing |= ~before & bit;
    kernel::store_word(word, before | bit);
  }
  if (missing != 0) {
    image().add_keys(1);
  }
  return missing == 0;
}

void UrlLevel::prefetch_cells(std::span<const std::uint64_t> cells) const noexcept {
  for (const std::uint64_t cell : cells) {
    prefetch_line(words() + cell / probes::kLaneBits);
  }
}

Result<LayeredUrlBloom> LayeredUrlBloom::create(const Options& options) {
  if (options.max_levels == 0 || options.max_levels > kMaxLevels) {
    return fail(ErrorCode::invalid_argument, "a layered-url-bloom of " + std::to_string(options.max_levels) +
                                                 " levels; give 1 to " + std::to_string(kMaxLevels));
  }
  MANKAI_ASSIGN(const auto size, level_size(options));
  const Params params{.cell_count = size.cell_count,
                      .k = size.k,
                      .layering = static_cast<std::uint32_t>(options.layering),
                      .max_levels = options.max_levels};
  const ImageHeader header = make_outer(options, params);
  MANKAI_ASSIGN(auto last, make_array(header, 0, options.memory));
  return LayeredUrlBloom(make_parts(header, std::move(last), options.memory));
}

Result<LayeredUrlBloom> LayeredUrlBloom::create_like(const Memory& memory) const {
  auto made = create({.keys = capacity_keys(),
                      .fpr = fpr_target(),
                      .layering = layering(),
                      .max_levels = max_levels(),
                      .hash = hash(),
                      .memory = memory});
  if (made) {
    made->set_canonical_version(canonical_version());
  }
  return made;
}

Result<void> LayeredUrlBloom::check_header(const ImageHeader& header) {
  const auto params = params_in<Params>(header);
  if (params.layering > static_cast<std::uint32_t>(UrlLayering::faithful)) {
    return fail(ErrorCode::unsupported_version,
                "mode " + std::to_string(params.layering) + " at offset 76 of a later library: use a newer one");
  }
  if (params.max_levels == 0 || params.max_levels > kMaxLevels) {
    return fail(ErrorCode::corrupt, std::to_string(params.max_levels) + " levels at offset 80, where there are 1 to " +
                                        std::to_string(kMaxLevels));
  }
  if (params.layering == static_cast<std::uint32_t>(UrlLayering::faithful) && !std::has_single_bit(params.cell_count)) {
    return fail(ErrorCode::corrupt,
                std::to_string(params.cell_count) + " cells at offset 64 are no power of two, as faithful ones are");
  }
  if (header.kind_state[0] > params.max_levels + 1) {
    return fail(ErrorCode::corrupt, std::to_string(header.kind_state[0]) + " arrays at offset 96, where there are " +
                                        std::to_string(params.max_levels + 1) + " at most");
  }
  return check_outer(header);
}

// Every array must have the outer header's shape, since a URL has the same cells in all.
Result<void> LayeredUrlBloom::check_slice(const ImageHeader& outer, const UrlLevel& slice, std::size_t index) {
  const auto expected = params_in<Params>(outer);
  const Bloom::Params shape = slice.params();
  if (slice.slice_tag() != index || shape.cell_count != expected.cell_count || shape.k != expected.k ||
      shape.field_bits != 0 || slice.capacity_keys() != outer.capacity_keys ||
      std::bit_cast<std::uint64_t>(slice.fpr_target()) != outer.fpr_target_bits) {
    return fail(ErrorCode::corrupt, "size or place at its offsets 40 to 95 are not those of this filter's array");
  }
  return {};
}

void LayeredUrlBloom::make_levels(std::size_t count) {
  while (levels() < count) {
    auto level = make_array(header(), slice_count(), memory());
    if (!level) {
      throw std::bad_alloc();  // the existing arrays have the same size, so the size is valid
    }
    slices().append(std::move(*level));
  }
}

std::uint64_t LayeredUrlBloom::keys_inserted() const noexcept { return whole_count().load(std::memory_order_relaxed); }

void LayeredUrlBloom::add_keys(std::uint64_t count) noexcept {
  whole_count().store(keys_inserted() + count, std::memory_order_relaxed);
}

bool LayeredUrlBloom::is_in_last_array(std::span<const Digest> segments) const noexcept {
  if (layering() == UrlLayering::repaired) {
    return slice(0).may_contain(whole_digest(segments));
  }
  return slice(0).may_contain_cells(XoredCells(segments, params()).cells());
}

bool LayeredUrlBloom::is_known_at_its_levels(std::span<const Digest> segments) const noexcept {
  if (levels_for(segments, max_levels()) > levels()) {
    return false;
  }
  for (std::size_t level = 0; level < segments.size(); ++level) {
    if (!slice(slice_of(level)).may_contain(level_digest(layering(), segments[level], level))) {
      return false;
    }
  }
  return true;
}

// If repaired, the last array comes first: it rejects most absent keys of any class. If faithful, the source's order
// avoids the XOR.
bool LayeredUrlBloom::may_contain(std::span<const Digest> segments) const noexcept {
  return layering() == UrlLayering::repaired ? is_in_last_array(segments) && is_known_at_its_levels(segments)
                                             : is_known_at_its_levels(segments) && is_in_last_array(segments);
}

bool LayeredUrlBloom::observe(std::span<const Digest> segments) {
  make_levels(levels_for(segments, max_levels()));
  bool seen = layering() == UrlLayering::repaired ? slices()[0].observe(whole_digest(segments))
                                                  : slices()[0].observe_cells(XoredCells(segments, params()).cells());
  for (std::size_t level = 0; level < segments.size(); ++level) {
    seen &= slices()[slice_of(level)].observe(level_digest(layering(), segments[level], level));
  }
  if (!seen) {
    add_keys(1);
  }
  return seen;
}

void LayeredUrlBloom::may_contain(std::span<const Digest> segments, std::span<const std::uint32_t> ends,
                                  std::span<bool> outcomes) const noexcept {
  MANKAI_ASSERT(ends.size() == outcomes.size());
  std::ranges::fill(outcomes, true);
  for (std::size_t start = 0; start < ends.size(); start += kWindow) {
    Window window({segments, ends}, start, std::min(kWindow, ends.size() - start), outcomes.data() + start);
    window.drop_deeper_than(levels(), max_levels());
    if (layering() == UrlLayering::repaired) {
      window.ask_whole(slice(0));
    }
    for (std::size_t level = 0; window.keep_those_at(level); ++level) {
      window.ask_level(slice(slice_of(level)), layering(), level);
    }
    if (layering() == UrlLayering::faithful) {
      window.take_open();
      window.for_each_xored(slice(0), params(),
                            [this](std::span<const std::uint64_t> cells) { return slice(0).may_contain_cells(cells); });
    }
  }
}

// Each array processes the URLs in order, and no array's bits depend on another's, so the answers equal those of single
// calls.
void LayeredUrlBloom::observe_window(std::span<const Digest> segments, std::span<const std::uint32_t> ends,
                                     std::size_t start, std::span<bool> seen) {
  std::ranges::fill(seen, true);
  Window window({segments, ends}, start, seen.size(), seen.data());
  make_levels(window.levels_needed(max_levels()));
  if (layering() == UrlLayering::repaired) {
    window.observe_whole(slices()[0]);
  } else {
    window.for_each_xored(slice(0), params(),
                          [this](std::span<const std::uint64_t> cells) { return slices()[0].observe_cells(cells); });
  }
  std::size_t level = 0;
  for (; level + 1 < max_levels() && window.keep_those_at(level); ++level) {
    window.observe_level(slices()[slice_of(level)], layering(), level);
  }
  if (window.keep_those_at(level)) {
    window.observe_rest(slices()[slice_of(level)], layering(), level);
  }
  add_keys(static_cast<std::uint64_t>(std::ranges::count(seen, false)));
}

void LayeredUrlBloom::observe(std::span<const Digest> segments, std::span<const std::uint32_t> ends,
                              std::span<bool> seen) {
  MANKAI_ASSERT(ends.size() == seen.size());
  for (std::size_t start = 0; start < ends.size(); start += kWindow) {
    observe_window(segments, ends, start, seen.subspan(start, std::min(kWindow, ends.size() - start)));
  }
}

void LayeredUrlBloom::insert(std::span<const Digest> segments, std::span<const std::uint32_t> ends) {
  std::array<bool, kWindow> seen;
  for (std::size_t start = 0; start < ends.size(); start += kWindow) {
    observe_window(segments, ends, start, std::span(seen).first(std::min(kWindow, ends.size() - start)));
  }
}

Result<void> LayeredUrlBloom::merge(const LayeredUrlBloom& other) {
  MANKAI_TRY(check_same_hash(other));
  // Allocates first; a level without segments changes no answer.
  while (levels() < other.levels()) {
    MANKAI_ASSIGN(auto level, make_array(header(), slice_count(), memory()));
    slices().append(std::move(level));
  }
  for (std::size_t i = 0; i < other.slice_count(); ++i) {
    MANKAI_TRY(slices()[i].merge(other.slice(i)));
  }
  add_keys(merged_keys(keys_inserted(), other.keys_inserted(), keys_estimate()) - keys_inserted());
  return {};
}

void LayeredUrlBloom::clear() noexcept {
  slices().keep_first();
  slices().back().clear();
  whole_count().store(0, std::memory_order_relaxed);
}

}  // namespace mankai
