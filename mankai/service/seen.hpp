#pragma once

/// "Have I seen it?": the first of the four questions, as one class.
///
///     auto memory = mankai::Seen::open("seen.mk", {.keys = 10'000'000, .fpr = 0.001});
///     bool is_repeat = false;
///     if (memory->observe(url, is_repeat) && !is_repeat) { fetch(url); }
///
/// What must happen at least once for each key is done between begin() and commit(): until the commit, no crash makes
/// the file remember a key.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mankai/service/detail/kept_filter.hpp"

namespace mankai {

/// What a caller asks of a state that may exist already; what is left out is taken from it, or by default.
struct SeenRequest {
  std::optional<Kind> kind = {};
  std::optional<std::uint64_t> keys = {};
  std::optional<double> fpr = {};
  std::optional<HashKind> hash = {};
  std::optional<std::array<std::uint64_t, 2>> seed = {};
  std::optional<bool> canonical = {};  ///< keys are URLs, compared in canonical form
};

/// Remembers keys and says of each whether it came before, wrongly for at most the promised share of new ones; a key
/// that came before is always recognised.
///
/// Cost:    hash and one cache line a key; batches overlap the two.
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
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept;
  [[nodiscard]] bool is_over_capacity() const noexcept { return keys_inserted() > capacity_keys(); }

 private:
  explicit Seen(detail::KeptFilter kept) noexcept : kept_(std::move(kept)) {}

  detail::KeptFilter kept_;
};

}  // namespace mankai
