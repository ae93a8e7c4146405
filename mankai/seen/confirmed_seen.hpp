#pragma once

/// "Have I seen it?" without a mistake: a filter answers for most new keys, and apparent repeats are looked up
/// in an exact log on disk.
///
///     auto memory = mankai::ConfirmedSeen::open("frontier.log");
///     memory->observe(urls, answers);
///     ... print what is not Answer::repeat ...
///     memory->commit();
///     ... and at the end ...
///     memory->close();
///
/// The log is the only thing that is kept: the filter is filled from it when it is opened, and made larger when it is
/// full. So nothing has to be kept in step, and a crash can only make the log lack what was not committed.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/filter/blocked_bloom/blocked_bloom.hpp"
#include "mankai/seen/digest_log.hpp"

namespace mankai {

/// What a caller asks of a log that may exist already; what is left out is taken from it, or by default.
struct ConfirmedSeenRequest {
  std::uint64_t keys = 10'000'000;  ///< what the filter is made for at first; it grows
  double fpr = 0.001;               ///< share of new keys that cost a look into the log
  std::optional<HashKind> hash = {};
  std::optional<std::array<std::uint64_t, 2>> seed = {};
  std::optional<bool> canonical = {};  ///< keys are URLs, compared in canonical form
};

/// Remembers keys and says of each whether it came before. Wrong only where two keys share 128 bits of hash: see
/// DigestLog.
///
/// Cost:    two hashes and a cache line per key, and a lookup in the log for each repeat and false positive. Memory:
///          the filter, and what DigestLog takes.
/// Threads: one at a time.
class ConfirmedSeen {
 public:
  enum class Answer : std::uint8_t {
    fresh,    ///< new: the filter is sure
    repeat,   ///< came before: the log has it
    rescued,  ///< new: the filter took it for a repeat, and the log has it not
  };

  /// Opens a log, and makes it if it is missing. Errors: invalid_argument when it was made for another request; as
  /// DigestLog::open's and BlockedBloom::create's.
  [[nodiscard]] static Result<ConfirmedSeen> open(const std::string& path, const ConfirmedSeenRequest& request = {},
                                                  const DigestLogOptions& options = {});

  /// Takes keys in and tells what they are, in order, so that a key's second time is a repeat. Nothing is in the log
  /// before the commit. Shape: keys[c], answers[c].
  void observe(std::span<const std::string_view> keys, std::span<Answer> answers);
  /// Puts what was observed into the log, all of it or nothing: it survives a process crash. Where a filter is
  /// full it is made anew, of twice the size. Errors: io, out_of_space; then nothing more may be observed, and what was
  /// committed before is safe.
  [[nodiscard]] Result<void> commit();
  /// Returns when what was committed survives a power loss. Errors: io; out_of_space.
  [[nodiscard]] Result<void> sync() { return log_.sync(); }
  /// The last sync before the end: what is damaged afterwards is told from what a crash takes. Errors: as sync's.
  [[nodiscard]] Result<void> close() { return log_.close(); }

  [[nodiscard]] const DigestLog& log() const noexcept { return log_; }
  [[nodiscard]] const BlockedBloom& filter() const noexcept { return filter_; }
  [[nodiscard]] bool is_canonical() const noexcept { return log_.keys().canonical_version != 0; }
  /// Memory of filter and tables, that of the runs, which are mapped, left out.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;

 private:
  ConfirmedSeen(DigestLog log, BlockedBloom filter, double fpr);

  [[nodiscard]] static Result<BlockedBloom> filled_filter(const DigestLog& log, std::uint64_t keys, double fpr);
  void hash(std::span<const std::string_view> keys);
  [[nodiscard]] Answer answer(WideDigest digest, bool may_be_repeat);

  DigestLog log_;
  BlockedBloom filter_;
  double fpr_;
  std::vector<Digest> first_;
  std::vector<Digest> second_;
  std::unique_ptr<bool[]> may_be_repeat_;
};

/// Returns the word for it: "new", "repeat" or "rescued".
[[nodiscard]] std::string_view name(ConfirmedSeen::Answer answer) noexcept;

}  // namespace mankai
