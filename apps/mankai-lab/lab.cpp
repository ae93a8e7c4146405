#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "apps/mankai-lab/subcommands.hpp"
#include "apps/mankai/command_line.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/subcommands.hpp"
#include "lab/parts.hpp"
#include "lab/report.hpp"
#include "lab/text.hpp"

namespace mankai::command {
namespace {

struct LabRequest {
  std::vector<std::string> names;
  bool list = false;
  std::string claim;
  lab::Context context;
  std::uint64_t seeds = 1;
  std::string out = "mankai-lab";
};

std::string list_of_names(const std::vector<lab::Source>& sources) {
  std::string names;
  for (const lab::Source& source : sources) {
    names += (names.empty() ? "" : ", ") + source.name;
  }
  return names;
}

// Returns the named sources in the order of the report; all by default.
Result<std::vector<lab::Source>> chosen_sources(const std::vector<std::string>& names) {
  std::vector<lab::Source> sources = lab::all_sources();
  for (const std::string& name : names) {
    if (std::ranges::none_of(sources, [&name](const lab::Source& source) { return source.name == name; })) {
      return fail(ErrorCode::invalid_argument, "unknown source '" + name + "'; give one of: " + list_of_names(sources));
    }
  }
  if (!names.empty()) {
    std::erase_if(sources,
                  [&names](const lab::Source& source) { return std::ranges::find(names, source.name) == names.end(); });
  }
  return sources;
}

std::string list_of_claims(const std::vector<lab::Source>& sources) {
  std::string text;
  for (const lab::Source& source : sources) {
    for (const lab::Part& part : source.parts) {
      for (const std::string& id : source.words->ids(part.title)) {
        text += source.name + "/" + id + "\t" + part.title + "\n";
      }
    }
  }
  return text;
}

std::string list(const std::vector<lab::Source>& sources) {
  std::string text;
  for (const lab::Source& source : sources) {
    text += source.name + "\t" + source.title + "\n";
  }
  return text;
}

// Shows the steps of a source's measurement.
lab::Context with_progress(lab::Context context, const std::string& source) {
  context.progress = [source](std::string_view what) { show_step(source + ": " + std::string(what)); };
  return context;
}

Result<std::vector<lab::Outcome>> measure(const std::vector<lab::Source>& sources, const LabRequest& request) {
  std::vector<lab::Outcome> outcomes;
  for (const lab::Source& source : sources) {
    const lab::Context context = with_progress(request.context, source.name);
    auto outcome = lab::run(source, context, request.seeds);
    if (outcome && request.seeds == 1) {
      if (const auto confirmed = lab::confirm(*outcome, context); !confirmed) {
        outcome = std::unexpected(confirmed.error());
      }
    }
    show_step("");
    MANKAI_TRY(outcome);
    outcomes.push_back(std::move(*outcome));
  }
  return outcomes;
}

int exit_code(const std::vector<lab::Outcome>& outcomes) {
  return static_cast<int>(lab::concerns_of(outcomes).are_none() ? ExitCode::fine : ExitCode::negative);
}

Result<void> check_seeds(const LabRequest& request) {
  if (request.seeds - 1 > std::numeric_limits<std::uint64_t>::max() - request.context.seed) {
    return fail(ErrorCode::invalid_argument, "--seeds: seeds end at 2^64 - 1; give a lower --seed");
  }
  return {};
}

// Returns ", did you mean …?" with the ids and patterns that are near.
std::string near_ids(const std::string& id, const std::vector<lab::Source>& sources) {
  constexpr int kMost = 5;
  std::string near;
  int count = 0;
  for (const lab::Source& source : sources) {
    for (const lab::Part& part : source.parts) {
      for (const std::string& pattern : source.words->ids(part.title)) {
        // Of a pattern, the text before its first placeholder is compared.
        const std::size_t end = pattern.find('{');
        if (!nearest(id.substr(0, end), {pattern.substr(0, end)}).empty() && count++ < kMost) {
          near += (near.empty() ? ", did you mean " : ", ") + source.name + "/" + pattern;
        }
      }
    }
  }
  return near.empty() ? near : near + "?";
}

Result<int> run(const LabRequest& request) {
  MANKAI_ASSIGN(const auto sources, chosen_sources(request.names));
  if (request.list) {
    return write_output(request.names.empty() ? list(sources) : list_of_claims(sources));
  }
  MANKAI_TRY(check_seeds(request));
  MANKAI_TRY(lab::prepare_folder(request.out));
  MANKAI_ASSIGN(const auto outcomes, measure(sources, request));
  MANKAI_TRY(lab::write_report(request.out, outcomes, request.context));
  MANKAI_TRY(write_output(lab::summary(outcomes) + "report: " + request.out + "/index.html\n"));
  return exit_code(outcomes);
}

// SOURCE/ID, or an id that only one source may measure.
Result<int> run_claim(const LabRequest& request) {
  MANKAI_TRY(check_seeds(request));
  const std::size_t slash = request.claim.find('/');
  const std::string id = request.claim.substr(slash == std::string::npos ? 0 : slash + 1);
  MANKAI_ASSIGN(const auto sources,
                chosen_sources(slash == std::string::npos ? std::vector<std::string>()
                                                          : std::vector{request.claim.substr(0, slash)}));
  std::vector<lab::Outcome> outcomes;
  for (const lab::Source& source : sources) {
    auto outcome = lab::run_claim(source, id, with_progress(request.context, source.name), request.seeds);
    show_step("");
    if (outcome) {
      outcomes.push_back(std::move(*outcome));
    } else if (outcome.error().code != ErrorCode::not_found) {
      return std::unexpected(outcome.error());
    }
  }
  if (outcomes.size() != 1) {
    return fail(ErrorCode::invalid_argument,
                outcomes.empty()
                    ? "this run measures no claim '" + request.claim + "'" + near_ids(id, sources) +
                          "; some need --data or a run without --quick, and `mankai lab --list NAME` lists all"
                    : "several sources have a claim '" + id + "'; give SOURCE/ID");
  }
  MANKAI_TRY(write_output(lab::details(outcomes.front(), request.context)));
  return exit_code(outcomes);
}

Result<std::string> parse_folder(std::string_view text) {
  if (access(std::string(text).c_str(), R_OK | X_OK) != 0) {
    return fail(ErrorCode::invalid_argument, "'" + std::string(text) + "' is not a readable folder");
  }
  return std::string(text);
}

Result<std::uint64_t> parse_seed_count(std::string_view text) {
  MANKAI_ASSIGN(const auto count, parse_seed_number(text));
  return count > 0 ? Result<std::uint64_t>(count) : fail(ErrorCode::invalid_argument, "at least one seed is needed");
}

Options measuring_options(LabRequest& request) {
  return {
      flag("--quick", "Run fewer trials, and only the claims for which these suffice; takes less than a minute.",
           request.context.quick),
      parsed_option("--data", "DIR",
                    "Folder of real data, with logs, traces and urls (docs/lab.md has the files) [default: none; "
                    "claims that need it are skipped].",
                    parse_folder, request.context.data_dir),
      parsed_option("--seed", "S", "Seed of all draws [default: 1].", parse_seed_number, request.context.seed),
      parsed_option("--seeds", "N",
                    "Repeat with N seeds from S on: verdicts that differ between them are shown, and fail the run in "
                    "more than one seed of ten [default: 1].",
                    parse_seed_count, request.seeds)};
}

}  // namespace

Subcommand lab_subcommand() {
  auto request = std::make_shared<LabRequest>();
  Subcommand command{
      .name = "lab",
      .summary = std::string(kLabSummary),
      .description =
          "Measures what published sources claim about filters, and writes a report: index.html with a verdict and an "
          "error bar for each claim (plots if gnuplot is installed), claims.json for programs, and a CSV file per "
          "figure.\n\nExit code 1 means that a verdict is not the expected one; the report shows which.",
      .examples = {{"mankai lab --list", "lists the sources"},
                   {"mankai lab --list basket-gate", "lists the ids of its claims"},
                   {"mankai lab --quick", "takes less than a minute, with larger errors"},
                   {"mankai lab basket-gate --out report", "writes report/index.html for one source"}},
  };
  command.options = {
      positionals("NAME", "Sources to measure [default: all].", ValueKind::text, request->names),
      flag("--list",
           "Print names and titles, or the ids of the claims of each NAME, and measure nothing; {} stands for "
           "a value.",
           request->list),
      text_option("--out", "DIR", "Folder for the report, new or existing [default: mankai-lab].", ValueKind::file,
                  request->out)};
  std::ranges::move(measuring_options(*request), std::back_inserter(command.options));
  command.run = [request] { return run(*request); };
  return command;
}

Subcommand claim_subcommand() {
  auto request = std::make_shared<LabRequest>();
  Subcommand command{
      .name = "claim",
      .summary = std::string(kClaimSummary),
      .description =
          "Measures one claim of mankai-lab(1) again: runs only the part of its source that measures it, and prints "
          "its "
          "text, definition, expected and measured values, tolerance, verdict and seed. The claims are those of "
          "`mankai "
          "lab`, whose report has this command for each.\n\nExit code 1 means that the verdict is not the expected "
          "one.",
      .examples = {{"mankai claim basket-gate/queries-avoided", "measures this claim of one source"},
                   {"mankai claim queries-avoided --quick --seeds 10", "ten times, each with another seed"}},
  };
  command.options = {
      required(positional("ID", "SOURCE/ID, or an id that only one source has.", ValueKind::text, request->claim))};
  std::ranges::move(measuring_options(*request), std::back_inserter(command.options));
  command.run = [request] { return run_claim(*request); };
  return command;
}

}  // namespace mankai::command
