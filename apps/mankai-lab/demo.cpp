#include <fmt/format.h>

#include <array>
#include <fstream>
#include <span>
#include <utility>

#include "apps/mankai-lab/demo/page.hpp"
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
constexpr std::uint64_t kEvents = 10'000'000;

struct DemoRequest {
  std::uint64_t events = kEvents;
  std::uint64_t seed = 1;
  std::string out = "demo-out";
  bool force = false;
  bool json = false;
};

struct Step {
  const demo::Question& question;
  demo::Measured demo::Facts::* measured;
};
constexpr std::array kSteps = {Step{demo::kSeen, &demo::Facts::seen},
                               Step{demo::kSeenRecently, &demo::Facts::seen_recently},
                               Step{demo::kHot, &demo::Facts::hot}, Step{demo::kGuard, &demo::Facts::guard},
                               Step{demo::kGate, &demo::Facts::gate}};
constexpr std::array kExhibits = {demo::show_seen, demo::show_hot, demo::show_guard, demo::show_gate};

// Does not overwrite a page of another program. Errors: invalid_argument.
Result<void> check_old_page(const std::string& path) {
  constexpr std::size_t kHeadBytes = 512;
  std::array<char, kHeadBytes> head{};
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return {};  // a missing file is fine; other errors are reported by the write
  }
  file.read(head.data(), head.size());
  if (std::string_view(head.data(), static_cast<std::size_t>(file.gcount())).contains(demo::kPageMark)) {
    return {};
  }
  return fail(ErrorCode::invalid_argument,
              path + ": was not written by the demo; replace it with --force, or write elsewhere with --out");
}

Result<demo::Tour> make_tour(const TrafficOptions& options) {
  demo::Day day{.options = options};
  for (int& file : day.files) {
    MANKAI_ASSIGN(file, demo::new_file());
  }
  show_step(fmt::format("1 of {}: a day of traffic …", kSteps.size() + 2));
  demo::Tour tour{.asked_events = options.events, .seed = options.seed};
  MANKAI_ASSIGN(tour.events, demo::generate(day));
  demo::Facts facts;
  for (std::size_t i = 0; i < kSteps.size(); ++i) {
    show_step(fmt::format("{} of {}: {}, and the same exactly …", i + 2, kSteps.size() + 2, kSteps[i].question.name));
    MANKAI_ASSIGN(facts.*kSteps[i].measured, demo::measure(kSteps[i].question, day));
  }
  show_step(fmt::format("{0} of {0}: comparing the answers …", kSteps.size() + 2));
  for (const auto& show : kExhibits) {
    MANKAI_ASSIGN(auto exhibit, show(day, facts));
    tour.exhibits.push_back(std::move(exhibit));
  }
  return tour;
}

Report report_of(const demo::Answers& row) {
  Report report;
  report.add("question", row.name);
  report.add("asked", row.asked);
  report.add("answered_yes", row.yes);
  report.add("really_yes", row.really_yes);
  report.add("false_negatives", row.false_negatives);
  report.add("false_positives", row.false_positives);
  report.add("false_positive_rate", row.false_positive_rate());
  report.add("promised_rate", row.promised_rate);
  report.add("memory_bytes", row.bytes);
  report.add("exact_memory_bytes", row.exact_bytes);
  report.add("memory_ratio", row.memory_ratio());
  report.add("ns_per_question", row.ns());
  report.add("exact_ns_per_question", row.exact_ns());
  report.add("time_ratio", row.time_ratio());
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
         " events at a shop, a link shortener and a crawler. Every answer is compared with an exact structure's.\n\n" +
         demo::table(tour) +
         "\nrate: false positives per question that is really a no; promised: at most 1%. memory: the peak that the "
         "structure added\nto its process. ratio: how many times as much the exact structure needs.\n\npage: " +
         page +
         "\n\nTry next:\n"
         "  mankai gen traffic > day.tsv\n"
         "  mankai gen traffic --format combined | mankai hot\n"
         "  mankai --help\n";
}

Result<int> run(const DemoRequest& request) {
  // Reports all invalid arguments before anything is written.
  const TrafficOptions options = demo::day_options(request.events, request.seed);
  if (request.events < TrafficOptions::kEventsMin || request.events > TrafficOptions::kEventsMax) {
    return std::unexpected(TrafficGenerator::create(options).error());
  }
  const std::string path = request.out + "/" + std::string(kPageName);
  MANKAI_TRY(lab::prepare_folder(request.out));
  MANKAI_TRY(request.force ? Result<void>{} : check_old_page(path));
  const auto tour = make_tour(options);
  show_step("");
  MANKAI_TRY(tour);
  const std::string page = demo::page(*tour);
  MANKAI_TRY(write_file(path, std::as_bytes(std::span(page)), Existing::replace));
  return write_output(request.json ? json(*tour, path) : text(*tour, path));
}

}  // namespace

Subcommand demo_subcommand() {
  auto request = std::make_shared<DemoRequest>();
  Subcommand command{
      .name = "demo",
      .summary = std::string(kDemoSummary),
      .description =
          "Generates a day of a shop, a link shortener and a crawler, asks the four questions about it, and compares "
          "answers, errors, peak memory and time with exact structures, each in a process of its own: as a table, and "
          "as a page with plots in one file. The same seed gives the same day and the same answers.\n\nSeen: has the "
          "crawler found this URL before, in any spelling? And within a window? Hot: which products are viewed most? "
          "Guard: is this link in the block list? Gate: does this shopper have a basket?",
      .examples = {{"mankai demo", "takes less than a minute, and writes demo-out/index.html"},
                   {"mankai demo --events 1M --seed 7 --out /tmp/tour --json",
                    "another day in a few seconds, as JSON"}},
  };
  command.options = {
      parsed_option("--events", "N", "Approximate number of events, at least 1000 [default: 10M].", parse_count,
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
