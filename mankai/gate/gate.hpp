#pragma once

/// "Is there anything to fetch?": the fourth of the four questions, as one class: a filter in front of a database.
///
///     auto gate = mankai::Gate::open("baskets.mk");
///     if (const mankai::GateAnswer answer = gate->maybe(cookie)) {
///       const auto rows = database.query(cookie);               // at the primary, begun after the answer
///       if (rows.empty()) { gate->report_false_positive(cookie, answer); }
///     }
///
/// The gate holds the keys of a table's rows, counted, so that rows may come and go. Each answer is that of the table
/// at some moment between the last position that was applied and now: "empty" only if there was no row with this key
/// then. An absent key is answered "maybe" at the filter's false positive rate, and after a report not: an exact memo
/// of some kilobytes remembers recent ones of those.
///
/// What must hold for that:
///   - Changes are applied only when their transaction has committed, and a query that begins then would see it
///     (RowSource hands them out so). Who applies before the commit takes a Hold meanwhile.
///   - A report comes from a query that began after the answer, at the primary or wherever everything stands that was
///     applied when the answer was given; not from a transaction whose snapshot is older, nor from a replica that lags.
///
/// Between a commit and its application there is a window, in which the new key may still be "empty". Nobody need see
/// it: `maybe(key, after)` answers "maybe" until the position of that commit is applied, and a Hold covers a key within
/// one process. docs/gate.md has the order of writes for each.

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

/// What filter to make.
struct GateRequest {
  std::uint64_t keys = 1'000'000;  ///< rows, at most; beyond them only the rate rises
  double fpr = 0.01;               ///< the share of absent keys that are answered "maybe", when all the rows are there
  /// Keys come from whoever asks, who must not be able to choose those that collide.
  HashKind hash = kDefaultHash;
  std::optional<std::array<std::uint64_t, 2>> seed = {};
  /// Names the source whose positions are applied, so that another one's are not taken for them: up to 32 characters
  /// without blanks.
  std::string source_id = {};
};

/// How a gate is kept in memory and on the disk.
struct GateOptions {
  std::size_t memo_bytes = std::size_t{8} << 10U;  ///< 0: reports are not remembered
  StoreOptions store = {};                         ///< of a gate in a file
};

/// Changes that a source committed together, or several such transactions in order. A row whose key changed is both.
struct GateChanges {
  bool clears = false;  ///< everything that was there before is gone; the keys below came after that
  std::span<const std::string_view> inserted = {};
  std::span<const std::string_view> erased = {};
  /// Kept with the position, for sources whose numbers may come again (row_source.hpp): at most 10 printable characters
  /// without blanks; kept in a file only beside a source's id.
  std::string_view mark = {};
};

/// Changes as a gate applies them: what goes in, then what comes out.
struct KeptChanges {
  std::vector<std::string_view> inserted;
  std::vector<std::string_view> erased;
};

/// What is left of changes when each key's comings and goings are set off against each other, for who does to a copy of
/// a gate what was done to the gate. Cost: sorts both, unless one is empty.
[[nodiscard]] KeptChanges without_passing_keys(const GateChanges& changes);

/// See the top of this file.
///
/// Cost:    maybe: a hash, a line of the filter and a line of the memo; no allocation. A change: as the store's, and a
///          hash and a line of the memo for each key that is inserted.
/// Threads: any thread asks and reports at any time, also beside changes; changes take turns. Moving, and `close`,
///          need the gate alone.
class Gate {
 public:
  /// A gate in memory, empty, with position 0. Errors: as create_filter's; invalid_argument for an impossible id.
  [[nodiscard]] static Result<Gate> create(const GateRequest& request, const GateOptions& options = {});
  /// Opens a gate's file, locked until the end, recovered where its last user did not end well. Errors: as
  /// Store::open's; invalid_argument for a file that is no counting-bloom.
  [[nodiscard]] static Result<Gate> open(const std::string& path, const GateOptions& options = {});
  /// Writes a gate in memory into a file, whole or not at all, with its position; this one is unchanged and stays in
  /// memory. Errors: as Store::create's. Threads: not beside changes.
  [[nodiscard]] Result<void> save(const std::string& path, Existing existing = Existing::refuse, FileMode mode = {});

  Gate(Gate&&) noexcept;
  Gate& operator=(Gate&&) noexcept;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate();

  /// Whether the table may have a row with this key.
  [[nodiscard]] GateAnswer maybe(std::string_view key) const noexcept;
  /// As maybe, but "maybe" as long as the change at this position of the source is not applied: for whoever knows where
  /// its own commit stands.
  [[nodiscard]] GateAnswer maybe(std::string_view key, std::uint64_t after) const noexcept;
  /// Says that the answer was "maybe" and the query found nothing: the key is "empty" from now on, until it is inserted
  /// or the memo needs its place. Forgotten at once when such a key was inserted or held since the answer, in whatever
  /// order the two arrive here. See the top of this file for what query this may come from.
  void report_false_positive(std::string_view key, const GateAnswer& answer) const noexcept;

  /// Keeps a key at "maybe" from its construction to its end, and reports about it from being believed: for a change
  /// that is applied before, or without any order to, the commit in the database. Take it before the commit, and let it
  /// go when the change is applied. Threads: safe; ends before the gate does.
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

  /// Puts changes in, and where the source stands behind them, both or neither on the disk. Who asks meanwhile gets
  /// the answer from before or after, key by key, and never "empty" for a key that is there before and after.
  /// Durability says what it survives; after a power loss the gate may stand at an earlier position.
  ///
  /// Errors: invalid_argument for a position before the one at which the gate stands, or an impossible mark; as
  /// Store's. After an error of the store the gate answers on, "maybe" at least for what was there, and takes no more
  /// changes: open it again, and continue from its position.
  [[nodiscard]] Result<void> apply(const GateChanges& changes, std::uint64_t position);
  /// Takes the source's id off the position, on the disk too: nobody takes the file for that source's gate any more.
  /// Errors: as apply's.
  [[nodiscard]] Result<void> forget_source();
  /// Returns when everything that was applied is on the disk: from then on the source may forget it. Errors: io.
  [[nodiscard]] Result<void> sync();
  /// Puts everything into the file and gives it back; changes are refused from now on, questions are not. Errors: io,
  /// out_of_space; what was applied is safe all the same.
  [[nodiscard]] Result<void> close();

  /// Where the source stood when everything up to there was applied; nothing before the first time. Threads: safe.
  [[nodiscard]] std::optional<std::uint64_t> position() const noexcept;
  [[nodiscard]] const std::string& source_id() const noexcept;
  /// The mark that came with the position. Threads: safe; waits for a change.
  [[nodiscard]] std::string position_mark() const;
  /// Keys that were to be erased and were certainly not in: not 0 says that the gate and its source have parted, and
  /// that it should be built again. Of this object's life.
  [[nodiscard]] std::uint64_t missed_erasures() const noexcept;

  /// What was asked and answered since this object was made. Cost: a pass over a few lines; not one moment's.
  [[nodiscard]] GateCounts counts() const noexcept;
  /// How full it is. Cost: two passes over the cells.
  [[nodiscard]] GateFacts facts() const;
  /// The filter itself; as Store::filter, not to be asked beside changes that clear.
  [[nodiscard]] const CountingBloom& filter() const noexcept;
  /// What is behind it; nullptr for a gate in memory.
  [[nodiscard]] const Store* store() const noexcept;

 private:
  class Impl;
  explicit Gate(std::unique_ptr<Impl> impl) noexcept;

  std::unique_ptr<Impl> impl_;
};

}  // namespace mankai
