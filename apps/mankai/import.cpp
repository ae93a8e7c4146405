#include <fmt/format.h>

#include <array>
#include <optional>

#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/store_options.hpp"
#include "apps/mankai/store_run.hpp"
#include "apps/mankai/subcommand.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/file/open_file.hpp"
#include "mankai/store/dablooms_import.hpp"

namespace mankai::command {
namespace {

struct ImportRequest {
  std::string format;
  std::string file;
  std::string output;
  std::optional<std::uint64_t> capacity;
  std::optional<double> fpr;
  bool damaged = false;
  FileMode mode;
  bool force = false;
  bool json = false;
};

std::string text_of(const DabloomsFinding& finding) {
  return fmt::format("{} (offset {})", finding.what, finding.offset);
}

std::vector<Report> reports_on(const std::vector<DabloomsFinding>& findings) {
  std::vector<Report> reports;
  for (const DabloomsFinding& finding : findings) {
    Report& report = reports.emplace_back();
    report.add("offset", finding.offset);
    report.add("what", finding.what);
  }
  return reports;
}

std::vector<Report> reports_on(const std::vector<DabloomsFilter>& filters) {
  std::vector<Report> reports;
  for (const DabloomsFilter& filter : filters) {
    Report& report = reports.emplace_back();
    report.add("offset", filter.offset);
    report.add("first_id", filter.first_id);
    report.add("keys", filter.keys);
    report.add("fpr", filter.fpr);
    report.add("probes_per_key", std::uint64_t{filter.k});
    report.add("cells_per_probe", filter.cells_per_probe);
    report.add("least_sum", filter.least_sum);
    report.add("greatest_sum", filter.greatest_sum);
    report.add("full_counters", filter.full_counters);
  }
  return reports;
}

std::string sequence_text(const DabloomsImport& imported) {
  if (imported.memory_sequence == 0) {
    return "0, the last change is incomplete";
  }
  return fmt::format("{}, {}", human_count(imported.memory_sequence),
                     imported.disk_sequence == 0 ? "not flushed" : "flushed");
}

Report import_report(const ImportRequest& request, const DabloomsImport& imported) {
  const std::uint64_t keys = imported.filter.keys_inserted();
  Report report;
  report.add("file", request.file, "file", request.file);
  report.add("output", request.output, "output", request.output);
  report.add("form", std::string(name(imported.form)), "form", std::string(name(imported.form)));
  report.add("keys", keys, "keys", human_count(keys));
  if (imported.form == DabloomsForm::scaling) {
    report.add("max_id", imported.max_id, "greatest id", human_count(imported.max_id));
    report.add("mem_seqnum", imported.memory_sequence, "sequence number", sequence_text(imported));
    report.add("disk_seqnum", imported.disk_sequence);
    report.add("removals", imported.removals, "keys removed", human_count(imported.removals));
  }
  report.add("ok", imported.damage.empty(), "adds up", imported.damage.empty() ? "yes, all counters add up" : "no");
  report.add("filter_count", std::uint64_t{imported.filters.size()}, "filters", human_count(imported.filters.size()));
  report.add_list("filters", reports_on(imported.filters));
  report.add_list("warnings", reports_on(imported.warnings));
  report.add_list("damage", reports_on(imported.damage));
  return report;
}

Result<void> complete(ImportRequest& request) {
  if (request.format != "dablooms") {
    return fail(ErrorCode::invalid_argument, "unknown format '" + request.format + "'; give dablooms");
  }
  if (!request.capacity || !request.fpr) {
    return fail(ErrorCode::invalid_argument, std::string(request.capacity ? "--fpr" : "--capacity") +
                                                 " is missing; the file does not contain it: give the value that its "
                                                 "program passes to new_scaling_bloom or new_counting_bloom");
  }
  if (request.output.empty()) {
    request.output = request.file + ".mk";
  }
  return {};
}

std::unexpected<Error> refused(const ImportRequest& request, const std::vector<DabloomsFinding>& damage) {
  const std::string others = damage.size() == 1 ? "" : fmt::format(", and {} more", damage.size() - 1);
  return fail(ErrorCode::corrupt,
              fmt::format("{}: {}{}: the file is corrupt, or its program uses another capacity or rate; nothing was "
                          "written; correct --capacity and --fpr, or import what can be read with --damaged",
                          request.file, text_of(damage.front()), others));
}

// By whatever names and links.
Result<void> check_not_the_source(const ImportRequest& request) {
  const auto source = identify(request.file);
  const auto output = identify(request.output);
  if (source && output && *source == *output) {
    return fail(ErrorCode::invalid_argument,
                request.output + ": is the file to import; write another one with --output");
  }
  return {};
}

Result<DabloomsImport> read(const ImportRequest& request) {
  auto imported = import_dablooms_file(request.file,
                                       {.capacity_keys = *request.capacity, .fpr = *request.fpr, .take_damaged = true});
  if (imported && !imported->damage.empty() && !request.damaged) {
    return refused(request, imported->damage);
  }
  return imported;
}

void say_all(const ImportRequest& request, std::string_view what, const std::vector<DabloomsFinding>& findings) {
  for (const DabloomsFinding& finding : findings) {
    say(fmt::format("{}: {}: {}", what, request.file, text_of(finding)));
  }
}

Result<void> save(const ImportRequest& request, DabloomsImport& imported) {
  MANKAI_TRY(check_replaces_no_gate(request.output));
  auto saved = save_import(request.output, imported, request.force ? Existing::replace : Existing::refuse,
                           system_calls(), request.mode);
  if (!saved && saved.error().code == ErrorCode::invalid_argument && !request.force) {
    return fail(ErrorCode::invalid_argument, saved.error().detail + "; replace it with --force");
  }
  return saved;
}

Result<int> run(ImportRequest& request) {
  catch_stop_signals();
  MANKAI_TRY(complete(request));
  MANKAI_TRY(check_not_the_source(request));
  MANKAI_ASSIGN(auto imported, read(request));
  MANKAI_TRY(save(request, imported));
  // Not before: an error is one line.
  say_all(request, "warning", imported.warnings);
  say_all(request, "damage", imported.damage);
  const Report report = import_report(request, imported);
  MANKAI_TRY(write_output(request.json ? report.json() : report.text()));
  return exit_code_after_stop(0);
}

constexpr std::array<std::string_view, 1> kImportFormats = {"dablooms"};

}  // namespace

Subcommand import_subcommand() {
  auto request = std::make_shared<ImportRequest>();
  return {
      .name = "import",
      .summary = "convert a filter of another program",
      .description =
          "Converts a file of another program into a filter that answers every key as the original does. Keys can be "
          "added to it, and removed with the ids that they were added with. FILE is only read; stop the program that "
          "writes it first.\n\ndablooms: bitly's library, version 0.9.1. Its files contain neither capacity nor error "
          "rate, so give the values of its program as --capacity and --fpr; the size tells whether it is a scaling or "
          "a counting file. Import checks sizes, ids, sequence numbers, and that the counters of each probe add up to "
          "the number of keys. A file that fails a check is refused, or imported with --damaged.",
      .examples = {{"mankai import dablooms spam.bloom --capacity 100k --fpr 0.05", "writes spam.bloom.mk"},
                   {"mankai import dablooms spam.bloom --capacity 100k --fpr 0.05 -o spam.mk --json",
                    "with a JSON report"}},
      .options = {choice_option(positional("FORMAT", "Format of FILE: dablooms.", ValueKind::choice, request->format),
                                kImportFormats),
                  positional("FILE", "File of the other program.", ValueKind::file, request->file),
                  parsed_option("--capacity", "N", "Capacity that its program uses: number of keys per sub-filter.",
                                parse_count, request->capacity),
                  parsed_option("--fpr", "RATE", "False-positive rate (error rate) that its program uses.", parse_rate,
                                request->fpr),
                  with_letter('o', text_option("--output", "OUT", "File to write [default: FILE.mk].", ValueKind::file,
                                               request->output)),
                  flag("--damaged", "Import what can be read of a corrupt file; keys may be missing.",
                       request->damaged),
                  flag("--force", "Replace OUT if it exists.", request->force), mode_option(request->mode),
                  flag("--json", "Print the report as a JSON object.", request->json)},
      .run = [request] { return run(*request); }};
}

}  // namespace mankai::command
