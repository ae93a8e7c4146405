#pragma once

/// The list of a TOPK.* key: the k items with the highest counts, whole, and upper bounds of all items' counts.
///
///     cells: | ledger, a line | table: a line per bucket | sketch: lines | list: 12 bytes per item | texts |
///               hot_table.hpp ──┴──────────────────────────┘                  u32 length, bytes, padded to 4
///
/// Counts are those of decayed-top (decayed_top.hpp), strict and so never too low: a table counts the items that seem
/// hottest, and a sketch all others. Counts decay only if there is a half-life, and then forward: the order of two
/// items never changes by time.
///
/// An item is listed when its count reaches the lowest one of the list, whose item is expelled. Counts never decrease,
/// so the lowest one is known by a lower bound, the bar: most events end at a comparison with it. Beyond it a hand goes
/// around the list to an item whose count equals the bar; if there is none, the lowest count becomes the bar. So each
/// way around raises the bar.
///
/// Listed items usually are in the table, and marked there. One whose bucket has hotter items has its count in the
/// sketch, and is found by a pass over the list.
///
/// Texts fill their room one after the other. When it is full they are packed, in a larger image if need be.
///
/// Limits:  two items of one bucket and tag share a count; the second cannot be listed beside the first.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "mankai/filter/decayed_top/hot_table.hpp"
#include "mankai/filter/parts/filter_base.hpp"
#include "mankai/filter/parts/forward_decay.hpp"
#include "modules/redis/engine/memory.hpp"
#include "modules/redis/image/family.hpp"

namespace mankai::redis {

/// What a list is created with; replicas get all of it. `width`, `depth` and `decay` are RedisBloom's: they determine
/// the memory, and INFO returns them.
struct TopSettings {
  std::uint32_t most = 0;  ///< items that are listed: k
  std::uint32_t width = 8;
  std::uint32_t depth = 7;
  double decay = 0.9;
  Duration half_life{};  ///< 0: counts do not decay. Rounded down to a multiple of 64 microseconds.
  HashSpec hash{};
};

/// Threads: const calls are safe together; changes need the list alone.
class TopList : public FilterBase {
 public:
  static constexpr std::uint16_t kKind = 16;
  static constexpr ImageFamily kFamily{.type_name = "mankai-tk",
                                       .magic = {'m', 'a', 'n', 'k', 'a', 'i', 't', 'k'},
                                       .kinds = {kKind},
                                       .layout = ImageLayout::flat,
                                       .is_of_one_moment = true,
                                       .load_command = "topk.loadchunk"};
  /// Longest list, and largest increment of an item.
  static constexpr std::uint32_t kMostListed = (1U << 24) - 1;
  static constexpr std::uint32_t kMostIncrement = 100'000;
  static constexpr Duration kLeastHalfLife = std::chrono::milliseconds(64);

  struct Params {
    std::uint32_t most;
    std::uint32_t buckets;
    std::uint32_t sketch_lines;
    std::uint32_t zero;
    std::uint64_t epoch_us;  ///< 1/64 of the half-life; 0: counts do not decay
  };
  /// Its bytes belong to the list.
  struct Item {
    std::string_view text;
    double count;
  };

  /// Within the memory that RedisBloom takes for such a list without its items. Errors: invalid_argument, out_of_space.
  [[nodiscard]] static Result<TopList> create(const TopSettings& settings);
  /// Errors: corrupt.
  [[nodiscard]] static Result<TopList> from_image(AssembledImage source);

  [[nodiscard]] TopSettings settings() const noexcept;
  [[nodiscard]] std::uint32_t most() const noexcept { return image().params<Params>().most; }
  [[nodiscard]] bool decays() const noexcept { return image().params<Params>().epoch_us != 0; }
  /// Start of the newest epoch that had an event.
  [[nodiscard]] Time newest() const noexcept;

  /// Hashes items and fetches their lines. Shape: items[c], digests[at least c].
  void prefetch(std::span<const std::string_view> items, std::span<Digest> digests) const noexcept;
  /// Counts `increment` events of an item at a time, 1 to kMostIncrement. A later time than the newest advances the
  /// list. Returns the item that was expelled, valid until the next change. Pre: `digest` is hasher()(item). Errors:
  /// out_of_space for an item that may be listed; then nothing has changed. Throws bad_alloc before any change.
  [[nodiscard]] Result<std::optional<std::string_view>> add(Digest digest, std::string_view item,
                                                            std::uint32_t increment, Time at);

  [[nodiscard]] bool is_listed(std::string_view item) const noexcept;
  /// The count as of a time, or of the newest event if that is later; never too low.
  [[nodiscard]] double count(std::string_view item, Time at) const noexcept;
  /// Sorted by descending counts, equal ones by bytes. Errors: std::bad_alloc.
  [[nodiscard]] std::vector<Item> items(Time at) const;

  // For ImageKey.
  [[nodiscard]] ImageParts parts() const;
  [[nodiscard]] std::size_t heap_bytes() const noexcept { return engine_bytes(image_bytes()); }
  void relocate(const Mover& mover) noexcept { image().relocate(mover); }

 private:
  using Table = HotTable<StrictCounts>;
  static constexpr std::size_t kTick = 0;  // word of the kind's state

  /// The first line of the cells.
  struct Ledger {
    std::uint32_t width;
    std::uint32_t depth;
    std::uint64_t decay_bits;
    std::int64_t base_octave;
    std::uint64_t bar_count;
    std::int32_t bar_exponent;
    std::uint32_t listed;
    std::uint32_t hand;
    std::uint32_t used;  ///< units of texts, garbage included
    std::array<std::uint64_t, 2> zeros;

    [[nodiscard]] Scaled bar() const noexcept { return {bar_count, bar_exponent}; }
  };
  static_assert(sizeof(Ledger) == kCacheLineBytes);
  struct Entry {
    std::uint32_t bucket;
    std::uint32_t text;  ///< unit where its text begins
    std::uint16_t tag;
    std::uint16_t zero;

    [[nodiscard]] HotPlace place() const noexcept { return {bucket, tag}; }
  };
  static_assert(sizeof(Entry) == 12);
  /// The parts of the cells, where they are now.
  struct View {
    Ledger* ledger;
    Table table;
    std::span<Entry> entries;  ///< all k
    std::span<std::byte> texts;

    [[nodiscard]] std::span<Entry> listed() const noexcept { return entries.first(ledger->listed); }
    [[nodiscard]] std::string_view text_of(const Entry& entry) const noexcept;
    [[nodiscard]] std::uint32_t append(std::string_view text) const noexcept;
    [[nodiscard]] bool has_room(std::size_t text_bytes) const noexcept;
    [[nodiscard]] Entry* find(HotPlace place) const noexcept;
    [[nodiscard]] std::uint32_t find_coldest() const noexcept;
  };

  explicit TopList(Image image) noexcept;
  static View view_of(const Image& image) noexcept;
  [[nodiscard]] View view() const noexcept { return view_of(image()); }
  [[nodiscard]] Tick tick() const noexcept { return {image().state(kTick)}; }
  [[nodiscard]] Duration epoch() const noexcept {
    return Duration(static_cast<std::int64_t>(image().params<Params>().epoch_us));
  }
  [[nodiscard]] ForwardWeight weight_at(Time at) const noexcept;
  [[nodiscard]] double value_of(Scaled count, const ForwardWeight& weight) const noexcept;
  [[nodiscard]] std::int64_t relative(std::int64_t octave) const noexcept;
  void settle() noexcept;
  [[nodiscard]] Result<void> make_room(std::size_t text_bytes);
  [[nodiscard]] Result<void> check();

  ForwardDecay decay_;
  ForwardWeight newest_weight_;  ///< of the newest epoch
  std::int32_t octave_ = 0;      ///< its octave, relative
  std::uint32_t outside_ = 0;    ///< listed items that are not in the table
};

}  // namespace mankai::redis
