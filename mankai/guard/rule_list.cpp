#include "mankai/guard/rule_list.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "mankai/guard/detail/adblock_rule.hpp"
#include "mankai/guard/detail/csv.hpp"
#include "mankai/guard/detail/list_head.hpp"
#include "mankai/guard/detail/rule_entry.hpp"
#include "mankai/url/public_suffixes.hpp"

namespace mankai {
namespace {

using detail::RuleEntry;

// Names of the machine itself and of network groups in hosts files.
constexpr std::string_view kLocalNames[] = {"localhost",     "localhost.localdomain",
                                            "localhost4",    "localhost4.localdomain4",
                                            "localhost6",    "local",
                                            "loopback",      "localhost6.localdomain6",
                                            "ip6-localnet",  "ip6-mcastprefix",
                                            "ip6-localhost", "0.0.0.0",
                                            "broadcasthost", "ip6-loopback",
                                            "ip6-allnodes",  "ip6-allrouters",
                                            "ip6-allhosts"};

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string_view without_mark(std::string_view line) noexcept {
  line.remove_prefix(line.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
  return line;
}

bool is_local_name(std::string_view word) noexcept {
  // Most words differ from all names in the first byte.
  if (word.empty() || !std::string_view("LBIlbi0").contains(word.front())) {
    return false;
  }
  return std::ranges::any_of(kLocalNames, [word](std::string_view name) { return detail::is_same_word(word, name); });
}

bool is_local(std::string_view text) noexcept { return detail::is_nowhere(text) || is_local_name(text); }

// "[Adblock Plus 2.0]"; but "[$…]" is AdGuard's syntax before a filter, "[2001:db8::7]" an address, and "["a.example"]"
// JSON.
bool is_heading(std::string_view line) noexcept {
  return line.starts_with('[') && line.ends_with(']') && !line.starts_with("[$") && !line.contains('"') &&
         !detail::looks_like_address(line.substr(1, line.size() - 2));
}

// Begins with an object, or with an array of strings, objects or arrays, or with another value before a string. Read
// as CSV, a list in one line would be one rule.
bool is_json(std::span<const std::string_view> lines) noexcept {
  const auto begin = std::ranges::find_if(lines, RuleListReader::says_something);
  const std::string_view line = begin == lines.end() ? std::string_view() : detail::trim(*begin);
  if (!line.starts_with('{') && !line.starts_with('[')) {
    return false;
  }
  const std::string_view inside = detail::trim(line.substr(1));
  if (inside.empty() || std::string_view(line[0] == '{' ? "\"}" : "\"{[").contains(inside[0])) {
    return true;
  }
  const std::size_t end = inside.find_first_of(",]");
  return line[0] == '[' && end != std::string_view::npos && inside[end] == ',' &&
         detail::trim(inside.substr(end + 1)).starts_with('"');
}

std::vector<std::string_view> first_lines(std::span<const std::string_view> lines) {
  std::vector<std::string_view> first;
  std::size_t saying = 0;
  for (const std::string_view line : lines) {
    first.push_back(first.empty() ? without_mark(line) : line);
    saying += RuleListReader::says_something(first.back()) ? 1 : 0;
    if (saying == kRuleListFirstLines) {
      break;
    }
  }
  return first;
}

}  // namespace

std::string_view name(RuleListFormat format) noexcept {
  switch (format) {
    case RuleListFormat::automatic: return "automatic";
    case RuleListFormat::lines: return "lines";
    case RuleListFormat::adblock: return "adblock";
    case RuleListFormat::csv: return "csv";
    case RuleListFormat::urls: return "urls";
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
  return fail(ErrorCode::not_found, "unknown list format '" + std::string(text) + "'; there are " + names);
}

std::string_view describe(RuleSkip reason) noexcept {
  switch (reason) {
    case RuleSkip::local_name: return "is a name of the local machine";
    case RuleSkip::other_address: return "maps to a real address, not to one that blocks, such as 0.0.0.0";
    case RuleSkip::not_a_host: return "is not a host";
    case RuleSkip::no_host: return "has no host";
    case RuleSkip::fragment: return "has a fragment, which servers do not get";
    case RuleSkip::missing_column: return "has nothing in the column";
    case RuleSkip::bad_quotes: return "has quotes that do not close in their place";
    case RuleSkip::long_record: return "begins a quoted field that does not end within 1 MiB";
    case RuleSkip::element_hiding: return "hides elements of a page";
    case RuleSkip::request_options:
      return "applies to some requests only: $script, $third-party, $domain=… and the like";
    case RuleSkip::options: return "has options that guards do not support";
    case RuleSkip::regex: return "is a regular expression";
    case RuleSkip::wildcard: return "has a wildcard";
    case RuleSkip::unanchored: return "matches anywhere in a URL";
    case RuleSkip::open_end: return "has no end anchor (^ or |), so it also matches longer hosts or paths";
    case RuleSkip::other_pattern: return "has an anchor in an unsupported place";
    case RuleSkip::network: return "is a network, not an address";
    case RuleSkip::too_wide: return "is an exception that would allow more than it says";
    case RuleSkip::single_label: return "is one word, and not a top-level domain";
    case RuleSkip::refused: return "is not a rule";
  }
  return {};
}

std::uint64_t RuleListCounts::all_skipped() const noexcept {
  return std::accumulate(skipped.begin(), skipped.end(), std::uint64_t{0});
}

std::uint64_t RuleListCounts::skipped_rules() const noexcept {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < kRuleSkips; ++i) {
    count += is_out_of_scope(static_cast<RuleSkip>(i)) ? 0 : skipped[i];
  }
  return count;
}

double RuleListCounts::skipped_share() const noexcept {
  const std::uint64_t count = skipped_rules();
  return count == 0 ? 0 : static_cast<double>(count) / static_cast<double>(count + rules + exceptions);
}

RuleListReader::RuleListReader() = default;
RuleListReader::RuleListReader(RuleListReader&&) noexcept = default;
RuleListReader& RuleListReader::operator=(RuleListReader&&) noexcept = default;
RuleListReader::~RuleListReader() = default;

Result<RuleListReader> RuleListReader::create(const RuleListOptions& options, std::span<const std::string_view> first) {
  const std::vector<std::string_view> lines = first_lines(first);
  if (options.format == RuleListFormat::automatic && options.column.empty() && is_json(lines)) {
    return fail(ErrorCode::invalid_argument,
                "is JSON, which is not a format of lists; convert it to hosts or URLs, one per line, such as with `jq "
                "-r '.[]'` for an array of texts and `jq -r '.NAME[]'` for one in an object (to read it as it is: "
                "--format csv)");
  }
  const detail::ListHead head = detail::head_of(lines);
  RuleListReader reader;
  reader.is_allow_list_ = options.is_allow_list;
  reader.format_ =
      options.format == RuleListFormat::automatic ? detail::detect_format(head, options.column) : options.format;
  if (reader.format_ == RuleListFormat::csv) {
    MANKAI_ASSIGN(const auto column, detail::find_column(options.column, head));
    reader.column_ = column.place;
    reader.heading_ = column.heading;
    reader.divider_ = head.divider;
    reader.records_ = std::make_unique<detail::CsvRecords>(head.divider);
  }
  return reader;
}

bool RuleListReader::says_something(std::string_view line) noexcept { return !detail::is_comment(detail::trim(line)); }

void RuleListReader::add(std::string_view line) {
  line_ = counts_.lines == 0 ? without_mark(line) : line;
  ++counts_.lines;
  if (records_ != nullptr) {
    records_->add(*line_);
  }
}

void RuleListReader::finish() {
  if (records_ != nullptr) {
    records_->finish();
  }
}

std::optional<RuleLine> RuleListReader::next() {
  if (records_ == nullptr) {
    const auto line = std::exchange(line_, std::nullopt);
    return line ? std::optional(read({.text = *line, .line = counts_.lines})) : std::nullopt;
  }
  const auto record = records_->next();
  return record ? std::optional(read(*record)) : std::nullopt;
}

RuleLine RuleListReader::read(const detail::CsvRecord& record) {
  RuleLine read;
  read.is_exception = is_allow_list_;
  read.text = record.text;
  read.line = record.line;
  rules_.clear();
  const std::uint64_t skipped = counts_.all_skipped();
  switch (format_) {
    case RuleListFormat::csv: read_record(record, read); break;
    case RuleListFormat::urls: read_url(record.text, read); break;
    case RuleListFormat::automatic:
    case RuleListFormat::lines:
    case RuleListFormat::adblock: read_line(detail::trim(record.text), read); break;
  }
  const bool is_without = rules_.empty() && skipped == counts_.all_skipped();
  counts_.without_rules += record.lines - (is_without ? 0 : 1);
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

void RuleListReader::take(const RuleEntry& entry, RuleLine& read, bool is_filter) {
  // A rule may be wider than the list says, an exception may not. Outside Adblock, "*." also means the host itself.
  const bool is_too_wide = read.is_exception && entry.is_widened && is_filter;
  if (entry.skipped || is_too_wide) {
    read.option = entry.option;
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

std::optional<RuleSkip> RuleListReader::check_canonical(const RuleEntry& entry, bool is_exception) {
  // An escape may hide a port ("a.example%3A81"), and so may a backslash.
  const bool is_about_port = is_exception && !detail::is_plain_name(entry.text);
  if ((!is_about_port && !entry.may_be_single_label) || !detail::canonicalize_rule(entry.text, url_)) {
    return {};
  }
  if (is_about_port && detail::has_port(url_)) {
    return RuleSkip::too_wide;
  }
  // A failed download is often one word, such as "Forbidden".
  const std::string_view host = url_.host();
  const bool is_word = !url_.is_ip() && !host.contains('.');
  return is_word && !url::PublicSuffixes::builtin().has(host) ? std::optional(RuleSkip::single_label) : std::nullopt;
}

void RuleListReader::read_line(std::string_view line, RuleLine& read) {
  const bool is_adblock = format_ == RuleListFormat::adblock;
  // Fast path: in most lists, most lines are nothing but a name.
  if (!is_adblock && detail::is_plain_name(line) && !is_local_name(line)) {
    take({.text = line}, read);
    return;
  }
  const bool may_hide = !detail::is_comment(line) || (is_adblock && line.starts_with('#'));
  if (may_hide && detail::hides_elements(line)) {
    skip(RuleSkip::element_hiding, read);
  } else if (detail::is_comment(line) || is_heading(line)) {
    return;
  } else if (detail::is_hosts_line(line)) {
    read_hosts(detail::trim(line.substr(0, line.find('#'))), read);
  } else if (is_local(detail::without_comment(line))) {
    skip(RuleSkip::local_name, read);
  } else if (is_adblock || detail::is_surely_adblock(line)) {
    const detail::AdblockFilter filter = detail::read_adblock(line);
    read.is_exception = is_allow_list_ || filter.is_exception;
    take(filter.entry, read, true);
  } else {
    read_url(line, read);
  }
}

void RuleListReader::read_hosts(std::string_view line, RuleLine& read) {
  const bool is_block = detail::is_nowhere(detail::next_word(line));
  while (!line.empty()) {
    const std::string_view host = detail::next_word(line);
    if (is_local_name(host)) {
      skip(RuleSkip::local_name, read);
    } else if (!is_block) {
      skip(RuleSkip::other_address, read);
    } else {
      take(detail::read_host(host), read);
    }
  }
}

void RuleListReader::read_url(std::string_view line, RuleLine& read) {
  const std::string_view text = detail::without_comment(line);
  if (!detail::is_comment(text)) {
    take(detail::read_url(text, detail::Spaces::refused), read);
  }
}

void RuleListReader::read_record(const detail::CsvRecord& record, RuleLine& read) {
  const std::string_view text = detail::trim(record.text);
  if (record.skipped) {
    skip(*record.skipped, read);
  } else if (!text.empty() && !text.starts_with('#') && record.line != heading_) {
    RuleEntry field = detail::csv_field(record.text, divider_, column_, unquoted_);
    if (field.text.contains('\n')) {
      field.skipped = RuleSkip::bad_quotes;
    }
    take(field.skipped ? field : detail::read_url(field.text, detail::Spaces::allowed), read);
  }
}

}  // namespace mankai
