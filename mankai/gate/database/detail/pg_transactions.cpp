#include "mankai/gate/database/detail/pg_transactions.hpp"

#include <algorithm>
#include <charconv>
#include <utility>
#include <variant>

namespace mankai::detail {
namespace {

constexpr std::size_t kFullBytes = std::size_t{4} << 20U;
constexpr std::size_t kFullTransactions = 4096;

bool take_number(std::string_view& text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc{};
}

bool take_letter(std::string_view& text, char letter) {
  if (!text.starts_with(letter)) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

void append(KeyList& to, KeyList& from) {
  if (to.empty()) {
    std::swap(to, from);
  } else {
    for (const std::string_view key : from.views()) {
      to.add(key);
    }
  }
}

}  // namespace

Result<PgSnapshot> PgSnapshot::parse(std::string_view text) {
  const std::string whole(text);
  PgSnapshot snapshot;
  bool is_good = take_number(text, snapshot.oldest_) && take_letter(text, ':') && take_number(text, snapshot.next_) &&
                 take_letter(text, ':');
  while (is_good && !text.empty()) {
    is_good =
        (snapshot.running_.empty() || take_letter(text, ',')) && take_number(text, snapshot.running_.emplace_back());
  }
  if (!is_good) {
    return fail(ErrorCode::corrupt, "PostgreSQL's snapshot \"" + whole + "\" cannot be read");
  }
  return snapshot;
}

bool PgSnapshot::sees(std::uint32_t transaction) const noexcept {
  // The log has only the lower half of a number; possible numbers are within 2^31 of the next one.
  const auto distance = static_cast<std::int32_t>(transaction - static_cast<std::uint32_t>(next_));
  const std::uint64_t number = next_ + static_cast<std::uint64_t>(std::int64_t{distance});
  if (distance >= 0) {
    return false;
  }
  return number < oldest_ || std::ranges::find(running_, number) == running_.end();
}

Result<void> PgTransactions::take(std::string_view message) {
  MANKAI_ASSIGN(const auto parsed, parse_pgoutput(message));
  return std::visit([this](const auto& each) { return take(each); }, parsed);
}

Result<void> PgTransactions::take(const PgBegin& begin) {
  if (open_begin_) {
    return fail(ErrorCode::corrupt, "PostgreSQL began a transaction within another one");
  }
  open_begin_ = begin;
  open_.clear();
  return {};
}

Result<void> PgTransactions::take(const PgCommit& commit) {
  if (!open_begin_ || open_begin_->commit != commit.commit || commit.end <= commit.commit) {
    return fail(ErrorCode::corrupt, "PostgreSQL ended a transaction that it did not begin");
  }
  if (commit.end > from_) {
    append_open();
    numbers_.push_back(open_begin_->transaction);
    whole_.committed = commit.committed;
    reached_ = std::max(reached_, commit.end);
  }
  open_begin_.reset();
  return {};
}

void PgTransactions::append_open() {
  if (open_.clears) {
    whole_.clears = true;
    whole_.inserted.clear();
    whole_.erased.clear();
  }
  append(whole_.inserted, open_.inserted);
  append(whole_.erased, open_.erased);
}

Result<void> PgTransactions::take(const PgRelation& relation) {
  is_described_ = true;
  if (relation.id != table_.relation) {  // a partition; its rows are sent as those of the whole table
    return {};
  }
  const auto column = std::ranges::find(relation.columns, table_.key, &PgRelationColumn::name);
  if (column == relation.columns.end()) {
    return fail(ErrorCode::not_found, "table " + table_.name + " had no column " + table_.key +
                                          " at this place of the log: the key was renamed or dropped; build the gate "
                                          "again");
  }
  if (column->type != table_.key_type) {
    return fail(ErrorCode::invalid_argument, "column " + table_.key + " of table " + table_.name +
                                                 " had another type at this place of the log: build the gate again");
  }
  column_ = static_cast<std::size_t>(column - relation.columns.begin());
  return {};
}

Result<void> PgTransactions::check_row(std::uint32_t relation) const {
  if (relation != table_.relation) {
    return fail(ErrorCode::invalid_argument, "the publication sends rows of another table than " + table_.name +
                                                 ": take that out of it, or build the gate again");
  }
  if (!open_begin_ || !column_) {
    return fail(ErrorCode::corrupt, "PostgreSQL sent a row outside a transaction, or before its table");
  }
  return {};
}

/// Returns the key of a row, empty for NULL. An unchanged value is taken from the old row.
Result<std::optional<std::string_view>> PgTransactions::key_of(const PgRow& row, const PgRow* old_row) const {
  if (*column_ >= row.size()) {
    return fail(ErrorCode::corrupt, "PostgreSQL sent a row with fewer columns than its table");
  }
  const PgColumn& key = row[*column_];
  switch (key.state) {
    case PgColumn::State::null: return std::nullopt;
    case PgColumn::State::text: return key.value;
    case PgColumn::State::unchanged:
      if (old_row != nullptr) {
        return key_of(*old_row, nullptr);
      }
      return fail(ErrorCode::corrupt, "PostgreSQL did not send the key of a row");
    case PgColumn::State::binary: break;
  }
  return fail(ErrorCode::corrupt, "PostgreSQL sent a key in binary form, which was not asked for");
}

std::unexpected<Error> PgTransactions::without_old_row(std::string_view what) const {
  return fail(ErrorCode::invalid_argument, std::string(what) + " of table " + table_.name +
                                               " came without its old row: run ALTER TABLE " + table_.name +
                                               " REPLICA IDENTITY FULL, and build the gate again");
}

Result<void> PgTransactions::take(const PgInsert& insert) {
  MANKAI_TRY(check_row(insert.relation));
  MANKAI_ASSIGN(const auto key, key_of(insert.row, nullptr));
  if (key) {
    open_.inserted.add(*key);
  }
  return {};
}

Result<void> PgTransactions::take(const PgUpdate& update) {
  MANKAI_TRY(check_row(update.relation));
  if (update.old_is != PgOldRow::full) {
    return without_old_row("an update");
  }
  MANKAI_ASSIGN(const auto before, key_of(update.old_row, nullptr));
  MANKAI_ASSIGN(const auto after, key_of(update.row, &update.old_row));
  if (before && before != after) {
    open_.erased.add(*before);
  }
  if (after && before != after) {
    open_.inserted.add(*after);
  }
  return {};
}

Result<void> PgTransactions::take(const PgDelete& erased) {
  MANKAI_TRY(check_row(erased.relation));
  if (erased.old_is != PgOldRow::full) {
    return without_old_row("a delete");
  }
  MANKAI_ASSIGN(const auto key, key_of(erased.old_row, nullptr));
  if (key) {
    open_.erased.add(*key);
  }
  return {};
}

Result<void> PgTransactions::take(const PgTruncate& truncate) {
  if (!open_begin_) {
    return fail(ErrorCode::corrupt, "PostgreSQL emptied a table outside a transaction");
  }
  if (std::ranges::find(truncate.relations, table_.relation) != truncate.relations.end()) {
    open_.clear();
    open_.clears = true;
  }
  return {};
}

void PgTransactions::reach(Lsn end) noexcept {
  if (!open_begin_) {
    reached_ = std::max(reached_, end);
  }
}

bool PgTransactions::is_full() const noexcept {
  return whole_.inserted.bytes() + whole_.erased.bytes() >= kFullBytes || numbers_.size() >= kFullTransactions;
}

bool PgTransactions::are_seen_by(const PgSnapshot& snapshot) const noexcept {
  return std::ranges::all_of(numbers_, [&](std::uint32_t number) { return snapshot.sees(number); });
}

void PgTransactions::take_away(RowChanges& changes) {
  std::swap(changes, whole_);
  whole_.clear();
  changes.position = reached_.value;
  changes.transactions = numbers_.size();
  numbers_.clear();
}

}  // namespace mankai::detail
