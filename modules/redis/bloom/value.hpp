#pragma once

/// The filter behind a BF.* key: a Bloom filter that grows or, if nonscaling, refuses new keys when it is full. Filters
/// that are deletable or whose items expire are cuckoo filters.
///
/// Slice i of a filter that grows has the rate error / ((i+1) (i+2)), so that the whole stays below the error: that is
/// RedisBloom's rate in the first slice, and many slices take less memory than with its error / 2^(i+1), which filters
/// of older dumps keep. A nonscaling filter is one slice with the rate `error`, or with half of it where that takes
/// less memory, since keys have several blocks then.
///
/// A deletable filter counts each addition, also of a key that is found: the key may be a false positive, and without a
/// unit of its own it would be lost when the keys that it was mistaken for are removed. So a key must be removed as
/// often as it was added. Deletable filters of older dumps, of rates that no cuckoo filter reaches, and with an
/// expansion that is not a power of 2, are Bloom filters of counters (scalable-counting-bloom).
///
/// A filter of few items is kept in the memory of its key (TinyBloom), from when the key is made until it grows.
///
/// Filters that were taken over from RedisBloom or valkey-bloom stay in their layout and grow by their rules, unless
/// MANKAI.CONVERT makes them grow by our sub-filters.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "mankai/filter/cuckoo/cuckoo.hpp"
#include "mankai/filter/scalable_bloom/scalable_bloom.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"
#include "mankai/takeover/bloom_chain.hpp"
#include "mankai/takeover/valkey_bloom.hpp"
#include "modules/redis/bloom/converted.hpp"
#include "modules/redis/bloom/early.hpp"
#include "modules/redis/bloom/tiny.hpp"
#include "modules/redis/engine/format.hpp"
#include "modules/redis/engine/layout.hpp"
#include "modules/redis/image/add.hpp"
#include "modules/redis/image/value.hpp"
#include "modules/redis/image/work.hpp"

namespace mankai::redis {

/// Settings of a new filter; replicas get all of them.
struct BloomSettings {
  Layout layout{};
  std::uint64_t capacity_keys = 0;
  double fpr = 0;
  std::uint32_t expansion = 0;  ///< keys of each slice divided by those of the one before; unused if nonscaling
  bool is_nonscaling = false;
  bool is_deletable = false;
  /// If nonscaling: only `gradual` has several blocks per key at low rates. Unused by cuckoo filters.
  FprBound bound = FprBound::gradual;
  Duration max_ttl{};  ///< 0: items do not expire
  Duration ttl_resolution{};
  HashSpec hash;
  // Of valkey-bloom's filters.
  double tightening = 0;
  takeover::ValkeyBloom::Seed valkey_seed{};
};

class BloomValue {
 public:
  /// Flags of a header: the filter refuses new keys when it is full.
  static constexpr std::uint8_t kNonscaling = 1;
  static constexpr ImageFamily kFamily = {.type_name = "mankai-bf",
                                          .magic = {'m', 'a', 'n', 'k', 'a', 'i', 'b', 'f'},
                                          .kinds = {ScalableBloom::kKind, ScalableCountingBloom::kKind, Cuckoo::kKind},
                                          .layout = ImageLayout::sliced,
                                          .flags = kNonscaling,
                                          .moment_kind = Cuckoo::kKind,  // its cells move
                                          .load_command = "bf.loadchunk"};
  static constexpr std::array kForeignFormats = {
      Format{.type_name = takeover::BloomChain::kTypeName, .version = takeover::BloomChain::kEncver},
      Format{.type_name = takeover::ValkeyBloom::kTypeName, .version = takeover::ValkeyBloom::kEncver},
      Format{.type_name = ConvertedBloom::kTypeName, .version = ConvertedBloom::kEncver}};

  // What a filter has left behind stays with the key.
  BloomValue(BloomValue&& other) noexcept : filter_(std::move(other.filter_)), is_nonscaling_(other.is_nonscaling_) {}
  BloomValue& operator=(BloomValue&& other) noexcept {
    filter_ = std::move(other.filter_);
    is_nonscaling_ = other.is_nonscaling_;
    return *this;
  }
  BloomValue(const BloomValue&) = delete;
  BloomValue& operator=(const BloomValue&) = delete;
  ~BloomValue() = default;

  /// Returns whether a cuckoo filter can have the settings. Errors: invalid_argument.
  [[nodiscard]] static Result<void> check_cuckoo(const BloomSettings& settings);
  /// Errors: out_of_space; invalid_argument for an impossible rate, or for a TTL and `!check_cuckoo`.
  [[nodiscard]] static Result<BloomValue> create(const BloomSettings& settings);

  /// A new filter that can be made in the memory of its key.
  struct Small {
    TinyBloom::Plan filter;
    bool is_nonscaling;

    [[nodiscard]] std::size_t bytes_beside() const noexcept { return filter.cells_bytes(); }
  };
  /// Returns nothing for other filters, and for impossible settings.
  [[nodiscard]] static std::optional<Small> small(const BloomSettings& settings);
  /// As `create` of the same settings, and settled. Pre: as of `settle`.
  BloomValue(const Small& small, std::span<std::byte> place) noexcept
      : filter_(std::in_place_type<TinyBloom>, small.filter, place), is_nonscaling_(small.is_nonscaling) {}

  /// Errors: corrupt, unsupported_version.
  [[nodiscard]] static Result<BloomValue> from_image(AssembledImage image);

  // See TakenOverValue.
  [[nodiscard]] std::optional<std::size_t> foreign_format() const noexcept {
    constexpr std::size_t kFirst = std::variant_size_v<Filter> - kForeignFormats.size();
    const std::size_t index = filter_.index();
    return index < kFirst ? std::nullopt : std::optional(index - kFirst);
  }
  [[nodiscard]] static Result<BloomValue> load_foreign(takeover::FieldReader& reader, std::size_t format, int version);
  void save_foreign(takeover::FieldWriter& writer) const;
  void rewrite_foreign(const EmitCommand& emit) const;
  [[nodiscard]] Result<BloomValue> copy_foreign() const;
  /// RedisBloom's filter of a header, without its cells. Errors: corrupt, out_of_space.
  [[nodiscard]] static Result<BloomValue> from_redisbloom(std::span<const std::byte> header,
                                                          takeover::CellsOfHeader cells);
  /// valkey-bloom's filter of a blob of its BF.LOAD. Errors: corrupt, unsupported_version, out_of_space.
  [[nodiscard]] static Result<BloomValue> from_valkey(std::span<const std::byte> blob);
  /// Null, unless the filter is RedisBloom's.
  [[nodiscard]] takeover::BloomChain* redisbloom() noexcept;
  [[nodiscard]] const takeover::BloomChain* redisbloom() const noexcept {
    return const_cast<BloomValue*>(this)->redisbloom();
  }

  /// Whether its layout is valkey-bloom's.
  [[nodiscard]] bool is_of_valkey_bloom() const noexcept {
    return std::holds_alternative<std::unique_ptr<takeover::ValkeyBloom>>(filter_);
  }
  /// Whether it was taken over, and grows by the rules of its source.
  [[nodiscard]] bool is_taken_over() const noexcept;
  /// Returns the filter as one that grows by our sub-filters, hashed as given; this one is left empty, to be destroyed.
  /// Errors: invalid_argument, if it does not grow; std::bad_alloc; both change nothing. Pre: `is_taken_over()`.
  [[nodiscard]] Result<BloomValue> convert(const HashSpec& hash);

  /// Adds keys in order while there is room, and writes which were new. Shape: keys[c], fresh[c]. Cost: a batch. Pre: a
  /// filter whose items expire is at the present time.
  [[nodiscard]] AddReport add(std::span<const std::string_view> keys, std::span<bool> fresh,
                              const EarlyHash& early = {});
  /// Writes which keys may be present, by the filter's own time. Shape: keys[c], outcomes[c].
  void ask(std::span<const std::string_view> keys, std::span<bool> outcomes,
           const EarlyHash& early = {}) const noexcept;
  /// Removes keys from a deletable filter, each once, and writes which were present. Shape: keys[c], removed[c].
  void remove(std::span<const std::string_view> keys, std::span<bool> removed) noexcept;

  /// Adds another filter's keys. Errors: invalid_argument if seeds or growth differ, or one of them is a cuckoo filter
  /// or has counters; out_of_space without memory, or without room in a nonscaling filter. Errors change nothing.
  [[nodiscard]] Result<void> merge(const BloomValue& other);
  /// Returns whether `merge` would succeed after `keys_before` keys. Errors: as merge.
  [[nodiscard]] Result<void> check_merge(const BloomValue& other, std::uint64_t keys_before) const;
  /// Creates an empty filter with the same parameters and seed. Errors: out_of_space.
  [[nodiscard]] Result<BloomValue> create_like() const;
  /// Returns whether the filter equals one that `create_like` creates.
  [[nodiscard]] bool is_empty() const noexcept;

  [[nodiscard]] bool is_nonscaling() const noexcept { return is_nonscaling_; }
  [[nodiscard]] bool is_deletable() const noexcept;
  /// The filter of items that expire, or null.
  [[nodiscard]] Cuckoo* expiring() noexcept {
    auto* cuckoo = std::get_if<std::unique_ptr<Cuckoo>>(&filter_);
    return cuckoo != nullptr && (*cuckoo)->has_time() ? cuckoo->get() : nullptr;
  }
  [[nodiscard]] const Cuckoo* expiring() const noexcept { return const_cast<BloomValue*>(this)->expiring(); }
  /// Whether adding a key that is found changes the filter.
  [[nodiscard]] bool counts_repeats() const noexcept {
    return !std::holds_alternative<std::unique_ptr<ScalableBloom>>(filter_) && tiny() == nullptr && !foreign_format();
  }
  /// Of a filter that has sub-filters in our layout.
  [[nodiscard]] std::optional<Growth> growth() const noexcept;
  /// Without times to live.
  [[nodiscard]] BloomSettings settings() const noexcept;
  /// Keys that the slices created so far have room for.
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept;
  /// Number of distinct keys, without those that were false positives when they were added.
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept;
  [[nodiscard]] std::size_t slice_count() const noexcept;
  [[nodiscard]] WorkShape work_shape() const noexcept;
  /// The present false-positive rate. Cost: a pass over the cells.
  [[nodiscard]] double fpr_estimate() const noexcept;
  [[nodiscard]] ImageParts parts() const;
  /// Bytes that the filter allocates from the engine, without this object.
  [[nodiscard]] std::size_t heap_bytes() const noexcept;

  /// Bytes of the cells, if the filter could be kept in the memory of its key; else 0.
  [[nodiscard]] std::size_t bytes_beside() const noexcept;
  /// Moves the cells there. Pre: `place` has `bytes_beside()` bytes; see TinyBloom.
  void settle(std::span<std::byte> place) noexcept;
  /// Whether the filter is not in the memory of its key, but could be, or has left it behind: a new key takes less.
  [[nodiscard]] bool wants_new_key() const noexcept { return tiny() == nullptr && (bytes_beside() != 0 || left_ != 0); }

  /// The pieces of memory, as in GrowingFilter, and a move of one of them.
  [[nodiscard]] std::size_t memory_pieces() const noexcept;
  void relocate(std::size_t piece, const Mover& mover) noexcept;

  /// Calls `use(slice)` for each, oldest first; a slice is a BlockedSlice, a CountingBloom, a CuckooTable or a
  /// takeover::BitLink.
  template <class Use>
  void for_each_slice(const Use& use) const {
    visit([&](const auto& filter) {
      if constexpr (requires { filter.for_each_slice(use); }) {
        filter.for_each_slice(use);
      } else {
        redis::for_each_slice(filter, use);
      }
    });
  }

 private:
  // Most keys are small filters, and there may be very many of them: the larger ones are allocated apart. Those of
  // foreign formats come last, in the order of these.
  using Filter = std::variant<std::unique_ptr<ScalableBloom>, TinyBloom, std::unique_ptr<ScalableCountingBloom>,
                              std::unique_ptr<Cuckoo>, std::unique_ptr<takeover::BloomChain>,
                              std::unique_ptr<takeover::ValkeyBloom>, std::unique_ptr<ConvertedBloom>>;

  BloomValue(Filter filter, bool is_nonscaling) noexcept : filter_(std::move(filter)), is_nonscaling_(is_nonscaling) {}
  template <class Made>
  static Result<BloomValue> of(Result<Made> filter, bool is_nonscaling);
  template <class Made>
  static Result<BloomValue> taken_over(Result<Made> filter);

  template <class Use>
  static decltype(auto) use_held(auto& held, const Use& use) {
    if constexpr (requires { *held; }) {
      return use(*held);
    } else {
      return use(held);
    }
  }
  template <class Use>
  decltype(auto) visit(const Use& use) const {
    return std::visit([&](const auto& held) { return use_held(held, [&](const auto& filter) { return use(filter); }); },
                      filter_);
  }
  template <class Use>
  decltype(auto) visit(const Use& use) {
    return std::visit([&](auto& held) { return use_held(held, use); }, filter_);
  }
  [[nodiscard]] const TinyBloom* tiny() const noexcept { return std::get_if<TinyBloom>(&filter_); }
  void prefetch() const noexcept {
    if (const TinyBloom* filter = tiny(); filter != nullptr) {
      filter->prefetch();
    }
  }
  void keep_for(const EarlyHash& early) const noexcept {
    if (const auto* filter = std::get_if<std::unique_ptr<ScalableBloom>>(&filter_); filter != nullptr) {
      early.keep(**filter);
    }
  }
  /// Lets the filter leave the memory of its key. Errors: std::bad_alloc, with nothing changed.
  void leave_key();
  AddReport add_many(std::span<const std::string_view> keys, std::span<bool> seen);
  AddReport add_window(std::span<const Digest> digests, std::span<bool> seen);
  AddReport add_beside_key(TinyBloom& filter, std::span<const Digest> digests, std::span<bool> seen);
  AddReport add_foreign(std::span<const std::string_view> keys, std::span<bool> fresh);
  [[nodiscard]] Hasher hasher() const noexcept;

  [[no_unique_address]] Filter filter_;  // its last bytes are free for the next members
  bool is_nonscaling_;
  std::uint8_t left_ = 0;  ///< cache lines of the key's memory that the filter has left behind
};

}  // namespace mankai::redis
