#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apps/mankai/guard_list.hpp"
#include "apps/mankai/guard_report.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/sources.hpp"
#include "apps/mankai/store_options.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/filter/spec.hpp"
#include "mankai/guard/guard_file.hpp"
#include "mankai/guard/rule_list.hpp"

namespace mankai::command {
namespace {

struct GuardBuildRequest {
  std::string file;
  std::vector<std::string> lists;
  std::vector<std::string> allow_lists;
  RuleListOptions format;
  GuardSettings settings;
  bool no_rules = false;
  FileMode mode;
  bool force = false;
  bool allow_empty = false;
  std::optional<double> allow_skipped;
  bool explain_skipped = false;
  bool quiet = false;
  bool json = false;
};

Report list_report(const ListOutcome& list, bool explains) {
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
  report.add("skipped_rules", list.counts.skipped_rules());
  report.add_list("skips", skip_reports(list.counts, explains ? &list.skipped : nullptr));
  return report;
}

std::string text_on(const ListOutcome& list, bool explains) {
  std::string text = fmt::format("{}: {}: {}, {}, {}, {}\n", printable(list.path), name(list.format),
                                 counted(list.counts.lines, "line"), counted(list.counts.rules, "rule"),
                                 counted(list.counts.exceptions, "exception"), counted(list.repeated, "duplicate"));
  text += skip_text(list.counts, explains ? &list.skipped : nullptr);
  if (list.counts.widened != 0) {
    text += fmt::format("  {} a little more than the list says\n", counted(list.counts.widened, "covers", "cover"));
  }
  if (list.counts.narrowed != 0) {
    text += fmt::format("  {} a little less than the list says\n", counted(list.counts.narrowed, "covers", "cover"));
  }
  return text;
}

std::unexpected<Error> refuse(const ListOutcome& list, std::string_view problem, std::string_view remedy) {
  return fail(ErrorCode::corrupt, fmt::format("{}: {}; {}", label_of(list.path), problem, remedy));
}

class Building {
 public:
  Building(const GuardBuildRequest& request, GuardBuilder builder) : request_(request), builder_(std::move(builder)) {}

  Result<int> run() {
    auto checked = read_lists();
    if (stop_signal() != 0) {
      return exit_code_after_stop(0);
    }
    if (checked) {
      checked = check_lists();
      if (!checked && request_.explain_skipped) {
        MANKAI_TRY(print({}));
      }
    }
    if (!checked) {
      return fail_after(checked.error(), "nothing was written");
    }
    MANKAI_ASSIGN(const auto guard, builder_.build());
    const Existing existing = request_.force ? Existing::replace : Existing::refuse;
    MANKAI_TRY(GuardFile::write(request_.file, guard, existing, system_calls(), request_.mode));
    MANKAI_TRY(print(report_on(guard.facts(), request_.file)));
    return 0;
  }

 private:
  Result<void> read_lists() {
    for (const bool is_allow_list : {false, true}) {
      for (const std::string& path : is_allow_list ? request_.allow_lists : request_.lists) {
        MANKAI_TRY(read_list(path, is_allow_list));
        if (stop_signal() != 0) {
          return {};
        }
      }
    }
    return {};
  }

  Result<void> read_list(const std::string& path, bool is_allow_list) {
    RuleListOptions options = request_.format;
    options.is_allow_list = is_allow_list;
    // --format applies to block lists only.
    options.format = is_allow_list ? RuleListFormat::automatic : options.format;
    MANKAI_ASSIGN(auto outcome, read_rule_list(path, options, &builder_));
    outcomes_.push_back(std::move(outcome));
    return {};
  }

  [[nodiscard]] Result<void> check_lists() const {
    const auto is_csv = [](const ListOutcome& list) { return list.format == RuleListFormat::csv; };
    if (!request_.format.column.empty() && std::ranges::none_of(outcomes_, is_csv)) {
      return fail(ErrorCode::invalid_argument,
                  "none of the lists has a column '" + request_.format.column + "'; --format csv says that they do");
    }
    for (const ListOutcome& list : outcomes_) {
      MANKAI_TRY(check_list(list));
    }
    return {};
  }

  [[nodiscard]] Result<void> check_list(const ListOutcome& list) const {
    if (list.counts.rules + list.counts.exceptions == 0) {
      return request_.allow_empty ? Result<void>()
                                  : refuse(list, no_rules_text(list),
                                           "set the format with --format, see the lines with --explain-skipped, or "
                                           "accept the list with --allow-empty");
    }
    if (!request_.allow_skipped && list.counts.skipped_for(RuleSkip::long_record) != 0) {
      return refuse(list, long_record_text(list),
                    "see the lines with --explain-skipped and correct them, or read what follows them as separate "
                    "lines with --allow-skipped");
    }
    const double allowed = request_.allow_skipped.value_or(kSkippedShare);
    return list.counts.skipped_share() <= allowed
               ? Result<void>()
               : refuse(list, skipped_share_text(list, allowed),
                        "see them with --explain-skipped, or build without them with --allow-skipped");
  }

  [[nodiscard]] std::vector<Report> list_reports() const {
    std::vector<Report> lists;
    for (const ListOutcome& list : outcomes_) {
      lists.push_back(list_report(list, request_.explain_skipped));
    }
    return lists;
  }

  // `guard`: facts about the new guard, if one was made.
  [[nodiscard]] Result<void> print(const std::optional<Report>& guard) const {
    Output output;
    Report report = guard.value_or(Report());
    if (request_.json) {
      report.add_list("lists", list_reports());
      output.append(report.json());
    } else if (!request_.quiet || request_.explain_skipped) {
      for (const ListOutcome& list : outcomes_) {
        output.append(text_on(list, request_.explain_skipped));
      }
      output.append(request_.quiet || !guard ? std::string() : report.text());
    }
    return output.finish();
  }

  const GuardBuildRequest& request_;
  GuardBuilder builder_;
  std::vector<ListOutcome> outcomes_;
};

// Checks before lists are read that the file can be written. Errors: invalid_argument; io.
Result<void> check_target(const GuardBuildRequest& request) {
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
        return fail(ErrorCode::invalid_argument,
                    request.file + ": is also one of the lists; give the guard's file first");
      }
    }
  }
  return GuardFile::check_replaceable(request.file);
}

Result<double> parse_skipped_share(std::string_view text) {
  if (text == "0" || text == "0%") {
    return 0.0;
  }
  if (text == "1" || text == "100%") {
    return 1.0;
  }
  const auto rate = parse_rate(text);
  return rate ? rate
              : fail(ErrorCode::invalid_argument,
                     "invalid share '" + std::string(text) + "'; give a number from 0 to 1, such as 0.5 or 50%");
}

Result<int> run(const GuardBuildRequest& request) {
  MANKAI_TRY(check_target(request));
  catch_stop_signals();
  MANKAI_ASSIGN(auto builder, GuardBuilder::create(request.settings));
  return Building(request, std::move(builder)).run();
}

constexpr std::array<std::string_view, 4> kHashNames = {"nh-siphash", "aes4-prf", "siphash", "xxh3"};

}  // namespace

Subcommand guard_build_subcommand() {
  auto request = std::make_shared<GuardBuildRequest>();
  Option format = parsed_option("--format", "FORMAT",
                                "Format of the lists. lines: each line separately. adblock: the same, and '$' begins "
                                "options on every line. csv: a table. urls: one host or URL per line. [default: lines, "
                                "adblock or csv, detected from the first lines; always so for --allow]",
                                rule_list_format, request->format.format);
  format.kind = ValueKind::choice;
  for (const RuleListFormat known : kRuleListFormats) {
    format.choices.emplace_back(name(known));
  }
  Option allow_skipped = parsed_option(
      "--allow-skipped", "SHARE",
      "Largest share of a list's rules that may be skipped, such as 0.5 or 50%; without SHARE, any [default: 10%].",
      parse_skipped_share, request->allow_skipped);
  allow_skipped.value_if_bare = "100%";
  return {
      .name = "guard build",
      .summary = "compile block lists into a guard",
      .description =
          "Compiles block lists into one file: hosts files, lists of domains or of URLs, CSV, and those Adblock "
          "filters that name a domain, with or without a path, and apply to every request. The syntax is detected for "
          "each line, so a list may mix all of these except CSV, which is recognized from the first lines.\n\nSkipped "
          "lines are counted and printed with the reason; --explain-skipped shows examples. If more than 10% of the "
          "rules of a list are skipped, or a list contains no rules, the run ends with exit code 3 and writes no file. "
          "Three kinds of lines do not count as rules here, since no guard can hold them: names of the local machine, "
          "filters that hide elements of a page, and filters that apply to some requests only ($script, $third-party, "
          "$domain=...).\n\nThe filter takes 10 to 17 bits per rule. It never misses a rule, and blocks at most --fpr "
          "of the URLs that no rule covers; that bound is for URLs with the most lookups, and most have far fewer. "
          "With --exact it blocks none of them: each match is confirmed with the digests of the rules, 16 bytes each, "
          "on disk.\n\nThe hash has a random secret key, so authors of lists or URLs cannot construct a wrong answer.",
      .examples = {{"mankai guard build blocked.mkg hosts.txt easylist.txt", "compiles two lists"},
                   {"mankai guard build blocked.mkg urlhaus.csv --column url --allow own.txt", "with exceptions"},
                   {"mankai guard build --exact --force blocked.mkg lists/*.txt",
                    "rebuilds the file, without false positives"}},
      .options =
          {positional("FILE", "File to create.", ValueKind::file, request->file),
           required(positionals("LIST", "Block lists, plain or compressed; - is standard input.", ValueKind::file,
                                request->lists)),
           list_option("--allow", "LIST", "List of exceptions, in any format. Repeatable.", ValueKind::file,
                       request->allow_lists),
           std::move(format),
           text_option("--column", "NAME",
                       "CSV column with the rules, by its name in the heading or its number from 1 [default: found by "
                       "its name or first value]. Has no effect on lists in other formats.",
                       ValueKind::text, request->format.column),
           parsed_option(
               "--fpr", "RATE",
               "False-positive rate: share of URLs that are blocked although no rule covers them [default: 0.01].",
               parse_rate, request->settings.fpr),
           flag("--exact", "Confirm each match with the rules' digests: no false positives.",
                request->settings.is_exact),
           flag("--no-rules", "Leave out the rules' digests, 16 bytes each; the file cannot be compacted then.",
                request->no_rules),
           choice_option(
               parsed_option(
                   "--hash", "HASH",
                   "Hash function: nh-siphash, aes4-prf or siphash, keyed, so that URLs that collide with rules cannot "
                   "be chosen without the file; xxh3, for trusted lists and URLs only [default: nh-siphash].",
                   parse_hash, request->settings.hash),
               kHashNames),
           parsed_option("--seed", "SEED",
                         "Seed of the hash: a 64-bit number, or 32 hexadecimal digits for keyed hashes "
                         "[default: drawn at random].",
                         parse_seed, request->settings.seed),
           flag("--force", "Replace FILE if it is a guard.", request->force), mode_option(request->mode),
           flag("--allow-empty", "Accept lists without rules.", request->allow_empty), std::move(allow_skipped),
           flag("--explain-skipped",
                "Print examples of the skipped lines for each reason, with their numbers, and the options of filters "
                "that were the reason; also when the run fails, and with --quiet.",
                request->explain_skipped),
           flag("--quiet", "Print nothing.", request->quiet),
           flag("--json", "Print the counts as JSON.", request->json)},
      .run = [request] {
        request->settings.keeps_rules = !request->no_rules;
        return run(*request);
      }};
}

}  // namespace mankai::command
