#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "mankai/guard/detail/csv.hpp"

namespace mankai::detail {
namespace {

struct Field {
  std::string_view text{};
  bool has_quotes_inside = false;
};

void skip_blanks(std::string_view& row, char divider) noexcept {
  while (!row.empty() && is_blank(row.front()) && row.front() != divider) {
    row.remove_prefix(1);
  }
}

// Pre: `text` follows the opening quote. Returns npos if no quote closes it.
std::size_t closing_quote(std::string_view text) noexcept {
  std::size_t end = text.find('"');
  while (end != std::string_view::npos && text.substr(end + 1).starts_with('"')) {
    end = text.find('"', end + 2);
  }
  return end;
}

// Removes "…" from the front, up to the divider. Returns nothing if the quotes are wrong.
std::optional<Field> take_quoted(std::string_view& row, char divider) noexcept {
  row.remove_prefix(1);
  const std::size_t end = closing_quote(row);
  if (end == std::string_view::npos) {
    return {};
  }
  const Field field{.text = row.substr(0, end), .has_quotes_inside = row.substr(0, end).contains('"')};
  row.remove_prefix(end + 1);
  skip_blanks(row, divider);
  return row.empty() || row.front() == divider ? std::optional(field) : std::nullopt;
}

// Removes one field from the front; the divider after it stays.
std::optional<Field> take_field(std::string_view& row, char divider) noexcept {
  skip_blanks(row, divider);
  if (row.starts_with('"')) {
    return take_quoted(row, divider);
  }
  const Field field{.text = row.substr(0, row.find(divider))};
  row.remove_prefix(field.text.size());
  return field;
}

std::string_view unquote(const Field& field, std::string& unquoted) {
  if (!field.has_quotes_inside) {
    return trim(field.text);
  }
  unquoted.clear();
  for (std::size_t at = 0; at < field.text.size(); ++at) {
    unquoted.push_back(field.text[at]);
    at += field.text[at] == '"' ? 1 : 0;
  }
  return trim(unquoted);
}

}  // namespace

char divider_of(std::string_view row) noexcept {
  std::array<bool, 3> seen{};
  constexpr std::string_view kDividers = "\t,;";
  bool is_quoted = false;
  for (const char byte : row) {
    is_quoted ^= byte == '"';
    const std::size_t at = kDividers.find(byte);
    if (!is_quoted && at != std::string_view::npos) {
      seen[at] = true;
    }
  }
  for (std::size_t at = 0; at < seen.size(); ++at) {
    if (seen[at]) {
      return kDividers[at];
    }
  }
  return ',';
}

RowEnd end_of_row(std::string_view line, char divider, bool is_open) noexcept {
  if (!line.contains('"')) {
    return is_open ? RowEnd::open : RowEnd::complete;
  }
  while (true) {
    if (!is_open) {
      skip_blanks(line, divider);
      is_open = line.starts_with('"');
      line.remove_prefix(is_open ? 1 : 0);
    }
    if (is_open) {
      const std::size_t end = closing_quote(line);
      if (end == std::string_view::npos) {
        return RowEnd::open;
      }
      line.remove_prefix(end + 1);
      skip_blanks(line, divider);
      is_open = false;
    } else {
      line.remove_prefix(std::min(line.find(divider), line.size()));
    }
    if (line.empty()) {
      return RowEnd::complete;
    }
    if (line.front() != divider) {
      return RowEnd::wrong;
    }
    line.remove_prefix(1);
  }
}

RuleEntry csv_field(std::string_view row, char divider, std::size_t column, std::string& unquoted) {
  for (std::size_t at = 0;; ++at) {
    const auto field = take_field(row, divider);
    if (!field) {
      return {.skipped = RuleSkip::bad_quotes};
    }
    if (at == column) {
      const std::string_view text = unquote(*field, unquoted);
      return text.empty() ? RuleEntry{.skipped = RuleSkip::missing_column} : RuleEntry{.text = text};
    }
    if (row.empty()) {
      return {.skipped = RuleSkip::missing_column};
    }
    row.remove_prefix(1);
  }
}

std::vector<std::string> csv_fields(std::string_view row, char divider) {
  std::vector<std::string> fields;
  std::string unquoted;
  while (true) {
    const auto field = take_field(row, divider);
    fields.emplace_back(field ? unquote(*field, unquoted) : std::string_view());
    if (!field || row.empty()) {
      return fields;
    }
    row.remove_prefix(1);
  }
}

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
