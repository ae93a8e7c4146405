#pragma once

/// A change to a filter as bytes that can be stored and replayed: an operation and a payload of digests, ids, times,
/// values and names. The payload is part of the journal's format (docs/formats/journal.md). Applying the same changes
/// in the same order to equal filters gives equal filters, byte for byte, however they are divided into batches.
///
/// Payloads are arrays one after the other, little-endian; n is the number of keys, at most ChangeEncoder::kMaxKeys.
/// Each array begins at a multiple of 8 bytes; where one ends before that, zeros follow.
///
///     insert           whole, numbered, valued keys:  u64 digest[n]
///                      paths:  u32 end[n] | u64 digest[end[n-1]]: path i's segments are those from end[i-1] to
///                      before end[i]; a path has at least one
///     insert_with_ids  u64 digest[n] | u64 id[n]
///     insert_at        u64 digest[n] | i64 time[n] | u32 end[n] | u8 name[end[n-1]]: microseconds since 1970, and the
///                      keys' bytes; of a key of more than 1024 bytes the first 1025
///     insert_until     u64 digest[n] | u64 until[n]: each is found at all ticks before that one
///     erase            u64 digest[n]
///     erase_with_ids   u64 digest[n] | u64 id[n]
///     put              u64 digest[n] | u32 value[n] | f64 strength
///     advance          u64 tick; n is 1
///
/// A key without an id gets the next one, without a value the value 0 at full strength, without a time the filter's
/// current time. Replay derives the first two again; the time is recorded.

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

/// What a change does. The values are part of the journal's format and are never reused.
enum class Operation : std::uint16_t {
  insert = 1,
  insert_with_ids = 2,
  insert_at = 3,  ///< kinds that keep names
  erase = 4,
  erase_with_ids = 5,
  put = 6,
  advance = 7,
  insert_until = 8,  ///< kinds whose keys have times to live
};

/// The name used in messages, such as "insert_at"; "unknown" for an invalid value.
[[nodiscard]] std::string_view name(Operation operation) noexcept;

/// See the top of this file.
struct Change {
  Operation operation{};
  std::uint32_t keys = 0;                   ///< number of keys; 1 for advance
  std::span<const std::byte> payload = {};  ///< aligned to 8, a multiple of 8 bytes long
};

/// Encodes keys as changes for a filter's kind. Impossible requests fail here, so an encoded change can be applied to
/// the filter in its current state.
///
/// Shape:   at most kMaxKeys keys per call, with one id, time or value each; may be empty. A change's payload is valid
///          until the next call.
/// Cost:    the hash and 8 bytes per key, and its id, time, value or name; memory is reused, except for canonicalized
///          keys that are not URLs.
/// Threads: one at a time, and not beside changes to the filter. `insert` of a kind of bits with lock-free readers
///          needs nothing that changes: several encoders may run it at once, beside changes.
class ChangeEncoder {
 public:
  static constexpr std::size_t kMaxKeys = 4096;
  /// Segments of all paths in one change: 1024 per path.
  static constexpr std::size_t kMaxSegments = std::size_t{1} << 22U;

  /// Pre: the filter outlives the encoder and does not move.
  explicit ChangeEncoder(const AnyFilter& filter);
  ~ChangeEncoder();
  ChangeEncoder(ChangeEncoder&& other) noexcept;
  ChangeEncoder& operator=(ChangeEncoder&& other) noexcept;
  ChangeEncoder(const ChangeEncoder&) = delete;
  ChangeEncoder& operator=(const ChangeEncoder&) = delete;

  /// Errors: invalid_argument for paths of more than kMaxSegments together; out_of_space for a full filter that does
  /// not grow.
  [[nodiscard]] Result<Change> insert(std::span<const std::string_view> keys);
  /// With ids. Errors: invalid_argument for a kind without ids, and if any id is impossible.
  [[nodiscard]] Result<Change> insert(std::span<const std::string_view> keys, std::span<const std::uint64_t> ids);
  /// With times, in any order. Errors: invalid_argument for a kind that stores no names; others take the time by
  /// advance.
  [[nodiscard]] Result<Change> insert(std::span<const std::string_view> keys, std::span<const Time> times);
  /// With times of expiry. Errors: out_of_space as insert; invalid_argument for a filter without times to live, and for
  /// a time that has passed or is too far away.
  [[nodiscard]] Result<Change> insert_until(std::span<const std::string_view> keys, std::span<const Time> expiries);
  /// Errors: invalid_argument for a kind or filter that cannot remove keys.
  [[nodiscard]] Result<Change> erase(std::span<const std::string_view> keys);
  /// Errors: invalid_argument for a kind without ids.
  [[nodiscard]] Result<Change> erase(std::span<const std::string_view> keys, std::span<const std::uint64_t> ids);
  /// Errors: invalid_argument for a kind without values, and unless 0 < strength <= 1.
  [[nodiscard]] Result<Change> put(std::span<const std::string_view> keys, std::span<const std::uint32_t> values,
                                   double strength);
  /// Errors: invalid_argument for a kind without time, and for a time before the filter's.
  [[nodiscard]] Result<Change> advance(Time time);

 private:
  class Buffers;
  [[nodiscard]] Change with_ids(Operation operation, std::span<const std::string_view> keys,
                                std::span<const std::uint64_t> ids);

  const FilterBody* filter_;
  std::unique_ptr<Buffers> buffers_;
};

/// Where to write the results of a change: empty for none, or one element per key.
struct Outcomes {
  std::span<bool> seen = {};           ///< insert, insert_at: whether the key was present before
  std::span<EraseResult> erased = {};  ///< erase, erase_with_ids

  [[nodiscard]] Outcomes part(std::size_t start, std::size_t count) const {
    const auto part_of = [&](auto all) { return all.empty() ? all : all.subspan(start, count); };
    return {.seen = part_of(seen), .erased = part_of(erased)};
  }
};

}  // namespace mankai
