#include <unistd.h>

#include <algorithm>

#include "apps/mankai-lab/subcommands.hpp"
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
  bool quick = false;
  std::optional<std::string> data_dir;
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

std::string list(const std::vector<lab::Source>& sources) {
  std::string text;
  for (const lab::Source& source : sources) {
    text += source.name + "\t" + source.title + "\n";
  }
  return text;
}

Result<std::vector<lab::Outcome>> measure(const std::vector<lab::Source>& sources, lab::Context context) {
  std::vector<lab::Outcome> outcomes;
  for (const lab::Source& source : sources) {
    context.progress = [&source](std::string_view what) { show_step(source.name + ": " + std::string(what)); };
    auto outcome = lab::run(source, context);
    show_step("");
    MANKAI_TRY(outcome);
    outcomes.push_back(std::move(*outcome));
  }
  return outcomes;
}

Result<int> run(const LabRequest& request) {
  MANKAI_ASSIGN(const auto sources, chosen_sources(request.names));
  if (request.list) {
    return write_output(list(sources));
  }
  MANKAI_TRY(lab::prepare_folder(request.out));
  lab::Context context;
  context.quick = request.quick;
  context.data_dir = request.data_dir;
  MANKAI_ASSIGN(const auto outcomes, measure(sources, context));
  MANKAI_TRY(lab::write_report(request.out, outcomes, context));
  MANKAI_TRY(write_output(lab::summary(outcomes) + "report: " + request.out + "/index.html\n"));
  const bool is_as_recorded = lab::unexpected_count(outcomes) == 0;
  return static_cast<int>(is_as_recorded ? ExitCode::fine : ExitCode::negative);
}

Result<std::string> parse_folder(std::string_view text) {
  if (access(std::string(text).c_str(), R_OK | X_OK) != 0) {
    return fail(ErrorCode::invalid_argument, "'" + std::string(text) + "' is not a readable folder");
  }
  return std::string(text);
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
                   {"mankai lab --quick", "takes seconds, with larger errors"},
                   {"mankai lab basket-gate --out report", "writes report/index.html for one source"}},
  };
  command.options = {positionals("NAME", "Sources to measure [default: all].", ValueKind::text, request->names),
                     flag("--list", "Print names and titles, and measure nothing.", request->list),
                     flag("--quick", "Run fewer trials: the same claims in under a minute.", request->quick),
                     parsed_option("--data", "DIR",
                                   "Folder of real data, with blocklists, logs, traces and urls [default: none; claims "
                                   "that need it are skipped].",
                                   parse_folder, request->data_dir),
                     text_option("--out", "DIR", "Folder for the report, new or existing [default: mankai-lab].",
                                 ValueKind::file, request->out)};
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command
