#pragma once

/// "Is there anything to fetch?": the fourth of the four questions, as one class: a filter in front of a database.
///
///     auto gate = mankai::Gate::open("baskets.mk");
///     if (const mankai::GateAnswer answer = gate->maybe(cookie)) {
///       const auto rows = database.query(cookie);               // at the primary, begun after the answer
///       if (rows.empty()) { gate->report_false_positive(cookie, answer); }
///     }
///
/// A gate is a Bloom-filter negative cache: a counting filter of the keys of a table's rows. An answer is that of the
/// table at some time between the last applied position and now: "empty" only if there was no row with this key then.
/// An absent key is answered "maybe" at the filter's false-positive rate until a report says so: an exact memo of some
/// kilobytes keeps the reported keys that are asked for most recently.
///
/// Requirements:
///   - A change is applied after its transaction has committed, when a query that begins then would see it (RowSource
///     guarantees that). A program that applies a change before the commit takes a Hold meanwhile.
///   - A report comes from a query that began after the answer, at the primary or a server that has everything that was
///     applied at the answer; not from a transaction with an older snapshot, nor from a replica that lags.
///
/// Between a commit and its application, the new key may still be "empty". To close this window, `maybe(key, after)`
/// answers "maybe" until the position of that commit is applied, and a Hold covers a key within one process.
/// docs/gate.md has the order of writes for each.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/gate/gate_answer.hpp"
#include "mankai/store/store.hpp"

namespace mankai {

/// Settings of a new gate.
struct GateRequest {
  std::uint64_t keys = 1'000'000;  ///< rows that it is sized for; beyond them `fpr` rises
  double fpr = 0.01;               ///< the share of absent keys answered "maybe" at that size
  /// Keyed by default: clients choose the keys, and must not be able to choose colliding ones.
  HashKind hash = kDefaultHash;
  std::optional<std::array<std::uint64_t, 2>> seed = {};
  /// Identifies the source whose positions are applied: up to 32 characters without spaces.
  std::string source_id = {};
};

/// How a gate is stored in memory and on disk.
struct GateOptions {
  std::size_t memo_bytes = std::size_t{8} << 10U;  ///< 0: reports are ignored
  StoreOptions store = {};                         ///< for a gate in a file
};

/// The changes of one transaction, or of several in order. A row whose key changed is in both lists.
struct GateChanges {
  bool clears = false;  ///< all earlier rows are deleted; the lists are what changed after that
  std::span<const std::string_view> inserted = {};
  std::span<const std::string_view> erased = {};
  /// Stored with the position, for sources whose numbers may be reused (row_source.hpp): at most 10 printable
  /// characters without spaces; a file stores it only if there is a source id.
  std::string_view mark = {};
};

/// Changes as a gate applies them: insertions, then erasures.
struct KeptChanges {
  std::vector<std::string_view> inserted;
  std::vector<std::string_view> erased;
};

/// Cancels each key's insertions against its erasures. A copy of a gate must apply the same. Cost: sorts both, unless
/// one is empty.
[[nodiscard]] KeptChanges without_passing_keys(const GateChanges& changes);

/// See the top of this file.
///
/// Cost:    maybe: a hash, a cache line of the filter and one of the memo; no allocation. A change: as the store's,
/// plus
///          a hash and a cache line of the memo per inserted key.
/// Threads: any thread may ask and report at any time, also during changes; changes take turns. Moving, and `close`,
///          must not overlap with other calls.
class Gate {
 public:
  /// Makes an empty gate in memory. Errors: as create_filter's; invalid_argument for an invalid id.
  [[nodiscard]] static Result<Gate> create(const GateRequest& request, const GateOptions& options = {});
  /// Opens a gate's file, locked until close() or destruction, and recovers it after a crash. Errors: as Store::open's;
  /// invalid_argument for a filter that is not a counting-bloom.
  [[nodiscard]] static Result<Gate> open(const std::string& path, const GateOptions& options = {});
  /// Writes a gate in memory, with its position, to a file, completely or not at all; the gate itself stays in memory.
  /// Errors: as Store::create's. Threads: not during changes.
  [[nodiscard]] Result<void> save(const std::string& path, Existing existing = Existing::refuse, FileMode mode = {});

  Gate(Gate&&) noexcept;
  Gate& operator=(Gate&&) noexcept;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate();

  /// Returns whether the table may have a row with this key.
  [[nodiscard]] GateAnswer maybe(std::string_view key) const noexcept;
  /// As maybe, but "maybe" until the change at this position of the source is applied: for a client that knows the
  /// position of its own commit.
  [[nodiscard]] GateAnswer maybe(std::string_view key, std::uint64_t after) const noexcept;
  /// Reports that the answer was "maybe" and the query found nothing: the key is "empty" until it is inserted or leaves
  /// the memo. Ignored if such a key was inserted or held since the answer, in whatever order the two calls arrive. The
  /// top of this file says which queries may report.
  void report_false_positive(std::string_view key, const GateAnswer& answer) const noexcept;

  /// While it exists, its key is "maybe" and reports about it are ignored: for a change that is applied before the
  /// commit in the database, or in no order to it. Take it before the commit and release it after the change is
  /// applied. Threads: safe. The gate must outlive it.
  class Hold {
   public:
    Hold(const Gate& gate, std::string_view key);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    const Gate& gate_;
    Digest digest_;
  };

  /// Applies changes, and the source's position after them, atomically on disk. Concurrent questions get the answer
  /// from before or after, per key, and never "empty" for a key that is present before and after. Durability says what
  /// a change survives; after a power loss the gate may be at an earlier position.
  ///
  /// Errors: invalid_argument for a position before the gate's, or an invalid mark; as Store's. After an error of the
  /// store the gate still answers, "maybe" at least for the keys that it had, but refuses changes: open it again and
  /// continue from its position.
  [[nodiscard]] Result<void> apply(const GateChanges& changes, std::uint64_t position);
  /// Removes the source's id from the position, also on disk: the file is no longer that source's gate. Errors: as
  /// apply's.
  [[nodiscard]] Result<void> forget_source();
  /// Returns when everything that was applied is on disk: the source may then discard it. Errors: io.
  [[nodiscard]] Result<void> sync();
  /// Writes everything to the file and unlocks it; afterwards changes are refused, questions are answered. Errors: io,
  /// out_of_space; what was applied is recovered at the next open.
  [[nodiscard]] Result<void> close();

  /// The position of the source up to which everything is applied; nothing before the first change. Threads: safe.
  [[nodiscard]] std::optional<std::uint64_t> position() const noexcept;
  [[nodiscard]] const std::string& source_id() const noexcept;
  /// The mark of the position. Threads: safe; waits for a change.
  [[nodiscard]] std::string position_mark() const;
  /// Erasures of this object that found no key: if not 0, the gate differs from its source; build it again.
  [[nodiscard]] std::uint64_t missed_erasures() const noexcept;

  /// Questions and answers of this object. Cost: a pass over a few cache lines; not an atomic snapshot.
  [[nodiscard]] GateCounts counts() const noexcept;
  /// How full it is. Cost: two passes over the cells.
  [[nodiscard]] GateFacts facts() const;
  /// The filter. As with Store::filter, do not use it during changes that clear.
  [[nodiscard]] const CountingBloom& filter() const noexcept;
  /// The store; nullptr for a gate in memory.
  [[nodiscard]] const Store* store() const noexcept;

 private:
  class Impl;
  explicit Gate(std::unique_ptr<Impl> impl) noexcept;

  std::unique_ptr<Impl> impl_;
};

}  // namespace mankai
