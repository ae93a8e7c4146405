#pragma once

/// Block lists, line by line, as rules that a guard takes: hosts files, lists of domains and of URLs, CSV, and of
/// Adblock's syntax what says the same as a host with or without a path. Each line is read as what it is, so one list
/// may have lines of every kind; only CSV is a property of the whole list.
///
/// A line is never taken for less or more than it says without a word: what is no such rule is skipped and counted by
/// its reason, and what a guard reads a little wider or narrower than its list does is counted, too (`RuleListCounts`).
/// Three things all lists have in common: a rule's host covers the hosts below it, its path all that is below it with
/// or without a last '/', and scheme, port and user are no part of it.
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

/// How a list is written.
enum class RuleListFormat : std::uint8_t {
  automatic,  ///< as its first lines look: csv, adblock, or else lines
  lines,      ///< each line by itself: "0.0.0.0 ads.example", "ads.example", "ads.example/x", "||ads.example^"
  adblock,    ///< the same; '$' begins options everywhere, and text that is no host or URL is a pattern
  csv,        ///< one column has a domain or URL; fields divided by ',', ';' or tabs
  urls,       ///< each line is one host or URL, and nothing else
};
inline constexpr std::array kRuleListFormats = {RuleListFormat::automatic, RuleListFormat::lines,
                                                RuleListFormat::adblock, RuleListFormat::csv, RuleListFormat::urls};

/// Returns the name used in options, such as "adblock".
[[nodiscard]] std::string_view name(RuleListFormat format) noexcept;
/// Errors: not_found for another name, with all there are.
[[nodiscard]] Result<RuleListFormat> rule_list_format(std::string_view text);

/// Why a line, or a name in it, gave no rule.
enum class RuleSkip : std::uint8_t {
  local_name,       ///< hosts: "localhost" and its like
  other_address,    ///< hosts: an address that names are sent to, not "nowhere"
  not_a_host,       ///< bytes that no name has, or more than one word
  no_host,          ///< a path alone, or a scheme without a host
  fragment,         ///< a URL with "#…", which no server sees: without it the rule would cover more
  missing_column,   ///< csv: the row is too short, or its field empty
  bad_quotes,       ///< csv: a quote that is not closed, or something behind it
  long_record,      ///< csv: a quote that is not closed within kCsvRecordBytesMax
  element_hiding,   ///< adblock: hides parts of a page, or changes it
  request_options,  ///< adblock: "$third-party", "$script", "$domain=…": holds only for some requests
  options,          ///< adblock: other options, with which a rule says another thing: "$document", "$badfilter"
  regex,            ///< adblock: "/…/"
  wildcard,         ///< '*' where it stands for something
  unanchored,       ///< adblock: matches wherever it stands in a URL
  open_end,         ///< adblock: matches longer names, too: "||ads.example/ad" is also about "/advice"
  other_pattern,    ///< adblock: '^' or '|' in another place
  network,          ///< more than one address: "192.0.2.0/24"
  too_wide,         ///< an exception that would let through more than the list says: "@@||ads.example:8080^"
  single_label,     ///< a word that is no top level: "Forbidden"
  refused,          ///< what the guard took for no rule
};
inline constexpr std::size_t kRuleSkips = 20;

/// Returns one phrase, such as "hides elements of a page".
[[nodiscard]] std::string_view describe(RuleSkip reason) noexcept;

/// Whether what is skipped for that reason is no rule about URLs at all, however a guard would read it: names of the
/// machine itself, filters that hide elements, and filters for some requests only.
[[nodiscard]] constexpr bool is_out_of_scope(RuleSkip reason) noexcept {
  return reason == RuleSkip::local_name || reason == RuleSkip::element_hiding || reason == RuleSkip::request_options;
}

/// What a list had.
struct RuleListCounts {
  std::uint64_t lines = 0;
  std::uint64_t rules = 0;
  std::uint64_t exceptions = 0;
  std::uint64_t without_rules = 0;  ///< lines: blank, comments, headings, and those that continue a record of CSV
  std::array<std::uint64_t, kRuleSkips> skipped{};
  /// Of the rules and exceptions those that cover more than their list says: "*.ads.example" the host itself, an
  /// address of one page what is below it, too.
  std::uint64_t widened = 0;
  /// Those that cover less: Adblock does not tell 'A' from 'a' in paths without $match-case, and '^' is also ';' or
  /// '&'.
  std::uint64_t narrowed = 0;

  [[nodiscard]] std::uint64_t skipped_for(RuleSkip reason) const noexcept {
    return skipped[static_cast<std::size_t>(reason)];
  }
  [[nodiscard]] std::uint64_t all_skipped() const noexcept;
  /// Skipped, and not out of scope: what the list wants blocked and the guard lets through.
  [[nodiscard]] std::uint64_t skipped_rules() const noexcept;
  /// The share of these in all that is not out of scope; 0 for none.
  [[nodiscard]] double skipped_share() const noexcept;
};

/// What one line says, or one record of CSV.
struct RuleLine {
  /// Texts for GuardBuilder; views into the line or the reader, until the next call. Only hosts files give several.
  std::span<const std::string_view> rules;
  bool is_exception = false;
  /// Why something of the line gave no rule; the last reason, where a hosts file has several names.
  std::optional<RuleSkip> skipped;
  /// Adblock: the name of the option for which it was skipped.
  std::string_view option;
  std::string_view text;   ///< as it stands in the list
  std::uint64_t line = 0;  ///< its number, from 1; of a record, its first line's
};

/// How to read.
struct RuleListOptions {
  RuleListFormat format = RuleListFormat::automatic;
  /// csv: the column's name in the heading, or its number from 1; empty: a column named as such columns are ("url",
  /// "domain", …), or else the first that has a host or URL in the first row. A list of another format has no columns;
  /// one that has this column is taken for CSV.
  std::string column = {};
  /// Everything in the list is an exception, also what would be a rule elsewhere.
  bool is_allow_list = false;
};

/// A record of CSV over several lines is at most this long.
inline constexpr std::size_t kCsvRecordBytesMax = std::size_t{1} << 20;

/// Lines enough for `create`, blank ones and comments not counted; more are not looked at.
inline constexpr std::size_t kRuleListFirstLines = 256;

/// Reads one list. Threads: one at a time.
class RuleListReader {
 public:
  /// Shape:   first are the list's first lines, without their ends, which are read again by `read`; the more, the surer
  ///          is the format. Fewer than kRuleListFirstLines of those that say something if the list has no more.
  /// Errors:  invalid_argument for a column that the list has not.
  [[nodiscard]] static Result<RuleListReader> create(const RuleListOptions& options,
                                                     std::span<const std::string_view> first);
  /// Whether a line helps to tell the format: it is neither blank nor a comment.
  [[nodiscard]] static bool says_something(std::string_view line) noexcept;

  RuleListReader(RuleListReader&&) noexcept;
  RuleListReader& operator=(RuleListReader&&) noexcept;
  ~RuleListReader();

  /// Takes the next line, without its end. Pre: next() returned none. The line must stay until it does again.
  void add(std::string_view line);
  /// Says that there are no more lines: a record that is open is given up.
  void finish();
  /// Returns what a line says, or a record; none: a line is needed. Most lines are one, a line of a record is none
  /// until its last, and one that shows a quote to be wrong may be many.
  /// Cost: two or three passes over the line; allocates only for records over several lines and quotes in quotes.
  /// Errors: none; total on any bytes.
  [[nodiscard]] std::optional<RuleLine> next();

  /// Counts one rule of that line as refused: the guard said that it is none.
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
