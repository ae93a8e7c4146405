#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <span>
#include <utility>

#include "apps/mankai-lab/demo/page.hpp"
#include "apps/mankai-lab/step_line.hpp"
#include "apps/mankai-lab/subcommands.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/subcommands.hpp"
#include "lab/report.hpp"
#include "mankai/file/file.hpp"
#include "mankai/filter/spec.hpp"

namespace mankai::command {
namespace {

constexpr std::string_view kPageName = "index.html";
// A list as large as the traffic deserves.
constexpr std::uint64_t kEventsARule = 10;
constexpr std::uint64_t kRulesMin = 1'000;
constexpr std::uint64_t kRulesMax = 10'000'000;

struct Request {
  std::optional<std::uint64_t> events;
  std::optional<std::uint64_t> seed;
  std::string out = "demo-out";
  bool force = false;
  bool json = false;
};

struct Step {
  std::string_view name;
  Result<demo::Exhibit> (*ask)(const demo::Day&, std::uint64_t seed);
};
constexpr std::array kSteps = {Step{"seen", demo::ask_seen}, Step{"hot", demo::ask_hot}, Step{"guard", demo::ask_guard},
                               Step{"gate", demo::ask_gate}};

// Somebody else's page stays. Errors: invalid_argument, which says the way out.
Result<void> check_old_page(const std::string& path) {
  constexpr std::size_t kHeadBytes = 512;
  std::array<char, kHeadBytes> head{};
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return {};  // there is none, or writing it will say what is wrong
  }
  file.read(head.data(), head.size());
  if (std::string_view(head.data(), static_cast<std::size_t>(file.gcount())).contains(demo::kPageMark)) {
    return {};
  }
  return fail(ErrorCode::invalid_argument,
              path + ": was not written by the demo; replace it with --force, or write elsewhere with --out");
}

Result<demo::Tour> make_tour(TrafficGenerator generator, const TrafficOptions& options) {
  show_step("a day of traffic …");
  const demo::Day day = demo::make_day(std::move(generator), options);
  demo::Tour tour{.asked_events = options.events, .events = day.event_count(), .seed = options.seed, .exhibits = {}};
  for (const Step& step : kSteps) {
    show_step(std::string(step.name) + " …");
    auto exhibit = step.ask(day, options.seed);
    if (!exhibit) {
      show_step("");
      return std::unexpected(exhibit.error());
    }
    tour.exhibits.push_back(std::move(*exhibit));
  }
  show_step("");
  return tour;
}

Report report_of(const demo::Answers& row) {
  Report report;
  report.add("question", row.name);
  report.add("asked", row.asked);
  report.add("answered_yes", row.yes);
  report.add("truth_yes", row.truth);
  report.add("missed", row.missed);
  report.add("wrong_yes", row.wrong_yes);
  report.add("wrong_share", row.wrong_share());
  report.add("promised_share", row.promised_share);
  report.add("bytes", row.bytes);
  report.add("exact_bytes", row.exact_bytes);
  report.add("questions_per_second", row.per_second());
  report.add("exact_questions_per_second", row.exact_per_second());
  return report;
}

std::string json(const demo::Tour& tour, const std::string& page) {
  Report report;
  report.add("events", tour.events);
  report.add("seed", tour.seed);
  report.add("page", page);
  std::vector<Report> rows;
  for (const demo::Exhibit& exhibit : tour.exhibits) {
    for (const demo::Answers& row : exhibit.rows) {
      rows.push_back(report_of(row));
    }
  }
  report.add_list("questions", std::move(rows));
  return report.json();
}

std::string text(const demo::Tour& tour, const std::string& page) {
  return "A day of " + human_count(tour.events) +
         " events at a shop, a link shortener and a crawler: every answer beside the exact truth.\n\n" +
         demo::table(tour) + "\npage: " + page +
         "\n\nTry next:\n"
         "  mankai gen traffic > day.tsv\n"
         "  mankai gen traffic --format combined | mankai hot\n"
         "  mankai --help\n";
}

Result<int> run(const Request& request) {
  // What can be refused is refused before anything is made.
  TrafficOptions options;
  options.events = request.events.value_or(options.events);
  options.seed = request.seed.value_or(options.seed);
  options.rules = std::clamp(options.events / kEventsARule, kRulesMin, kRulesMax);
  MANKAI_ASSIGN(auto generator, TrafficGenerator::create(options));
  const std::string path = request.out + "/" + std::string(kPageName);
  MANKAI_TRY(lab::prepare_folder(request.out));
  MANKAI_TRY(request.force ? Result<void>{} : check_old_page(path));
  MANKAI_ASSIGN(const auto tour, make_tour(std::move(generator), options));
  const std::string page = demo::page(tour);
  MANKAI_TRY(write_file(path, std::as_bytes(std::span(page)), Existing::replace));
  Output output;
  output.append(request.json ? json(tour, path) : text(tour, path));
  MANKAI_TRY(output.finish());
  return 0;
}

Result<std::uint64_t> parse_seed_number(std::string_view text) {
  const auto seed = parse_seed(text);
  if (!seed || (*seed)[1] != 0) {
    return fail(ErrorCode::invalid_argument, "'" + std::string(text) + "' is not a 64-bit number");
  }
  return (*seed)[0];
}

}  // namespace

Subcommand demo_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "demo",
      .summary = std::string(kDemoSummary),
      .description =
          "Generates a day of a shop, a link shortener and a crawler, asks the four questions about it, and compares "
          "answers, errors, memory and speed with exact structures: as a table, and as a page with plots in one file. "
          "The same seed gives the same day and the same answers.\n\nSeen: has the crawler met this URL, in any "
          "spelling? And within a window? Hot: which products are viewed most? Guard: is this link in the block list? "
          "Gate: does this shopper have a basket?",
      .examples = {{"mankai demo", "takes a few seconds, and writes demo-out/index.html"},
                   {"mankai demo --events 5M --seed 7 --out /tmp/tour --json", "a busier day, as JSON"}},
  };
  command.options = {
      parsed_option("--events", "N", "Approximate number of events, at least 1000 [default: 1M].", parse_count,
                    request->events),
      parsed_option("--seed", "S", "Seed of the generator [default: 1].", parse_seed_number, request->seed),
      text_option("--out", "DIR", "Folder for the page, new or existing [default: demo-out].", ValueKind::file,
                  request->out),
      flag("--force", "Replace DIR/index.html even if another program wrote it.", request->force),
      flag("--json", "Print a JSON object instead of the table.", request->json)};
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command
