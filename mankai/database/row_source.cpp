#include "mankai/database/row_source.hpp"

#include "mankai/database/sqlite_source.hpp"

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
  transactions = 0;
  committed.reset();
}

Result<std::unique_ptr<RowSource>> open_row_source(const RowSourceSettings& settings) {
  if (settings.source.starts_with("sqlite:")) {
    return SqliteSource::create(settings);
  }
  return fail(ErrorCode::invalid_argument, "'" + settings.source + "' names no source: write sqlite:PATH");
}

}  // namespace mankai
