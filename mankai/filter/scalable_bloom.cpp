#include "mankai/filter/scalable_bloom.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#include "mankai/filter/hash_windows.hpp"

namespace mankai {
namespace {

/// Keys asked slice by slice in one go: enough that the kernels' own windows overlap (1024 take 4 % longer at 5e6
/// keys), few enough that digests and answers stay in the near caches.
constexpr std::size_t kWindow = 4096;
constexpr double kMinSliceFpr = 1e-8;
constexpr std::uint64_t kMaxSliceKeys = std::uint64_t{1} << 48;

Result<BlockedBloom> make_slice(const ScalableBloom::Options& options, std::uint64_t generation) {
  return BlockedBloom::create({.keys = slice_keys(options.keys, options.growth, generation),
                               .fpr = slice_fpr(options.fpr, options.growth, generation),
                               .hash = options.hash,
                               .memory = options.memory,
                               .slice_tag = generation});
}

/// The keys of a window that no slice has known so far, and where they stand in it.
class Unknown {
 public:
  explicit Unknown(std::span<const Digest> digests) noexcept : count_(digests.size()) {
    std::copy(digests.begin(), digests.end(), digests_.begin());
    std::iota(places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(count_), std::uint16_t{0});
  }

  [[nodiscard]] std::span<const Digest> digests() const noexcept { return std::span(digests_).first(count_); }

  /// Takes out the first `answers.size()` keys, or those of them that were known, and notes these in `seen`.
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

  std::array<Digest, kWindow> digests_;
  std::array<std::uint16_t, kWindow> places_;
  std::size_t count_;
};

void ask(const BlockedBloom& slice, Unknown& unknown, bool* seen) noexcept {
  std::array<bool, kWindow> answers;
  const auto asked = std::span(answers).first(unknown.digests().size());
  slice.may_contain(unknown.digests(), asked);
  unknown.drop_known(asked, seen);
}

bool have_room_together(const BlockedBloom& a, const BlockedBloom& b) noexcept {
  return a.slice_tag() == b.slice_tag() && a.cells_bytes() == b.cells_bytes() &&
         a.keys_inserted() + b.keys_inserted() <= a.capacity_keys();
}

}  // namespace

std::string_view name(FprBound bound) noexcept { return bound == FprBound::total ? "total" : "first"; }

Result<void> check_growth(const Growth& growth) {
  if (growth.factor == 0 || growth.factor > Growth::kMaxFactor) {
    return fail(ErrorCode::invalid_argument, "a growth of " + std::to_string(growth.factor) +
                                                 " is impossible: give a factor from 1 to " +
                                                 std::to_string(Growth::kMaxFactor) + ", such as 2");
  }
  if (!(growth.tightening > 0 && growth.tightening < 1)) {
    return fail(ErrorCode::invalid_argument, "a tightening of " + std::to_string(growth.tightening) +
                                                 " is impossible: give a ratio between 0 and 1, such as 0.5");
  }
  return {};
}

std::uint64_t slice_keys(std::uint64_t initial_keys, const Growth& growth, std::uint64_t generation) noexcept {
  const double keys =
      static_cast<double>(initial_keys) * std::pow(static_cast<double>(growth.factor), static_cast<double>(generation));
  if (!(keys < static_cast<double>(kMaxSliceKeys))) {
    return kMaxSliceKeys;
  }
  std::uint64_t exact = initial_keys;
  for (std::uint64_t i = 0; i < generation && growth.factor > 1; ++i) {
    exact *= growth.factor;
  }
  return exact;
}

double slice_fpr(double fpr_target, const Growth& growth, std::uint64_t generation) noexcept {
  const double first = growth.bound == FprBound::total ? fpr_target * (1 - growth.tightening) : fpr_target;
  return std::max(first * std::pow(growth.tightening, static_cast<double>(generation)), std::min(first, kMinSliceFpr));
}

Result<ScalableBloom> ScalableBloom::create(const Options& options) {
  if (auto valid = check_request({.keys = options.keys, .fpr = options.fpr}); !valid) {
    return std::unexpected(valid.error());
  }
  if (auto valid = check_growth(options.growth); !valid) {
    return std::unexpected(valid.error());
  }
  auto first = make_slice(options, 0);
  if (!first) {
    return std::unexpected(first.error());
  }
  ImageHeader header =
      make_header(kKind, ImageLayout::sliced,
                  {.capacity_keys = options.keys, .fpr_target = options.fpr, .hash = options.hash, .cells_bytes = 0});
  const Params params{.tightening_bits = std::bit_cast<std::uint64_t>(options.growth.tightening),
                      .growth_factor = options.growth.factor,
                      .bound = static_cast<std::uint32_t>(options.growth.bound)};
  std::memcpy(header.kind_params.data(), &params, sizeof(params));
  auto parts = make_parts(header, std::move(*first), options.memory);
  return parts ? Result<ScalableBloom>(ScalableBloom(std::move(*parts))) : std::unexpected(parts.error());
}

Result<ScalableBloom> ScalableBloom::create_like(const Memory& memory) const {
  return create({.keys = initial_keys(), .fpr = fpr_target(), .growth = growth(), .hash = hash(), .memory = memory});
}

Result<void> ScalableBloom::check_header(const ImageHeader& header) {
  Params params;
  std::memcpy(&params, header.kind_params.data(), sizeof(params));
  if (params.bound > static_cast<std::uint32_t>(FprBound::first) || header.kind_params[2] != 0 ||
      header.slice_tag != 0 || header.kind_state[1] != 0 || header.kind_state[2] != 0) {
    return fail(ErrorCode::corrupt, "bound or reserved bytes from offset 76 on are not what a scalable-bloom has");
  }
  const Growth growth{.factor = params.growth_factor, .tightening = std::bit_cast<double>(params.tightening_bits)};
  if (auto valid = check_growth(growth); !valid) {
    return fail(ErrorCode::corrupt, valid.error().detail + " (offset 64)");
  }
  const double fpr = std::bit_cast<double>(header.fpr_target_bits);
  if (!check_request({.keys = header.capacity_keys, .fpr = fpr})) {
    return fail(ErrorCode::corrupt, "capacity at offset 40 or rate at offset 48 is impossible");
  }
  return {};
}

Growth ScalableBloom::growth() const noexcept {
  const Params stored = params();
  return {.factor = stored.growth_factor,
          .tightening = std::bit_cast<double>(stored.tightening_bits),
          .bound = static_cast<FprBound>(stored.bound)};
}

bool ScalableBloom::may_contain(Digest digest) const noexcept {
  for (std::size_t i = slice_count(); i-- > 0;) {
    if (slices()[i].may_contain(digest)) {
      return true;
    }
  }
  return false;
}

bool ScalableBloom::is_in_older_slices(Digest digest) const noexcept {
  for (std::size_t i = slice_count() - 1; i-- > 0;) {
    if (slices()[i].may_contain(digest)) {
      return true;
    }
  }
  return false;
}

bool ScalableBloom::observe(Digest digest) {
  if (!slices().back().is_full()) {
    return is_in_older_slices(digest) || slices().back().observe(digest);
  }
  if (may_contain(digest)) {
    return true;
  }
  make_room();
  return slices().back().observe(digest);
}

// Returns how many keys the newest slice takes; opens a new one where that would be none.
std::size_t ScalableBloom::make_room() {
  const BlockedBloom& newest = slices().back();
  if (!newest.is_full()) {
    return static_cast<std::size_t>(newest.capacity_keys() - newest.keys_inserted());
  }
  constexpr std::size_t kNoLimit = ~std::size_t{0};
  if (slice_count() == kMaxSlices) {
    return kNoLimit;
  }
  const Options options{
      .keys = initial_keys(), .fpr = fpr_target(), .growth = growth(), .hash = hash(), .memory = memory()};
  auto slice = make_slice(options, newest.slice_tag() + 1);
  if (slice) {
    slices().append(std::move(*slice));
    return static_cast<std::size_t>(slices().back().capacity_keys());
  }
  if (slice.error().code == ErrorCode::out_of_space) {
    throw std::bad_alloc();
  }
  return kNoLimit;  // too large to address: the newest one takes the rest
}

void ScalableBloom::observe_window(std::span<const Digest> digests, bool* seen) {
  Unknown unknown(digests);
  for (std::size_t i = slice_count() - 1; i-- > 0;) {
    ask(slices()[i], unknown, seen);
  }
  std::array<bool, kWindow> answers;
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
  for (std::size_t start = 0; start < digests.size(); start += kWindow) {
    observe_window(digests.subspan(start, std::min(kWindow, digests.size() - start)), seen.data() + start);
  }
}

void ScalableBloom::insert(std::span<const Digest> digests) {
  std::array<bool, kWindow> seen;
  for (std::size_t start = 0; start < digests.size(); start += kWindow) {
    observe_window(digests.subspan(start, std::min(kWindow, digests.size() - start)), seen.data());
  }
}

void ScalableBloom::insert(std::span<const std::uint64_t> keys) {
  for_each_hashed_window(hasher(), keys, [this](std::size_t, std::span<const Digest> digests) { insert(digests); });
}

void ScalableBloom::may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept {
  MANKAI_ASSERT(digests.size() == outcomes.size());
  std::array<bool, kWindow> answers;
  for (std::size_t start = 0; start < digests.size(); start += kWindow) {
    const std::size_t count = std::min(kWindow, digests.size() - start);
    bool* const any = outcomes.data() + start;
    std::size_t slice = slice_count();
    slices()[--slice].may_contain(digests.subspan(start, count), {any, count});
    while (slice-- > 0) {
      slices()[slice].may_contain(digests.subspan(start, count), std::span(answers).first(count));
      std::transform(any, any + count, answers.begin(), any, [](bool a, bool b) { return a | b; });
    }
  }
}

void ScalableBloom::may_contain(std::span<const std::uint64_t> keys, std::span<bool> outcomes) const noexcept {
  MANKAI_ASSERT(keys.size() == outcomes.size());
  for_each_hashed_window(hasher(), keys, [&](std::size_t start, std::span<const Digest> digests) {
    may_contain(digests, outcomes.subspan(start, digests.size()));
  });
}

Result<void> ScalableBloom::merge(const ScalableBloom& other) {
  if (auto same = check_same_hash(other); !same) {
    return same;
  }
  // What may fail comes first: copies of the slices that stay slices of their own.
  std::vector<BlockedBloom> taken_over;
  std::vector<std::size_t> joins;
  for (std::size_t i = 0; i < other.slice_count(); ++i) {
    const BlockedBloom& slice = other.slices()[i];
    if (i < slice_count() && have_room_together(slices()[i], slice)) {
      joins.push_back(i);
      continue;
    }
    auto copy = BlockedBloom::from_bytes(slice.to_bytes(), Trust::fast, memory());
    if (!copy) {
      return std::unexpected(copy.error());
    }
    taken_over.push_back(std::move(*copy));
  }
  if (slice_count() + taken_over.size() > kMaxSlices) {
    return fail(ErrorCode::invalid_argument, "the filters have more than " + std::to_string(kMaxSlices) +
                                                 " slices together; create one with more keys and add them there");
  }
  for (const std::size_t i : joins) {
    if (auto merged = slices()[i].merge(other.slices()[i]); !merged) {
      return merged;
    }
  }
  for (BlockedBloom& slice : taken_over) {
    slices().append(std::move(slice));
  }
  return {};
}

void ScalableBloom::clear() noexcept {
  slices().keep_first();
  slices().back().clear();
}

double ScalableBloom::fpr_expected(std::uint64_t keys) const noexcept {
  double all_no = 0;
  for (std::uint64_t generation = 0; keys > 0 && generation < kMaxSlices; ++generation) {
    const std::uint64_t capacity = slice_keys(initial_keys(), growth(), generation);
    const std::uint64_t inside = generation + 1 == kMaxSlices ? keys : std::min(keys, capacity);
    const auto blocks = blocked_bloom_blocks({.keys = capacity, .fpr = slice_fpr(fpr_target(), growth(), generation)});
    all_no += blocks ? std::log1p(-blocked_bloom_fpr(inside, *blocks)) : 0;
    keys -= inside;
  }
  return -std::expm1(all_no);
}

}  // namespace mankai
