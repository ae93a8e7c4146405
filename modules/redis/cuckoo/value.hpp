#pragma once

/// The filter behind a CF.* key: fingerprints in buckets, which can be removed again and may have a time to live
/// (cuckoo.hpp). Filters that were taken over from RedisBloom stay in its layout and grow by its rules
/// (cuckoo_chain.hpp).

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "mankai/filter/cuckoo/cuckoo.hpp"
#include "mankai/takeover/cuckoo_chain.hpp"
#include "modules/redis/engine/format.hpp"
#include "modules/redis/engine/layout.hpp"
#include "modules/redis/image/value.hpp"

namespace mankai::redis {

/// Settings of a new filter; replicas get all of them.
struct CuckooSettings {
  Layout layout{};
  std::uint64_t capacity_keys = 1024;
  double fpr = 0.01;
  std::uint32_t expansion = 1;  ///< a power of 2; 0: it is fixed
  Duration max_ttl{};           ///< 0: items do not expire
  Duration ttl_resolution{};
  // In our own layout, clients are told these, and nothing depends on them.
  std::uint32_t bucket_size = 2;
  std::uint32_t max_iterations = 20;
  HashSpec hash;
};

class CuckooValue {
 public:
  /// Stored after the prefix of a header.
  struct State {
    std::uint64_t deleted;
    std::uint32_t bucket_size;
    std::uint32_t max_iterations;
  };
  static constexpr ImageFamily kFamily = {.type_name = "mankai-cf",
                                          .magic = {'m', 'a', 'n', 'k', 'a', 'i', 'c', 'f'},
                                          .kinds = {Cuckoo::kKind},
                                          .layout = ImageLayout::sliced,
                                          .flags = 0,
                                          .state_bytes = sizeof(State),
                                          .is_of_one_moment = true,
                                          .load_command = "cf.loadchunk"};
  static constexpr std::array kForeignFormats = {
      Format{.type_name = takeover::CuckooChain::kTypeName, .version = takeover::CuckooChain::kEncver}};

  /// Errors: invalid_argument for an impossible request; out_of_space.
  [[nodiscard]] static Result<CuckooValue> create(const CuckooSettings& settings);
  /// Errors: corrupt.
  [[nodiscard]] static Result<CuckooValue> from_image(AssembledImage source);

  // See TakenOverValue.
  [[nodiscard]] std::optional<std::size_t> foreign_format() const noexcept;
  [[nodiscard]] static Result<CuckooValue> load_foreign(takeover::FieldReader& reader, std::size_t format, int version);
  void save_foreign(takeover::FieldWriter& writer) const;
  void rewrite_foreign(const EmitCommand& emit) const;
  [[nodiscard]] Result<CuckooValue> copy_foreign() const;
  /// RedisBloom's filter of a header, without its cells. Errors: corrupt, out_of_space.
  [[nodiscard]] static Result<CuckooValue> from_redisbloom(const takeover::CuckooShape& shape,
                                                           takeover::CellsOfHeader cells);

  /// Null if the filter is RedisBloom's.
  [[nodiscard]] Cuckoo* own() noexcept;
  [[nodiscard]] const Cuckoo* own() const noexcept { return const_cast<CuckooValue*>(this)->own(); }
  /// Null unless the filter is RedisBloom's.
  [[nodiscard]] takeover::CuckooChain* redisbloom() noexcept;
  [[nodiscard]] const takeover::CuckooChain* redisbloom() const noexcept {
    return const_cast<CuckooValue*>(this)->redisbloom();
  }
  /// The filter of items that expire, or null.
  [[nodiscard]] Cuckoo* expiring() noexcept { return own() != nullptr && own()->has_time() ? own() : nullptr; }
  [[nodiscard]] const Cuckoo* expiring() const noexcept { return const_cast<CuckooValue*>(this)->expiring(); }

  /// Removes a unit of an item. Errors of EraseResult: see Cuckoo::erase.
  [[nodiscard]] EraseResult erase(std::string_view item) noexcept;
  /// Returns the units of an item that may be present.
  [[nodiscard]] std::uint64_t count(std::string_view item) const noexcept;
  void compact() noexcept;

  /// What clients are told: `buckets` of our own filters is that of all sub-filters.
  [[nodiscard]] takeover::CuckooShape shape() const noexcept;
  [[nodiscard]] std::size_t slice_count() const noexcept;
  /// Units of work (work.hpp) of an item in all sub-filters: RedisBloom's may have large buckets.
  [[nodiscard]] std::uint64_t work_per_item() const noexcept;
  /// The same of the room that additions search for, which takes an item `max_iterations` moves at worst, if `opened`
  /// sub-filters are opened meanwhile.
  [[nodiscard]] std::uint64_t work_of_adding(std::uint64_t items, std::uint64_t opened) const noexcept;
  /// The same of deletions. In RedisBloom's layout they compact the filter now and then; of that, the first time is not
  /// counted: it is what CF.COMPACT takes.
  [[nodiscard]] std::uint64_t work_of_deleting(std::uint64_t items) const noexcept;
  [[nodiscard]] ImageParts parts() const;
  /// Bytes that the filter allocates from the engine, without this object.
  [[nodiscard]] std::size_t heap_bytes() const noexcept;

  /// The pieces of memory, as in GrowingFilter, and a move of one of them.
  [[nodiscard]] std::size_t memory_pieces() const noexcept;
  void relocate(std::size_t piece, const Mover& mover) noexcept;

 private:
  // Large, and so apart: else filters that were taken over would be as large.
  struct Own {
    Cuckoo filter;
    State state;
    std::size_t image_bytes;  // of the first image if it is in the same block, in front of this object; else 0
  };
  struct Release {
    void operator()(Own* own) const noexcept;
  };
  using OwnPointer = std::unique_ptr<Own, Release>;  // of `engine_memory()`, so that it can be moved
  using Filter = std::variant<OwnPointer, std::unique_ptr<takeover::CuckooChain>>;

  explicit CuckooValue(Filter filter) noexcept : filter_(std::move(filter)) {}
  static Memory memory_with_object() noexcept;
  static Result<CuckooValue> of(Result<Cuckoo> filter, const State& state);
  static CuckooValue settled(Cuckoo filter, const State& state, std::byte* block);
  static Result<CuckooValue> taken_over(Result<takeover::CuckooChain> filter);

  Filter filter_;
};

}  // namespace mankai::redis
