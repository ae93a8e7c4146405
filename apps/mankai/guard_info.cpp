#include "apps/mankai/guard_report.hpp"

#include <fmt/format.h>

#include "apps/mankai/output.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/guard/guard_file.hpp"

namespace mankai::command {
namespace {

std::string rate_words(const GuardFacts& facts) {
  if (facts.is_exact) {
    return "no false positives";
  }
  if (facts.base_rules == 0) {
    return "no false positives: there is no filter yet";
  }
  return fmt::format("at most {} of URLs, and at most {} of those whose domain is not listed",
                     human_share(facts.fpr_worst), human_share(facts.fpr_absent));
}

struct GuardInfoRequest {
  std::string file;
  bool json = false;
  bool prometheus = false;
};

std::string text_of(const GuardInfoRequest& request, const GuardFacts& facts) {
  if (request.prometheus) {
    PrometheusText text;
    add_metrics(facts, text);
    return text.text();
  }
  const Report report = report_on(facts, request.file);
  return request.json ? report.json() : report.text();
}

Result<int> run(const GuardInfoRequest& request) {
  if (request.json && request.prometheus) {
    return fail(ErrorCode::invalid_argument, "--json and --prometheus cannot be combined");
  }
  MANKAI_ASSIGN(const auto file, GuardFile::open(request.file));
  return write_output(text_of(request, file.guard().facts()));
}

}  // namespace

Report report_on(const GuardFacts& facts, const std::string& file) {
  Report report;
  report.add("file", file, "file", file);
  report.add("base_rules", facts.base_rules, "rules", human_count(facts.base_rules) + " in the filter");
  report.add("removed_rules", facts.removed_rules, "removed", human_count(facts.removed_rules) + " of these");
  report.add("added_rules", facts.added_rules, "added", human_count(facts.added_rules) + " since the filter was built");
  report.add("exact_rules", facts.exact_rules, "exact",
             human_count(facts.exact_rules) + " stored beside the filter: of one label, or very deep");
  report.add("exceptions", facts.exceptions, "exceptions", human_count(facts.exceptions));
  report.add("fpr", facts.fpr, "requested fpr", human_share(facts.fpr));
  report.add("fpr_worst", facts.fpr_worst, "fpr", rate_words(facts));
  report.add("fpr_absent", facts.fpr_absent);
  report.add("exact", facts.is_exact);
  report.add("base_keys", facts.base_keys);
  report.add("value_bits", std::uint64_t{facts.value_bits});
  report.add("base_bytes", facts.base_bytes, "filter",
             fmt::format("{}, {:.2f} bits per rule", human_bytes(facts.base_bytes), facts.bits_per_rule));
  report.add("bits_per_rule", facts.bits_per_rule);
  report.add("keeps_rules", facts.keeps_rules);
  report.add("rules_bytes", facts.rules_bytes, "kept rules",
             facts.keeps_rules ? human_bytes(facts.rules_bytes) + " on disk" : "none: cannot be compacted");
  report.add("overlay_bytes", facts.overlay_bytes, "changes", human_bytes(facts.overlay_bytes) + " of memory");
  report.add("hash", std::string(name(facts.hash)), "hash",
             std::string(name(facts.hash)) + (is_keyed(facts.hash) ? ", keyed; the key is not shown" : ""));
  report.add("canonical_version", std::uint64_t{facts.canonical_version});
  return report;
}

void add_metrics(const GuardFacts& facts, PrometheusText& text) {
  text.begin("mankai_guard_rules", MetricType::gauge,
             "Rules: in the filter, removed from it, added since, and stored beside it.");
  text.sample(facts.base_rules, {{"part", "filter"}});
  text.sample(facts.removed_rules, {{"part", "removed"}});
  text.sample(facts.added_rules, {{"part", "added"}});
  text.sample(facts.exact_rules, {{"part", "exact"}});
  text.single("mankai_guard_exceptions", MetricType::gauge, "Exceptions, which take precedence over rules.",
              facts.exceptions);
  text.single("mankai_guard_promised_ratio", MetricType::gauge, "Requested false-positive rate.", facts.fpr);
  text.single("mankai_guard_worst_ratio", MetricType::gauge,
              "False-positive rate by formula, for the URLs with the most lookups.", facts.fpr_worst);
  text.begin("mankai_guard_bytes", MetricType::gauge, "The filter, the kept rules on disk, and the changes in memory.");
  text.sample(facts.base_bytes, {{"part", "filter"}});
  text.sample(facts.rules_bytes, {{"part", "rules"}});
  text.sample(facts.overlay_bytes, {{"part", "changes"}});
}

Subcommand guard_info_subcommand() {
  auto request = std::make_shared<GuardInfoRequest>();
  return {.name = "guard info",
          .summary = "describe a guard's file",
          .description =
              "Prints the number of rules and where they are stored, their size, and the false-positive rate: for the "
              "URLs with the most lookups, and for URLs whose domain is in no rule, by formula.",
          .examples = {{"mankai guard info blocked.mkg", "a table to read"},
                       {"mankai guard info --prometheus blocked.mkg > guard.prom", "for a textfile collector"}},
          .options = {positional("FILE", "File of the guard.", ValueKind::file, request->file),
                      flag("--json", "Print JSON.", request->json),
                      flag("--prometheus", "Print metrics in the Prometheus text format.", request->prometheus)},
          .run = [request] { return run(*request); }};
}

}  // namespace mankai::command
