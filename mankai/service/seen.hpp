#pragma once

/// "Have I seen it?": the first of the four questions, as one class.
///
///     auto seen = mankai::Seen::create({.keys = 10'000'000, .fpr = 0.001});
///     if (!seen->observe(url)) { fetch(url); }

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mankai/durable/filter_file.hpp"

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
  /// A memory that stays in a file, which is created at once if it is missing and locked until the end.
  /// Errors: locked; invalid_argument when the file was made for another request; as open_filter's.
  [[nodiscard]] static Result<Seen> open(const std::string& path, const SeenRequest& request = {});

  /// Takes a key in and returns whether it had been seen before. Errors: std::bad_alloc where a growing filter cannot
  /// grow, which leaves the memory as it was.
  bool observe(std::string_view key);
  /// Shape: keys[c], seen[c]. In order, so that a key's second time in one batch counts as seen.
  void observe(std::span<const std::string_view> keys, std::span<bool> seen);

  /// Writes the file, whole or not at all; nothing for a memory without one. Errors: io, out_of_space.
  [[nodiscard]] Result<void> save();

  [[nodiscard]] const AnyFilter& filter() const noexcept { return filter_; }
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept;
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept;
  [[nodiscard]] bool is_over_capacity() const noexcept { return keys_inserted() > capacity_keys(); }

 private:
  explicit Seen(AnyFilter filter) noexcept : filter_(std::move(filter)) {}

  AnyFilter filter_;
  std::string path_;
  std::optional<FileLock> lock_;
};

}  // namespace mankai
