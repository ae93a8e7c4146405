#include <fmt/format.h>

#include <optional>

#include "apps/mankai/file_kind.hpp"
#include "apps/mankai/gate_mirror.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "mankai/gate/database/row_source.hpp"
#include "mankai/gate/database/source_settings.hpp"
#include "mankai/gate/gate_counts_file.hpp"
#include "mankai/gate/gate_position.hpp"
#include "mankai/store/filter_file.hpp"

namespace mankai::command {
namespace {

struct GateStatusRequest {
  std::string file;
  MirrorRequest mirror;
  bool offline = false;
  bool json = false;
  bool prometheus = false;
};

struct Status {
  GateFacts facts;
  GateCounts counts;
  std::optional<RowPosition> position = {};
  std::string position_text = {};
  int writer = 0;
  std::optional<RowSourceSettings> settings = {};
  std::optional<SourceLag> lag = {};
  std::string trouble = {};  ///< why the lag is unknown
  std::string mirror = {};   ///< server and key; empty: none
  std::optional<RowPosition> mirrored = {};
  std::string mirror_trouble = {};
};

// Reports an unreachable source in `status`, not as an error.
void ask_source(const GateStatusRequest& request, const std::string& source_id, Status& status) {
  auto settings = read_source_settings(request.file);
  if (!settings) {
    status.trouble = settings.error().code == ErrorCode::not_found
                         ? "there is no " + source_settings_path(request.file) +
                               ": after `mankai gate drop` the gate still answers, as of its position, but gets no "
                               "more changes; `mankai gate build --force` builds it again"
                         : settings.error().message();
    return;
  }
  status.settings = std::move(*settings);
  auto source = open_row_source(*status.settings);
  if (!source) {
    status.trouble = source.error().message();
    return;
  }
  const RowPosition position = status.position.value_or(RowPosition{});
  status.position_text = (*source)->position_text(position.number);
  if (source_id != status.settings->installed) {
    status.trouble = "FILE and FILE-source are not from the same build; build the gate again";
  } else if (!request.offline) {
    const auto lag = (*source)->lag(position);
    status.lag = lag ? std::optional(*lag) : std::nullopt;
    status.trouble = lag ? "" : lag.error().message();
  }
}

// Reports an unreachable mirror in `status`. Errors: invalid_argument for an invalid address.
Result<void> ask_mirror(const GateStatusRequest& request, const std::string& source_id, Status& status) {
  MANKAI_ASSIGN(const auto settings, mirror_settings(request.mirror));
  if (!settings) {
    return {};
  }
  status.mirror = mirror_name(*settings);
  const auto found = RedisMirror(*settings).position();
  if (!found) {
    status.mirror_trouble = found.error().message();
  } else if (!*found) {
    status.mirror_trouble = "the key does not exist";
  } else if ((*found)->source_id != source_id) {
    status.mirror_trouble = "the key holds another gate, " + (*found)->source_id;
  } else {
    status.mirrored = RowPosition{(*found)->position, (*found)->mark};
  }
  return {};
}

Result<Status> status_of(const GateStatusRequest& request) {
  MANKAI_ASSIGN(const auto store, opened_filter(request.file, inspect_store(request.file)));
  const auto* const filter = store.filter.as<CountingBloom>();
  if (filter == nullptr) {
    return fail(ErrorCode::invalid_argument, request.file + ": is not a gate; a gate is a counting-bloom");
  }
  MANKAI_ASSIGN(const auto counts, read_gate_counts(request.file));
  Status status{.facts = gate_facts(*filter), .counts = counts, .writer = store.info.writer};
  std::string source_id;
  MANKAI_ASSIGN(const auto position, within(request.file, gate_position_of(store.info.recovery.position)));
  if (position) {
    status.position = {.number = position->position, .mark = position->mark};
    status.position_text = std::to_string(position->position);
    source_id = position->source_id;
  }
  ask_source(request, source_id, status);
  MANKAI_TRY(ask_mirror(request, source_id, status));
  return status;
}

void add_source(const Status& status, Report& report) {
  if (status.settings) {
    add_bytes("source", status.settings->source, report, "source");
    add_bytes("table", status.settings->table, report, "table");
    add_bytes("key", status.settings->key, report, "key");
    add_bytes("where", status.settings->where, report, "where");
    report.add("installed", status.settings->installed, "installed", status.settings->installed);
  }
  if (status.position) {
    report.add("position", status.position->number, "position", status.position_text);
    report.add("position_text", status.position_text);
  }
  if (status.lag) {
    report.add("lag", status.lag->behind, "lag",
               fmt::format("{} {}", human_count(status.lag->behind), status.lag->unit));
    report.add("lag_unit", std::string(status.lag->unit));
  }
  if (!status.trouble.empty()) {
    report.add("source_error", status.trouble, "lag", "unknown: " + status.trouble);
  }
  report.add("is_syncing", status.writer != 0, "sync",
             status.writer != 0 ? fmt::format("process {}", status.writer) : "not running");
}

void add_mirror(const Status& status, Report& report) {
  if (status.mirror.empty()) {
    return;
  }
  add_bytes("mirror", status.mirror, report, "mirror");
  if (status.mirrored) {
    const std::uint64_t position = status.mirrored->number;
    const bool is_same = status.mirrored == status.position;
    report.add("mirror_position", position, "mirror at",
               is_same ? "the gate's position" : "position " + std::to_string(position));
  } else {
    report.add("mirror_error", status.mirror_trouble, "mirror at", "unknown: " + status.mirror_trouble);
  }
}

Report status_report(const Status& status, const std::string& file) {
  const GateFacts& facts = status.facts;
  const GateCounts& counts = status.counts;
  Report report;
  add_bytes("file", file, report, "file");
  add_source(status, report);
  add_mirror(status, report);
  report.add("keys", facts.keys, "rows",
             fmt::format("{} of {}", human_count(facts.keys), human_count(facts.capacity_keys)));
  report.add("capacity_keys", facts.capacity_keys);
  report.add("saturation", facts.saturation, "saturation", human_share(facts.saturation));
  report.add("phase", std::uint64_t{facts.phase}, "phase", std::to_string(facts.phase));
  report.add("fpr_estimate", facts.fpr_estimate, "false-positive rate",
             fmt::format("{} of absent keys now, {} when full", human_share(facts.fpr_estimate),
                         human_share(facts.fpr_target)));
  report.add("fpr_target", facts.fpr_target);
  report.add("stuck_cells", facts.stuck_cells, "stuck cells",
             facts.stuck_cells == 0
                 ? "0"
                 : fmt::format("{}: keys of more than 14 rows at once stay maybe, and these rows stay in the count",
                               human_count(facts.stuck_cells)));
  report.add("bytes", facts.image_bytes, "size", human_bytes(facts.image_bytes));
  report.add("asked", counts.asked, "asked", human_count(counts.asked));
  const double saved = counts.asked == 0 ? 0 : static_cast<double>(counts.empty) / static_cast<double>(counts.asked);
  report.add("queries_saved", counts.empty, "queries saved",
             counts.asked == 0 ? "0" : fmt::format("{}, {}", human_count(counts.empty), human_share(saved)));
  report.add("memo_hits", counts.memo_hits, "by reports of false positives", human_count(counts.memo_hits));
  report.add("queries_made", counts.maybe, "queries made", human_count(counts.maybe));
  report.add("false_positives", counts.false_positives, "false positives", human_count(counts.false_positives));
  return report;
}

std::string metrics_of(const Status& status) {
  PrometheusText text;
  const GateFacts& facts = status.facts;
  text.single("mankai_gate_keys", MetricType::gauge, "Keys of rows in the gate.", facts.keys);
  text.single("mankai_gate_capacity_keys", MetricType::gauge, "Capacity of the gate in keys.", facts.capacity_keys);
  text.single("mankai_gate_saturation_ratio", MetricType::gauge, "Share of cells that are not 0.", facts.saturation);
  text.single("mankai_gate_phase", MetricType::gauge, "Cells per key.", std::uint64_t{facts.phase});
  text.single("mankai_gate_false_positive_ratio", MetricType::gauge,
              "Estimated share of absent keys that are answered maybe.", facts.fpr_estimate);
  text.single("mankai_gate_bytes", MetricType::gauge, "Size of the filter.", facts.image_bytes);
  text.single("mankai_gate_is_syncing", MetricType::gauge, "1 while a sync process runs.",
              std::uint64_t{status.writer != 0 ? 1U : 0U});
  if (status.position) {
    text.single("mankai_gate_position", MetricType::gauge, "Position of the source up to which changes are applied.",
                status.position->number);
  }
  if (status.lag) {
    text.begin("mankai_gate_lag", MetricType::gauge, "Lag behind the source, in its own unit.");
    text.sample(status.lag->behind, {{"unit", status.lag->unit}});
  }
  text.single("mankai_gate_source_up", MetricType::gauge, "1 if the source answered.",
              std::uint64_t{status.lag ? 1U : 0U});
  if (!status.mirror.empty()) {
    text.single("mankai_gate_mirror_up", MetricType::gauge, "1 if the mirror holds this gate.",
                std::uint64_t{status.mirrored ? 1U : 0U});
  }
  if (status.mirrored) {
    text.single("mankai_gate_mirror_position", MetricType::gauge,
                "Position of the source up to which changes are applied to the mirror.", status.mirrored->number);
  }
  text.begin("mankai_gate_answers_total", MetricType::counter, "Queries by answer, as counted by the processes.");
  text.sample(status.counts.empty, {{"answer", "empty"}});
  text.sample(status.counts.maybe, {{"answer", "maybe"}});
  text.single("mankai_gate_memo_hits_total", MetricType::counter, "Empty answers that came from the memo.",
              status.counts.memo_hits);
  text.single("mankai_gate_false_positives_total", MetricType::counter,
              "Queries that were reported as having found nothing.", status.counts.false_positives);
  return text.text();
}

Result<int> run(const GateStatusRequest& request) {
  if (request.json && request.prometheus) {
    return fail(ErrorCode::invalid_argument, "--json and --prometheus cannot be combined");
  }
  MANKAI_ASSIGN(const auto status, status_of(request));
  const Report report = status_report(status, request.file);
  return write_output(request.prometheus ? metrics_of(status) : request.json ? report.json() : report.text());
}

}  // namespace

Subcommand gate_status_subcommand() {
  auto request = std::make_shared<GateStatusRequest>();
  return {.name = "gate status",
          .summary = "describe a gate",
          .description =
              "Prints the gate's position and its lag behind the source, during which a new row may still be answered "
              "empty; how full it is, in the terms of the paper: saturation, the share of cells that are not 0, and "
              "phase, the cells per key; and how many queries it saved, as far as its users add their counts to "
              "FILE-counts.\n\nA source that cannot be reached is reported, and is not an error.",
          .examples = {{"mankai gate status baskets.mk", "a table to read"},
                       {"mankai gate status --json baskets.mk | jq .lag", "JSON for programs"},
                       {"mankai gate status --prometheus baskets.mk > gate.prom", "for a textfile collector"},
                       {"mankai gate status baskets.mk --mirror redis://10.0.0.5 --mirror-key baskets",
                        "and the position of the key in Redis"}},
          .options = {positional("FILE", "File of the gate.", ValueKind::file, request->file),
                      flag("--offline", "Do not ask the source.", request->offline),
                      flag("--json", "Print a JSON object.", request->json),
                      flag("--prometheus", "Print metrics in the Prometheus text format.", request->prometheus),
                      mirror_options(request->mirror)},
          .run = [request] { return run(*request); }};
}

}  // namespace mankai::command
