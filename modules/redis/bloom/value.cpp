#include "modules/redis/bloom/value.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <new>
#include <string>

#include "mankai/filter/hash_windows.hpp"
#include "modules/redis/engine/memory.hpp"

namespace mankai::redis {
namespace {

constexpr double kTightening = 0.5;

Growth growth_of(const BloomSettings& settings) noexcept {
  if (settings.is_nonscaling) {
    return {.factor = 1, .tightening = kTightening, .bound = FprBound::first};
  }
  return {.factor = settings.expansion, .tightening = kTightening, .bound = FprBound::total};
}

std::size_t room_in(const BlockedBloom& slice) noexcept {
  return slice.is_full() ? 0 : static_cast<std::size_t>(slice.capacity_keys() - slice.keys_inserted());
}

}  // namespace

Result<BloomValue> BloomValue::create(const BloomSettings& settings) {
  auto filter = ScalableBloom::create({.keys = settings.capacity_keys,
                                       .fpr = settings.fpr,
                                       .growth = growth_of(settings),
                                       .hash = settings.hash,
                                       .memory = engine_memory()});
  if (!filter) {
    return std::unexpected(filter.error());
  }
  return BloomValue(std::move(*filter), settings.is_nonscaling);
}

Result<BloomValue> BloomValue::create_like() const {
  auto filter = filter_.create_like(engine_memory());
  if (!filter) {
    return std::unexpected(filter.error());
  }
  return BloomValue(std::move(*filter), is_nonscaling_);
}

BloomSettings BloomValue::settings() const noexcept {
  return {.capacity_keys = filter_.initial_keys(),
          .fpr = filter_.fpr_target(),
          .expansion = filter_.growth().factor,
          .is_nonscaling = is_nonscaling_,
          .hash = filter_.hash()};
}

// Returns how many of the digests stand before the first one that the filter does not know.
std::size_t BloomValue::known_before_stranger(std::span<const Digest> digests) const {
  std::array<bool, kHashWindow> known;
  const auto answers = std::span(known).first(digests.size());
  filter_.may_contain(digests, answers);
  return static_cast<std::size_t>(std::ranges::find(answers, false) - answers.begin());
}

AddReport BloomValue::add_growing(std::span<const Digest> digests, std::span<bool> seen) {
  try {
    filter_.observe(digests, seen);
    return {.done = digests.size()};
  } catch (const std::bad_alloc&) {
    // The keys before the one that found no room are in, and answered; that one is not.
    return {.done = known_before_stranger(digests), .stop = AddStop::out_of_memory};
  }
}

AddReport BloomValue::add_bounded(std::span<const Digest> digests, std::span<bool> seen) {
  std::size_t done = 0;
  while (done < digests.size()) {
    const std::size_t count = std::min(digests.size() - done, room_in(filter_.slice(filter_.slice_count() - 1)));
    if (count == 0) {
      const std::size_t known = known_before_stranger(digests.subspan(done));
      std::ranges::fill(seen.subspan(done, known), true);
      done += known;
      return {.done = done, .stop = done < digests.size() ? AddStop::full : AddStop::none};
    }
    filter_.observe(digests.subspan(done, count), seen.subspan(done, count));
    done += count;
  }
  return {.done = done};
}

AddReport BloomValue::add_window(std::span<const Digest> digests, std::span<bool> seen) {
  return is_nonscaling_ ? add_bounded(digests, seen) : add_growing(digests, seen);
}

AddReport BloomValue::add(std::span<const std::string_view> keys, std::span<bool> fresh) {
  const Hasher hasher = filter_.hasher();
  std::array<Digest, kHashWindow> window;
  AddReport total;
  while (total.done < keys.size() && total.stop == AddStop::none) {
    const std::size_t count = std::min(kHashWindow, keys.size() - total.done);
    const auto digests = std::span(window).first(count);
    hasher(keys.subspan(total.done, count), digests);
    const auto seen = fresh.subspan(total.done, count);
    const AddReport report = add_window(digests, seen);
    std::ranges::transform(seen.first(report.done), seen.begin(), [](bool known) { return !known; });
    total = {.done = total.done + report.done, .stop = report.stop};
  }
  return total;
}

void BloomValue::ask(std::span<const std::string_view> keys, std::span<bool> outcomes) const noexcept {
  for_each_hashed_window(filter_.hasher(), keys, [&](std::size_t start, std::span<const Digest> digests) {
    filter_.may_contain(digests, outcomes.subspan(start, digests.size()));
  });
}

Result<void> BloomValue::check_merge(const BloomValue& other, std::uint64_t keys_before) const {
  const BloomSettings mine = settings();
  const BloomSettings theirs = other.settings();
  if (mine.hash != theirs.hash) {
    return fail(ErrorCode::invalid_argument,
                "the filters hash with different seeds: make one from the other with COPY and BF.CLEAR");
  }
  if (mine.capacity_keys != theirs.capacity_keys || mine.fpr != theirs.fpr ||
      filter_.growth() != other.filter_.growth()) {
    return fail(ErrorCode::invalid_argument, "the filters were reserved with different parameters");
  }
  if (is_nonscaling_ && keys_before + other.filter_.keys_inserted() > filter_.capacity_keys()) {
    return fail(ErrorCode::out_of_space, "non scaling filter is full");
  }
  return {};
}

Result<void> BloomValue::merge(const BloomValue& other) {
  if (auto possible = check_merge(other, filter_.keys_inserted()); !possible) {
    return possible;
  }
  return filter_.merge(other.filter_);
}

std::size_t BloomValue::memory_bytes() const noexcept {
  std::size_t bytes = sizeof(BloomValue) + engine_bytes(sizeof(ImageHeader));
  for (std::size_t i = 0; i < filter_.slice_count(); ++i) {
    bytes += sizeof(BlockedBloom) + engine_bytes(filter_.slice(i).image_bytes());
  }
  return bytes;
}

}  // namespace mankai::redis
