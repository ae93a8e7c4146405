#include "modules/redis/bloom/value.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <new>
#include <string>

namespace mankai::redis {
namespace {

constexpr double kTightening = 0.5;

Growth growth_of(const BloomSettings& settings) noexcept {
  if (settings.is_nonscaling) {
    return {.factor = 1, .tightening = kTightening, .bound = FprBound::first};
  }
  return {.factor = settings.expansion, .tightening = kTightening, .bound = FprBound::total};
}

// What is done with either filter when keys come. One key is not worth a batch's arrays.
void observe(ScalableBloom& filter, std::span<const Digest> digests, std::span<bool> seen) {
  if (digests.size() == 1) {
    seen[0] = filter.observe(digests[0]);
  } else {
    filter.observe(digests, seen);
  }
}

// When a slice opens, all others are asked about the keys that are left: few of them, where slices are small.
void observe(ScalableCountingBloom& filter, std::span<const Digest> digests, std::span<bool> seen) {
  constexpr std::uint64_t kFewest = 64;
  for (std::size_t start = 0; start < digests.size();) {
    const std::uint64_t most = std::max(room_in_newest(filter), kFewest);
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(digests.size() - start, most));
    filter.observe_in_oldest(digests.subspan(start, count), seen.subspan(start, count));
    start += count;
  }
}

Result<BloomValue> valued(auto filter, bool is_nonscaling) {
  MANKAI_ASSIGN(auto made, std::move(filter));
  return BloomValue(std::move(made), is_nonscaling);
}

}  // namespace

Result<BloomValue> BloomValue::create(const BloomSettings& settings) {
  if (settings.is_deletable) {
    return valued(ScalableCountingBloom::create({.keys = settings.capacity_keys,
                                                 .fpr = settings.fpr,
                                                 .growth = growth_of(settings),
                                                 .hash = settings.hash,
                                                 .memory = engine_memory()}),
                  settings.is_nonscaling);
  }
  return valued(ScalableBloom::create({.keys = settings.capacity_keys,
                                       .fpr = settings.fpr,
                                       .growth = growth_of(settings),
                                       .hash = settings.hash,
                                       .memory = engine_memory()}),
                settings.is_nonscaling);
}

Result<BloomValue> BloomValue::from_image(AssembledImage image) {
  const bool is_nonscaling = (image.flags & kNonscaling) != 0;
  ImageHeader outer;
  std::memcpy(&outer, image.image.bytes().data(), sizeof(outer));
  return outer.kind == ScalableCountingBloom::kKind
             ? valued(filter_of<ScalableCountingBloom>(std::move(image)), is_nonscaling)
             : valued(filter_of<ScalableBloom>(std::move(image)), is_nonscaling);
}

Result<BloomValue> BloomValue::create_like() const {
  return std::visit([&](const auto& filter) { return valued(filter.create_like(engine_memory()), is_nonscaling_); },
                    filter_);
}

bool BloomValue::is_empty() const noexcept {
  // A filter of counters may have lost its count of keys, but never says of a key that came that none did.
  if (const auto* counting = std::get_if<ScalableCountingBloom>(&filter_); counting != nullptr) {
    return counting->next_id() == counting->first_id();
  }
  return keys_inserted() == 0 && slice_count() == 1;
}

BloomSettings BloomValue::settings() const noexcept {
  return std::visit(
      [&](const auto& filter) {
        return BloomSettings{.capacity_keys = filter.initial_keys(),
                             .fpr = filter.fpr_target(),
                             .expansion = filter.growth().factor,
                             .is_nonscaling = is_nonscaling_,
                             .is_deletable = is_deletable(),
                             .hash = filter.hash()};
      },
      filter_);
}

std::uint64_t BloomValue::capacity_keys() const noexcept {
  return std::visit([](const auto& filter) { return filter.capacity_keys(); }, filter_);
}

std::uint64_t BloomValue::keys_inserted() const noexcept {
  return std::visit([](const auto& filter) { return filter.keys_inserted(); }, filter_);
}

std::size_t BloomValue::slice_count() const noexcept {
  return std::visit([](const auto& filter) { return filter.slice_count(); }, filter_);
}

WorkShape BloomValue::work_shape() const noexcept {
  return std::visit([&](const auto& filter) { return redis::work_shape(filter, !is_nonscaling_); }, filter_);
}

double BloomValue::fpr_estimate() const noexcept {
  return std::visit([](const auto& filter) { return filter.fpr_estimate(); }, filter_);
}

ImageParts BloomValue::parts() const {
  ImageParts parts = std::visit([](const auto& filter) { return parts_of(filter); }, filter_);
  parts.flags = is_nonscaling_ ? kNonscaling : 0;
  return parts;
}

Hasher BloomValue::hasher() const noexcept {
  return std::visit([](const auto& filter) { return filter.hasher(); }, filter_);
}

AddReport BloomValue::add_window(std::span<const Digest> digests, std::span<bool> seen) {
  return std::visit(
      [&](auto& filter) {
        return add_in_order(filter, digests, seen, !is_nonscaling_,
                            [&](std::span<const Digest> some, std::span<bool> known) { observe(filter, some, known); });
      },
      filter_);
}

AddReport BloomValue::add(std::span<const std::string_view> keys, std::span<bool> fresh) {
  const Hasher hash = hasher();
  std::array<Digest, kHashWindow> window;
  AddReport total;
  while (total.done < keys.size() && total.stop == AddStop::none) {
    const std::size_t count = std::min(kHashWindow, keys.size() - total.done);
    const auto digests = std::span(window).first(count);
    hash(keys.subspan(total.done, count), digests);
    const auto seen = fresh.subspan(total.done, count);
    const AddReport report = add_window(digests, seen);
    std::ranges::transform(seen.first(report.done), seen.begin(), [](bool known) { return !known; });
    total = {.done = total.done + report.done, .stop = report.stop};
  }
  return total;
}

void BloomValue::ask(std::span<const std::string_view> keys, std::span<bool> outcomes) const noexcept {
  std::visit(
      [&](const auto& filter) {
        if (keys.size() == 1) {
          outcomes[0] = filter.may_contain(filter.hasher()(keys[0]));
          return;
        }
        for_each_hashed_window(filter.hasher(), keys, [&](std::size_t start, std::span<const Digest> digests) {
          filter.may_contain(digests, outcomes.subspan(start, digests.size()));
        });
      },
      filter_);
}

void BloomValue::remove(std::span<const std::string_view> keys, std::span<bool> removed) noexcept {
  auto& filter = std::get<ScalableCountingBloom>(filter_);
  for_each_hashed_window(filter.hasher(), keys, [&](std::size_t start, std::span<const Digest> digests) {
    const auto results = removed.subspan(start, digests.size());
    // As a batch first: the lines come in together, and what is not in now will not be in later.
    filter.may_contain(digests, results);
    for (std::size_t i = 0; i < digests.size(); ++i) {
      results[i] = results[i] && filter.erase_from_oldest(digests[i]) == EraseResult::erased;
    }
  });
}

Result<void> BloomValue::check_merge(const BloomValue& other, std::uint64_t keys_before) const {
  const BloomSettings mine = settings();
  const BloomSettings theirs = other.settings();
  if (mine.is_deletable || theirs.is_deletable) {
    return fail(ErrorCode::invalid_argument, "deletable filters cannot be merged: add the items to one of them");
  }
  if (mine.hash != theirs.hash) {
    return fail(ErrorCode::invalid_argument,
                "the filters hash with different seeds: make one from the other with COPY and BF.CLEAR");
  }
  if (mine.capacity_keys != theirs.capacity_keys || mine.fpr != theirs.fpr ||
      std::get<ScalableBloom>(filter_).growth() != std::get<ScalableBloom>(other.filter_).growth()) {
    return fail(ErrorCode::invalid_argument, "the filters were reserved with different parameters");
  }
  if (is_nonscaling_ && keys_before + other.keys_inserted() > capacity_keys()) {
    return fail(ErrorCode::out_of_space, "non scaling filter is full");
  }
  return {};
}

Result<void> BloomValue::merge(const BloomValue& other) {
  MANKAI_TRY(check_merge(other, keys_inserted()));
  return std::get<ScalableBloom>(filter_).merge(std::get<ScalableBloom>(other.filter_));
}

std::size_t BloomValue::memory_pieces() const noexcept {
  return std::visit([](const auto& filter) { return filter.memory_pieces(); }, filter_);
}

void BloomValue::relocate(std::size_t piece, const Mover& mover) noexcept {
  std::visit([&](auto& filter) { filter.relocate(piece, mover); }, filter_);
}

std::size_t BloomValue::heap_bytes() const noexcept {
  return std::visit([](const auto& filter) { return heap_bytes_of(filter); }, filter_);
}

}  // namespace mankai::redis
