#include <fmt/format.h>

#include <algorithm>

#include "apps/mankai/escape.hpp"
#include "apps/mankai/format.hpp"
#include "apps/mankai/guard_report.hpp"
#include "apps/mankai/guard_subcommands.hpp"
#include "apps/mankai/input.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/store_options.hpp"
#include "mankai/catalog/spec.hpp"
#include "mankai/guard/rule_list.hpp"
#include "mankai/service/guard_file.hpp"

namespace mankai::command {
namespace {

struct Request {
  std::string file;
  std::vector<std::string> lists;
  std::vector<std::string> allow_lists;
  RuleListOptions format;
  GuardSettings settings;
  bool no_rules = false;
  FileMode mode;
  bool force = false;
  bool allow_empty = false;
  bool quiet = false;
  bool json = false;
};

/// What became of a list.
struct ListOutcome {
  std::string path;
  RuleListFormat format{};
  RuleListCounts counts;
  std::uint64_t repeated = 0;  ///< rules that were there already
};

// A list whose first lines are longer or more than this, comments included, is told by them alone.
constexpr std::size_t kFirstLinesMax = std::size_t{1} << 16;
constexpr std::size_t kFirstBytesMax = std::size_t{16} << 20;

/// The lines of one list as rules. It waits for the first lines, by which the format is known.
class ListTaker {
 public:
  ListTaker(RuleListOptions options, GuardBuilder& builder) : options_(std::move(options)), builder_(builder) {}

  /// Errors: invalid_argument for a column that is not there; corrupt for a rule that the hash cannot tell from
  /// another.
  Result<void> take(std::span<const std::string_view> lines) {
    if (reader_) {
      return take_lines(lines);
    }
    for (const std::string_view line : lines) {
      first_.emplace_back(line);
      first_bytes_ += line.size();
      saying_ += RuleListReader::says_something(line) ? 1 : 0;
    }
    const bool is_enough =
        saying_ >= kRuleListFirstLines || first_.size() >= kFirstLinesMax || first_bytes_ >= kFirstBytesMax;
    return is_enough ? begin() : Result<void>();
  }
  /// Takes what is left of a list that is short.
  Result<void> finish() { return reader_ ? Result<void>() : begin(); }

  void note(ListOutcome& outcome) const {
    outcome.format = reader_->format();
    outcome.counts = reader_->counts();
    outcome.repeated = repeated_;
  }

 private:
  Result<void> begin() {
    const std::vector<std::string_view> lines(first_.begin(), first_.end());
    auto reader = RuleListReader::create(options_, lines);
    if (!reader) {
      return std::unexpected(reader.error());
    }
    reader_ = std::move(*reader);
    auto taken = take_lines(lines);
    first_.clear();
    return taken;
  }
  Result<void> take_lines(std::span<const std::string_view> lines) {
    for (const std::string_view line : lines) {
      const RuleLine read = reader_->read(line);
      for (const std::string_view rule : read.rules) {
        if (auto taken = take_rule(read, rule); !taken) {
          return taken;
        }
      }
    }
    return {};
  }
  // What is no rule is counted. A rule that the guard cannot hold would be missed, so it is an error.
  Result<void> take_rule(const RuleLine& read, std::string_view rule) {
    const auto added = read.is_exception ? builder_.add_allow(rule) : builder_.add_block(rule);
    if (!added && added.error().code != ErrorCode::invalid_argument) {
      return std::unexpected(added.error().within(shown_rule(rule)));
    }
    if (!added) {
      reader_->refuse(read);
    } else if (!*added) {
      ++repeated_;
    }
    return {};
  }

  RuleListOptions options_;
  GuardBuilder& builder_;
  std::vector<std::string> first_;
  std::size_t first_bytes_ = 0;
  std::size_t saying_ = 0;  ///< of the first lines
  std::optional<RuleListReader> reader_;
  std::uint64_t repeated_ = 0;
};

Report report_on(const ListOutcome& list) {
  Report report;
  report.add("list", list.path);
  report.add("format", std::string(name(list.format)));
  report.add("lines", list.counts.lines);
  report.add("rules", list.counts.rules);
  report.add("exceptions", list.counts.exceptions);
  report.add("repeated", list.repeated);
  report.add("widened", list.counts.widened);
  report.add("narrowed", list.counts.narrowed);
  report.add("skipped", list.counts.all_skipped());
  std::vector<Report> skips;
  for (std::size_t i = 0; i < kRuleSkips; ++i) {
    const auto reason = static_cast<RuleSkip>(i);
    if (const std::uint64_t count = list.counts.skipped_for(reason); count != 0) {
      skips.emplace_back().add("reason", std::string(describe(reason)));
      skips.back().add("count", count);
    }
  }
  report.add_list("skips", std::move(skips));
  return report;
}

std::string text_on(const ListOutcome& list) {
  std::string text =
      fmt::format("{}: {}: {} lines, {} rules, {} exceptions, {} of them there already\n", printable(list.path),
                  name(list.format), human_count(list.counts.lines), human_count(list.counts.rules),
                  human_count(list.counts.exceptions), human_count(list.repeated));
  for (std::size_t i = 0; i < kRuleSkips; ++i) {
    const auto reason = static_cast<RuleSkip>(i);
    if (const std::uint64_t count = list.counts.skipped_for(reason); count != 0) {
      text += fmt::format("  skipped {}: {}\n", human_count(count), describe(reason));
    }
  }
  if (list.counts.widened != 0) {
    text += fmt::format("  {} cover a little more than the list says\n", human_count(list.counts.widened));
  }
  if (list.counts.narrowed != 0) {
    text += fmt::format("  {} cover a little less than the list says\n", human_count(list.counts.narrowed));
  }
  return text;
}

std::string name_of(const std::string& path) { return path == "-" ? "standard input" : path; }

// A list of which nothing is taken is mostly an empty download, a page that says why there is none, or a format that
// was guessed wrong.
std::unexpected<Error> no_rules(const ListOutcome& list) {
  std::size_t most = 0;
  for (std::size_t i = 1; i < kRuleSkips; ++i) {
    most = list.counts.skipped[i] > list.counts.skipped[most] ? i : most;
  }
  const std::string why = list.counts.skipped[most] == 0
                              ? "none says anything"
                              : fmt::format("{} skipped: {}", human_count(list.counts.skipped[most]),
                                            describe(static_cast<RuleSkip>(most)));
  return fail(
      ErrorCode::corrupt,
      fmt::format("{}: gives no rule: of its {} lines, read as {}, {}; nothing was written; --format says what it "
                  "is, --allow-empty takes it all the same",
                  name_of(list.path), human_count(list.counts.lines), name(list.format), why));
}

/// Reads lists into a builder, and says what became of them.
class Building {
 public:
  Building(const Request& request, GuardBuilder builder) : request_(request), builder_(std::move(builder)) {}

  Result<int> run() {
    for (const bool is_allow_list : {false, true}) {
      for (const std::string& path : is_allow_list ? request_.allow_lists : request_.lists) {
        if (auto read = read_list(path, is_allow_list); !read) {
          return std::unexpected(read.error());
        }
        if (stop_signal() != 0) {
          return exit_code_after_stop(0);
        }
      }
    }
    if (auto checked = check_lists(); !checked) {
      return std::unexpected(checked.error());
    }
    const auto guard = builder_.build();
    if (!guard) {
      return std::unexpected(guard.error());
    }
    const Existing existing = request_.force ? Existing::replace : Existing::refuse;
    if (auto written = GuardFile::write(request_.file, *guard, existing, system_calls(), request_.mode); !written) {
      return std::unexpected(written.error());
    }
    return tell(*guard);
  }

 private:
  Result<void> read_list(const std::string& path, bool is_allow_list) {
    RuleListOptions options = request_.format;
    options.is_allow_list = is_allow_list;
    // The format that is given is that of the lists.
    options.format = is_allow_list ? RuleListFormat::automatic : options.format;
    ListTaker taker(std::move(options), builder_);
    Result<void> taken;
    const InputRequest input{.paths = {path}, .max_line_bytes = {}};
    const auto read = for_each_batch({}, input, [&](std::span<const std::string_view> lines) {
      taken = taker.take(lines);
      return taken.has_value() && stop_signal() == 0;
    });
    if (!read) {
      return read;
    }
    if (taken) {
      taken = taker.finish();
    }
    if (!taken) {
      return std::unexpected(taken.error().within(name_of(path)));
    }
    taker.note(outcomes_.emplace_back(ListOutcome{.path = path, .counts = {}}));
    return {};
  }

  // Errors: invalid_argument; corrupt.
  [[nodiscard]] Result<void> check_lists() const {
    const auto is_csv = [](const ListOutcome& list) { return list.format == RuleListFormat::csv; };
    if (!request_.format.column.empty() && std::ranges::none_of(outcomes_, is_csv)) {
      return fail(ErrorCode::invalid_argument,
                  "none of the lists has a column '" + request_.format.column + "'; --format csv says that they do");
    }
    for (const ListOutcome& list : outcomes_) {
      if (!request_.allow_empty && list.counts.rules + list.counts.exceptions == 0) {
        return no_rules(list);
      }
    }
    return {};
  }

  [[nodiscard]] Result<int> tell(const Guard& guard) const {
    Output output;
    Report report = command::report_on(guard.facts(), request_.file);
    if (request_.json) {
      std::vector<Report> lists;
      for (const ListOutcome& list : outcomes_) {
        lists.push_back(report_on(list));
      }
      report.add_list("lists", std::move(lists));
      output.append(report.json());
    } else if (!request_.quiet) {
      for (const ListOutcome& list : outcomes_) {
        output.append(text_on(list));
      }
      output.append(report.text());
    }
    auto finished = output.finish();
    return finished ? Result<int>(0) : std::unexpected(finished.error());
  }

  const Request& request_;
  GuardBuilder builder_;
  std::vector<ListOutcome> outcomes_;
};

// Before hours are spent on reading: what is in the way of the file to be made. Errors: invalid_argument; io.
Result<void> check_target(const Request& request) {
  const auto target = identify(request.file);
  if (!target) {
    return target.error().code == ErrorCode::not_found ? Result<void>() : std::unexpected(target.error());
  }
  if (!request.force) {
    return fail(ErrorCode::invalid_argument, request.file + ": exists already; replace it with --force");
  }
  for (const auto* const lists : {&request.lists, &request.allow_lists}) {
    for (const std::string& path : *lists) {
      const auto list = path == "-" ? std::unexpected(Error{}) : identify(path);
      if (list && *list == *target) {
        return fail(ErrorCode::invalid_argument, request.file + ": is one of the lists; the guard's file comes first");
      }
    }
  }
  return GuardFile::check_replaceable(request.file);
}

Result<int> run(const Request& request) {
  if (auto checked = check_target(request); !checked) {
    return std::unexpected(checked.error());
  }
  catch_stop_signals();
  auto builder = GuardBuilder::create(request.settings);
  return builder ? Building(request, std::move(*builder)).run() : std::unexpected(builder.error());
}

}  // namespace

Subcommand guard_build_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "guard build",
      .summary = "make a guard of block lists",
      .description =
          "Makes one file of block lists: hosts files, lists of domains or of URLs, CSV, and of Adblock's syntax what "
          "names a domain, with or without a path, and is always in force. The format of each list is seen from its "
          "first lines. What is skipped is counted and printed with its reason. A list that gives no rule at all ends "
          "the run with the exit code 3, and the file stays as it was.\n\n"
          "The filter takes 10 to 17 bits a rule. It never misses a rule, and blocks at most --fpr of the URLs that no "
          "rule covers: of the URLs that take the most looks, so of others far less. With --exact it blocks none of "
          "them: what is blocked is confirmed by the digests of the rules, which are on disk, 16 bytes each.\n\n"
          "The hash has a secret key that is drawn at random, so that nobody who writes lists or URLs can aim at a "
          "wrong answer.",
      .examples = {{"mankai guard build blocked.mkg hosts.txt easylist.txt", "of two lists"},
                   {"mankai guard build blocked.mkg urlhaus.csv --column url --allow own.txt", "with exceptions"},
                   {"mankai guard build --exact --force blocked.mkg lists/*.txt", "anew, with no false verdict"}},
  };
  command.options = {positional("FILE", "The file to make.", ValueKind::file, request->file)};
  Option lists =
      positionals("LIST", "Lists, plain or compressed, - for standard input.", ValueKind::file, request->lists);
  lists.is_required = true;
  Option allow = positionals("--allow", "A list of exceptions, in any format. May be given more than once.",
                             ValueKind::file, request->allow_lists);
  allow.value = "LIST";
  Option format =
      parsed_option("--format", "FORMAT",
                    "What the lists are. automatic unless given: each as its first lines look, as --allow lists always "
                    "are.",
                    rule_list_format, request->format.format);
  format.kind = ValueKind::choice;
  for (const RuleListFormat known : kRuleListFormats) {
    format.choices.emplace_back(name(known));
  }
  Option hash = parsed_option("--hash", "HASH",
                              "The hash. siphash unless given: xxh3 is faster, and for lists and URLs "
                              "that nobody aims.",
                              parse_hash, request->settings.hash);
  hash.kind = ValueKind::choice;
  hash.choices = {"siphash", "xxh3"};
  command.options.insert(
      command.options.end(),
      {std::move(lists), std::move(allow), std::move(format),
       text_option("--column", "NAME",
                   "CSV: the column with the rules, by its name in the heading or its number from 1. Found by its name "
                   "or its first value unless given. Lists that are no CSV are read as they are.",
                   ValueKind::text, request->format.column),
       parsed_option("--fpr", "RATE",
                     "The share of URLs that may be blocked though no rule covers them, such as 0.001. 0.01 unless "
                     "given.",
                     parse_rate, request->settings.fpr),
       flag("--exact", "Blocks nothing wrongly.", request->settings.is_exact),
       flag("--no-rules", "Does not keep the rules' digests, 16 bytes each: the file cannot be compacted then.",
            request->no_rules),
       std::move(hash),
       parsed_option("--seed", "SEED", "The hash's seed, or key. Random unless given.", parse_seed,
                     request->settings.seed),
       flag("--force", "Replaces FILE if it is a guard.", request->force), mode_option(request->mode),
       flag("--allow-empty", "Takes lists that give no rule.", request->allow_empty),
       flag("--quiet", "Prints nothing.", request->quiet),
       flag("--json", "Prints the counts as JSON.", request->json)});
  command.run = [request] {
    request->settings.keeps_rules = !request->no_rules;
    return run(*request);
  };
  return command;
}

}  // namespace mankai::command
