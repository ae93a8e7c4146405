#pragma once

/// RedisBloom's cuckoo filter (CF.*), in its own memory layout: one byte per cell, buckets of `bucket_cells` cells, and
/// sub-filters that are appended when an insertion fails. Every answer, every move and every saved byte is that of
/// RedisBloom 2.2 and later. For values that are taken over; new filters are better off with `Cuckoo`.
///
///     h = MurmurHash64A(key, 0)      fingerprint = h mod 255 + 1, 0 is an empty cell
///     buckets of a key: h mod n and (h xor fingerprint · 5bd1e995) mod n, n = buckets · expansion^i in sub-filter i
///
/// Insertions are deterministic: replicas have the same bytes.
/// Cannot:  distinguish a false positive from a member: see `Cuckoo`. Where both buckets of a key are one, `count`
///          counts its cells twice, as RedisBloom does.
/// Source:  [Fan2014]; redisbloom-takeover.md §1, §3 and §6, and fixtures of RedisBloom 2.8.20.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/base/region.hpp"
#include "mankai/takeover/cells.hpp"
#include "mankai/takeover/fields.hpp"

namespace mankai::takeover {

/// What a chain is, without its cells: the fields of RedisBloom's header and of its RDB value.
struct CuckooShape {
  static constexpr std::size_t kHeaderBytes = 38;
  static constexpr std::uint64_t kMostFilters = 65535;
  /// Of a sub-filter: RedisBloom computes the positions of lookups in 32 bits.
  static constexpr std::uint64_t kMostFilterCells = std::uint64_t{1} << 32;
  /// Of all sub-filters. A header of 38 bytes cannot request more than 1 TiB, whatever the allocator would grant.
  static constexpr std::uint64_t kMostCells = std::uint64_t{1} << 40;

  std::uint64_t items = 0;
  std::uint64_t buckets = 1;  ///< of the first sub-filter, a power of two
  std::uint64_t deletes = 0;  ///< since the last compaction
  std::uint64_t filters = 1;
  std::uint16_t bucket_cells = 2;     ///< 1 to 255
  std::uint16_t max_iterations = 20;  ///< 1 to 65535
  std::uint16_t expansion = 1;        ///< a power of two up to 32768; 0: the filter has a fixed size

  /// An empty filter for so many keys. `expansion` is rounded up to a power of two. Errors: invalid_argument if a
  /// number is not within its bounds, or the sub-filter would have more than kMostFilterCells.
  [[nodiscard]] static Result<CuckooShape> of_capacity(std::uint64_t capacity_keys, std::uint16_t bucket_cells = 2,
                                                       std::uint16_t max_iterations = 20, std::uint16_t expansion = 1);
  /// Errors: corrupt; unsupported_version for the header of RedisBloom 1.1 to 2.0, whose filters had another hash.
  [[nodiscard]] static Result<CuckooShape> of_header(std::span<const std::byte> header);
  [[nodiscard]] std::array<std::byte, kHeaderBytes> header() const noexcept;

  /// Errors: corrupt if no filter has this shape. The other functions have this as precondition.
  [[nodiscard]] Result<void> check() const;
  /// Cells, and so bytes, of a sub-filter; beyond kMostFilterCells unspecified, but not less.
  [[nodiscard]] std::uint64_t cells_of(std::uint64_t filter) const noexcept;
  /// Of all sub-filters.
  [[nodiscard]] std::uint64_t cells() const noexcept;
  /// RedisBloom's `Size` in CF.INFO.
  [[nodiscard]] std::uint64_t redisbloom_bytes() const noexcept { return 40 + 16 * filters + cells(); }
  /// RedisBloom's reply to CF.DEBUG.
  [[nodiscard]] std::string debug_text() const;
};

/// What became of an added key.
enum class CuckooAdded : std::uint8_t { added, found, full };

/// See the top of this file.
///
/// Cost:    two cache lines per sub-filter for a miss; `max_iterations` more for an insertion that appends one.
/// `remove`
///          compacts when deletes exceed a tenth of the items: a pass over the cells of all sub-filters but the first.
/// Threads: const calls are safe together; changes need the filter alone.
class CuckooChain {
 public:
  static constexpr const char* kTypeName = "MBbloomCF";
  /// Bytes of a chunk of CF.SCANDUMP, at most.
  static constexpr std::size_t kChunkBytes = std::size_t{16} << 20;
  /// The encoding that `save` writes, and the only one that `load` reads.
  static constexpr std::uint32_t kEncver = 4;

  CuckooChain(CuckooChain&&) noexcept;
  CuckooChain& operator=(CuckooChain&&) noexcept;
  CuckooChain(const CuckooChain&) = delete;
  CuckooChain& operator=(const CuckooChain&) = delete;
  ~CuckooChain();

  /// A filter with these counts and with empty cells. Sub-filters that it appends later also come from `memory`.
  /// Errors: corrupt as CuckooShape::check; out_of_space.
  [[nodiscard]] static Result<CuckooChain> create(const CuckooShape& shape, const Memory& memory = system_memory(),
                                                  CellsOfHeader cells = CellsOfHeader::all);
  /// Reads RedisBloom's RDB value. Memory follows the payload. Errors: the reader's; corrupt; out_of_space;
  /// unsupported_version for encodings other than 4: filters of 1.1 to 2.0 (1 to 3) had another hash.
  [[nodiscard]] static Result<CuckooChain> load(FieldReader& fields, unsigned encver,
                                                const Memory& memory = system_memory());
  void save(FieldWriter& fields) const;
  /// Errors: out_of_space.
  [[nodiscard]] Result<CuckooChain> clone(const Memory& memory = system_memory()) const;

  /// Adds a unit of a key, found or not. Returns `full`, with nothing changed, if there is no room and the size is
  /// fixed. Errors: out_of_space if the next sub-filter gets no memory, or would be too large or one too many; then,
  /// and after std::bad_alloc, nothing has changed.
  [[nodiscard]] Result<CuckooAdded> add(std::string_view key);
  /// Adds a key unless it is found.
  [[nodiscard]] Result<CuckooAdded> add_nx(std::string_view key);
  /// Removes a unit of the key, or of one that it is mistaken for, and compacts as RedisBloom does. Returns false for
  /// an absent key. Pre: all cells are present.
  bool remove(std::string_view key) noexcept;
  [[nodiscard]] bool may_contain(std::string_view key) const noexcept;
  /// Batch, prefetched. Shape: keys[c], answers[c]; may be empty.
  void may_contain(std::span<const std::string_view> keys, std::span<bool> answers) const noexcept;
  /// Returns the units of the key and of those that it is mistaken for.
  [[nodiscard]] std::uint64_t count(std::string_view key) const noexcept;
  /// Moves cells to older sub-filters and drops the newest ones that this empties. Cost: a pass over the cells; if the
  /// filter expands, or without memory for 2 bytes per bucket of a sub-filter, times the number of sub-filters. Pre:
  /// all cells are present.
  void compact() noexcept { compact(OnStuck::go_on); }
  /// Bytes that `make_whole` allocates.
  [[nodiscard]] std::uint64_t absent_bytes() const noexcept;
  /// Makes all cells of a header present. Additions do so by themselves. Errors: out_of_space; then some are.
  [[nodiscard]] Result<void> make_whole();

  /// Its counts, and all that CF.INFO and CF.DEBUG return.
  [[nodiscard]] const CuckooShape& shape() const noexcept { return shape_; }
  /// Whether the rule `Maximum expansions reached` refuses a command that adds. RedisBloom checks it once per command.
  [[nodiscard]] bool has_reached(std::uint64_t max_expansions) const noexcept {
    return shape_.filters >= max_expansions;
  }
  /// Cells in use. Equals the items of an intact filter: less tells of chunks that did not arrive. Cost: a pass.
  [[nodiscard]] std::uint64_t occupied_cells() const noexcept;
  /// Bytes of memory that the cells and their directory use.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;

  /// A part of the cells, as CF.SCANDUMP returns it. `iterator` is that of the next one; after the last one both are
  /// empty.
  struct Chunk {
    std::uint64_t iterator = 0;
    std::span<const std::byte> bytes = {};
  };
  /// The chunk at an iterator: 1 for the first one, then that of the chunk before. The header has iterator 0. Leaves
  /// out cells that never arrived.
  [[nodiscard]] Chunk chunk(std::uint64_t iterator) const noexcept;
  /// Replaces cells by a chunk. `iterator` is the one returned with it. Errors: corrupt unless the bytes are within one
  /// sub-filter; invalid_argument if cells of a header are `arriving` and some are missing in front of these;
  /// out_of_space; then nothing has changed.
  [[nodiscard]] Result<void> load_chunk(std::uint64_t iterator, std::span<const std::byte> bytes);

  /// Blocks of memory, for a defragmenting allocator.
  [[nodiscard]] std::size_t memory_pieces() const noexcept;
  /// Lets a block move. Pre: piece < memory_pieces().
  void relocate(std::size_t piece, const Mover& mover) noexcept;

 private:
  struct Probe;
  struct Filter;
  enum class OnStuck : std::uint8_t { stop, go_on };

  CuckooChain(const CuckooShape& shape, const Memory& memory) noexcept;

  [[nodiscard]] std::span<const std::byte> bucket(const Filter& filter, std::uint64_t at) const noexcept;
  [[nodiscard]] std::span<std::byte> bucket(Filter& filter, std::uint64_t at) const noexcept;
  [[nodiscard]] bool is_in(const Filter& filter, const Probe& probe) const noexcept;
  [[nodiscard]] bool may_contain(const Probe& probe) const noexcept;
  /// The first cell of the key's buckets with this value; nullptr if there is none.
  [[nodiscard]] std::byte* find(Filter& filter, const Probe& probe, std::byte cell) const noexcept;
  [[nodiscard]] Result<CuckooAdded> add(const Probe& probe);
  [[nodiscard]] bool add_to_free_cell(const Probe& probe) noexcept;
  /// Moves fingerprints of the newest sub-filter to make room. Changes nothing if it returns false.
  [[nodiscard]] bool add_by_kicks(const Probe& probe) noexcept;
  [[nodiscard]] Result<void> append_filter();
  void compact(OnStuck rule) noexcept;
  /// Shape: first_free[buckets]: the sub-filters before have no free cell in this bucket; or empty: not known.
  [[nodiscard]] bool empty_into_older(std::size_t from, std::span<std::uint16_t> first_free) noexcept;

  CuckooShape shape_;
  Memory memory_;
  std::vector<Filter> filters_;  // the newest last
  bool is_whole_ = true;         // whether all cells are present; false also if nobody has looked since
};

}  // namespace mankai::takeover
