#include "mankai/gate/database/row_source.hpp"

#include "mankai/gate/database/postgres_source.hpp"
#include "mankai/gate/database/sqlite_source.hpp"

namespace mankai {

void KeyList::add(std::string_view key) {
  bytes_ += key;
  ends_.push_back(bytes_.size());
}

void KeyList::clear() noexcept {
  bytes_.clear();
  ends_.clear();
}

std::span<const std::string_view> KeyList::views() {
  views_.clear();
  std::size_t begin = 0;
  for (const std::size_t end : ends_) {
    views_.emplace_back(bytes_.data() + begin, end - begin);
    begin = end;
  }
  return views_;
}

void RowChanges::clear() noexcept {
  clears = false;
  inserted.clear();
  erased.clear();
  position = 0;
  mark.clear();
  transactions = 0;
  committed.reset();
}

Result<std::unique_ptr<RowSource>> open_row_source(const RowSourceSettings& settings) {
  if (settings.source.starts_with("sqlite:")) {
    return open_sqlite_source(settings);
  }
  if (settings.source.starts_with("postgres:") || settings.source.starts_with("postgresql:")) {
    return open_postgres_source(settings);
  }
  // The source is not repeated: it may contain a password.
  return fail(ErrorCode::invalid_argument,
              "a source is sqlite:PATH, postgres:CONNECTION, such as \"postgres:host=db.example dbname=shop\", or "
              "postgres://USER@HOST/DATABASE");
}

}  // namespace mankai
