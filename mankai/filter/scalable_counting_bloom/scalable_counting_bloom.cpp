#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>
#include <vector>

namespace mankai {
namespace {

using Params = ScalableCountingBloom::Params;

constexpr std::size_t kNoLimit = ~std::size_t{0};
// A slice that is not the newest accepts late keys up to this multiple of its capacity.
constexpr std::uint64_t kLateFactor = 2;

Growth growth_of(const Params& params) noexcept {
  return {.factor = params.growth_factor,
          .tightening = std::bit_cast<double>(params.tightening_bits),
          .bound = static_cast<FprBound>(params.bound)};
}

// A slice's slice_state is its last id + 1, or its first id if it has no keys.
Result<CountingBloom> make_slice(const ScalableCountingBloom::Options& options, std::uint64_t generation,
                                 std::uint64_t first_id) {
  auto slice = CountingBloom::create({.keys = slice_keys(options.keys, options.growth, generation),
                                      .fpr = slice_fpr(options.fpr, options.growth, generation),
                                      .layout = options.layout,
                                      .hash = options.hash,
                                      .memory = options.memory,
                                      .slice_tag = first_id});
  if (slice) {
    slice->set_slice_state(first_id);
  }
  return slice;
}

bool has_ids(const CountingBloom& slice) noexcept { return slice.slice_state() > slice.slice_tag(); }

// Automatic ids stop at kMaxId.
std::uint64_t last_of(std::uint64_t first, std::size_t count) noexcept {
  return count - 1 > ScalableCountingBloom::kMaxId - first ? ScalableCountingBloom::kMaxId : first + (count - 1);
}

// How many more keys fit into a slice, up to a multiple of its capacity.
std::size_t room_in(const CountingBloom& slice, std::uint64_t factor) noexcept {
  const std::uint64_t most = factor * slice.capacity_keys();
  return static_cast<std::size_t>(most - std::min(most, slice.keys_inserted()));
}

void add(KeyCount& sum, const KeyCount& more) noexcept {
  sum.value += more.value;
  sum.is_saturated = sum.is_saturated || more.is_saturated;
}

/// Which slices may hold the keys of a window: none, one, or several.
class Holders {
 public:
  static constexpr std::size_t kNone = kMaxSlices;
  static constexpr std::size_t kSeveral = kMaxSlices + 1;

  Holders() noexcept { holders_.fill(kNone); }

  void note(std::size_t slice, std::span<const bool> answers) noexcept {
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i]) {
        holders_[i] = static_cast<std::uint16_t>(holders_[i] == kNone ? slice : kSeveral);
      }
    }
  }
  /// As `note`, but keeps the first of several.
  void note_first(std::size_t slice, std::span<const bool> answers) noexcept {
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i] && holders_[i] == kNone) {
        holders_[i] = static_cast<std::uint16_t>(slice);
      }
    }
  }
  [[nodiscard]] std::size_t operator[](std::size_t place) const noexcept { return holders_[place]; }

 private:
  std::array<std::uint16_t, kSliceWindow> holders_;
};

}  // namespace

Result<void> ScalableCountingBloom::check_options(const Options& options) {
  MANKAI_TRY(check_request({.keys = options.keys, .fpr = options.fpr}));
  MANKAI_TRY(check_growth(options.growth));
  if (options.first_id > kMaxId) {
    return fail(ErrorCode::invalid_argument, "a first id of " + std::to_string(options.first_id) +
                                                 " is impossible: the greatest is " + std::to_string(kMaxId));
  }
  return {};
}

Result<ScalableCountingBloom> ScalableCountingBloom::create(const Options& options) {
  MANKAI_TRY(check_options(options));
  MANKAI_ASSIGN(auto first, make_slice(options, 0, options.first_id));
  std::vector<CountingBloom> slices;
  slices.push_back(std::move(first));
  return assemble(options, std::move(slices));
}

Result<ScalableCountingBloom> ScalableCountingBloom::from_slices(const Options& options,
                                                                 std::vector<CountingBloom> slices) {
  MANKAI_TRY(check_options(options));
  if (slices.empty() || slices.size() > kMaxSlices) {
    return fail(ErrorCode::invalid_argument,
                std::to_string(slices.size()) + " slices: a filter has from 1 to " + std::to_string(kMaxSlices));
  }
  return assemble(options, std::move(slices));
}

Result<ScalableCountingBloom> ScalableCountingBloom::assemble(const Options& options,
                                                              std::vector<CountingBloom> slices) {
  const Params params{.tightening_bits = std::bit_cast<std::uint64_t>(options.growth.tightening),
                      .growth_factor = options.growth.factor,
                      .bound = static_cast<std::uint16_t>(options.growth.bound),
                      .layout = static_cast<std::uint16_t>(options.layout),
                      .first_id = options.first_id};
  const ImageHeader header = make_outer(options, params);
  const HashSpec hash = trimmed(options.hash);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const auto valid = check_slice(header, slices[i], i);
    if (!valid || slices[i].hash() != hash) {
      return fail(ErrorCode::invalid_argument,
                  "slice " + std::to_string(i) + ": " + (valid ? "another hash or seed" : valid.error().detail));
    }
  }
  Parts parts = make_parts(header, std::move(slices.front()), options.memory);
  parts.slices.reserve(slices.size());
  for (CountingBloom& slice : std::span(slices).subspan(1)) {
    parts.slices.append(std::move(slice));
  }
  return ScalableCountingBloom(std::move(parts));
}

Result<ScalableCountingBloom> ScalableCountingBloom::create_like(const Memory& memory) const {
  auto like = create({.keys = initial_keys(),
                      .fpr = fpr_target(),
                      .growth = growth(),
                      .layout = layout(),
                      .first_id = first_id(),
                      .hash = hash(),
                      .memory = memory});
  if (like) {
    like->set_canonical_version(canonical_version());
  }
  return like;
}

Result<void> ScalableCountingBloom::check_header(const ImageHeader& header) {
  const Params params = params_in<Params>(header);
  if (params.bound >= kFprBounds.size() || params.layout > static_cast<std::uint16_t>(CountingLayout::dablooms)) {
    return fail(ErrorCode::unsupported_version, "bound " + std::to_string(params.bound) + " or layout " +
                                                    std::to_string(params.layout) +
                                                    " at offset 76 of a later library: use a newer one");
  }
  if (params.first_id > kMaxId) {
    return fail(ErrorCode::corrupt,
                "impossible first id " + std::to_string(params.first_id) + " at offset 80: above the greatest");
  }
  return check_growing(header, growth_of(params));
}

Result<void> ScalableCountingBloom::check_slice(const ImageHeader& outer, const CountingBloom& slice,
                                                std::size_t index) {
  const Params params = params_in<Params>(outer);
  const Growth growth = growth_of(params);
  if (slice.slice_tag() > kMaxId || slice.slice_state() < slice.slice_tag()) {
    return fail(ErrorCode::corrupt, "impossible range of ids, from " + std::to_string(slice.slice_tag()) +
                                        " at offset 88 to before " + std::to_string(slice.slice_state()) +
                                        " at offset 104");
  }
  if (slice.slice_tag() < params.first_id || (index == 0 && slice.slice_tag() != params.first_id)) {
    return fail(ErrorCode::corrupt, "ids from " + std::to_string(slice.slice_tag()) +
                                        " at offset 88, but the filter's begin at " + std::to_string(params.first_id));
  }
  if (static_cast<std::uint16_t>(slice.layout()) != params.layout) {
    return fail(ErrorCode::corrupt, "its counters' layout at offset 76 is not the filter's");
  }
  const std::uint64_t generation = generation_of(slice.capacity_keys(), slice.fpr_target(), outer.capacity_keys,
                                                 std::bit_cast<double>(outer.fpr_target_bits), growth);
  if (slice.capacity_keys() != slice_keys(outer.capacity_keys, growth, generation)) {
    return fail(ErrorCode::corrupt, "a slice for " + std::to_string(slice.capacity_keys()) +
                                        " keys at offset 40 is not one that the filter grows to");
  }
  return {};
}

Growth ScalableCountingBloom::growth() const noexcept { return growth_of(params()); }

bool ScalableCountingBloom::owns(std::size_t slice, std::uint64_t id) const noexcept {
  return slices()[slice].slice_tag() <= id && id < slices()[slice].slice_state();
}

// The newest slice whose first id is at most `id`, or slice_count().
std::size_t ScalableCountingBloom::newest_from(std::uint64_t id) const noexcept {
  for (std::size_t i = slice_count(); i-- > 0;) {
    if (slices()[i].slice_tag() <= id) {
      return i;
    }
  }
  return slice_count();
}

// Opens a slice of the next generation. Returns false if there can be no more.
bool ScalableCountingBloom::open_slice(std::uint64_t first_id) {
  const Options options{.keys = initial_keys(),
                        .fpr = fpr_target(),
                        .growth = growth(),
                        .layout = layout(),
                        .first_id = first_id,
                        .hash = hash(),
                        .memory = memory()};
  const CountingBloom& last = latest();
  const std::uint64_t generation =
      generation_of(last.capacity_keys(), last.fpr_target(), options.keys, options.fpr, options.growth);
  return grow([&] { return make_slice(options, generation + 1, first_id); });
}

std::size_t ScalableCountingBloom::room() const noexcept { return room_in(slices().back(), 1); }

// The slice that takes the id, and its room; opens one if there is no room. slice_count() for an id below all slices.
ScalableCountingBloom::Place ScalableCountingBloom::place_for(std::uint64_t id) {
  const std::size_t slice = newest_from(id);
  if (slice == slice_count()) {
    return {.slice = slice, .room = 0};
  }
  const bool is_newest = slice + 1 == slice_count();
  if (const std::size_t room = room_in(slices()[slice], is_newest ? 1 : kLateFactor); room != 0) {
    return {.slice = slice, .room = room};
  }
  // A late key's new slice owns the whole range, so that other late keys find it.
  if (!open_slice(is_newest ? id : slices()[slice].slice_tag())) {
    return {.slice = slice, .room = kNoLimit};
  }
  return {.slice = slice_count() - 1, .room = room_in(slices().back(), 1)};
}

void ScalableCountingBloom::note_ids(std::size_t slice, std::uint64_t greatest) noexcept {
  if (slices()[slice].slice_state() <= greatest) {
    slices()[slice].set_slice_state(greatest + 1);
  }
  next_id_ = std::max(next_id_, std::min(greatest + 1, kMaxId));
}

// The first slice's range begins at the first id.
Result<void> ScalableCountingBloom::refuse_id(std::uint64_t id) const {
  return fail(ErrorCode::invalid_argument,
              "an id of " + std::to_string(id) +
                  (id > kMaxId ? " is impossible: the greatest is " + std::to_string(kMaxId)
                               : " is below the filter's first, " + std::to_string(first_id()) +
                                     ": create it with a lower first id"));
}

void ScalableCountingBloom::prefetch(Digest digest, std::uint64_t id) const noexcept {
  if (const std::size_t slice = newest_from(id); slice != slice_count()) {
    slices()[slice].prefetch(digest);
  }
}

Result<void> ScalableCountingBloom::insert(Digest digest, std::uint64_t id) {
  MANKAI_TRY(check_id(id));
  const std::size_t slice = place_for(id).slice;
  slices()[slice].insert(digest);
  note_ids(slice, id);
  return {};
}

void ScalableCountingBloom::insert(Digest digest) {
  const std::uint64_t id = next_id_;
  const std::size_t slice = place_for(id).slice;  // the newest: no range begins after the next id
  slices()[slice].insert(digest);
  note_ids(slice, id);
}

bool ScalableCountingBloom::observe(Digest digest) {
  const bool seen = may_contain(digest);
  insert(digest);
  return seen;
}

KeyCount ScalableCountingBloom::estimate(Digest digest) const noexcept {
  KeyCount sum;
  for (std::size_t i = 0; i < slice_count(); ++i) {
    add(sum, slices()[i].estimate(digest));
  }
  return sum;
}

EraseResult ScalableCountingBloom::erase(Digest digest, std::uint64_t id) noexcept {
  if (const std::size_t owner = sole_owner(id); owner != slice_count()) [[likely]] {
    return slices()[owner].erase(digest);
  }
  std::size_t holder = slice_count();
  for (std::size_t i = 0; i < slice_count(); ++i) {
    if (owns(i, id) && slices()[i].may_contain(digest)) {
      if (holder != slice_count()) {
        return EraseResult::ambiguous;
      }
      holder = i;
    }
  }
  if (holder != slice_count()) {
    return slices()[holder].erase(digest);
  }
  return newest_from(id) == slice_count() ? EraseResult::below_ids : EraseResult::absent;
}

EraseResult ScalableCountingBloom::erase(Digest digest) noexcept {
  std::size_t holder = slice_count();
  for (std::size_t i = slice_count(); i-- > 0;) {
    if (slices()[i].may_contain(digest)) {
      if (holder != slice_count()) {
        return EraseResult::ambiguous;
      }
      holder = i;
    }
  }
  return holder == slice_count() ? EraseResult::absent : slices()[holder].erase(digest);
}

void ScalableCountingBloom::insert(std::span<const Digest> digests) {
  while (!digests.empty()) {
    const std::uint64_t id = next_id_;
    const std::size_t count = std::min(digests.size(), place_for(id).room);
    slices().back().insert(digests.first(count));
    note_ids(slice_count() - 1, last_of(id, count));
    digests = digests.subspan(count);
  }
}

std::size_t ScalableCountingBloom::insert(std::span<const Digest> digests, std::span<const std::uint64_t> ids) {
  MANKAI_ASSERT(digests.size() == ids.size());
  std::size_t refused = 0;
  for (std::size_t start = 0; start < digests.size();) {
    const auto [slice, room] = ids[start] > kMaxId ? Place{.slice = slice_count(), .room = 0} : place_for(ids[start]);
    if (slice == slice_count()) {
      ++refused;
      ++start;
      continue;
    }
    // Neighbors that go to the same slice, up to its room.
    std::uint64_t greatest = ids[start];
    std::size_t end = start + 1;
    for (; end < digests.size() && end - start < room && ids[end] <= kMaxId && newest_from(ids[end]) == slice; ++end) {
      greatest = std::max(greatest, ids[end]);
    }
    slices()[slice].insert(digests.subspan(start, end - start));
    note_ids(slice, greatest);
    start = end;
  }
  return refused;
}

void ScalableCountingBloom::observe(std::span<const Digest> digests, std::span<bool> seen) {
  MANKAI_ASSERT(digests.size() == seen.size());
  std::array<bool, kSliceWindow> older;
  for (std::size_t start = 0; start < digests.size();) {
    const std::uint64_t id = next_id_;
    const std::size_t count = std::min({digests.size() - start, place_for(id).room, kSliceWindow});
    const auto window = digests.subspan(start, count);
    bool* const any = seen.data() + start;
    slices().back().observe(window, {any, count});
    note_ids(slice_count() - 1, last_of(id, count));
    if (slice_count() > 1) {
      ask_slices(slice_count() - 1, window, std::span(older).first(count));
      std::transform(any, any + count, older.begin(), any, [](bool a, bool b) { return a | b; });
    }
    start += count;
  }
}

EraseResult ScalableCountingBloom::erase_from_oldest(Digest digest) noexcept {
  for (std::size_t i = 0; i < slice_count(); ++i) {
    if (slices()[i].may_contain(digest)) {
      return slices()[i].erase_distinct(digest);
    }
  }
  return EraseResult::absent;
}

// Counts keys in the newest slice up to the first that does not fit; returns how many.
std::size_t ScalableCountingBloom::observe_newest(std::span<const Digest> digests, std::span<bool> seen) {
  CountingBloom& newest = slices().back();
  std::size_t count = 0;
  while (count < digests.size()) {
    // Present keys take no room.
    const std::size_t room = room_in(newest, 1);
    if (room == 0 && !newest.may_contain(digests[count])) {
      break;
    }
    const std::size_t taken = std::min(digests.size() - count, std::max<std::size_t>(room, 1));
    newest.observe_distinct(digests.subspan(count, taken), seen.subspan(count, taken));
    count += taken;
  }
  if (count != 0) {
    const std::uint64_t id = next_id_;
    note_ids(slice_count() - 1, last_of(id, count));
  }
  return count;
}

// Counts the keys of a window that slices before the newest may hold, and those between them in the newest, up to the
// first that does not fit. Returns how many.
std::size_t ScalableCountingBloom::observe_older(std::span<const Digest> digests, std::span<bool> seen) {
  std::array<bool, kSliceWindow> answers;
  const auto asked = std::span(answers).first(digests.size());
  Holders oldest;
  for (std::size_t i = 0; i + 1 < slice_count(); ++i) {
    slices()[i].may_contain(digests, asked);
    oldest.note_first(i, asked);
  }
  for (std::size_t start = 0; start < digests.size();) {
    std::size_t end = start;
    if (oldest[start] != Holders::kNone) {
      slices()[oldest[start]].observe_distinct(digests.subspan(start, 1), seen.subspan(start, 1));
      ++start;
      continue;
    }
    while (end < digests.size() && oldest[end] == Holders::kNone) {
      ++end;
    }
    start += observe_newest(digests.subspan(start, end - start), seen.subspan(start, end - start));
    if (start != end) {
      return start;
    }
  }
  return digests.size();
}

void ScalableCountingBloom::observe_in_oldest(std::span<const Digest> digests, std::span<bool> seen) {
  MANKAI_ASSERT(digests.size() == seen.size());
  for (std::size_t start = 0; start < digests.size();) {
    const std::size_t count = std::min(digests.size() - start, kSliceWindow);
    const auto window = digests.subspan(start, count);
    const std::size_t done = observe_older(window, seen.subspan(start, count));
    start += done;
    // If there can be no further slice, the newest takes the rest.
    if (done < count && !open_slice(next_id_)) {
      slices().back().observe_distinct(digests.subspan(start, 1), seen.subspan(start, 1));
      ++start;
    }
  }
}

void ScalableCountingBloom::estimate(std::span<const Digest> digests, std::span<KeyCount> counts) const noexcept {
  MANKAI_ASSERT(digests.size() == counts.size());
  std::ranges::fill(counts, KeyCount{});
  std::array<KeyCount, kSliceWindow> more;
  for (std::size_t start = 0; start < digests.size(); start += kSliceWindow) {
    const std::size_t count = std::min(kSliceWindow, digests.size() - start);
    for (std::size_t i = 0; i < slice_count(); ++i) {
      slices()[i].estimate(digests.subspan(start, count), std::span(more).first(count));
      for (std::size_t place = 0; place < count; ++place) {
        add(counts[start + place], more[place]);
      }
    }
  }
}

void ScalableCountingBloom::erase(std::span<const Digest> digests, std::span<EraseResult> results) noexcept {
  MANKAI_ASSERT(digests.size() == results.size());
  std::array<bool, kSliceWindow> answers;
  for (std::size_t start = 0; start < digests.size(); start += kSliceWindow) {
    const auto window = digests.subspan(start, std::min(kSliceWindow, digests.size() - start));
    const auto asked = std::span(answers).first(window.size());
    Holders holders;
    for (std::size_t i = 0; i < slice_count(); ++i) {
      slices()[i].may_contain(window, asked);
      holders.note(i, asked);
    }
    // Erasing only turns yes into no: a key that only one slice may hold stays absent from the others.
    for (std::size_t i = 0; i < window.size(); ++i) {
      const std::size_t holder = holders[i];
      if (holder == Holders::kNone) {
        results[start + i] = EraseResult::absent;
      } else {
        results[start + i] = holder == Holders::kSeveral ? erase(window[i]) : slices()[holder].erase(window[i]);
      }
    }
  }
}

// The only slice whose range has the id; slice_count() if there are several or none.
std::size_t ScalableCountingBloom::sole_owner(std::uint64_t id) const noexcept {
  std::size_t owner = slice_count();
  for (std::size_t i = 0; i < slice_count(); ++i) {
    if (owns(i, id)) {
      if (owner != slice_count()) {
        return slice_count();
      }
      owner = i;
    }
  }
  return owner;
}

void ScalableCountingBloom::erase(std::span<const Digest> digests, std::span<const std::uint64_t> ids,
                                  std::span<EraseResult> results) noexcept {
  MANKAI_ASSERT(digests.size() == ids.size() && digests.size() == results.size());
  for (std::size_t start = 0; start < digests.size();) {
    const std::size_t owner = sole_owner(ids[start]);
    if (owner == slice_count()) {
      results[start] = erase(digests[start], ids[start]);
      ++start;
      continue;
    }
    std::size_t end = start + 1;
    while (end < digests.size() && sole_owner(ids[end]) == owner) {
      ++end;
    }
    slices()[owner].erase(digests.subspan(start, end - start), results.subspan(start, end - start));
    start = end;
  }
}

Result<void> ScalableCountingBloom::merge(const ScalableCountingBloom& other) {
  if (first_id() != other.first_id()) {
    return fail(ErrorCode::invalid_argument, "the filters' first ids are " + std::to_string(first_id()) + " and " +
                                                 std::to_string(other.first_id()) +
                                                 "; create the second one like the first");
  }
  MANKAI_TRY(check_same_hash(other));
  std::vector<CountingBloom> taken_over;
  for (std::size_t i = 0; i < other.slice_count(); ++i) {
    if (!has_ids(other.slices()[i])) {
      continue;
    }
    MANKAI_ASSIGN(auto copy, copy_of(other.slices()[i]));
    taken_over.push_back(std::move(copy));
  }
  MANKAI_TRY(reserve_slices(taken_over.size()));
  for (CountingBloom& slice : taken_over) {
    slices().append(std::move(slice));
  }
  if (!taken_over.empty()) {
    go_on_from_latest_room();
  }
  next_id_ = next_id();
  return {};
}

void ScalableCountingBloom::clear() noexcept {
  slices().keep_first();
  CountingBloom& first = slices().back();
  first.clear();
  first.set_slice_state(first.slice_tag());
  next_id_ = next_id();
}

std::uint64_t ScalableCountingBloom::next_id() const noexcept {
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < slice_count(); ++i) {
    next = std::max(next, slices()[i].slice_state());
  }
  return std::min(next, kMaxId);
}

std::uint64_t ScalableCountingBloom::max_id() const noexcept {
  std::uint64_t greatest = first_id();
  for (std::size_t i = 0; i < slice_count(); ++i) {
    greatest = has_ids(slices()[i]) ? std::max(greatest, slice_last_id(i)) : greatest;
  }
  return greatest;
}

std::uint64_t ScalableCountingBloom::slice_last_id(std::size_t index) const noexcept {
  const CountingBloom& slice = slices()[index];
  return has_ids(slice) ? slice.slice_state() - 1 : slice.slice_tag();
}

std::size_t ScalableCountingBloom::overfilled_slices() const noexcept {
  return static_cast<std::size_t>(
      sum([](const CountingBloom& slice) { return slice.keys_inserted() > slice.capacity_keys() ? 1U : 0U; }));
}

std::uint64_t ScalableCountingBloom::saturated_cells() const noexcept {
  return sum([](const CountingBloom& slice) { return slice.saturated_cells(); });
}

unsigned ScalableCountingBloom::probes_per_key() const noexcept {
  return static_cast<unsigned>(sum([](const CountingBloom& slice) { return slice.probes_per_key(); }));
}

double ScalableCountingBloom::lines_per_key() const noexcept {
  const std::uint64_t lines =
      sum([](const CountingBloom& slice) { return static_cast<std::uint64_t>(slice.lines_per_key()); });
  return static_cast<double>(lines);
}

double ScalableCountingBloom::fpr_expected(std::uint64_t keys) const noexcept {
  return expected_fpr(keys, [this](const SizeRequest& slice, std::uint64_t inside) {
    if (layout() != CountingLayout::blocked) {
      const auto size = layout() == CountingLayout::partitioned ? partitioned_size(slice) : dablooms_size(slice);
      return size ? partitioned_fpr(inside, *size) : 0;
    }
    const auto blocks = counting_blocked_blocks(slice);
    return blocks ? counting_blocked_fpr(inside, *blocks) : 0;
  });
}

}  // namespace mankai
