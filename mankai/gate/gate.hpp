#pragma once

/// A gate: a Bloom-filter negative cache in front of a database table. It answers "is there anything to fetch?".
///
///     auto gate = mankai::Gate::open("baskets.mk");
///     if (const mankai::GateAnswer answer = gate->maybe(cookie)) {
///       const auto rows = database.query(cookie);               // at the primary, begun after the answer
///       if (rows.empty()) { gate->report_false_positive(cookie, answer); }
///     }
///
/// A gate is a counting Bloom filter over the keys of a table's rows, kept in step with the table. "Empty" means that
/// no row had this key at some time between the last applied position and now. An absent key gets "maybe" at the
/// false-positive rate until it is reported: an exact memo keeps the reported keys that were asked for most recently.
///
/// Requirements:
/// - Apply a change after its transaction has committed, when a new query sees it (RowSource guarantees that). To apply
///   a change before its commit, take a Hold first.
/// - Report only what a query found that began after the answer, at the primary or a server with everything that was
///   applied at the answer. Do not report from a transaction with an older snapshot or from a lagging replica.
///
/// Between a commit and its application, a new key may still be "empty". `maybe(key, after)` closes this window, and a
/// Hold does so within one process. docs/gate.md has the order of writes for each.

#include <cstdint>
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
  std::uint64_t keys = 1'000'000;  ///< number of rows to size the filter for; beyond that `fpr` rises
  double fpr = 0.01;               ///< false-positive rate at that size
  /// Keyed by default: clients choose the keys, and must not be able to choose colliding ones.
  HashKind hash = kDefaultHash;
  std::optional<std::array<std::uint64_t, 2>> seed = {};
  /// Identifies the source whose positions are applied: up to 32 characters without spaces.
  std::string source_id = {};
};

/// How a gate is stored in memory and on disk.
struct GateOptions {
  std::size_t memo_bytes = std::size_t{8} << 10U;  ///< 0: ignore reports
  StoreOptions store = {};                         ///< for a gate in a file
};

/// The changes of one or more transactions, in order. A row whose key changed is in both lists.
struct GateChanges {
  bool clears = false;  ///< all earlier rows are deleted; the lists hold what changed after that
  std::span<const std::string_view> inserted = {};
  std::span<const std::string_view> erased = {};
  /// Stored with the position, for sources that may reuse numbers (row_source.hpp). At most 10 printable characters
  /// without spaces; stored in a file only if there is a source id.
  std::string_view mark = {};
};

/// Changes as a gate applies them: insertions before erasures.
struct KeptChanges {
  std::vector<std::string_view> inserted;
  std::vector<std::string_view> erased;
};

/// Cancels each key's insertions against its erasures; copies of a gate must do the same. Cost: may sort both lists.
[[nodiscard]] KeptChanges without_passing_keys(const GateChanges& changes);

/// Cost:    maybe: a hash, a cache line of the filter and one of the memo; no allocation. A change: as in the store,
///          plus a hash and a cache line of the memo per inserted key.
/// Threads: all calls are safe together, and changes take turns. Moving and `close` must not overlap with other calls.
class Gate {
 public:
  /// Creates an empty gate in memory. Errors: as create_filter; invalid_argument for an invalid id.
  [[nodiscard]] static Result<Gate> create(const GateRequest& request, const GateOptions& options = {});
  /// Opens a gate file, locks it until close() or destruction, and recovers it after a crash. Errors: as Store::open;
  /// invalid_argument if the filter is not a counting-bloom.
  [[nodiscard]] static Result<Gate> open(const std::string& path, const GateOptions& options = {});
  /// Writes a gate in memory, with its position, to a file, completely or not at all. The gate itself stays in memory.
  /// Errors: as Store::create; invalid_argument for a gate in a file. Threads: not during changes.
  [[nodiscard]] Result<void> save(const std::string& path, Existing existing = Existing::refuse, FileMode mode = {});

  Gate(Gate&&) noexcept;
  Gate& operator=(Gate&&) noexcept;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate();

  [[nodiscard]] GateAnswer maybe(std::string_view key) const noexcept;
  /// As above, but "maybe" until this position is applied: for a client that knows the position of its own commit.
  [[nodiscard]] GateAnswer maybe(std::string_view key, std::uint64_t after) const noexcept;
  /// Reports a "maybe" whose query found nothing: the key is "empty" until it is inserted or leaves the memo. Ignored
  /// if such a key was inserted or held since the answer. See the requirements above.
  void report_false_positive(std::string_view key, const GateAnswer& answer) const noexcept;

  /// While a Hold exists, its key is "maybe", whatever is reported. For a change that is applied before its commit:
  /// take the Hold before the commit, release it after the change. Threads: safe. The gate must outlive the Hold.
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

  /// Applies changes and the source's position after them, atomically on disk. Concurrent queries see each key before
  /// or after the change, and never "empty" for a key that is present before and after. After power loss the gate may
  /// be at an earlier position (`Durability`). Errors: invalid_argument for a position before the gate's, or an invalid
  /// mark; as Store. After an error of the store the gate still answers, at least "maybe" for its keys, but refuses
  /// changes: open it again and continue from its position.
  [[nodiscard]] Result<void> apply(const GateChanges& changes, std::uint64_t position);
  /// Removes the source's id, also on disk: the file then no longer belongs to that source. Errors: as apply.
  [[nodiscard]] Result<void> forget_source();
  /// Returns when everything applied is on disk: the source may then discard it. Errors: io.
  [[nodiscard]] Result<void> sync();
  /// Writes everything to the file and unlocks it; then refuses changes. No effect in memory. Errors: io; out_of_space,
  /// recovered at next open.
  [[nodiscard]] Result<void> close();

  /// The position up to which everything is applied; empty before the first change. Threads: safe.
  [[nodiscard]] std::optional<std::uint64_t> position() const noexcept;
  [[nodiscard]] const std::string& source_id() const noexcept;
  /// The mark of the position. Threads: safe; waits for a running change.
  [[nodiscard]] std::string position_mark() const;
  /// Number of erasures by this object that found no key. If not 0, the gate differs from its source; build it again.
  [[nodiscard]] std::uint64_t missed_erasures() const noexcept;

  /// Cost: a pass over a few cache lines. Not an atomic snapshot.
  [[nodiscard]] GateCounts counts() const noexcept;
  /// Cost: two passes over the cells.
  [[nodiscard]] GateFacts facts() const;
  /// As with Store::filter, do not use it during changes that clear.
  [[nodiscard]] const CountingBloom& filter() const noexcept;
  /// nullptr for a gate in memory.
  [[nodiscard]] const Store* store() const noexcept;

 private:
  class Impl;
  explicit Gate(std::unique_ptr<Impl> impl) noexcept;

  std::unique_ptr<Impl> impl_;
};

}  // namespace mankai
