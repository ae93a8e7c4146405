// Subcommands that change a guard's file: add, remove, allow, disallow, compact.

#include <fmt/format.h>
#include <unistd.h>

#include "apps/mankai/input.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/filter/spec.hpp"
#include "mankai/guard/guard_file.hpp"
#include "mankai/guard/rule_list.hpp"

namespace mankai::command {
namespace {

struct GuardChangeRequest {
  std::string file;
  std::vector<std::string> rules;
  InputRequest input;
  std::optional<std::uint64_t> id;
  bool quiet = false;
};

using Rules = std::vector<std::string_view>;

using Change = std::function<Result<GuardFile::Outcomes>(GuardFile&, const Rules&, Output&)>;

/// Reads a list of URLs. Errors name the line.
class RuleLines {
 public:
  Result<void> take(std::span<const std::string_view> lines, const Input& input) {
    std::uint64_t number = input.first_line_number();
    for (const std::string_view line : lines) {
      if (auto taken = take_line(line); !taken) {
        return std::unexpected(taken.error().within(fmt::format("{}: line {}", input.label(), number)));
      }
      ++number;
    }
    return {};
  }
  [[nodiscard]] std::vector<std::string> release() { return std::move(rules_); }

 private:
  Result<void> take_line(std::string_view line) {
    reader_.add(line);
    const auto read = reader_.next();  // one per line of a list of URLs
    if (read->skipped) {
      return fail(ErrorCode::invalid_argument, shown_rule(line) + ": " + std::string(describe(*read->skipped)));
    }
    for (const std::string_view rule : read->rules) {
      MANKAI_TRY(GuardRule::parse(rule, url_));
      rules_.emplace_back(rule);
    }
    return {};
  }

  RuleListReader reader_ =
      RuleListReader::create({.format = RuleListFormat::urls, .column = {}, .is_allow_list = false}, {}).value();
  url::CanonicalUrl url_;
  std::vector<std::string> rules_;
};

// Reads all rules first: the file is written once, and a stop signal leaves it unchanged.
Result<std::vector<std::string>> read_rules(const GuardChangeRequest& request) {
  if (!request.rules.empty()) {
    return request.rules;
  }
  MANKAI_ASSIGN(auto input, Input::open(request.input));
  RuleLines rules;
  for (;;) {
    MANKAI_ASSIGN(const auto batch, input.next_batch());
    if (batch.empty()) {
      return rules.release();
    }
    MANKAI_TRY(rules.take(batch, input));
  }
}

void summarize(const GuardChangeRequest& request, const GuardFile::Outcomes& outcomes) {
  if (!request.quiet && isatty(STDERR_FILENO) == 1) {
    say(fmt::format("{}: {} changed, {} unchanged", request.file, human_count(outcomes.changed),
                    human_count(outcomes.unchanged)));
  }
}

Result<int> run(const GuardChangeRequest& request, const Change& change) {
  MANKAI_TRY(check_keys(request.rules, request.input));
  catch_stop_signals();
  // Reports an invalid file before rules are read. Locks it only after they were read.
  MANKAI_TRY(GuardFile::open(request.file));
  const auto texts = read_rules(request);
  if (!texts) {
    return fail_after(texts.error(), request.file + " is unchanged");
  }
  if (stop_signal() != 0) {
    return exit_code_after_stop(0);
  }
  MANKAI_ASSIGN(auto file, GuardFile::open(request.file, GuardFile::Mode::write));
  Output output;
  MANKAI_ASSIGN(const auto outcomes, change(file, Rules(texts->begin(), texts->end()), output));
  MANKAI_TRY(output.finish());
  summarize(request, outcomes);
  return 0;
}

constexpr std::string_view kWholeFile =
    "\n\nEvery run rewrites the file and replaces it, so give many rules at once. When the command returns, the change "
    "is on disk; after an error nothing was changed. One process at a time can change a file; checks continue "
    "meanwhile.";

// Completes a subcommand: `command` describes only its change.
Subcommand changing(Subcommand command, const std::shared_ptr<GuardChangeRequest>& request, Change change) {
  command.description.append(kWholeFile);
  command.options = {positional("FILE", "File of the guard.", ValueKind::file, request->file),
                     key_options(request->rules, request->input, "RULE",
                                 "Rules, each a host or a URL [default: one per line from --input or standard input; "
                                 "blank lines and comments are skipped]."),
                     command.options};
  command.run = [request, change = std::move(change)] { return run(*request, change); };
  return command;
}

Result<std::uint64_t> parse_id(std::string_view text) {
  const auto id = parse_count(text);
  return id ? id : fail(ErrorCode::invalid_argument, "'" + std::string(text) + "' is not a whole number below 2^64");
}

Option id_option(std::string help, GuardChangeRequest& request) {
  return parsed_option("--id", "N", std::move(help), parse_id, request.id);
}

void print_refused(const GuardChangeRequest& request, std::string_view word, std::string_view rule, Output& output) {
  if (!request.quiet) {
    output.append(word);
    output.append_line(rule);
  }
}

std::string_view word_for(RemoveOutcome outcome) {
  return outcome == RemoveOutcome::not_found ? "not-found\t" : "still-held\t";
}

}  // namespace

Subcommand guard_add_subcommand() {
  auto request = std::make_shared<GuardChangeRequest>();
  return changing(
      {.name = "guard add",
       .summary = "add rules",
       .description = "Adds rules to a guard, each under an id. A rule stays in force until it has been removed under "
                      "every id that added it. Adding it twice under one id has no effect, so programs that number "
                      "their additions can revoke each separately. Rules of lists have id 0.\n\nA rule is a host or a "
                      "URL, read as in a list of URLs: *.evil.example is evil.example. A rule that would cover more or "
                      "less than its text says is an error with its line number: a fragment, other wildcards, a "
                      "network, and syntax of other kinds of lists, which mankai guard build reads.",
       .examples = {{"mankai guard add blocked.mkg worse.example evil.example/foo", "adds two rules"},
                    {"mankai guard add blocked.mkg < new.txt", "adds one rule per line"},
                    {"mankai guard add blocked.mkg --id 1042 evil.example", "adds a rule under an id"}},
       .options = {id_option("Id that holds the rules [default: 0].", *request)}},
      request, [request](GuardFile& file, const Rules& rules, Output& /*output*/) {
        return file.add(rules, request->id.value_or(0));
      });
}

Subcommand guard_remove_subcommand() {
  auto request = std::make_shared<GuardChangeRequest>();
  return changing(
      {.name = "guard remove",
       .summary = "remove rules",
       .description =
           "Removes rules for every id, or with --id for that id only. Rules above and below them stay. A rule that "
           "was absent is printed after not-found, one that other ids still hold after still-held. A guard built with "
           "--no-rules may report an absent rule as removed, at its false-positive rate; that does no harm.",
       .examples = {{"mankai guard remove blocked.mkg good.example", "removes a rule"},
                    {"mankai guard remove blocked.mkg --id 1042 evil.example", "removes what this id added"}},
       .options = {id_option("Remove for this id only.", *request), flag("--quiet", "Print nothing.", request->quiet)}},
      request, [request](GuardFile& file, const Rules& rules, Output& output) {
        return file.remove(rules, request->id, [&](std::string_view rule, RemoveOutcome outcome) {
          if (outcome != RemoveOutcome::removed) {
            print_refused(*request, word_for(outcome), rule, output);
          }
        });
      });
}

Subcommand guard_allow_subcommand() {
  auto request = std::make_shared<GuardChangeRequest>();
  return changing(
      {.name = "guard allow",
       .summary = "add exceptions",
       .description = "Adds exceptions, which have the form of rules and take precedence: what they cover is not "
                      "blocked. They are stored exactly.",
       .examples = {{"mankai guard allow blocked.mkg good.evil.example", "allows a host below a blocked one"}}},
      request, [](GuardFile& file, const Rules& rules, Output& /*output*/) { return file.allow(rules); });
}

Subcommand guard_disallow_subcommand() {
  auto request = std::make_shared<GuardChangeRequest>();
  return changing(
      {.name = "guard disallow",
       .summary = "remove exceptions",
       .description = "Removes exceptions, also those from lists. One that was absent is printed after not-found.",
       .examples = {{"mankai guard disallow blocked.mkg good.evil.example", "blocked again"}},
       .options = {flag("--quiet", "Print nothing.", request->quiet)}},
      request, [request](GuardFile& file, const Rules& rules, Output& output) {
        return file.disallow(rules, [&](std::string_view rule, bool was_there) {
          if (!was_there) {
            print_refused(*request, word_for(RemoveOutcome::not_found), rule, output);
          }
        });
      });
}

Subcommand guard_compact_subcommand() {
  auto file = std::make_shared<std::string>();
  return {.name = "guard compact",
          .summary = "merge changes into the filter",
          .description =
              "Builds a new filter from the rules in force: added rules then take a few bits each instead of about a "
              "hundred bytes of memory, and removed rules nothing. Answers do not change. A file built with --no-rules "
              "cannot be compacted; build it again from its lists.",
          .examples = {{"mankai guard compact blocked.mkg", "after many changes"}},
          .options = {positional("FILE", "File of the guard.", ValueKind::file, *file)},
          .run = [file]() -> Result<int> {
            MANKAI_ASSIGN(auto opened, GuardFile::open(*file, GuardFile::Mode::write));
            MANKAI_TRY(opened.compact());
            return 0;
          }};
}

}  // namespace mankai::command
