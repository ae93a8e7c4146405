#pragma once

/// "Have I seen it?": the first of the four questions, as one class.
///
///     auto memory = mankai::Seen::open("seen.mk", {.keys = 10'000'000, .fpr = 0.001});
///     bool is_repeat = false;
///     if (memory->observe(url, is_repeat) && !is_repeat) { fetch(url); }
///
/// With a window it forgets, so that what was fetched is fetched again some day. The caller passes the time:
///
///     auto recent = mankai::Seen::create({.keys = 10'000'000, .window = std::chrono::days(7)});
///     recent->observe(urls, times, seen);
///
/// What must happen at least once for each key is done between begin() and commit(): until the commit, no crash makes
/// the file remember a key.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mankai/filter/rotating_bloom/rotating_bloom.hpp"
#include "mankai/store/kept_filter.hpp"

namespace mankai {

/// What a caller asks of a state that may exist already; what is left out is taken from it, or by default.
struct SeenRequest {
  std::optional<Kind> kind = {};
  std::optional<std::uint64_t> keys = {};
  std::optional<double> fpr = {};
  std::optional<HashKind> hash = {};
  std::optional<std::array<std::uint64_t, 2>> seed = {};
  std::optional<bool> canonical = {};  ///< keys are URLs, compared in canonical form
  /// Keys are forgotten some time after this. `keys` are those of a window then.
  std::optional<Duration> window = {};
};

/// Remembers keys and says of each whether it came before, wrongly for at most the promised share of new ones; a key
/// that came before is always recognized.
///
/// Cost:    hash and one cache line per key; batches overlap the two.
/// Threads: one at a time.
class Seen {
 public:
  static constexpr std::uint64_t kDefaultKeys = 10'000'000;
  static constexpr double kDefaultFpr = 0.001;

  /// A memory that ends with the process. Errors: as create_filter's.
  [[nodiscard]] static Result<Seen> create(const SeenRequest& request = {});
  /// A memory that stays in a file, which is created at once if it is missing, recovered where its last user did not
  /// end well, and locked until the end. Errors: locked; invalid_argument when the file was made for another request;
  /// as Store::open's.
  [[nodiscard]] static Result<Seen> open(const std::string& path, const SeenRequest& request = {},
                                         const StoreOptions& options = {});

  /// Takes keys in and tells which had been seen before, in order, so that a key's second time counts as seen. In a
  /// file it is a batch, unless begin() makes one of several, and Durability says what it survives. Shape: keys[c],
  /// seen[c]. Errors: in memory none; as Store::observe's. std::bad_alloc where a growing filter cannot grow, which
  /// leaves a memory without a file as it was.
  [[nodiscard]] Result<void> observe(std::span<const std::string_view> keys, std::span<bool> seen);
  [[nodiscard]] Result<void> observe(std::string_view key, bool& seen) { return observe({&key, 1}, {&seen, 1}); }
  /// As observe, for a memory with a window. A key is seen from the time at which it came as a new one until the window
  /// has passed, for sure; its repeats do not make that longer. After forgets_after() it is new again, unless it is a
  /// false positive then. A key that comes late comes at the latest time that was told.
  /// Shape: keys[c], times[c], seen[c]. Errors: invalid_argument without a window, as of observe without times with
  /// one.
  [[nodiscard]] Result<void> observe(std::span<const std::string_view> keys, std::span<const Time> times,
                                     std::span<bool> seen);

  /// Makes one batch of what comes until commit(), which may say where the source of the keys stands. What is not
  /// committed is in memory, but never in the file. As the store's; nothing for a memory without a file.
  void begin(BatchMode mode = BatchMode::journaled) { kept_.begin(mode); }
  [[nodiscard]] Result<void> commit(std::string_view position = {}) { return kept_.commit(position); }
  /// Puts everything that was committed into the file and gives it back; nothing more may be observed. The end of this
  /// object does the same, but nobody hears an error. Errors: io, out_of_space; what was committed is safe all the
  /// same.
  [[nodiscard]] Result<void> close() { return kept_.close(); }

  [[nodiscard]] const AnyFilter& filter() const noexcept { return kept_.filter(); }
  /// What is behind it, with its recovery report, sequence and position; nullptr for a memory without a file.
  [[nodiscard]] const Store* store() const noexcept { return kept_.store(); }
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept;
  /// Of a window, where there is one.
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept;
  /// More keys than that, or than a part of the window has room for.
  [[nodiscard]] bool is_over_capacity() const noexcept;
  /// More than twice as many: most new keys are false positives soon. Never so for a memory that grows, nor for one
  /// that forgets older keys as newer ones come.
  [[nodiscard]] bool is_overfull() const noexcept;

  /// For how long a key is seen for sure, at least what was asked for; nothing for a memory that does not forget.
  [[nodiscard]] std::optional<Duration> window() const noexcept;
  /// After how long it is forgotten for sure: a part of the window later. Nothing for a memory that does not forget.
  [[nodiscard]] std::optional<Duration> forgets_after() const noexcept;
  /// The first moment of the part of the window at which the memory stands; nothing for one that does not forget.
  [[nodiscard]] std::optional<Time> stands_at() const noexcept;

 private:
  explicit Seen(KeptFilter kept) noexcept : kept_(std::move(kept)) {}

  [[nodiscard]] const RotatingBloom* rotating() const noexcept;
  [[nodiscard]] Result<void> advance_to(Time time);
  [[nodiscard]] Result<void> observe_new(std::span<const std::string_view> keys, std::span<bool> seen);

  KeptFilter kept_;
};

}  // namespace mankai
