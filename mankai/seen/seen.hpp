#pragma once

/// "Have I seen it?": remembers keys, in memory or in a file.
///
///     auto memory = mankai::Seen::open("seen.mk", {.keys = 10'000'000, .fpr = 0.001});
///     bool is_repeat = false;
///     if (memory->observe(url, is_repeat) && !is_repeat) { fetch(url); }
///
/// With a window, keys expire. The caller passes the time of each key:
///
///     auto recent = mankai::Seen::create({.keys = 10'000'000, .window = std::chrono::days(7)});
///     recent->observe(urls, times, seen);
///
/// Work that must happen at least once per key belongs between begin() and commit(): a crash before the commit forgets
/// the key.
///
/// The workers of a server share one memory, and a key is new to one of them only:
///
///     auto shared = mankai::Seen::open("seen.mk", {.keys = 10'000'000, .sharing = mankai::Sharing::processes});
///
/// With kind counting-bloom they can also forget a key, such as one whose work has failed: forget().

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mankai/filter/rotating_bloom/rotating_bloom.hpp"
#include "mankai/store/kept_filter.hpp"

namespace mankai {

/// Who changes the file of a memory.
enum class Sharing : std::uint8_t {
  none,       ///< one process at a time
  processes,  ///< any number of processes that all open it so (SharedFilter)
};

/// Parameters of a memory. An empty field means the default for a new file, and any value for an existing one.
struct SeenRequest {
  std::optional<Kind> kind = {};
  std::optional<std::uint64_t> keys = {};
  std::optional<double> fpr = {};
  std::optional<HashKind> hash = {};
  std::optional<std::array<std::uint64_t, 2>> seed = {};
  std::optional<bool> canonical = {};  ///< keys are URLs, compared in canonical form
  /// Time after which keys expire. `keys` is then the number of distinct keys per window.
  std::optional<Duration> window = {};
  /// With Sharing::processes: blocked-bloom, bloom, or counting-bloom, which can forget keys; no window.
  Sharing sharing = Sharing::none;
};

/// Remembers keys and reports repeats: no false negatives, except with kind fading-fingerprints, which overwrites old
/// keys; and a false-positive rate of at most `fpr` up to `keys` keys. Where keys can be forgotten, false positives are
/// not added, and may be new later.
///
/// Cost:    a hash and one cache line per key; batches overlap the two.
/// Threads: one at a time.
class Seen {
 public:
  static constexpr std::uint64_t kDefaultKeys = 10'000'000;
  static constexpr double kDefaultFpr = 0.001;

  /// Errors: invalid_argument for a kind that no memory has, or not with the request's window or sharing.
  [[nodiscard]] static Result<void> check(const SeenRequest& request);
  /// Creates a memory without a file. Errors: as check and create_filter.
  [[nodiscard]] static Result<Seen> create(const SeenRequest& request = {});
  /// Opens a file, locks it, and recovers it after a crash; creates it if it is missing. Errors: locked;
  /// invalid_argument if the file has other parameters; as Store::open, or SharedFilter::open with Sharing::processes.
  [[nodiscard]] static Result<Seen> open(const std::string& path, const SeenRequest& request = {},
                                         const StoreOptions& options = {});

  /// Inserts keys in order and reports which were seen before, in earlier calls or earlier in this one. With a file,
  /// the call is one batch unless begin() started a longer one. Shape: keys[c], seen[c]. Errors: without a file none,
  /// else as Store::observe. Throws std::bad_alloc if a growing filter cannot grow; a memory without a file is then
  /// unchanged.
  [[nodiscard]] Result<void> observe(std::span<const std::string_view> keys, std::span<bool> seen);
  /// Cost: without a file less than half of a batch of one key.
  [[nodiscard]] Result<void> observe(std::string_view key, bool& seen);
  /// As observe of the keys of which a ChangeEncoder of filter() made the change. Pre: an insert; no window; not with
  /// Sharing::processes.
  [[nodiscard]] Result<void> observe(const Change& change, std::span<bool> seen);
  /// With a window: a key is reported as seen for at least the window after its first occurrence; repeats do not extend
  /// that. After forgets_after() it is new again, except as a false positive. A time before the latest one counts as
  /// the latest one. In a file, the keys of each part of the window are a batch, unless begin() started a longer one.
  /// Shape: keys[c], times[c], seen[c]. Errors: invalid_argument without a window; observe without times returns the
  /// same with one.
  [[nodiscard]] Result<void> observe(std::span<const std::string_view> keys, std::span<const Time> times,
                                     std::span<bool> seen);

  /// Forgets keys: the next call that observes one reports it as new. Only with kind counting-bloom and
  /// Sharing::processes. Forget what observe reported as new, and once, whatever the outcome, and after a power loss
  /// only if the report was durable: forgetting a false positive makes false negatives of other keys. Shape: keys[c],
  /// results[c]. Errors: invalid_argument for other memories; as SharedFilter::forget.
  [[nodiscard]] Result<void> forget(std::span<const std::string_view> keys, std::span<EraseResult> results);

  /// As Store::begin and Store::commit; no effect without a file. With Sharing::processes each observe is committed
  /// when it returns, and commit with a position is invalid_argument.
  void begin(BatchMode mode = BatchMode::journaled) { kept_.begin(mode); }
  [[nodiscard]] Result<void> commit(std::string_view position = {}) { return kept_.commit(position); }
  /// As those of Store, or SharedFilter with Sharing::processes: how many keys were observed, how many of them survive
  /// power loss, and return once the disk has all of them. Without a file 0, and no effect.
  [[nodiscard]] std::uint64_t sequence() const noexcept;
  [[nodiscard]] std::uint64_t durable_sequence() const noexcept;
  [[nodiscard]] Result<void> sync() { return kept_.sync(); }
  /// Writes everything committed to the file and unlocks it; observe must not be called again. The destructor does the
  /// same and ignores errors. Errors: io, out_of_space; committed keys are safe even then.
  [[nodiscard]] Result<void> close() { return kept_.close(); }

  /// With Sharing::processes its keys_inserted() is not current.
  [[nodiscard]] const AnyFilter& filter() const noexcept { return kept_.filter(); }
  /// The store, for its recovery report, sequence and position; nullptr without a file and with Sharing::processes.
  [[nodiscard]] const Store* store() const noexcept { return kept_.store(); }
  [[nodiscard]] bool is_in_file() const noexcept { return store() != nullptr || kept_.shared() != nullptr; }
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept;
  /// Number of keys that the memory is sized for, per window if it has one.
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept;
  /// Also true if a part of the window has more than its share.
  [[nodiscard]] bool is_over_capacity() const noexcept;
  /// True with more than twice the capacity: soon most absent keys are false positives. Always false for kinds that
  /// grow or overwrite older keys.
  [[nodiscard]] bool is_overfull() const noexcept;

  /// Time for which a key is guaranteed to be seen: the requested window or slightly more. Nothing without a window.
  [[nodiscard]] std::optional<Duration> window() const noexcept;
  /// Time after which a key has expired: one part of the window more.
  [[nodiscard]] std::optional<Duration> forgets_after() const noexcept;
  /// Start of the window's current part.
  [[nodiscard]] std::optional<Time> time() const noexcept;

 private:
  explicit Seen(KeptFilter kept) noexcept : kept_(std::move(kept)) {}

  [[nodiscard]] const RotatingBloom* rotating() const noexcept;
  [[nodiscard]] Result<void> advance_to(Time time);
  [[nodiscard]] Result<void> observe_new(std::span<const std::string_view> keys, std::span<bool> seen);

  KeptFilter kept_;
};

}  // namespace mankai
