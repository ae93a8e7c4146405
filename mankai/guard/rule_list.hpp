#pragma once

/// Reads block lists as rules for a guard: hosts files, lists of domains and of URLs, CSV, and those rules of Adblock's
/// syntax that mean a host with or without a path. The kind is detected per line, so a list may mix all of them except
/// CSV, which is a property of the whole list.
///
/// A line that is not such a rule is skipped and counted by its reason. `RuleListCounts` also counts the rules that a
/// guard reads slightly wider or narrower than their list. In all lists, a rule's host covers the hosts below it and
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
  automatic,  ///< csv, adblock or lines, as the first lines look
  lines,      ///< detected per line: "0.0.0.0 ads.example", "ads.example", "ads.example/x", "||ads.example^"
  adblock,    ///< as lines, but '$' begins options on every line, and other text is a pattern
  csv,        ///< one column has a domain or URL; fields separated by ',', ';' or tabs
  urls,       ///< one host or URL per line, and nothing else
};
inline constexpr std::array kRuleListFormats = {RuleListFormat::automatic, RuleListFormat::lines,
                                                RuleListFormat::adblock, RuleListFormat::csv, RuleListFormat::urls};

/// Returns the format's name in options, such as "adblock".
[[nodiscard]] std::string_view name(RuleListFormat format) noexcept;
/// Errors: not_found, with the valid names.
[[nodiscard]] Result<RuleListFormat> rule_list_format(std::string_view text);

/// Why a line, or a name in it, gave no rule.
enum class RuleSkip : std::uint8_t {
  local_name,       ///< hosts: "localhost" and similar
  other_address,    ///< hosts: the address is not a sinkhole such as 0.0.0.0
  not_a_host,       ///< bytes that are invalid in a name, or more than one word
  no_host,          ///< only a path, or a scheme without a host
  fragment,         ///< a URL with "#…", which servers do not receive: without it the rule would cover more
  missing_column,   ///< csv: the row is too short, or its field is empty
  bad_quotes,       ///< csv: a quote that is not closed, or text after the closing one
  long_record,      ///< csv: a quote that is not closed within kCsvRecordBytesMax
  element_hiding,   ///< adblock: hides or changes parts of a page
  request_options,  ///< adblock: "$third-party", "$script", "$domain=…": applies to some requests only
  options,          ///< adblock: other options, which change the meaning: "$document", "$badfilter"
  regex,            ///< adblock: "/…/"
  wildcard,         ///< a '*' that matches something
  unanchored,       ///< adblock: matches anywhere in a URL
  open_end,         ///< adblock: also matches longer names: "||ads.example/ad" matches "/advice"
  other_pattern,    ///< adblock: '^' or '|' in another place
  network,          ///< more than one address: "192.0.2.0/24"
  too_wide,         ///< an exception that would allow more than the list says: "@@||ads.example:8080^"
  single_label,     ///< a word that is not a top-level domain: "Forbidden"
  refused,          ///< refused by the guard
};
inline constexpr std::size_t kRuleSkips = 20;

/// Returns a phrase, such as "hides elements of a page".
[[nodiscard]] std::string_view describe(RuleSkip reason) noexcept;

/// Whether no guard can express it: names of the machine itself, hiding of elements, and filters for some requests.
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
  /// Cover more than their list says: "*.ads.example" also the host itself, the URL of a page everything below it.
  std::uint64_t widened = 0;
  /// Cover less: Adblock ignores case in paths without $match-case, and its '^' also matches ';' or '&'.
  std::uint64_t narrowed = 0;

  [[nodiscard]] std::uint64_t skipped_for(RuleSkip reason) const noexcept {
    return skipped[static_cast<std::size_t>(reason)];
  }
  [[nodiscard]] std::uint64_t all_skipped() const noexcept;
  /// Skipped and not out of scope: the guard does not block what the list wants blocked.
  [[nodiscard]] std::uint64_t skipped_rules() const noexcept;
  /// Fraction of the rules that are not out of scope; 0 if there are none.
  [[nodiscard]] double skipped_share() const noexcept;
};

/// The rules of one line or CSV record.
struct RuleLine {
  /// Texts for GuardBuilder, valid until the next call. Only hosts files give several per line.
  std::span<const std::string_view> rules;
  bool is_exception = false;
  /// The last reason why a part of the line gave no rule.
  std::optional<RuleSkip> skipped;
  std::string_view option;
  std::string_view text;   ///< as in the list
  std::uint64_t line = 0;  ///< number of its first line, from 1
};

/// Settings of a RuleListReader.
struct RuleListOptions {
  RuleListFormat format = RuleListFormat::automatic;
  /// csv: name of the column in the heading, or its number from 1. [default: a usual name ("url", "domain", …), else
  /// the first column with a host or URL in the first row] A list that has this column is detected as CSV.
  std::string column = {};
  bool is_allow_list = false;
};

/// Maximum size of a CSV record of several lines.
inline constexpr std::size_t kCsvRecordBytesMax = std::size_t{1} << 20;

/// Number of lines that `create` reads, not counting blank lines and comments.
inline constexpr std::size_t kRuleListFirstLines = 256;

/// Reads one list. Threads: one at a time.
class RuleListReader {
 public:
  /// Detects the format. `first` are the list's first lines, without line ends, which `add` needs as well:
  /// kRuleListFirstLines for which says_something, or the whole list. Errors: invalid_argument for JSON and for a
  /// missing column.
  [[nodiscard]] static Result<RuleListReader> create(const RuleListOptions& options,
                                                     std::span<const std::string_view> first);
  /// Whether a line is neither blank nor a comment.
  [[nodiscard]] static bool says_something(std::string_view line) noexcept;

  RuleListReader(RuleListReader&&) noexcept;
  RuleListReader& operator=(RuleListReader&&) noexcept;
  ~RuleListReader();

  /// Adds a line without its end, which must stay valid until next() returns nothing. Pre: next() returned nothing.
  void add(std::string_view line);
  /// Ends the list; an open record is given up.
  void finish();
  /// Returns the rules of the next line or record; nothing if another line is needed. One `add` may give several. Cost:
  /// two or three passes over the line; allocates only for records of several lines and quotes in quotes.
  [[nodiscard]] std::optional<RuleLine> next();

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
  std::optional<std::string_view> line_;  ///< the added line
  char divider_ = ',';
  std::size_t column_ = 0;
  std::optional<std::uint64_t> heading_;         ///< csv: number of its line, from 1
  std::unique_ptr<detail::CsvRecords> records_;  ///< csv
  RuleListCounts counts_;
  std::vector<std::string_view> rules_;  ///< of the line
  std::string unquoted_;
  url::CanonicalUrl url_;
};

}  // namespace mankai
