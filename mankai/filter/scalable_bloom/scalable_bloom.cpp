#include "mankai/filter/scalable_bloom/scalable_bloom.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include "mankai/filter/parts/hash_windows.hpp"

namespace mankai {
namespace {

BlockedSlice::Options slice_options(const ScalableBloom::Options& options, std::uint64_t generation) {
  return {.keys = slice_keys(options.keys, options.growth, generation),
          .fpr = slice_fpr(options.fpr, options.growth, generation),
          .hash = options.hash,
          .memory = options.memory,
          .slice_tag = generation};
}

Result<BlockedSlice> make_slice(const ScalableBloom::Options& options, std::uint64_t generation) {
  return BlockedSlice::create(slice_options(options, generation), options.growth.bound);
}

/// The keys of a window that no queried slice has, and their positions in it.
class Unknown {
 public:
  explicit Unknown(std::span<const Digest> digests) noexcept : count_(digests.size()) {
    std::copy(digests.begin(), digests.end(), digests_.begin());
    std::iota(places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(count_), std::uint16_t{0});
  }

  [[nodiscard]] std::span<const Digest> digests() const noexcept { return std::span(digests_).first(count_); }

  /// Removes those of the first `answers.size()` keys that are present, and records the answers in `seen`; `drop_all`
  /// removes all of them.
  void drop_known(std::span<const bool> answers, bool* seen) noexcept { drop(answers, seen, false); }
  void drop_all(std::span<const bool> answers, bool* seen) noexcept { drop(answers, seen, true); }

 private:
  void drop(std::span<const bool> answers, bool* seen, bool is_all) noexcept {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const bool is_known = i < answers.size() && answers[i];
      seen[places_[i]] = is_known;
      digests_[kept] = digests_[i];
      places_[kept] = places_[i];
      kept += is_known || (is_all && i < answers.size()) ? 0U : 1U;
    }
    count_ = kept;
  }

  std::array<Digest, kSliceWindow> digests_;
  std::array<std::uint16_t, kSliceWindow> places_;
  std::size_t count_;
};

void ask(const BlockedSlice& slice, Unknown& unknown, bool* seen) noexcept {
  std::array<bool, kSliceWindow> answers;
  const auto asked = std::span(answers).first(unknown.digests().size());
  slice.may_contain(unknown.digests(), asked);
  unknown.drop_known(asked, seen);
}

/// Assigns each of another filter's slices to one of the same generation that has room for the keys of both.
class Joins {
 public:
  static constexpr std::size_t kNone = kMaxSlices;

  explicit Joins(const SliceList<BlockedSlice>& slices) : slices_(slices) {
    for (std::size_t i = 0; i < slices.size(); ++i) {
      keys_.push_back(slices[i].keys_inserted());
    }
  }

  /// Returns a slice and reserves its room, or kNone.
  std::size_t take_room_for(const BlockedSlice& slice) noexcept {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      const BlockedSlice& ours = slices_[i];
      if (ours.slice_tag() == slice.slice_tag() && ours.cells_bytes() == slice.cells_bytes() &&
          ours.blocks_per_key() == slice.blocks_per_key() && keys_[i] + slice.keys_inserted() <= ours.capacity_keys()) {
        keys_[i] += slice.keys_inserted();
        return i;
      }
    }
    return kNone;
  }

 private:
  const SliceList<BlockedSlice>& slices_;
  std::vector<std::uint64_t> keys_;
};

Growth growth_of(const ScalableBloom::Params& params) noexcept {
  return {.factor = params.growth_factor,
          .tightening = std::bit_cast<double>(params.tightening_bits),
          .bound = static_cast<FprBound>(params.bound)};
}

ScalableBloom::Params params_of(const Growth& growth) noexcept {
  return {.tightening_bits = std::bit_cast<std::uint64_t>(growth.tightening),
          .growth_factor = growth.factor,
          .bound = static_cast<std::uint32_t>(growth.bound)};
}

}  // namespace

Result<ScalableBloom> ScalableBloom::create(const Options& options) {
  MANKAI_TRY(check_request({.keys = options.keys, .fpr = options.fpr}));
  MANKAI_TRY(check_growth(options.growth));
  MANKAI_ASSIGN(auto first, make_slice(options, 0));
  return ScalableBloom(make_parts(make_outer(options, params_of(options.growth)), std::move(first), options.memory));
}

Result<ScalableBloom> ScalableBloom::create_with(const Options& options, const BlockedSliceSize& size,
                                                 std::span<const std::byte> cells, std::uint64_t keys_inserted) {
  MANKAI_ASSIGN(auto first, BlockedSlice::create_with(slice_options(options, 0), size, cells, keys_inserted));
  return ScalableBloom(make_parts(make_outer(options, params_of(options.growth)), std::move(first), options.memory));
}

Result<ScalableBloom> ScalableBloom::create_like(const Memory& memory) const {
  auto like =
      create({.keys = initial_keys(), .fpr = fpr_target(), .growth = growth(), .hash = hash(), .memory = memory});
  if (like) {
    like->set_canonical_version(canonical_version());
  }
  return like;
}

Result<void> ScalableBloom::check_header(const ImageHeader& header) {
  const auto params = params_in<Params>(header);
  if (params.bound >= kFprBounds.size()) {
    return fail(ErrorCode::unsupported_version,
                "bound " + std::to_string(params.bound) + " at offset 76 of a later library: use a newer one");
  }
  if (header.kind_params[2] != 0) {
    return fail(ErrorCode::corrupt, "reserved bytes before offset 88 are not zero");
  }
  return check_growing(header, growth_of(params));
}

Result<void> ScalableBloom::check_slice(const ImageHeader& outer, const BlockedSlice& slice, std::size_t index) {
  const auto params = params_in<Params>(outer);
  const std::uint64_t generation = slice.slice_tag();
  if (generation >= kMaxSlices || (index == 0 && generation != 0) ||
      slice.capacity_keys() != slice_keys(outer.capacity_keys, growth_of(params), generation)) {
    return fail(ErrorCode::corrupt, "a slice for " + std::to_string(slice.capacity_keys()) +
                                        " keys at offset 40 is not what generation " + std::to_string(generation) +
                                        " at offset 88 has");
  }
  if (slice.blocks_per_key() != 1 && static_cast<FprBound>(params.bound) != FprBound::gradual) {
    return fail(ErrorCode::corrupt, "several blocks per key at offset 72, which only the bound gradual has");
  }
  return {};
}

Growth ScalableBloom::growth() const noexcept { return growth_of(params()); }

bool ScalableBloom::observe(Digest digest) {
  if (may_contain(digest)) {
    return true;
  }
  make_room();
  return slices().back().observe(digest);
}

std::size_t ScalableBloom::room() const noexcept {
  const BlockedSlice& newest = slices().back();
  return newest.is_full() ? 0 : static_cast<std::size_t>(newest.capacity_keys() - newest.keys_inserted());
}

// Returns the room of the newest slice; opens a new one if there is none.
std::size_t ScalableBloom::make_room() {
  if (const std::size_t left = room(); left != 0) {
    return left;
  }
  const Options options{
      .keys = initial_keys(), .fpr = fpr_target(), .growth = growth(), .hash = hash(), .memory = memory()};
  // A hostile image may have the last possible generation.
  const std::uint64_t generation = std::min<std::uint64_t>(latest().slice_tag() + 1, kMaxSlices - 1);
  const bool has_grown = grow([&] { return make_slice(options, generation); });
  return has_grown ? room() : ~std::size_t{0};
}

void ScalableBloom::observe_window(std::span<const Digest> digests, bool* seen) {
  Unknown unknown(digests);
  for (std::size_t i = slice_count() - 1; i-- > 0;) {
    ask(slices()[i], unknown, seen);
  }
  std::array<bool, kSliceWindow> answers;
  while (true) {
    if (slices().back().is_full()) {
      ask(slices().back(), unknown, seen);
    }
    if (unknown.digests().empty()) {
      return;
    }
    const std::size_t count = std::min(unknown.digests().size(), make_room());
    const auto observed = std::span(answers).first(count);
    slices().back().observe(unknown.digests().first(count), observed);
    unknown.drop_all(observed, seen);
  }
}

void ScalableBloom::observe(std::span<const Digest> digests, std::span<bool> seen) {
  MANKAI_ASSERT(digests.size() == seen.size());
  for (std::size_t start = 0; start < digests.size(); start += kSliceWindow) {
    observe_window(digests.subspan(start, std::min(kSliceWindow, digests.size() - start)), seen.data() + start);
  }
}

void ScalableBloom::insert(std::span<const Digest> digests) {
  std::array<bool, kSliceWindow> seen;
  for (std::size_t start = 0; start < digests.size(); start += kSliceWindow) {
    observe_window(digests.subspan(start, std::min(kSliceWindow, digests.size() - start)), seen.data());
  }
}

Result<void> ScalableBloom::merge(const ScalableBloom& other) {
  MANKAI_TRY(check_same_hash(other));
  // Allocates first: copies of the slices that are adopted.
  std::vector<BlockedSlice> taken_over;
  std::vector<std::pair<std::size_t, std::size_t>> joins;
  Joins rooms(slices());
  for (std::size_t i = 0; i < other.slice_count(); ++i) {
    if (const std::size_t place = rooms.take_room_for(other.slices()[i]); place != Joins::kNone) {
      joins.emplace_back(place, i);
      continue;
    }
    MANKAI_ASSIGN(auto copy, copy_of(other.slices()[i]));
    taken_over.push_back(std::move(copy));
  }
  MANKAI_TRY(reserve_slices(taken_over.size()));
  for (const auto& [place, theirs] : joins) {
    MANKAI_TRY(slices()[place].merge(other.slices()[theirs]));
  }
  for (BlockedSlice& slice : taken_over) {
    slices().append(std::move(slice));
  }
  if (!taken_over.empty()) {
    go_on_from_latest_room();
  }
  return {};
}

void ScalableBloom::clear() noexcept {
  slices().keep_first();
  slices().back().clear();
}

unsigned ScalableBloom::probes_per_key() const noexcept {
  return static_cast<unsigned>(sum([](const BlockedSlice& slice) { return slice.probes_per_key(); }));
}

double ScalableBloom::lines_per_key() const noexcept {
  return static_cast<double>(sum([](const BlockedSlice& slice) { return slice.blocks_per_key(); }));
}

double ScalableBloom::fpr_expected(std::uint64_t keys) const noexcept {
  return expected_fpr(keys, [bound = growth().bound](const SizeRequest& slice, std::uint64_t inside) {
    const auto size = blocked_slice_size(slice, bound);
    return size ? blocked_slice_fpr(inside, *size) : 0;
  });
}

}  // namespace mankai
