#include "mankai/guard/detail/list_head.hpp"

#include <algorithm>
#include <array>

#include "mankai/base/number.hpp"
#include "mankai/guard/detail/adblock_rule.hpp"
#include "mankai/guard/detail/csv.hpp"
#include "mankai/guard/detail/rule_entry.hpp"

namespace mankai::detail {
namespace {

// Usual names of the column with the rules, the likeliest first.
constexpr std::array<std::string_view, 9> kColumnNames = {"url",  "domain",    "host",  "hostname", "fqdn",
                                                          "rule", "indicator", "trail", "website"};

// In CSV the first field has no '/'; in a URL a '/' precedes the first ',' or ';'.
bool looks_like_csv(std::string_view record) noexcept {
  const std::string_view text = without_comment(record);
  const std::size_t divider = text.find_first_of("\t,;");
  return record.contains('\n') || text.starts_with('"') ||
         (divider != std::string_view::npos && (text[divider] == '\t' || !text.substr(0, divider).contains('/')));
}

char divider_of_head(std::span<const std::string_view> lines) {
  std::string row;
  bool is_open = false;
  for (const std::string_view line : lines) {
    const std::string_view text = trim(line);
    if (!is_open && (text.empty() || text.starts_with('#'))) {
      continue;
    }
    row.append(line);
    is_open ^= std::ranges::count(line, '"') % 2 != 0;
    if (!is_open) {
      break;
    }
  }
  return divider_of(row);
}

void add_to_head(const CsvRecord& record, ListHead& head) {
  std::string_view text = trim(record.text);
  if (!text.empty() && !text.starts_with('#')) {
    head.first_row_line = head.rows.empty() ? record.line : head.first_row_line;
    head.rows.emplace_back(record.text);
  } else if (head.rows.empty() && !text.empty()) {
    text = trim(text.substr(std::min(text.find_first_not_of('#'), text.size())));
    head.comment = text.empty() ? head.comment : std::string(text);
  }
}

std::optional<std::size_t> place_of(std::string_view name, std::span<const std::string> fields) noexcept {
  const auto found = std::ranges::find_if(fields, [&](const std::string& each) { return is_same_word(each, name); });
  return found == fields.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - fields.begin()));
}

std::optional<std::size_t> place_of_usual(std::span<const std::string> fields) noexcept {
  for (const std::string_view name : kColumnNames) {
    if (const auto place = place_of(name, fields)) {
      return place;
    }
  }
  return {};
}

// Converts a number from 1 to a place: "3" -> 2.
std::optional<std::size_t> place_of_number(std::string_view text) noexcept {
  const std::size_t number = to_number<std::size_t>(text).value_or(0);
  return number > 0 ? std::optional(number - 1) : std::nullopt;
}

std::vector<std::string> fields_of(std::string_view row) { return csv_fields(row, divider_of(row)); }

bool has_heading(const ListHead& head) {
  const auto row = std::ranges::find_if_not(head.rows, is_comment);
  const auto fields = row == head.rows.end() ? std::vector<std::string>() : fields_of(*row);
  return fields.size() > 1 && place_of_usual(fields).has_value();
}

bool has_column_named(std::string_view name, const ListHead& head) {
  const auto comment = fields_of(head.comment);
  return place_of(name, fields_of(head.rows.front())) || (comment.size() > 1 && place_of(name, comment));
}

// Whether most rows have this column, and more than one column.
bool has_column_number(std::size_t place, const ListHead& head) {
  std::size_t rows = 0;
  std::size_t with_column = 0;
  for (const std::string& each : head.rows) {
    const std::string_view row = each.contains('\n') ? std::string_view(each) : without_comment(each);
    if (!is_comment(row)) {
      ++rows;
      with_column += fields_of(row).size() > std::max<std::size_t>(place, 1) ? 1 : 0;
    }
  }
  return with_column > rows / 2;
}

bool has_column(const std::string& wanted, const ListHead& head) {
  if (wanted.empty()) {
    return false;
  }
  const auto place = place_of_number(wanted);
  return place ? has_column_number(*place, head) : has_column_named(wanted, head);
}

bool is_mostly_csv(const ListHead& head) {
  std::size_t csv = 0;
  std::size_t others = 0;
  for (const std::string& row : head.rows) {
    const std::string_view text = trim(row);
    if (!is_comment(text)) {
      ++(!is_hosts_line(text) && looks_like_csv(text) ? csv : others);
    }
  }
  return csv > others;
}

std::unexpected<Error> no_column(const std::string& wanted, std::span<const std::string> fields) {
  constexpr std::size_t kShownBytes = 200;
  std::string names;
  for (const std::string& each : fields) {
    names.append(names.empty() ? "" : ", ").append(each);
  }
  if (names.size() > kShownBytes) {
    names.resize(kShownBytes);
    names.append("...");
  }
  return fail(ErrorCode::invalid_argument,
              (wanted.empty() ? "no column has hosts or URLs" : "there is no column '" + wanted + "'") +
                  "; name one of: " + names + ", or give its number from 1");
}

}  // namespace

ListHead head_of(std::span<const std::string_view> lines) {
  ListHead head{.divider = divider_of_head(lines)};
  CsvRecords records(head.divider);
  for (const std::string_view line : lines) {
    records.add(line);
    while (const auto record = records.next()) {
      add_to_head(*record, head);
    }
  }
  if (const auto open = records.open_record()) {
    add_to_head(*open, head);
  }
  return head;
}

RuleListFormat detect_format(const ListHead& head, const std::string& column) {
  if (head.rows.empty()) {
    return RuleListFormat::lines;
  }
  if (has_heading(head)) {
    return RuleListFormat::csv;
  }
  if (std::ranges::any_of(head.rows, [](std::string_view row) { return is_surely_adblock(trim(row)); })) {
    return RuleListFormat::adblock;
  }
  return has_column(column, head) || is_mostly_csv(head) ? RuleListFormat::csv : RuleListFormat::lines;
}

Result<CsvColumn> find_column(const std::string& wanted, const ListHead& head) {
  if (head.rows.empty()) {
    return CsvColumn{};
  }
  const auto row = csv_fields(head.rows.front(), head.divider);
  const auto comment = csv_fields(head.comment, head.divider);
  const auto is_data = [](const std::string& field) { return field.contains('/') || looks_like_rule(field); };
  if (const auto place = place_of_number(wanted)) {
    const bool is_heading = *place < row.size() && !is_data(row[*place]);
    return CsvColumn{.place = *place, .heading = is_heading ? std::optional(head.first_row_line) : std::nullopt};
  }
  if (const auto place = wanted.empty() ? place_of_usual(row) : place_of(wanted, row)) {
    return CsvColumn{.place = *place, .heading = head.first_row_line};
  }
  auto place = wanted.empty() ? place_of_usual(comment) : place_of(wanted, comment);
  if (!place && wanted.empty()) {
    const auto data = std::ranges::find_if(row, looks_like_rule);
    place = data == row.end() ? std::nullopt : std::optional(static_cast<std::size_t>(data - row.begin()));
  }
  if (!place) {
    return no_column(wanted, comment.size() > 1 ? comment : row);
  }
  return CsvColumn{.place = *place};
}

}  // namespace mankai::detail
