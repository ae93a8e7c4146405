#include "mankai/filter/fading_fingerprints/fading_fingerprints.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "mankai/base/assert.hpp"
#include "mankai/filter/parts/hash_windows.hpp"
#include "mankai/filter/parts/sizing.hpp"

namespace mankai {
namespace {

using Options = FadingFingerprints::Options;
using Params = FadingFingerprints::Params;

/// Kifi's production values, and their advice for more slots per event.
constexpr std::uint32_t kDefaultK = 2;
constexpr std::uint32_t kFewSlotsBits = 8;
constexpr std::uint32_t kManySlots = 4;
constexpr std::uint32_t kManySlotsBits = 16;

FadingShape given_shape(const Options& options) noexcept {
  const std::uint32_t k = options.k != 0 ? options.k : std::max(kDefaultK, options.min_matches);
  const std::uint32_t bits = k < kManySlots ? kFewSlotsBits : kManySlotsBits;
  return {.slots = options.slots,
          .k = k,
          .bits = options.bits != 0 ? options.bits : bits,
          .min_matches = options.min_matches};
}

Result<FadingShape> shape_for(const Options& options) {
  if (options.slots == 0) {
    return fading_size({.events = options.keys,
                        .fpr = options.fpr,
                        .k = options.k,
                        .bits = options.bits,
                        .min_matches = options.min_matches});
  }
  const FadingShape shape = given_shape(options);
  const auto valid = check_fading_shape(shape);
  return valid ? Result<FadingShape>(shape) : std::unexpected(valid.error());
}

// With explicit slots the capacity is the half-life.
std::uint64_t capacity_of(const Options& options, const FadingShape& shape) noexcept {
  constexpr double kMost = 1e18;
  if (options.keys != 0) {
    return options.keys;
  }
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::fmin(fading_half_life(shape), kMost)));
}

// With many matches of many bits the plateau underflows.
double rate_of(const Options& options, const FadingShape& shape) noexcept {
  return options.slots == 0 ? options.fpr : std::fmax(fading_fpr(shape), std::numeric_limits<double>::min());
}

FadingShape shape_of(const Params& params) noexcept {
  return {.slots = params.slots, .k = params.k, .bits = params.bits, .min_matches = params.min_matches};
}

Result<void> check_params(const Params& params, std::uint64_t cells_bytes) {
  const FadingShape shape = shape_of(params);
  if (!is_fading_bits(shape.bits)) {
    return fail(ErrorCode::unsupported_version, "fingerprints of " + std::to_string(params.bits) +
                                                    " bits at offset 76 of a later library: use a newer one");
  }
  if (auto valid = check_fading_shape(shape); !valid) {
    return fail(ErrorCode::corrupt, valid.error().detail + ", at offset 64");
  }
  if (fading_cells_bytes(shape) != cells_bytes) {
    return fail(ErrorCode::corrupt, std::to_string(params.slots) + " slots at offset 64 do not fill the cells");
  }
  return {};
}

kernel::FadingCells cells_of(Image& image, const Params& params) noexcept {
  return {.cells = std::as_writable_bytes(image.words()).data(),
          .cell_count = params.slots,
          .k = params.k,
          .min_matches = params.min_matches};
}

}  // namespace

FadingFingerprints::FadingFingerprints(Image source, const Params& params) noexcept
    : FlatFilter(std::move(source)), array_(cells_of(image(), params)), ops_(&kernel::fading_ops(params.bits)) {}

Result<FadingFingerprints> FadingFingerprints::create(const Options& options) {
  MANKAI_ASSIGN(const auto shape, shape_for(options));
  MANKAI_ASSIGN(auto image, Image::create(kKind,
                                          {.capacity_keys = capacity_of(options, shape),
                                           .fpr_target = rate_of(options, shape),
                                           .hash = options.hash,
                                           .cells_bytes = fading_cells_bytes(shape)},
                                          options.memory));
  const Params params{.slots = shape.slots,
                      .k = shape.k,
                      .bits = static_cast<std::uint16_t>(shape.bits),
                      .min_matches = static_cast<std::uint16_t>(shape.min_matches)};
  image.set_params(params);
  return FadingFingerprints(std::move(image), params);
}

Result<FadingFingerprints> FadingFingerprints::from_image(Image source) {
  MANKAI_TRY(check_kind(source, kKind, sizeof(Params) / sizeof(std::uint64_t)));
  const auto params = source.params<Params>();
  MANKAI_TRY(check_params(params, source.header().cells_bytes));
  MANKAI_TRY(check_tail(source, params.slots, params.bits));
  return FadingFingerprints(std::move(source), params);
}

void FadingFingerprints::relocate(const Mover& mover) noexcept {
  image().relocate(mover);
  array_ = cells_of(image(), params());
}

FadingShape FadingFingerprints::shape() const noexcept { return shape_of(params()); }

bool FadingFingerprints::observe(Digest digest) noexcept {
  bool seen = false;
  observe(std::span(&digest, 1), std::span(&seen, 1));
  return seen;
}

bool FadingFingerprints::may_contain(Digest digest) const noexcept {
  bool outcome = false;
  ops_->may_contain(array_, &digest, 1, &outcome);
  return outcome;
}

void FadingFingerprints::insert(std::span<const Digest> digests) noexcept {
  image().add_keys(digests.size());
  ops_->insert(array_, digests.data(), digests.size());
}

void FadingFingerprints::insert_concurrent(std::span<const Digest> digests) noexcept {
  image().add_keys_concurrent(digests.size());
  ops_->insert_concurrent(array_, digests.data(), digests.size());
}

void FadingFingerprints::observe(std::span<const Digest> digests, std::span<bool> seen) noexcept {
  MANKAI_ASSERT(digests.size() == seen.size());
  image().add_keys(digests.size());
  ops_->observe(array_, digests.data(), digests.size(), seen.data());
}

void FadingFingerprints::may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept {
  MANKAI_ASSERT(digests.size() == outcomes.size());
  ops_->may_contain(array_, digests.data(), digests.size(), outcomes.data());
}

double FadingFingerprints::fill_ratio() const noexcept {
  return static_cast<double>(ops_->count_used(array_)) / static_cast<double>(array_.cell_count);
}

double FadingFingerprints::keys_estimate() const noexcept {
  return estimate_keys(fill_ratio(), static_cast<double>(array_.cell_count), array_.k);
}

double FadingFingerprints::fpr_estimate() const noexcept { return fading_fpr(shape(), fill_ratio()); }

double FadingFingerprints::fpr_expected(std::uint64_t keys) const noexcept {
  return fading_fpr(shape(), fading_fill(shape(), static_cast<double>(keys)));
}

}  // namespace mankai
