#pragma once

/// A model of what dablooms 0.9.1 does where its article is silent or says otherwise. Only in this lab.
///
/// Written from a description of its behavior; it shares no code, no hash and no file with it. What is modeled:
///   - filter i is made for the rate P0 0.5^(i+1): k = ceil(log2(1/p)) partitions of ceil(n |ln p| / (k ln² 2))
///   nibbles;
///   - a key's counters are h1 + i h2 modulo the partition, both words from one 64-bit hash;
///   - a new filter opens when the id is above every one so far and the newest has at least n - 1 keys, and its first
///   id
///     is the greatest so far plus one: one key too early, and never for ids that are equal;
///   - a counter at 15 stays there when it is counted up, and is counted down again like any other;
///   - removing takes the newest filter whose first id is not above the key's, does not look whether the key is in,
///     and lets counters at 0 be;
///   - the file has counts and two sequence numbers, and no checksum: clean means that the second number is not 0.
/// Source: [Dablooms2012].

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mankai/filter/concepts.hpp"

namespace mankai::lab::spam {

/// See the top of this file.
class Original {
 public:
  struct Options {
    std::uint64_t keys = 0;  ///< of each filter
    double fpr = 0.01;
  };
  struct Slice {
    std::uint64_t first_id = 0;
    std::uint64_t keys = 0;
    std::uint64_t size = 0;  ///< counters of each probe
    std::uint32_t k = 0;
    std::vector<std::uint8_t> bytes{};  ///< two counters each
  };

  explicit Original(const Options& options);

  void insert(Digest digest, std::uint64_t id);
  EraseResult erase(Digest digest, std::uint64_t id);
  [[nodiscard]] bool may_contain(Digest digest) const noexcept;
  void may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept;
  /// Returns how many counters are read until each filter has said no, or one has said yes.
  [[nodiscard]] std::uint64_t counters_read(Digest digest) const noexcept;

  [[nodiscard]] std::size_t slice_count() const noexcept { return slices_.size(); }
  [[nodiscard]] const Slice& slice(std::size_t index) const noexcept { return slices_[index]; }
  [[nodiscard]] std::uint64_t probes_per_key() const noexcept;
  [[nodiscard]] std::uint64_t cells_bytes() const noexcept;

  /// Syncs: what is in memory is said to be on disk.
  void flush() noexcept { disk_sequence_ = memory_sequence_; }
  [[nodiscard]] bool is_called_clean() const noexcept { return disk_sequence_ != 0; }
  [[nodiscard]] std::vector<std::uint8_t> to_file() const;
  /// Opens a file of `slices` filters. One that is too short is lengthened with zeros, and refused this time only.
  [[nodiscard]] static std::optional<Original> open(std::vector<std::uint8_t>& file, const Options& options,
                                                    std::size_t slices);
  /// Bytes before the filters, and before the counters of each.
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
