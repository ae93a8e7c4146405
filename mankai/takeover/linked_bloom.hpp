#pragma once

/// What Bloom filters of RedisBloom and valkey-bloom share: a chain of links, each a plain Bloom filter, of which the
/// newest takes new keys. A key may be present if any link has all of its bits.
///
/// Both step from one hash by the other, modulo the link's number of bits. The sum wraps at 2^64, so its remainder is
/// stepped too and corrected after a wrap: two divisions per key and link instead of one per bit.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/base/error.hpp"
#include "mankai/base/number.hpp"
#include "mankai/base/region.hpp"
#include "mankai/takeover/cells.hpp"

namespace mankai::takeover {

/// The two hashes of a key.
struct KeyHashes {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

/// A number of bits, and 2^64 modulo it.
class Modulus {
 public:
  /// Pre: 1 <= bits <= 2^63.
  explicit Modulus(std::uint64_t bits) noexcept
      : bits_(bits), wrap_((std::numeric_limits<std::uint64_t>::max() % bits + 1) % bits) {}

  [[nodiscard]] std::uint64_t bits() const noexcept { return bits_; }
  [[nodiscard]] std::uint64_t wrap() const noexcept { return wrap_; }

 private:
  std::uint64_t bits_;
  std::uint64_t wrap_;
};

/// The positions (first + i second mod 2^64) mod bits for i = 0, 1, 2 …
class SteppedPositions {
 public:
  SteppedPositions() noexcept : SteppedPositions({}, Modulus(1)) {}
  SteppedPositions(KeyHashes key, const Modulus& modulus) noexcept
      : sum_(key.first),
        step_(key.second),
        at_(key.first % modulus.bits()),
        at_step_(key.second % modulus.bits()),
        modulus_(modulus) {}

  [[nodiscard]] std::uint64_t next() noexcept {
    const std::uint64_t position = at_;
    sum_ += step_;
    at_ = difference(at_, modulus_.bits() - at_step_);
    if (sum_ < step_) {
      at_ = difference(at_, modulus_.wrap());
    }
    return position;
  }

  /// The sum whose position `next` returns.
  [[nodiscard]] std::uint64_t sum() const noexcept { return sum_; }
  [[nodiscard]] const Modulus& modulus() const noexcept { return modulus_; }
  /// The position of the second hash.
  [[nodiscard]] std::uint64_t step_position() const noexcept { return at_step_; }

 private:
  // Modulo bits, of a number below it and one that is at most as large.
  [[nodiscard]] std::uint64_t difference(std::uint64_t from, std::uint64_t taken) const noexcept {
    return from >= taken ? from - taken : from + (modulus_.bits() - taken);
  }

  std::uint64_t sum_;
  std::uint64_t step_;
  std::uint64_t at_;
  std::uint64_t at_step_;
  Modulus modulus_;
};

/// Sizes and counts of a link.
struct LinkShape {
  std::uint64_t capacity_keys = 0;
  std::uint64_t keys_inserted = 0;
  std::uint64_t bits = 0;  ///< positions are below it; at most those of the cells
  double fpr = 0;
  unsigned probes_per_key = 0;
};

/// One Bloom filter of a chain. Bit x is bit x mod 8, lowest first, of byte x / 8.
class BitLink {
 public:
  /// Pre: `cells` has room for `shape.bits`, which is at least 1 and at most 2^63.
  BitLink(const LinkShape& shape, Cells cells) noexcept
      : cells_(std::move(cells)), shape_(shape), modulus_(shape.bits) {
    MANKAI_ASSERT((shape.bits - 1) / 8 < cells_.size());
  }

  [[nodiscard]] std::uint64_t capacity_keys() const noexcept { return shape_.capacity_keys; }
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept { return shape_.keys_inserted; }
  [[nodiscard]] bool is_full() const noexcept { return shape_.keys_inserted >= shape_.capacity_keys; }
  [[nodiscard]] std::uint64_t bits() const noexcept { return shape_.bits; }
  [[nodiscard]] std::size_t cells_bytes() const noexcept { return cells_.size(); }
  [[nodiscard]] unsigned probes_per_key() const noexcept { return shape_.probes_per_key; }
  [[nodiscard]] double fpr_target() const noexcept { return shape_.fpr; }
  [[nodiscard]] const LinkShape& shape() const noexcept { return shape_; }
  [[nodiscard]] const Modulus& modulus() const noexcept { return modulus_; }
  [[nodiscard]] const Cells& cells() const noexcept { return cells_; }
  [[nodiscard]] Cells& cells() noexcept { return cells_; }

  /// The present false-positive rate. Cost: a pass over the cells.
  [[nodiscard]] double fpr_estimate() const noexcept {
    const double fill = static_cast<double>(set_bits()) / static_cast<double>(bits());
    return std::pow(std::min(fill, 1.0), probes_per_key());
  }

  /// Loads the cache lines of the next `count` positions.
  template <class Positions>
  void prefetch(Positions positions, unsigned count) const noexcept {
    for (unsigned i = 0; i < count; ++i) {
      if (const auto byte = static_cast<std::size_t>(positions.next() / 8); byte < cells_.present().size()) {
        prefetch_line(&cells_.present()[byte]);
      }
    }
  }
  /// Whether the next `count` positions are set; advances beyond them if they are.
  template <class Positions>
  [[nodiscard]] bool contains(Positions& positions, unsigned count) const noexcept {
    for (unsigned i = 0; i < count; ++i) {
      const std::uint64_t position = positions.next();
      const auto byte = static_cast<std::size_t>(position / 8);
      if (byte >= cells_.present().size() || (cells_.present()[byte] & mask(position)) == std::byte{}) {
        return false;
      }
    }
    return true;
  }
  /// Sets a key's bits, and counts the key. Pre: all cells are present.
  template <class Positions>
  void insert(Positions positions) noexcept {
    for (unsigned i = 0; i < probes_per_key(); ++i) {
      const std::uint64_t position = positions.next();
      cells_.present()[static_cast<std::size_t>(position / 8)] |= mask(position);
    }
    ++shape_.keys_inserted;
  }

  /// Of a link that is being loaded.
  void set_keys(std::uint64_t capacity_keys, std::uint64_t keys) noexcept {
    shape_.capacity_keys = capacity_keys;
    shape_.keys_inserted = keys;
  }
  void relocate(const Mover& mover) noexcept { cells_.relocate(mover); }

 private:
  static std::byte mask(std::uint64_t position) noexcept { return std::byte{1} << (position % 8); }

  [[nodiscard]] std::uint64_t set_bits() const noexcept {
    std::uint64_t set = 0;
    std::span<const std::byte> rest = cells_.present();
    while (!rest.empty()) {
      std::uint64_t word = 0;
      const std::size_t count = std::min(rest.size(), sizeof(word));
      std::memcpy(&word, rest.data(), count);
      set += static_cast<std::uint64_t>(std::popcount(word));
      rest = rest.subspan(count);
    }
    return set;
  }

  Cells cells_;
  LinkShape shape_;
  Modulus modulus_;
};

/// What adding a key did. A filter is `exhausted` if it may grow, but its rule yields no further link.
enum class AddResult : std::uint8_t { fresh, known, full, exhausted, out_of_memory };

/// The first `done` keys were added or known; `stop` is why the next one was not, else `fresh`.
struct AddedKeys {
  std::size_t done = 0;
  AddResult stop = AddResult::fresh;
};

/// Whether a key that finds the newest link full may open another one.
enum class MayOpenLink : bool { no, yes };

/// Links beyond this number are refused: rates halve, so no filter reaches more than about 1075.
inline constexpr std::size_t kMostLinks = 4096;

/// Base of both filters. `Derived` has `hashes_of(key)` and `open_link()`, which appends a link and returns `fresh`, or
/// returns why it cannot; `Link` is a BitLink; `Positions` are a key's bits.
///
/// Cost:    a cache line per probe and link; absent keys need about two probes per link. At 24 MB a batch takes 0.4 of
///          the time of single queries.
/// Threads: one writer or any number of readers.
template <class Derived, class LinkType, class Positions>
class LinkedBloom {
 public:
  using Slice = LinkType;

  /// Queries the newest link first.
  [[nodiscard]] bool may_contain(std::string_view key) const noexcept { return has(derived().hashes_of(key)); }
  /// Shape: keys[c], answers[c].
  void may_contain(std::span<const std::string_view> keys, std::span<bool> answers) const noexcept {
    MANKAI_ASSERT(keys.size() == answers.size());
    for_each_window(keys, [&](std::size_t start, std::span<const KeyHashes> hashes) {
      ask(hashes, answers.subspan(start, hashes.size()));
    });
  }

  /// Adds a key unless a link has it. Only `fresh` changes the filter. Errors: std::bad_alloc, if the list of links
  /// finds no memory, with nothing changed.
  [[nodiscard]] AddResult add(std::string_view key) { return add(derived().hashes_of(key)); }
  /// Adds keys in order while there is room, and writes which were fresh. Shape: keys[c], fresh[c].
  [[nodiscard]] AddedKeys add(std::span<const std::string_view> keys, std::span<bool> fresh,
                              MayOpenLink may_open = MayOpenLink::yes) {
    MANKAI_ASSERT(keys.size() == fresh.size());
    AddedKeys added;
    for_each_window(keys, [&](std::size_t start, std::span<const KeyHashes> hashes) {
      if (added.done != start) {
        return;
      }
      for (const KeyHashes& key : hashes) {
        const Slice& newest = links_.back();
        newest.prefetch(Positions(key, newest.modulus()), std::min(newest.probes_per_key(), kMostPrefetched));
      }
      for (const KeyHashes& key : hashes) {
        const AddResult result = add(key, may_open);
        if (result != AddResult::fresh && result != AddResult::known) {
          added.stop = result;
          return;
        }
        fresh[added.done++] = result == AddResult::fresh;
      }
    });
    return added;
  }

  /// Links, the oldest first.
  [[nodiscard]] std::size_t slice_count() const noexcept { return links_.size(); }
  [[nodiscard]] const Slice& slice(std::size_t index) const noexcept { return links_[index]; }
  /// Keys that the links opened so far have room for; at most 2^64 - 1.
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept {
    return sum([](const Slice& link) { return link.capacity_keys(); });
  }
  /// Distinct keys, without those that were false positives when they were added.
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept {
    return sum([](const Slice& link) { return link.keys_inserted(); });
  }
  [[nodiscard]] std::uint64_t cells_bytes() const noexcept {
    return sum([](const Slice& link) { return link.cells_bytes(); });
  }
  [[nodiscard]] std::uint64_t initial_keys() const noexcept { return links_.front().capacity_keys(); }
  /// The present rate of the whole. Cost: a pass over the cells.
  [[nodiscard]] double fpr_estimate() const noexcept {
    double all_no = 0;  // a logarithm: 1 - (1 - f) cancels for small f
    for (const Slice& link : links_) {
      all_no += std::log1p(-link.fpr_estimate());
    }
    return 0 - std::expm1(all_no);  // not -0 for an empty filter
  }

  /// Movable pieces of memory, one per link, and a move of one of them.
  [[nodiscard]] std::size_t memory_pieces() const noexcept { return links_.size(); }
  void relocate(std::size_t piece, const Mover& mover) noexcept { links_[piece].relocate(mover); }

 protected:
  [[nodiscard]] std::vector<Slice>& links() noexcept { return links_; }
  [[nodiscard]] const std::vector<Slice>& links() const noexcept { return links_; }
  [[nodiscard]] const Memory& memory() const noexcept { return memory_; }

  /// A sum that stays at 2^64 - 1.
  template <class Value>
  [[nodiscard]] std::uint64_t sum(const Value& value) const noexcept {
    std::uint64_t total = 0;
    for (const Slice& link : links_) {
      total = add_saturating<std::uint64_t>(total, value(link));
    }
    return total;
  }

 private:
  friend Derived;
  explicit LinkedBloom(const Memory& memory) noexcept : memory_(memory) {}

  static constexpr std::size_t kWindow = 32;
  // More lines would be evicted before they are used.
  static constexpr unsigned kMostPrefetched = 16;

  [[nodiscard]] const Derived& derived() const noexcept { return static_cast<const Derived&>(*this); }

  template <class Use>
  void for_each_window(std::span<const std::string_view> keys, const Use& use) const {
    std::array<KeyHashes, kWindow> hashes;
    for (std::size_t start = 0; start < keys.size(); start += kWindow) {
      const auto some = keys.subspan(start, std::min(kWindow, keys.size() - start));
      std::ranges::transform(some, hashes.begin(), [this](std::string_view key) { return derived().hashes_of(key); });
      use(start, std::span<const KeyHashes>(hashes).first(some.size()));
    }
  }

  [[nodiscard]] bool has(const KeyHashes& key) const noexcept {
    return std::any_of(links_.rbegin(), links_.rend(), [&](const Slice& link) {
      Positions positions(key, link.modulus());
      return link.contains(positions, link.probes_per_key());
    });
  }

  // The first probes exclude most absent keys; only the others' lines are loaded then.
  void ask(std::span<const KeyHashes> keys, std::span<bool> answers) const noexcept {
    constexpr unsigned kFirstProbes = 2;
    std::array<Positions, kWindow> positions;
    std::array<bool, kWindow> is_asked;
    std::ranges::fill(answers, false);
    for (std::size_t i = links_.size(); i-- > 0;) {
      const Slice& link = links_[i];
      const unsigned first = std::min(kFirstProbes, link.probes_per_key());
      const unsigned rest = link.probes_per_key() - first;
      for (std::size_t key = 0; key < keys.size(); ++key) {
        is_asked[key] = !answers[key];
        if (is_asked[key]) {
          positions[key] = Positions(keys[key], link.modulus());
          link.prefetch(positions[key], first);
        }
      }
      for (std::size_t key = 0; key < keys.size(); ++key) {
        is_asked[key] = is_asked[key] && link.contains(positions[key], first);
        if (is_asked[key]) {
          link.prefetch(positions[key], std::min(rest, kMostPrefetched));
        }
      }
      for (std::size_t key = 0; key < keys.size(); ++key) {
        answers[key] = answers[key] || (is_asked[key] && link.contains(positions[key], rest));
      }
    }
  }

  [[nodiscard]] AddResult add(const KeyHashes& key, MayOpenLink may_open = MayOpenLink::yes) {
    if (has(key)) {
      return AddResult::known;
    }
    if (links_.back().is_full()) {
      if (may_open == MayOpenLink::no) {
        return AddResult::full;
      }
      if (const AddResult opened = static_cast<Derived&>(*this).open_link(); opened != AddResult::fresh) {
        return opened;
      }
    }
    if (!links_.back().cells().make_whole(memory_)) {
      return AddResult::out_of_memory;
    }
    links_.back().insert(Positions(key, links_.back().modulus()));
    return AddResult::fresh;
  }

  std::vector<Slice> links_;
  Memory memory_;
};

}  // namespace mankai::takeover
