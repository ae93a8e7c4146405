#pragma once

/// Reads block lists as rules for a guard: hosts files, lists of domains and of URLs, CSV, and those rules of Adblock's
/// syntax that mean a host with or without a path. The kind is detected per line, so a list may mix all of them except
/// CSV, which is a property of the whole list.
///
/// A line that is not such a rule is skipped and counted by its reason. A rule that a guard reads slightly wider or
/// narrower than its list is counted, too (`RuleListCounts`). In all lists, a rule's host covers the hosts below it and
/// its path everything below it; scheme, port, user and a trailing '/' are not part of a rule.
///
///     mankai::RuleListReader list = mankai::RuleListReader::create({}, first_lines).value();
///     const auto take = [&] {
///       while (const auto read = list.next()) {
///         for (const std::string_view rule : read->rules) {
///           const auto added = read->is_exception ? builder.add_allow(rule) : builder.add_block(rule);
///           if (!added && added.error().code == mankai::ErrorCode::invalid_argument) list.refuse(*read);
///         }
///       }
///     };
///     for (const std::string_view line : lines) {
///       list.add(line);
///       take();
///     }
///     list.finish();
///     take();

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/url/canonical_url.hpp"

namespace mankai {

namespace detail {
struct RuleEntry;
struct CsvRecord;
class CsvRecords;
}  // namespace detail

/// Format of a list.
enum class RuleListFormat : std::uint8_t {
  automatic,  ///< csv, adblock or lines, by the first lines
  lines,      ///< detected per line: "0.0.0.0 ads.example", "ads.example", "ads.example/x", "||ads.example^"
  adblock,    ///< the same, but '$' begins options on every line, and other text is a pattern
  csv,        ///< one column has a domain or URL; fields separated by ',', ';' or tabs
  urls,       ///< one host or URL per line, and nothing else
};
inline constexpr std::array kRuleListFormats = {RuleListFormat::automatic, RuleListFormat::lines,
                                                RuleListFormat::adblock, RuleListFormat::csv, RuleListFormat::urls};

/// Returns the name in options, such as "adblock".
[[nodiscard]] std::string_view name(RuleListFormat format) noexcept;
/// Errors: not_found, with the known names.
[[nodiscard]] Result<RuleListFormat> rule_list_format(std::string_view text);

/// Reason why a line, or a name in it, gave no rule.
enum class RuleSkip : std::uint8_t {
  local_name,       ///< hosts: "localhost" and its like
  other_address,    ///< hosts: the address is not a sinkhole such as 0.0.0.0
  not_a_host,       ///< bytes that no name has, or more than one word
  no_host,          ///< a path alone, or a scheme without a host
  fragment,         ///< a URL with "#…", which servers do not receive: without it the rule would cover more
  missing_column,   ///< csv: the row is too short, or its field empty
  bad_quotes,       ///< csv: a quote that is not closed, or text after the closing one
  long_record,      ///< csv: a quote that is not closed within kCsvRecordBytesMax
  element_hiding,   ///< adblock: hides or changes parts of a page
  request_options,  ///< adblock: "$third-party", "$script", "$domain=…": applies to some requests only
  options,          ///< adblock: other options, which change the meaning: "$document", "$badfilter"
  regex,            ///< adblock: "/…/"
  wildcard,         ///< a '*' that matches something
  unanchored,       ///< adblock: matches anywhere in a URL
  open_end,         ///< adblock: matches longer names, too: "||ads.example/ad" matches "/advice"
  other_pattern,    ///< adblock: '^' or '|' in another place
  network,          ///< more than one address: "192.0.2.0/24"
  too_wide,         ///< an exception that would allow more than the list says: "@@||ads.example:8080^"
  single_label,     ///< a word that is not a top-level domain: "Forbidden"
  refused,          ///< not a rule for the guard
};
inline constexpr std::size_t kRuleSkips = 20;

/// Returns one phrase, such as "hides elements of a page".
[[nodiscard]] std::string_view describe(RuleSkip reason) noexcept;

/// Whether no guard could hold what was skipped for a reason: names of the machine itself, filters that hide elements,
/// and filters for some requests only.
[[nodiscard]] constexpr bool is_out_of_scope(RuleSkip reason) noexcept {
  return reason == RuleSkip::local_name || reason == RuleSkip::element_hiding || reason == RuleSkip::request_options;
}

/// Statistics of a list.
struct RuleListCounts {
  std::uint64_t lines = 0;
  std::uint64_t rules = 0;
  std::uint64_t exceptions = 0;
  std::uint64_t without_rules = 0;  ///< blank lines, comments, headings, and continuations of a CSV record
  std::array<std::uint64_t, kRuleSkips> skipped{};
  /// Rules and exceptions that cover more than their list says: "*.ads.example" covers the host itself, the URL of one
  /// page what is below it.
  std::uint64_t widened = 0;
  /// Rules and exceptions that cover less: Adblock ignores case in paths without $match-case, and '^' is also ';' or
  /// '&'.
  std::uint64_t narrowed = 0;

  [[nodiscard]] std::uint64_t skipped_for(RuleSkip reason) const noexcept {
    return skipped[static_cast<std::size_t>(reason)];
  }
  [[nodiscard]] std::uint64_t all_skipped() const noexcept;
  /// Skipped, and not out of scope: the guard does not block what the list wants blocked.
  [[nodiscard]] std::uint64_t skipped_rules() const noexcept;
  /// Their share of all rules that are not out of scope; 0 for none.
  [[nodiscard]] double skipped_share() const noexcept;
};

/// The rules of one line, or of one CSV record.
struct RuleLine {
  /// Texts for GuardBuilder: views that are valid until the next call. Only hosts files give several.
  std::span<const std::string_view> rules;
  bool is_exception = false;
  /// The last reason why something of the line gave no rule.
  std::optional<RuleSkip> skipped;
  /// Adblock: the option for which it was skipped.
  std::string_view option;
  std::string_view text;   ///< as in the list
  std::uint64_t line = 0;  ///< number of its first line, from 1
};

/// How to read a list.
struct RuleListOptions {
  RuleListFormat format = RuleListFormat::automatic;
  /// csv: the column's name in the heading, or its number from 1. [default: a usual name ("url", "domain", …), else the
  /// first column with a host or URL in the first row] A list that has this column is detected as CSV.
  std::string column = {};
  /// Reads every rule as an exception.
  bool is_allow_list = false;
};

/// Longest CSV record of several lines.
inline constexpr std::size_t kCsvRecordBytesMax = std::size_t{1} << 20;

/// Number of lines that `create` reads, without blank lines and comments.
inline constexpr std::size_t kRuleListFirstLines = 256;

/// Reads one list. Threads: one at a time.
class RuleListReader {
 public:
  /// Detects the format. Shape: first are the list's first lines, without line ends, to be passed to `add` as well;
  /// kRuleListFirstLines of those for which says_something holds, or the whole list. Errors: invalid_argument for a
  /// missing column.
  [[nodiscard]] static Result<RuleListReader> create(const RuleListOptions& options,
                                                     std::span<const std::string_view> first);
  /// Whether a line is neither blank nor a comment.
  [[nodiscard]] static bool says_something(std::string_view line) noexcept;

  RuleListReader(RuleListReader&&) noexcept;
  RuleListReader& operator=(RuleListReader&&) noexcept;
  ~RuleListReader();

  /// Adds the next line, without its end, which must stay valid until next() returns none. Pre: next() returned none.
  void add(std::string_view line);
  /// Ends the list: an open record is given up.
  void finish();
  /// Returns the rules of the next line or record; none if another line is needed. The line that ends an invalid record
  /// may return many.
  /// Cost: two or three passes over the line; allocates only for records of several lines and quotes in quotes.
  /// Errors: none; total on any bytes.
  [[nodiscard]] std::optional<RuleLine> next();

  /// Counts one rule of the line as refused by the guard.
  void refuse(const RuleLine& line) noexcept;

  /// Never automatic.
  [[nodiscard]] RuleListFormat format() const noexcept { return format_; }
  [[nodiscard]] const RuleListCounts& counts() const noexcept { return counts_; }

 private:
  RuleListReader();

  [[nodiscard]] RuleLine read(const detail::CsvRecord& record);
  void read_line(std::string_view line, RuleLine& read);
  void read_hosts(std::string_view line, RuleLine& read);
  void read_url(std::string_view line, RuleLine& read);
  void read_record(const detail::CsvRecord& record, RuleLine& read);
  void take(const detail::RuleEntry& entry, RuleLine& read, bool is_filter = false);
  [[nodiscard]] std::optional<RuleSkip> check_canonical(const detail::RuleEntry& entry, bool is_exception);
  void skip(RuleSkip reason, RuleLine& read) noexcept;

  RuleListFormat format_ = RuleListFormat::lines;
  bool is_allow_list_ = false;
  std::optional<std::string_view> line_;  ///< that was added
  char divider_ = ',';
  std::size_t column_ = 0;
  std::optional<std::uint64_t> heading_;         ///< csv: the number of its line, from 1
  std::unique_ptr<detail::CsvRecords> records_;  ///< csv
  RuleListCounts counts_;
  std::vector<std::string_view> rules_;  ///< of the line
  std::string unquoted_;
  url::CanonicalUrl url_;
};

}  // namespace mankai
