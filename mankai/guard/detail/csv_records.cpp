#include "mankai/guard/detail/csv_records.hpp"

#include <utility>

#include "mankai/guard/detail/csv_row.hpp"

namespace mankai::detail {
namespace {

bool is_blank_or_comment(std::string_view line) noexcept {
  const std::string_view text = trim(line);
  return text.empty() || text.starts_with('#');
}

}  // namespace

void CsvRecords::add(std::string_view line) noexcept {
  line_ = line;
  ++lines_;
}

void CsvRecords::finish() noexcept { is_finished_ = true; }

std::optional<CsvRecord> CsvRecords::next() {
  if (alone_) {
    return next_alone();
  }
  if (const auto line = std::exchange(line_, std::nullopt)) {
    return open_lines_ == 0 ? begin_record(*line) : continue_record(*line);
  }
  return is_finished_ && open_lines_ != 0 ? std::optional(give_up(RuleSkip::bad_quotes)) : std::nullopt;
}

std::optional<CsvRecord> CsvRecords::open_record() const noexcept {
  const bool is_open = open_lines_ != 0 && !alone_;
  return is_open ? std::optional(CsvRecord{.text = open_, .line = lines_ + 1 - open_lines_, .lines = open_lines_})
                 : std::nullopt;
}

std::optional<CsvRecord> CsvRecords::begin_record(std::string_view line) {
  if (is_blank_or_comment(line) || end_of_row(line, divider_, false) != RowEnd::open) {
    return CsvRecord{.text = line, .line = lines_};
  }
  open_.assign(line);
  open_lines_ = 1;
  return {};
}

std::optional<CsvRecord> CsvRecords::continue_record(std::string_view line) {
  const RowEnd end = end_of_row(line, divider_, true);
  const bool is_long = open_.size() + line.size() >= kCsvRecordBytesMax;
  open_.append("\n").append(line);
  ++open_lines_;
  if (is_long || end == RowEnd::wrong) {
    return give_up(is_long ? RuleSkip::long_record : RuleSkip::bad_quotes);
  }
  if (end == RowEnd::open) {
    return {};
  }
  const std::uint64_t lines = std::exchange(open_lines_, 0);
  return CsvRecord{.text = open_, .line = lines_ + 1 - lines, .lines = lines};
}

CsvRecord CsvRecords::give_up(RuleSkip reason) {
  alone_ = open_;
  CsvRecord record = next_alone();
  record.skipped = reason;
  return record;
}

CsvRecord CsvRecords::next_alone() noexcept {
  const std::string_view lines = *alone_;
  const std::size_t end = lines.find('\n');
  alone_ = end == std::string_view::npos ? std::nullopt : std::optional(lines.substr(end + 1));
  const CsvRecord record{.text = lines.substr(0, end), .line = lines_ + 1 - open_lines_};
  --open_lines_;
  return record;
}

}  // namespace mankai::detail
