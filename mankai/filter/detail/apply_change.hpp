#pragma once

/// Applies a change to a filter of a known class.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/filter/change.hpp"
#include "mankai/filter/concepts.hpp"
#include "mankai/filter/detail/change_payload.hpp"
#include "mankai/filter/detail/key_windows.hpp"

namespace mankai::detail {

/// Reads consecutive arrays from a payload. After the first missing array, all others are missing, too.
class PayloadReader {
 public:
  explicit PayloadReader(std::span<const std::byte> payload) noexcept : rest_(payload) {}

  /// Pre: count < 2^32.
  template <class T>
  std::span<const T> take(std::size_t count) noexcept {
    const std::size_t bytes = count * sizeof(T);
    const std::size_t padded = align_up(bytes, kPayloadAlignment);
    if (padded > rest_.size() || !is_zero(rest_.subspan(bytes, padded - bytes))) {
      is_good_ = false;
      rest_ = {};
      return {};
    }
    const std::span<const T> taken(reinterpret_cast<const T*>(rest_.data()), count);
    rest_ = rest_.subspan(padded);
    return taken;
  }
  /// Whether the payload consists of exactly the arrays that were read.
  [[nodiscard]] bool is_done() const noexcept { return is_good_ && rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
  bool is_good_ = true;
};

// Not inlined: that would double the cost of a change of one key.
[[gnu::cold, gnu::noinline]] inline Result<void> wrong(const Change& change, const std::string& why) {
  return fail(ErrorCode::corrupt, "a change '" + std::string(name(change.operation)) + "' of " +
                                      std::to_string(change.keys) + " keys in " +
                                      std::to_string(change.payload.size()) + " bytes that " + why);
}

[[gnu::cold, gnu::noinline]] inline Result<void> wrong_size(const Change& change) {
  return wrong(change, "its arrays do not fill");
}

template <class F>
[[gnu::cold, gnu::noinline]] Result<void> wrong_kind(const Change& change) {
  return wrong(change, "is not one of a filter of kind " + std::string(F::kName));
}

/// Whether keys expire or decay: in some kinds only if the filter was created so.
template <class F>
bool has_time_of(const F& filter) noexcept {
  if constexpr (requires { filter.has_time(); }) {
    return filter.has_time();
  } else {
    return true;
  }
}

/// Value and strength of a key inserted without a value.
inline constexpr std::uint32_t kNoValue = 0;
inline constexpr double kWholeStrength = 1;
inline constexpr std::array<std::uint32_t, ChangeEncoder::kMaxKeys> kNoValues{};

/// Whether the key has any value, which is what presence means for a valued key.
template <class F>
bool has_value(const F& filter, Digest key) {
  ValueMatches first{};
  return filter.get(key, std::span(&first, 1)) != 0;
}

template <class F>
void insert_digests(F& filter, std::span<const Digest> digests, std::span<bool> seen) {
  if constexpr (AssociativeFilter<F>) {
    if (seen.empty()) {
      filter.put(digests, std::span(kNoValues).first(digests.size()), kWholeStrength);
      return;
    }
    for (std::size_t i = 0; i < digests.size(); ++i) {
      seen[i] = has_value(filter, digests[i]);
      filter.put(digests[i], kNoValue, kWholeStrength);
    }
  } else if (seen.empty() && digests.size() == 1) {
    filter.insert(digests.front());  // avoids the windows of a batch
  } else if (seen.empty()) {
    filter.insert(digests);
  } else {
    filter.observe(digests, seen);
  }
}

/// Whether each end exceeds the previous one by `least` to `most`.
inline bool are_steps(std::span<const std::uint32_t> ends, std::uint32_t least, std::uint32_t most) noexcept {
  std::uint32_t before = 0;
  for (const std::uint32_t end : ends) {
    if (end < before || end - before < least || end - before > most) {
      return false;
    }
    before = end;
  }
  return true;
}

template <class F>
Result<void> insert_paths(F& filter, const Change& change, std::span<bool> seen) {
  PayloadReader reader(change.payload);
  const auto ends = reader.take<std::uint32_t>(change.keys);
  if (!are_steps(ends, 1, ~std::uint32_t{0})) {
    return wrong(change, "hold a path without segments");
  }
  const auto digests = reader.take<Digest>(ends.empty() ? 0 : ends.back());
  if (!reader.is_done()) {
    return wrong_size(change);
  }
  if (seen.empty()) {
    filter.insert(digests, ends);
  } else {
    filter.observe(digests, ends, seen);
  }
  return {};
}

struct Names {
  std::span<const std::uint32_t> ends;
  std::span<const char> bytes;

  std::string_view operator[](std::size_t i) const noexcept {
    const std::size_t begin = i == 0 ? 0 : ends[i - 1];
    return {bytes.data() + begin, ends[i] - begin};
  }
};

// The digest of a name that was cut cannot be checked.
inline bool are_digests_of(const Hasher& hash, const Names& names, std::span<const Digest> digests) noexcept {
  std::array<std::string_view, kUrlWindow> keys;
  std::array<Digest, kUrlWindow> hashed;
  for (std::size_t start = 0; start < digests.size(); start += kUrlWindow) {
    const std::size_t count = std::min(kUrlWindow, digests.size() - start);
    for (std::size_t i = 0; i < count; ++i) {
      keys[i] = names[start + i];
    }
    hash(std::span<const std::string_view>(keys).first(count), std::span(hashed).first(count));
    for (std::size_t i = 0; i < count; ++i) {
      if (hashed[i] != digests[start + i] && keys[i].size() < kMostNameBytes) {
        return false;
      }
    }
  }
  return true;
}

template <class F>
Result<void> insert_named(F& filter, const Change& change, std::span<bool> seen) {
  PayloadReader reader(change.payload);
  const auto digests = reader.take<Digest>(change.keys);
  const auto times = reader.take<std::int64_t>(change.keys);
  const auto ends = reader.take<std::uint32_t>(change.keys);
  if (!are_steps(ends, 0, kMostNameBytes)) {
    return wrong(change, "hold a name of an impossible length");
  }
  const Names names{.ends = ends, .bytes = reader.take<char>(ends.empty() ? 0 : ends.back())};
  if (!reader.is_done()) {
    return wrong_size(change);
  }
  if (!are_digests_of(filter.hasher(), names, digests)) {
    return wrong(change, "hold a name of another digest");
  }
  for (std::size_t i = 0; i < digests.size(); ++i) {
    if (!seen.empty()) {
      seen[i] = filter.may_contain(digests[i]);
    }
    filter.insert(digests[i], names[i], Time(Duration(times[i])));
  }
  return {};
}

template <class F>
Result<void> insert(F& filter, const Change& change, std::span<bool> seen) {
  if constexpr (NamedFilter<F>) {
    return wrong_kind<F>(change);
  } else if constexpr (PathFilter<F>) {
    return insert_paths(filter, change, seen);
  } else {
    PayloadReader reader(change.payload);
    const auto digests = reader.take<Digest>(change.keys);
    if (!reader.is_done()) {
      return wrong_size(change);
    }
    insert_digests(filter, digests, seen);
    return {};
  }
}

template <class F>
Result<void> insert_with_ids(F& filter, const Change& change) {
  PayloadReader reader(change.payload);
  const auto digests = reader.take<Digest>(change.keys);
  const auto ids = reader.take<std::uint64_t>(change.keys);
  if (!reader.is_done()) {
    return wrong_size(change);
  }
  if (digests.size() == 1) {
    auto inserted = filter.insert(digests.front(), ids.front());
    return inserted ? Result<void>{} : wrong(change, "hold " + inserted.error().detail);
  }
  for (const std::uint64_t id : ids) {
    if (auto valid = filter.check_id(id); !valid) {
      return wrong(change, "hold " + valid.error().detail);
    }
  }
  const std::size_t refused = filter.insert(digests, ids);
  MANKAI_ASSERT(refused == 0);
  return {};
}

template <class F>
Result<void> insert_until(F& filter, const Change& change, std::span<bool> seen) {
  if (!has_time_of(filter)) {
    return wrong_kind<F>(change);
  }
  PayloadReader reader(change.payload);
  const auto digests = reader.take<Digest>(change.keys);
  const auto until = reader.take<std::uint64_t>(change.keys);
  if (!reader.is_done()) {
    return wrong_size(change);
  }
  if (!std::ranges::all_of(until, [&](std::uint64_t each) { return filter.is_until(each); })) {
    return wrong(change, "hold an expiry that the filter cannot have at its time");
  }
  if (seen.empty()) {
    filter.insert_until(digests, until);
    return {};
  }
  for (std::size_t i = 0; i < digests.size(); ++i) {
    seen[i] = filter.may_contain(digests[i]);
    filter.insert_until(digests.subspan(i, 1), until.subspan(i, 1));
  }
  return {};
}

template <class F>
EraseResult erase_one(F& filter, Digest digest, std::span<const std::uint64_t> ids) {
  if constexpr (NumberedFilter<F>) {
    if (!ids.empty()) {
      return filter.erase(digest, ids.front());
    }
  }
  return filter.erase(digest);
}

// Not inlined: an erase of one key does not need its stack.
template <class F>
[[gnu::noinline]] void erase_batch(F& filter, std::span<const Digest> digests, std::span<const std::uint64_t> ids,
                                   std::span<EraseResult> asked) {
  std::array<EraseResult, ChangeEncoder::kMaxKeys> unasked;
  const std::span<EraseResult> results = asked.empty() ? std::span(unasked).first(digests.size()) : asked;
  if constexpr (NumberedFilter<F>) {
    if (!ids.empty()) {
      filter.erase(digests, ids, results);
      return;
    }
  }
  filter.erase(digests, results);
}

template <class F>
Result<void> erase(F& filter, const Change& change, std::span<EraseResult> asked) {
  PayloadReader reader(change.payload);
  const auto digests = reader.take<Digest>(change.keys);
  const auto ids = reader.take<std::uint64_t>(change.operation == Operation::erase_with_ids ? change.keys : 0);
  if (!reader.is_done()) {
    return wrong_size(change);
  }
  if (digests.size() == 1) {
    const EraseResult result = erase_one(filter, digests.front(), ids);
    if (!asked.empty()) {
      asked.front() = result;
    }
  } else {
    erase_batch(filter, digests, ids, asked);
  }
  return {};
}

template <class F>
Result<void> put(F& filter, const Change& change) {
  PayloadReader reader(change.payload);
  const auto digests = reader.take<Digest>(change.keys);
  const auto values = reader.take<std::uint32_t>(change.keys);
  const auto strength = reader.take<double>(1);
  if (!reader.is_done()) {
    return wrong_size(change);
  }
  if (!is_strength(strength.front())) {
    return wrong(change, "hold an impossible strength");
  }
  filter.put(digests, values, strength.front());
  return {};
}

template <class F>
Result<void> advance(F& filter, const Change& change) {
  if (!has_time_of(filter)) {
    return wrong_kind<F>(change);
  }
  PayloadReader reader(change.payload);
  const auto ticks = reader.take<std::uint64_t>(1);
  if (change.keys != 1 || !reader.is_done()) {
    return wrong_size(change);
  }
  if (ticks.front() < filter.tick().value || ticks.front() > kMaxTick) {
    return wrong(change, "hold tick " + std::to_string(ticks.front()) + ", but the filter is at tick " +
                             std::to_string(filter.tick().value));
  }
  filter.advance({ticks.front()});
  return {};
}

template <class F>
Result<void> apply_to(F& filter, const Change& change, const Outcomes& outcomes) {
  switch (change.operation) {
    case Operation::insert: return insert(filter, change, outcomes.seen);
    case Operation::insert_with_ids:
      if constexpr (NumberedFilter<F>) {
        return insert_with_ids(filter, change);
      }
      break;
    case Operation::insert_at:
      if constexpr (NamedFilter<F>) {
        return insert_named(filter, change, outcomes.seen);
      }
      break;
    case Operation::erase:
      if constexpr (requires { filter.check_erase(); }) {
        MANKAI_TRY(filter.check_erase() ? Result<void>() : wrong_kind<F>(change));
      }
      if constexpr (DeletableFilter<F>) {
        return erase(filter, change, outcomes.erased);
      }
      break;
    case Operation::erase_with_ids:
      if constexpr (NumberedFilter<F>) {
        return erase(filter, change, outcomes.erased);
      }
      break;
    case Operation::put:
      if constexpr (AssociativeFilter<F>) {
        return put(filter, change);
      }
      break;
    case Operation::insert_until:
      if constexpr (ExpiringFilter<F>) {
        return insert_until(filter, change, outcomes.seen);
      }
      break;
    case Operation::advance:
      if constexpr (DecayingFilter<F>) {
        return advance(filter, change);
      }
      break;
  }
  return wrong_kind<F>(change);
}

}  // namespace mankai::detail
