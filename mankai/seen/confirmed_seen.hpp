#pragma once

/// "Have I seen it?" without false positives: a filter answers for most new keys, and an exact log on disk confirms the
/// repeats.
///
///     auto memory = mankai::ConfirmedSeen::open("frontier.log");
///     memory->observe(urls, answers);
///     // ... print the URLs whose answer is not Answer::repeat ...
///     memory->commit();
///     // ... and at the end ...
///     memory->close();
///
/// Only the log is stored; open() fills the filter from it. So a crash loses uncommitted keys at most.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"
#include "mankai/seen/digest_log.hpp"

namespace mankai {

/// Parameters of a memory. An empty field means the default for a new log, and any value for an existing one.
struct ConfirmedSeenRequest {
  std::uint64_t keys = 10'000'000;  ///< initial capacity of the filter; it grows
  double fpr = 0.001;               ///< of the filter: share of absent keys that cost a look-up in the log
  std::optional<HashKind> hash = {};
  std::optional<std::array<std::uint64_t, 2>> seed = {};
  std::optional<bool> canonical = {};  ///< keys are URLs, compared in canonical form
};

/// Remembers keys and reports repeats. Wrong only if two keys share 128 bits of hash: see DigestLog.
///
/// Cost:    two hashes and a cache line per key, and a look-up in the log per repeat and false positive. Memory: the
///          filter, and that of DigestLog.
/// Threads: one at a time.
class ConfirmedSeen {
 public:
  enum class Answer : std::uint8_t {
    fresh,    ///< new: the filter lacks it
    repeat,   ///< seen before: the log has it
    rescued,  ///< new: a false positive of the filter; the log lacks it
  };

  /// Opens a log, or creates it if it is missing. Errors: invalid_argument if it has other parameters; as
  /// DigestLog::open and BlockedBloom::create.
  [[nodiscard]] static Result<ConfirmedSeen> open(const std::string& path, const ConfirmedSeenRequest& request = {},
                                                  const DigestLogOptions& options = {});

  /// Inserts keys in order and reports their answers; the second occurrence in a batch is a repeat. Shape: keys[c],
  /// answers[c].
  void observe(std::span<const std::string_view> keys, std::span<Answer> answers);
  /// Writes the observed keys to the log, all or none; they then survive a process crash. Doubles a full filter.
  /// Errors: io, out_of_space; then nothing more may be observed, and earlier commits are safe.
  [[nodiscard]] Result<void> commit();
  /// Makes everything committed survive power loss. Errors: io; out_of_space.
  [[nodiscard]] Result<void> sync() { return log_.sync(); }
  /// As DigestLog::close.
  [[nodiscard]] Result<void> close() { return log_.close(); }

  [[nodiscard]] const DigestLog& log() const noexcept { return log_; }
  [[nodiscard]] const BlockedBloom& filter() const noexcept { return filter_; }
  [[nodiscard]] bool is_canonical() const noexcept { return log_.keys().canonical_version != 0; }
  /// Of the filter and the tables, without the mapped runs.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;

 private:
  ConfirmedSeen(DigestLog log, BlockedBloom filter, double fpr);

  [[nodiscard]] static Result<BlockedBloom> filled_filter(const DigestLog& log, std::uint64_t keys, double fpr);
  void hash(std::span<const std::string_view> keys);
  [[nodiscard]] Answer answer(WideDigest digest, bool may_be_repeat);

  DigestLog log_;
  BlockedBloom filter_;
  double fpr_;
  std::unique_ptr<Digest[]> first_;
  std::unique_ptr<Digest[]> second_;
  std::unique_ptr<bool[]> may_be_repeat_;
};

/// Returns "new", "repeat" or "rescued".
[[nodiscard]] std::string_view name(ConfirmedSeen::Answer answer) noexcept;

}  // namespace mankai
