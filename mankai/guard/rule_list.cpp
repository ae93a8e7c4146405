#include "mankai/guard/rule_list.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "mankai/guard/detail/adblock_rule.hpp"
#include "mankai/guard/detail/csv_row.hpp"
#include "mankai/guard/detail/rule_entry.hpp"
#include "mankai/url/public_suffixes.hpp"

namespace mankai {
namespace {

using detail::RuleEntry;

// Addresses that mean "nowhere" in a hosts file.
constexpr std::array<std::string_view, 6> kNowhere = {"0.0.0.0", "127.0.0.1", "::", "::1", "0", "::0"};

// What a hosts file has besides: the machine itself and groups of the network.
constexpr std::array<std::string_view, 17> kLocalNames = {"localhost",
                                                          "localhost.localdomain",
                                                          "localhost4",
                                                          "localhost4.localdomain4",
                                                          "localhost6",
                                                          "local",
                                                          "localhost6.localdomain6",
                                                          "broadcasthost",
                                                          "loopback",
                                                          "ip6-localhost",
                                                          "ip6-loopback",
                                                          "ip6-localnet",
                                                          "ip6-mcastprefix",
                                                          "ip6-allnodes",
                                                          "ip6-allrouters",
                                                          "ip6-allhosts",
                                                          "0.0.0.0"};

// How lists call the column that has it, the likeliest first.
constexpr std::array<std::string_view, 9> kColumnNames = {"url",  "domain",    "host",  "hostname", "fqdn",
                                                          "rule", "indicator", "trail", "website"};

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string_view without_mark(std::string_view line) noexcept {
  line.remove_prefix(line.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
  return line;
}

template <class Words>
bool is_one_of(std::string_view word, const Words& words) noexcept {
  return std::ranges::any_of(words, [&](std::string_view each) { return detail::is_same_word(word, each); });
}

constexpr bool is_comment(std::string_view line) noexcept {
  return line.empty() || line.starts_with('#') || line.starts_with('!') || line.starts_with(';');
}

bool has_url(std::string_view text) noexcept { return text.find_first_of("/:?") != std::string_view::npos; }

// A field before the first ',' or ';' has no '/', which in a URL comes first.
bool looks_like_csv(std::string_view line) noexcept {
  const std::size_t divider = line.find_first_of("\t,;");
  return line.starts_with('"') ||
         (divider != std::string_view::npos && (line[divider] == '\t' || !line.substr(0, divider).contains('/')));
}

RuleListFormat format_of(std::string_view line) noexcept {
  std::string_view rest = line;
  if (detail::looks_like_address(detail::next_word(rest)) && !is_comment(rest)) {
    return RuleListFormat::hosts;
  }
  const std::string_view text = detail::without_comment(line);
  if (looks_like_csv(text)) {
    return RuleListFormat::csv;
  }
  return has_url(text) ? RuleListFormat::urls : RuleListFormat::domains;
}

// The rows that say what the columns are.
struct CsvHead {
  std::string_view comment;  // the last before the first row, without '#'
  std::optional<std::string_view> first_row;
  std::size_t first_row_line = 0;
};

CsvHead csv_head(std::span<const std::string_view> lines) noexcept {
  CsvHead head;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    std::string_view line = detail::trim(lines[at]);
    if (line.starts_with('#')) {
      line.remove_prefix(std::min(line.find_first_not_of('#'), line.size()));
      head.comment = detail::trim(line).empty() ? head.comment : detail::trim(line);
    } else if (!line.empty()) {
      head.first_row = lines[at];
      head.first_row_line = at;
      return head;
    }
  }
  return head;
}

std::optional<std::size_t> place_of(std::string_view name, std::span<const std::string> fields) noexcept {
  const auto found =
      std::ranges::find_if(fields, [&](const std::string& each) { return detail::is_same_word(each, name); });
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

bool is_csv_heading(std::string_view line) {
  const auto fields = detail::csv_fields(line, detail::divider_of(line));
  return fields.size() > 1 && place_of_usual(fields).has_value();
}

// "3" -> 2; none for what is no number from 1.
std::optional<std::size_t> place_of_number(std::string_view text) noexcept {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number > 0 ? std::optional(number - 1)
                                                                                : std::nullopt;
}

// Whether the heading has a column of this name.
bool has_column_named(std::string_view name, const CsvHead& head) {
  const auto comment = detail::csv_fields(head.comment, detail::divider_of(head.comment));
  const auto row = detail::csv_fields(*head.first_row, detail::divider_of(*head.first_row));
  return place_of(name, row) || (comment.size() > 1 && place_of(name, comment));
}

// Whether most lines have so many fields, and not only one.
bool has_column_number(std::size_t place, std::span<const std::string_view> lines) {
  std::size_t rows = 0;
  std::size_t with_column = 0;
  for (const std::string_view each : lines) {
    const std::string_view line = detail::without_comment(each);
    if (!is_comment(line)) {
      ++rows;
      with_column +=
          detail::csv_fields(line, detail::divider_of(line)).size() > std::max<std::size_t>(place, 1) ? 1 : 0;
    }
  }
  return with_column > rows / 2;
}

bool has_column(const std::string& wanted, std::span<const std::string_view> lines) {
  const CsvHead head = csv_head(lines);
  if (wanted.empty() || !head.first_row) {
    return false;
  }
  const auto place = place_of_number(wanted);
  return place ? has_column_number(*place, lines) : has_column_named(wanted, head);
}

bool is_adblock(std::span<const std::string_view> lines) {
  return std::ranges::any_of(lines,
                             [](std::string_view line) { return detail::is_surely_adblock(detail::trim(line)); });
}

// What most lines look like.
RuleListFormat detect(std::span<const std::string_view> lines, const std::string& column) {
  if (is_adblock(lines)) {
    return RuleListFormat::adblock;
  }
  if (has_column(column, lines)) {
    return RuleListFormat::csv;
  }
  std::array<std::size_t, kRuleListFormats.size()> votes{};
  bool is_first = true;
  for (const std::string_view each : lines) {
    const std::string_view line = detail::trim(each);
    if (!is_comment(line)) {
      if (std::exchange(is_first, false) && is_csv_heading(line)) {
        return RuleListFormat::csv;
      }
      ++votes[static_cast<std::size_t>(format_of(line))];
    }
  }
  const auto count = [&](RuleListFormat format) { return votes[static_cast<std::size_t>(format)]; };
  const std::size_t plain = count(RuleListFormat::domains) + count(RuleListFormat::urls);
  if (const std::size_t hosts = count(RuleListFormat::hosts); hosts > plain && hosts > count(RuleListFormat::csv)) {
    return RuleListFormat::hosts;
  }
  if (count(RuleListFormat::csv) > plain) {
    return RuleListFormat::csv;
  }
  return count(RuleListFormat::urls) > 0 ? RuleListFormat::urls : RuleListFormat::domains;
}

// The first lines, with as many that say something as the format is told by.
std::vector<std::string_view> head_of(std::span<const std::string_view> first) {
  std::vector<std::string_view> head;
  std::size_t saying = 0;
  for (const std::string_view line : first) {
    head.push_back(head.empty() ? without_mark(line) : line);
    saying += RuleListReader::says_something(head.back()) ? 1 : 0;
    if (saying == kRuleListFirstLines) {
      break;
    }
  }
  return head;
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

std::string_view name(RuleListFormat format) noexcept {
  switch (format) {
    case RuleListFormat::automatic: return "automatic";
    case RuleListFormat::hosts: return "hosts";
    case RuleListFormat::domains: return "domains";
    case RuleListFormat::urls: return "urls";
    case RuleListFormat::csv: return "csv";
    case RuleListFormat::adblock: return "adblock";
  }
  return {};
}

Result<RuleListFormat> rule_list_format(std::string_view text) {
  std::string names;
  for (const RuleListFormat format : kRuleListFormats) {
    if (name(format) == text) {
      return format;
    }
    names.append(names.empty() ? "" : ", ").append(name(format));
  }
  return fail(ErrorCode::not_found, "there is no list format '" + std::string(text) + "'; there are " + names);
}

std::string_view describe(RuleSkip reason) noexcept {
  switch (reason) {
    case RuleSkip::local_name: return "is a name of the machine itself";
    case RuleSkip::other_address: return "is sent to an address, not nowhere";
    case RuleSkip::not_a_host: return "is no host";
    case RuleSkip::no_host: return "has no host";
    case RuleSkip::fragment: return "has a fragment, which no server sees";
    case RuleSkip::missing_column: return "has nothing in the column";
    case RuleSkip::bad_quotes: return "has quotes that do not close";
    case RuleSkip::element_hiding: return "hides elements of a page";
    case RuleSkip::options: return "has options that a guard does not know";
    case RuleSkip::regex: return "is a regular expression";
    case RuleSkip::wildcard: return "has a wildcard";
    case RuleSkip::unanchored: return "matches anywhere in a URL";
    case RuleSkip::open_end: return "matches longer names, too";
    case RuleSkip::other_pattern: return "has an anchor in a place that a guard does not know";
    case RuleSkip::network: return "is a network, not an address";
    case RuleSkip::too_wide: return "is an exception that would let through more than it says";
    case RuleSkip::single_label: return "is one word, and no top level";
    case RuleSkip::refused: return "is no rule for the guard";
  }
  return {};
}

std::uint64_t RuleListCounts::all_skipped() const noexcept {
  return std::accumulate(skipped.begin(), skipped.end(), std::uint64_t{0});
}

Result<RuleListReader> RuleListReader::create(const RuleListOptions& options, std::span<const std::string_view> first) {
  const std::vector<std::string_view> head = head_of(first);
  RuleListReader reader;
  reader.is_allow_list_ = options.is_allow_list;
  reader.is_guessed_ = options.format == RuleListFormat::automatic;
  reader.format_ = reader.is_guessed_ ? detect(head, options.column) : options.format;
  if (reader.format_ == RuleListFormat::csv) {
    if (const auto found = reader.find_column(options.column, head); !found) {
      return std::unexpected(found.error());
    }
  }
  return reader;
}

bool RuleListReader::says_something(std::string_view line) noexcept { return !is_comment(detail::trim(line)); }

Result<void> RuleListReader::find_column(const std::string& wanted, std::span<const std::string_view> first) {
  const CsvHead head = csv_head(first);
  if (!head.first_row) {
    return {};
  }
  divider_ = detail::divider_of(*head.first_row);
  const auto row = detail::csv_fields(*head.first_row, divider_);
  const auto comment = detail::csv_fields(head.comment, divider_);
  const auto is_data = [](const std::string& field) { return field.contains('/') || detail::looks_like_rule(field); };
  if (const auto place = place_of_number(wanted)) {
    column_ = *place;
    if (column_ < row.size() && !is_data(row[column_])) {
      heading_ = head.first_row_line;
    }
    return {};
  }
  if (const auto place = wanted.empty() ? place_of_usual(row) : place_of(wanted, row)) {
    column_ = *place;
    heading_ = head.first_row_line;
    return {};
  }
  auto place = wanted.empty() ? place_of_usual(comment) : place_of(wanted, comment);
  if (!place && wanted.empty()) {
    const auto data = std::ranges::find_if(row, detail::looks_like_rule);
    place = data == row.end() ? std::nullopt : std::optional(static_cast<std::size_t>(data - row.begin()));
  }
  if (!place) {
    return no_column(wanted, comment.size() > 1 ? comment : row);
  }
  column_ = *place;
  return {};
}

RuleLine RuleListReader::read(std::string_view line) {
  if (counts_.lines == 0) {
    line = without_mark(line);
  }
  RuleLine read;
  read.is_exception = is_allow_list_;
  rules_.clear();
  const std::uint64_t skipped = counts_.all_skipped();
  switch (format_) {
    case RuleListFormat::hosts: read_hosts(line, read); break;
    case RuleListFormat::csv: read_csv(line, read); break;
    case RuleListFormat::adblock: read_adblock_line(detail::trim(line), read); break;
    case RuleListFormat::automatic:
    case RuleListFormat::domains:
    case RuleListFormat::urls: read_plain(line, read); break;
  }
  ++counts_.lines;
  counts_.without_rules += rules_.empty() && skipped == counts_.all_skipped() ? 1 : 0;
  read.rules = rules_;
  return read;
}

void RuleListReader::refuse(const RuleLine& line) noexcept {
  --(line.is_exception ? counts_.exceptions : counts_.rules);
  ++counts_.skipped[static_cast<std::size_t>(RuleSkip::refused)];
}

void RuleListReader::skip(RuleSkip reason, RuleLine& read) noexcept {
  ++counts_.skipped[static_cast<std::size_t>(reason)];
  read.skipped = reason;
}

void RuleListReader::take(const RuleEntry& entry, RuleLine& read) {
  // Wider is the safe side of a rule, and the other one of an exception. "*." in other lists means the host, too.
  const bool is_too_wide = read.is_exception && entry.is_widened && format_ == RuleListFormat::adblock;
  if (entry.skipped || is_too_wide) {
    skip(entry.skipped.value_or(RuleSkip::too_wide), read);
    return;
  }
  if (const auto reason = check_canonical(entry, read.is_exception)) {
    skip(*reason, read);
    return;
  }
  rules_.push_back(entry.text);
  ++(read.is_exception ? counts_.exceptions : counts_.rules);
  counts_.widened += entry.is_widened ? 1 : 0;
  counts_.narrowed += entry.is_narrowed ? 1 : 0;
}

// Only of entries that need it.
std::optional<RuleSkip> RuleListReader::check_canonical(const RuleEntry& entry, bool is_exception) {
  const bool is_about_port = is_exception && entry.may_have_port;
  if ((!is_about_port && !entry.may_be_single_label) || !url::canonicalize(entry.text, url_)) {
    return {};
  }
  if (is_about_port && detail::has_port(url_)) {
    return RuleSkip::too_wide;
  }
  // A download that failed is often one word that says so.
  const std::string_view host = url_.host();
  const bool is_word = !url_.is_ip() && !host.contains('.');
  return is_word && !url::PublicSuffixes::builtin().has(host) ? std::optional(RuleSkip::single_label) : std::nullopt;
}

void RuleListReader::read_hosts(std::string_view line, RuleLine& read) {
  std::string_view rest = detail::trim(line.substr(0, line.find('#')));
  if (is_comment(rest)) {
    return;
  }
  const std::string_view address = detail::next_word(rest);
  const bool is_nowhere = std::ranges::find(kNowhere, address) != kNowhere.end();
  if (!is_nowhere && !detail::looks_like_address(address)) {
    skip(RuleSkip::not_a_host, read);
    return;
  }
  if (rest.empty()) {
    skip(RuleSkip::no_host, read);
  }
  while (!rest.empty()) {
    const std::string_view host = detail::next_word(rest);
    if (is_one_of(host, kLocalNames)) {
      skip(RuleSkip::local_name, read);
    } else if (!is_nowhere) {
      skip(RuleSkip::other_address, read);
    } else {
      take(detail::read_host(host), read);
    }
  }
}

void RuleListReader::read_plain(std::string_view line, RuleLine& read) {
  const std::string_view text = detail::without_comment(line);
  if (is_comment(text)) {
    return;
  }
  if (is_guessed_ && has_url(text)) {
    format_ = RuleListFormat::urls;
  }
  take(format_ == RuleListFormat::urls ? detail::read_url(text, detail::Spaces::refused) : detail::read_host(text),
       read);
}

void RuleListReader::read_csv(std::string_view line, RuleLine& read) {
  const std::string_view text = detail::trim(line);
  if (text.empty() || text.starts_with('#') || counts_.lines == heading_) {
    return;
  }
  const RuleEntry field = detail::csv_field(line, divider_, column_, unquoted_);
  take(field.skipped ? field : detail::read_url(field.text, detail::Spaces::allowed), read);
}

void RuleListReader::read_adblock_line(std::string_view line, RuleLine& read) {
  const detail::AdblockLine filter = detail::read_adblock(line);
  if (filter.is_filter) {
    read.is_exception = is_allow_list_ || filter.is_exception;
    take(filter.entry, read);
  }
}

}  // namespace mankai
