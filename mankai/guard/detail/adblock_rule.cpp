#include "mankai/guard/detail/adblock_rule.hpp"

#include <algorithm>

#include "mankai/base/ascii.hpp"

namespace mankai::detail {
namespace {

struct Pattern {
  std::string_view text;
  bool is_below_host = false;  // "||": also on hosts below
  bool ends = false;           // "|" at the end
  bool ends_apart = false;     // "^" at the end
};

constexpr bool is_word_byte(char byte) noexcept {
  return is_letter(byte) || is_digit(byte) || byte == '_' || byte == '-';
}

RuleEntry skip_adblock(RuleSkip reason) noexcept { return {.skipped = reason}; }

// "~third-party", "domain=a.example|b.example".
bool is_option(std::string_view text) noexcept {
  text.remove_prefix(text.starts_with('~') ? 1 : 0);
  const std::string_view name = text.substr(0, text.find('='));
  return !name.empty() && std::ranges::all_of(name, is_word_byte);
}

bool are_options(std::string_view text) noexcept {
  while (true) {
    const std::size_t comma = text.find(',');
    if (!is_option(text.substr(0, comma))) {
      return false;
    }
    if (comma == std::string_view::npos) {
      return true;
    }
    text.remove_prefix(comma + 1);
  }
}

// Removes "$a,b=c" from the end and returns it without the dollar.
std::string_view take_options(std::string_view& filter) noexcept {
  const std::size_t dollar = filter.rfind('$');
  if (dollar == std::string_view::npos || !are_options(filter.substr(dollar + 1))) {
    return {};
  }
  const std::string_view options = filter.substr(dollar + 1);
  filter = filter.substr(0, dollar);
  return options;
}

bool is_among(std::string_view name, std::string_view names) noexcept {
  while (!names.empty()) {
    if (next_word(names) == name) {
      return true;
    }
  }
  return false;
}

// Options that do not change a rule: all types of requests, and case-sensitive.
constexpr std::string_view kKeptOptions = "all match-case";

// Options that restrict a filter to some sites or types of requests; not "document", because a guard checks pages.
constexpr std::string_view kRequestOptions =
    "1p 3p app beacon css denyallow domain first-party font frame from header image img inline-font "
    "inline-script ipaddress media method object object-subrequest other ping popunder popup script "
    "strict-first-party strict-third-party strict1p strict3p stylesheet subdocument third-party to webrtc "
    "websocket xhr xmlhttprequest";

// Skips a filter because of its options: the first one that is more than a condition on requests, else the first one.
std::optional<RuleEntry> check_options(std::string_view options) noexcept {
  std::optional<RuleEntry> skipped;
  while (!options.empty()) {
    const std::string_view option = options.substr(0, options.find(','));
    options.remove_prefix(std::min(option.size() + 1, options.size()));
    if (is_among(option, kKeptOptions)) {
      continue;
    }
    std::string_view name = option.substr(option.starts_with('~') ? 1 : 0);
    name = name.substr(0, name.find('='));
    if (!is_among(name, kRequestOptions)) {
      return RuleEntry{.skipped = RuleSkip::options, .option = name};
    }
    skipped = skipped.value_or(RuleEntry{.skipped = RuleSkip::request_options, .option = name});
  }
  return skipped;
}

// "||ads.example^" -> "ads.example", or the reason why it is not a rule.
std::optional<RuleSkip> take_anchors(std::string_view filter, Pattern& pattern) noexcept {
  pattern.is_below_host = filter.starts_with("||");
  filter.remove_prefix(pattern.is_below_host ? 2 : 1);
  // A star at the end has no effect.
  while (filter.ends_with('*')) {
    filter.remove_suffix(1);
  }
  if (filter.contains('*')) {
    return RuleSkip::wildcard;
  }
  pattern.ends = filter.ends_with('|');
  filter.remove_suffix(pattern.ends ? 1 : 0);
  pattern.ends_apart = filter.ends_with('^');
  filter.remove_suffix(pattern.ends_apart ? 1 : 0);
  if (filter.find_first_of("^|") != std::string_view::npos || filter.starts_with('.') ||
      pattern.is_below_host == filter.contains("://")) {
    return RuleSkip::other_pattern;
  }
  pattern.text = filter;
  return {};
}

// Without "^", a host alone may be the beginning of a longer one.
std::optional<RuleSkip> check_host_only(const Pattern& pattern) noexcept {
  if (pattern.ends) {
    return RuleSkip::other_pattern;
  }
  return pattern.ends_apart ? std::nullopt : std::optional(RuleSkip::open_end);
}

// A path is a rule if the pattern matches nothing longer without a '/'.
std::optional<RuleSkip> check_path(std::string_view path, const Pattern& pattern) noexcept {
  const bool is_folder = path.ends_with('/');
  if (path.starts_with('?') || (pattern.ends && (path == "/" || pattern.ends_apart)) ||
      (pattern.ends_apart && is_folder)) {
    return RuleSkip::other_pattern;
  }
  const bool is_whole = pattern.ends || (!path.contains('?') && (pattern.ends_apart || is_folder));
  return is_whole ? std::nullopt : std::optional(RuleSkip::open_end);
}

RuleEntry read_pattern(const Pattern& pattern, bool has_match_case) noexcept {
  const std::size_t scheme = pattern.text.find("://");
  const std::size_t begin = pattern.is_below_host ? 0 : scheme + 3;
  const std::size_t end = std::min(pattern.text.find_first_of("/?", begin), pattern.text.size());
  const std::string_view path = pattern.text.substr(end);
  if (const auto reason = path.empty() ? check_host_only(pattern) : check_path(path, pattern)) {
    return skip_adblock(*reason);
  }
  RuleEntry entry = read_url(pattern.text, Spaces::refused);
  const bool has_letters = std::ranges::any_of(path, is_letter);
  const bool is_one_page = pattern.ends && !path.contains('?');
  const std::string_view authority = pattern.text.substr(begin, end - begin);
  const bool has_port = authority.contains(':') && !authority.ends_with(']');
  entry.is_widened |= !pattern.is_below_host || is_one_page || has_port;
  entry.is_narrowed = (has_letters && !has_match_case) || (!path.empty() && pattern.ends_apart);
  return entry;
}

// Without anchors, a pattern matches anywhere in a URL. If it is a whole host or URL, it is read as just that.
RuleEntry read_unanchored(std::string_view filter) noexcept {
  filter = without_comment(filter);
  filter.remove_suffix(filter.ends_with('^') ? 1 : 0);
  const bool is_below_host = filter.starts_with('.') || filter.starts_with("*.");
  if (filter.find('*', is_below_host ? 1 : 0) != std::string_view::npos) {
    return skip_adblock(RuleSkip::wildcard);
  }
  RuleEntry entry = read_url(filter, Spaces::refused);
  if (entry.skipped == RuleSkip::network || entry.skipped == RuleSkip::fragment) {
    return entry;
  }
  if (entry.skipped || entry.may_be_single_label || filter.find_first_of("^|") != std::string_view::npos ||
      !looks_like_rule(entry.text)) {
    return skip_adblock(RuleSkip::unanchored);
  }
  const std::size_t scheme = entry.text.find("://");
  const bool has_scheme = scheme != std::string_view::npos;
  entry.is_widened = is_below_host || has_scheme || entry.may_have_port;
  entry.is_narrowed = entry.text.find_first_of("/?", has_scheme ? scheme + 3 : 0) != std::string_view::npos;
  return entry;
}

RuleEntry read_filter(std::string_view filter) noexcept {
  const std::string_view options = take_options(filter);
  if (filter.size() > 1 && filter.starts_with('/') && filter.ends_with('/')) {
    return skip_adblock(RuleSkip::regex);
  }
  if (const auto skipped = check_options(options)) {
    return *skipped;
  }
  if (!filter.starts_with('|')) {
    return read_unanchored(filter);
  }
  Pattern pattern;
  if (const auto reason = take_anchors(filter, pattern)) {
    return skip_adblock(*reason);
  }
  return read_pattern(pattern, options.contains("match-case"));
}

}  // namespace

AdblockFilter read_adblock(std::string_view line) noexcept {
  const bool is_exception = line.starts_with("@@");
  return {.is_exception = is_exception, .entry = read_filter(line.substr(is_exception ? 2 : 0))};
}

bool hides_elements(std::string_view line) noexcept {
  for (std::size_t at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1)) {
    const std::size_t next = line.find_first_not_of("@?$%", at + 1);
    if (next != std::string_view::npos && line[next] == '#') {
      const std::string_view where = line.substr(0, at);
      return std::ranges::none_of(where, is_blank) && !where.contains("://");
    }
  }
  return false;
}

bool is_surely_adblock(std::string_view line) noexcept {
  return line.starts_with("[Adblock") || line.starts_with("||") || line.starts_with("@@") ||
         line.starts_with("|http") || (!line.starts_with('#') && hides_elements(line));
}

}  // namespace mankai::detail
