#pragma once

/// What is done to a filter, as bytes that can be kept and done again: an operation and a payload of digests, ids,
/// times, values and names. The payload is part of the journal's format (docs/formats/journal.md). The same changes in
/// the same order make an equal filter of an equal one, byte for byte, whoever does them, and however they are cut into
/// batches.
///
/// Payloads are arrays one after the other, little-endian; n is the number of keys, at most ChangeEncoder::kMaxKeys.
/// Each array begins at a multiple of 8 bytes; where one ends before that, zeros follow.
///
///     insert           whole, numbered, valued keys:  u64 digest[n]
///                      paths:  u32 end[n] | u64 digest[end[n-1]]: those of path i's segments stand before end[i] and
///                      behind those of path i - 1; a path has one at least
///     insert_with_ids  u64 digest[n] | u64 id[n]
///     insert_at        u64 digest[n] | i64 time[n] | u32 end[n] | u8 name[end[n-1]]: microseconds since 1970, and the
///                      keys' bytes; of a key of more than 1024 bytes the first 1025
///     erase            u64 digest[n]
///     erase_with_ids   u64 digest[n] | u64 id[n]
///     put              u64 digest[n] | u32 value[n] | f64 strength
///     advance          u64 tick; n is 1
///
/// A key that comes without a number gets the next one, without a value the value 0 at full strength, without a time
/// that at which the filter stood: the first two are found out again, the last one is written down.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"
#include "mankai/filter/concepts.hpp"

namespace mankai {

class AnyFilter;
class FilterBody;

/// What a change does. The values stand in journals and are never reused.
enum class Operation : std::uint16_t {
  insert = 1,
  insert_with_ids = 2,
  insert_at = 3,  ///< kinds that keep names
  erase = 4,
  erase_with_ids = 5,
  put = 6,
  advance = 7,
};

/// Returns the name used in messages, such as "insert_at"; "unknown" for an invalid value.
[[nodiscard]] std::string_view name(Operation operation) noexcept;

/// See the top of this file.
struct Change {
  Operation operation{};
  std::uint32_t keys = 0;                   ///< how many changes of single keys it is; 1 for advance
  std::span<const std::byte> payload = {};  ///< aligned to 8, a multiple of 8 bytes long
};

/// Turns keys into changes, as the filter's kind wants them. What cannot be done is refused here, with nothing done;
/// so a change that was made for a filter as it stands can be applied to it.
///
/// Shape:   at most kMaxKeys keys a call, and ids, times and values for each; may be empty. A change's payload stands
///          until the next call.
/// Cost:    the hash and 8 bytes per key, and what belongs to it; no allocation once as much has been encoded before,
///          but for keys that are made canonical and are no URLs.
/// Threads: one at a time, and not beside changes to the filter.
class ChangeEncoder {
 public:
  static constexpr std::size_t kMaxKeys = 4096;
  /// Of all paths in one change: a thousand each.
  static constexpr std::size_t kMaxSegments = std::size_t{1} << 22U;

  /// Keeps a reference: the filter outlives the encoder and stays where it is.
  explicit ChangeEncoder(const AnyFilter& filter);
  ~ChangeEncoder();
  ChangeEncoder(ChangeEncoder&& other) noexcept;
  ChangeEncoder& operator=(ChangeEncoder&& other) noexcept;
  ChangeEncoder(const ChangeEncoder&) = delete;
  ChangeEncoder& operator=(const ChangeEncoder&) = delete;

  /// As insert_keys. Errors: invalid_argument for paths of more than kMaxSegments together.
  [[nodiscard]] Result<Change> insert(std::span<const std::string_view> keys);
  /// As insert_keys_with_ids, but if one is refused, none is in. Errors: invalid_argument for a kind that takes none,
  /// and for an id that cannot be, which is named.
  [[nodiscard]] Result<Change> insert(std::span<const std::string_view> keys, std::span<const std::uint64_t> ids);
  /// Keys that came at times, in any order. Errors: invalid_argument for a kind that keeps no names: others are told
  /// the time by advance.
  [[nodiscard]] Result<Change> insert(std::span<const std::string_view> keys, std::span<const Time> times);
  /// As erase_keys. Errors: invalid_argument for a kind that cannot.
  [[nodiscard]] Result<Change> erase(std::span<const std::string_view> keys);
  /// As erase_keys_with_ids. Errors: invalid_argument for a kind that takes no ids.
  [[nodiscard]] Result<Change> erase(std::span<const std::string_view> keys, std::span<const std::uint64_t> ids);
  /// As put_values. Errors: invalid_argument for a kind that keeps no values, and for a strength that is not above 0 to
  /// 1.
  [[nodiscard]] Result<Change> put(std::span<const std::string_view> keys, std::span<const std::uint32_t> values,
                                   double strength);
  /// As advance_filter. Errors: invalid_argument for a kind without time, and for a time before the filter's.
  [[nodiscard]] Result<Change> advance(Time time);

 private:
  class Buffers;
  [[nodiscard]] Change with_ids(Operation operation, std::span<const std::string_view> keys,
                                std::span<const std::uint64_t> ids);

  const FilterBody* filter_;
  std::unique_ptr<Buffers> buffers_;
};

/// What a change answers, where somebody asks: empty, or one for each key.
struct Outcomes {
  std::span<bool> seen = {};           ///< insert, insert_at: whether the key was there before
  std::span<EraseResult> erased = {};  ///< erase, erase_with_ids
};

/// Checks a change and applies it; AnyFilter::apply. The result is the same to the last bit whether outcomes are asked
/// for or not. Pre: the payload is aligned to 8; no outcomes of another operation.
///
/// Cost:    the kind's batch call, which reads the digests in place; names are hashed, to check them.
/// Errors:  corrupt when the payload is not what the operation says or does not fit the filter, which is then
///          unchanged: the bytes may come from a damaged or forged journal, and nothing outside them is touched.
///          Throws std::bad_alloc where a growing filter cannot grow; the keys before that one are inserted.
/// Threads: as the filter's changes.
[[nodiscard]] Result<void> apply_change(FilterBody& filter, const Change& change, const Outcomes& outcomes);

}  // namespace mankai
