#pragma once

/// A model of dablooms 0.9.1, for behavior that its article omits or describes differently. Only in this lab. Written
/// from a description; shares no code, hash or file format with it.
/// - Filter i has rate P0 0.5^(i+1): k = ceil(log2(1/p)) partitions of ceil(n |ln p| / (k ln² 2)) nibbles.
/// - A key's counters are h1 + i h2 modulo the partition; both words are of one 64-bit hash.
/// - A new filter opens when the id exceeds all earlier ones and the newest filter has at least n - 1 keys. Its first
///   id is the greatest id so far plus one. So it opens one key too early, and never for equal ids.
/// - A counter at 15 is not incremented, but it is decremented like any other.
/// - Removal uses the newest filter whose first id is not above the key's. It does not check that the key is present,
///   and leaves counters at 0 unchanged.
/// - The file has counts and two sequence numbers, and no checksum. Clean means that the second number is not 0.
/// Source: [Dablooms2012].

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mankai/filter/concepts.hpp"

namespace mankai::lab::spam {

/// Counters in two halves of a byte, as a file has them.
struct Counters {
  struct Change {
    Digest digest;
    int by = 1;
  };
  struct Stored {
    std::size_t byte = 0;
    std::uint8_t value = 0;
  };
  /// Returns which byte the change of probe i writes, and its new value.
  [[nodiscard]] static Stored changed(std::span<const std::uint8_t> bytes, std::uint64_t size, std::uint32_t i,
                                      const Change& change) noexcept;
};

class Original {
 public:
  struct Options {
    std::uint64_t keys = 0;  ///< of the first filter
    double fpr = 0.01;
    std::uint64_t growth = 1;  ///< capacity of a filter over that of the one before; the code has 1
  };
  struct Slice {
    std::uint64_t first_id = 0;
    std::uint64_t keys = 0;
    std::uint64_t capacity = 0;
    std::uint64_t size = 0;  ///< counters per probe
    std::uint32_t k = 0;
    std::vector<std::uint8_t> bytes{};  ///< two counters each
  };

  explicit Original(const Options& options);

  void insert(Digest digest, std::uint64_t id);
  EraseResult erase(Digest digest, std::uint64_t id);
  [[nodiscard]] bool may_contain(Digest digest) const noexcept;
  void may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept;
  /// Returns how many counters are read until each filter has answered no, or one has answered yes.
  [[nodiscard]] std::uint64_t counters_read(Digest digest) const noexcept;

  /// Returns the filter that a removal with this id changes.
  [[nodiscard]] std::optional<std::size_t> holder(std::uint64_t id) const noexcept { return newest_from(id); }
  [[nodiscard]] bool slice_contains(std::size_t index, Digest digest) const noexcept;
  [[nodiscard]] std::size_t slice_count() const noexcept { return slices_.size(); }
  [[nodiscard]] const Slice& slice(std::size_t index) const noexcept { return slices_[index]; }
  [[nodiscard]] std::uint64_t probes_per_key() const noexcept;
  [[nodiscard]] std::uint64_t cells_bytes() const noexcept;

  void flush() noexcept { disk_sequence_ = memory_sequence_; }
  [[nodiscard]] bool is_called_clean() const noexcept { return disk_sequence_ != 0; }
  [[nodiscard]] std::vector<std::uint8_t> to_file() const;
  /// Opens a file of `slices` filters. A file that is too short is extended with zeros, and refused this time only.
  [[nodiscard]] static std::optional<Original> open(std::vector<std::uint8_t>& file, const Options& options,
                                                    std::size_t slices);
  /// Bytes before the first filter, and before each filter's counters.
  static constexpr std::size_t kHeaderBytes = 24;
  static constexpr std::size_t kSliceHeaderBytes = 16;

 private:
  void open_slice(std::uint64_t first_id);
  [[nodiscard]] std::optional<std::size_t> newest_from(std::uint64_t id) const noexcept;

  Options options_;
  std::vector<Slice> slices_;
  std::uint64_t max_id_ = 0;
  std::uint64_t memory_sequence_ = 1;
  std::uint64_t disk_sequence_ = 1;
};

}  // namespace mankai::lab::spam
