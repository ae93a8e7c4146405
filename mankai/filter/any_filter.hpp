#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "mankai/base/time.hpp"
#include "mankai/filter/change.hpp"
#include "mankai/filter/concepts.hpp"
#include "mankai/filter/kind.hpp"
#include "mankai/filter/spec.hpp"

namespace mankai {

/// A fact about a filter of some kinds.
struct InfoField {
  std::string name;   ///< for programs
  std::string label;  ///< for people
  std::variant<std::uint64_t, double, std::string> value;
};

/// The state of a filter, and estimates from a scan of its cells.
struct FilterInfo {
  Kind kind;
  std::uint16_t format_version;
  std::uint64_t capacity_keys;
  double fpr_target;
  std::uint64_t keys_inserted;
  HashKind hash;
  unsigned canonical_version;  ///< of the URL rules that canonicalize its keys; 0: keys are hashed as they are
  std::uint64_t cell_count;
  std::uint64_t cells_bytes;
  std::uint64_t image_bytes;
  unsigned probes_per_key;
  double lines_per_key;
  double fill_ratio;
  double fpr_estimate;
  double keys_estimate;
  std::string_view fpr_formula;   ///< how fpr_estimate is computed
  std::vector<InfoField> fields;  ///< the kind's own
};

/// How many keys can be inserted before a filter allocates memory to grow.
struct Room {
  std::uint64_t keys;          ///< 0 if that is not known
  std::uint64_t first_id = 0;  ///< keys that have ids must have this one or a greater one
};

/// The interface of a kind; `define_kind.hpp` implements it for a filter class.
class FilterBody;

/// Defined in each kind's folder for its class.
template <class F>
[[nodiscard]] AnyFilter erase_type(F filter);

/// A filter of any kind. Batches of keys are one virtual call; code that knows the kind uses `as` and the inlined calls
/// of the class.
///
/// Keys are bytes. The filter canonicalizes them if it was created so, and hashes them as its KeyShape says. Results
/// are in the order of the keys. Batches of some thousand keys are the fast path.
/// Threads: as the kind's class. Changes one at a time; KindDescription::has_lock_free_readers tells whether readers
///          may run beside them.
class AnyFilter {
 public:
  using Keys = std::span<const std::string_view>;

  template <class F>
    requires requires {
      { F::kKind } -> std::convertible_to<std::uint16_t>;
    }
  AnyFilter(F filter)
      : AnyFilter(erase_type(std::move(filter))) {}  // NOLINT(google-explicit-constructor): a filter is one
  explicit AnyFilter(std::unique_ptr<FilterBody> body) noexcept;
  AnyFilter(AnyFilter&&) noexcept;
  AnyFilter& operator=(AnyFilter&&) noexcept;
  AnyFilter(const AnyFilter&) = delete;
  AnyFilter& operator=(const AnyFilter&) = delete;
  ~AnyFilter();

  [[nodiscard]] const KindDescription& kind() const noexcept;
  /// The filter as its class; nullptr if it is of another kind.
  template <class F>
  [[nodiscard]] F* as() noexcept {
    return Kind{F::kKind} == kind().kind ? static_cast<F*>(address()) : nullptr;
  }
  template <class F>
  [[nodiscard]] const F* as() const noexcept {
    return Kind{F::kKind} == kind().kind ? static_cast<const F*>(address()) : nullptr;
  }

  /// Shape: keys[c], outcomes[c].
  void may_contain(Keys keys, std::span<bool> outcomes) const;
  /// Cost: a third of a batch of one key.
  [[nodiscard]] bool may_contain(std::string_view key) const;
  /// Numbers of insertions. Shape: keys[c], counts[c]. Errors: invalid_argument for a kind that does not count, or
  /// whose counts decay.
  [[nodiscard]] Result<void> count(Keys keys, std::span<KeyCount> counts) const;
  /// Decayed counts. Shape: keys[c], counts[c]. Errors: invalid_argument for a kind without decay.
  [[nodiscard]] Result<void> count(Keys keys, std::span<DecayedCount> counts) const;
  /// The values recently put with a key, the strongest first (RecentValues). Errors: invalid_argument for a kind that
  /// stores no values.
  [[nodiscard]] Result<std::vector<ValueMatches>> recall(std::string_view key, std::uint32_t min_matches) const;
  /// The start of the filter's current epoch; nothing for a kind without time.
  [[nodiscard]] std::optional<Time> time() const noexcept;

  /// Inserts keys in order: with the next id in a numbered kind, the value 0 in a valued kind, at the filter's current
  /// time in a kind with time. Errors: invalid_argument for URLs of too many segments (ChangeEncoder). Throws
  /// std::bad_alloc if a growing filter cannot grow.
  [[nodiscard]] Result<void> insert(Keys keys);
  /// As insert; `seen` reports which keys were present before. Shape: keys[c], seen[c].
  [[nodiscard]] Result<void> observe(Keys keys, std::span<bool> seen);
  /// Cost: less than half of a batch of one key.
  [[nodiscard]] Result<bool> observe(std::string_view key);
  /// Inserts the keys that are absent, beside other threads and processes that use only these functions and may_contain
  /// on the same cells. Of several calls with one absent key at once exactly one reports it as not seen; none does if
  /// it was a false positive. A counting kind does not count repeats. Returns how many keys were not seen;
  /// keys_inserted() does not change. Errors: invalid_argument for a kind that cannot be shared.
  [[nodiscard]] Result<std::uint64_t> observe_concurrent(Keys keys, std::span<bool> seen);
  /// Removes keys in the same way. Erase only what observe_concurrent reported as not seen, and once: a false positive
  /// takes counters of other keys. Returns how many keys were removed; keys_inserted() does not change. Errors:
  /// invalid_argument for a kind that cannot be shared, or cannot remove keys.
  [[nodiscard]] Result<std::uint64_t> erase_concurrent(Keys keys, std::span<EraseResult> results);
  /// Sets the counts that these functions do not change: the number of keys as given, the kind's own from the cells.
  /// Needs the filter alone. Errors: invalid_argument for a kind that cannot be shared.
  [[nodiscard]] Result<void> count_again(std::uint64_t keys);
  /// Removes each key once, in order. Shape: keys[c], results[c]. Errors: invalid_argument for a kind without removal.
  [[nodiscard]] Result<void> erase(Keys keys, std::span<EraseResult> results);
  /// Errors: invalid_argument for a kind without time, and for a time before the filter's.
  [[nodiscard]] Result<void> advance(Time time);
  /// Checks a change and applies it. The filter's bytes afterwards are the same with or without outcomes. Pre: the
  /// payload is aligned to 8; outcomes only of the change's operation. Cost: the kind's batch call, which reads the
  /// digests in place; hashes names, to check them.
  /// Errors: corrupt if the payload is not of the operation or does not fit the filter, which is then unchanged: the
  /// bytes may come from a corrupt or forged journal. Throws std::bad_alloc if a growing filter cannot grow; the keys
  /// before that one are inserted.
  [[nodiscard]] Result<void> apply(const Change& change, const Outcomes& outcomes = {});
  /// Adds the keys of another filter. Errors: invalid_argument that names the difference; out_of_space.
  [[nodiscard]] Result<void> merge(const AnyFilter& other);
  void clear() noexcept;

  /// Creates an empty filter that can be merged with this one. Errors: out_of_space.
  [[nodiscard]] Result<AnyFilter> create_like(const Memory& memory = system_memory()) const;
  /// The spec that creates such a filter: same kind, size, shape, hash and seed.
  [[nodiscard]] FilterSpec spec() const;
  /// Cost: two passes over the cells.
  [[nodiscard]] FilterInfo describe() const;

  [[nodiscard]] std::uint64_t keys_inserted() const noexcept;
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept;
  [[nodiscard]] Room room() const noexcept;
  [[nodiscard]] std::uint64_t image_bytes() const noexcept;
  [[nodiscard]] Hasher hasher() const noexcept;
  [[nodiscard]] std::uint8_t canonical_version() const noexcept;

  /// The image's pieces with current checksums. Threads: not beside changes.
  [[nodiscard]] std::vector<std::span<const std::byte>> seal_parts();
  /// Copies the image. Threads: as a reader; beside a writer that grows the filter, the copy may exceed image_bytes().
  [[nodiscard]] std::vector<std::byte> to_bytes() const;
  /// Checks the cells of a filter opened with Trust::fast. Errors: corrupt.
  [[nodiscard]] Result<void> verify() const;

 private:
  friend class ChangeEncoder;

  [[nodiscard]] void* address() const noexcept;
  [[nodiscard]] ChangeEncoder& encoder();

  std::unique_ptr<FilterBody> body_;
  std::unique_ptr<ChangeEncoder> encoder_;  ///< of insert, observe, erase and advance; created on first use
};

/// Creates a filter; draws a seed if the spec has none. Errors: invalid_argument for an impossible request;
/// out_of_space.
[[nodiscard]] Result<AnyFilter> create_filter(const FilterSpec& spec, const Memory& memory = system_memory());

/// Opens an image in a Region, such as a mapped file, without a copy; a growing kind allocates from `memory`. Errors:
/// corrupt; unsupported_version, also for an unknown kind.
[[nodiscard]] Result<AnyFilter> filter_from_region(Region region, Trust trust, const Memory& memory = system_memory());

}  // namespace mankai
