#include "mankai/gate/database/gate_sync.hpp"

#include <fmt/format.h>

#include "apps/mankai/gate_mirror.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/store_report.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/base/duration.hpp"
#include "mankai/gate/database/source_settings.hpp"

namespace mankai::command {
namespace {

// Keeps the journal short: processes that reopen the file replay it.
constexpr Duration kCheckpointEvery = std::chrono::minutes(1);

struct GateSyncRequest {
  std::string file;
  MirrorRequest mirror;
  bool once = false;
};

void warn_of_drift(const Gate& gate, const std::string& file) {
  if (gate.missed_erasures() > 0) {
    say(fmt::format("{}: {} not in the gate: it was changed by another program, or copied; build it again", file,
                    counted(gate.missed_erasures(), "deleted key was", "deleted keys were")));
  }
}

// Uses the fill instead of the row count: rows with equal keys share cells.
void warn_of_size(const Gate& gate, const std::string& file) {
  constexpr double kTolerated = 1.2;
  const GateFacts facts = gate.facts();
  if (facts.fpr_estimate > kTolerated * facts.fpr_target) {
    say(
        fmt::format("{}: is too full: {} of absent keys are answered maybe, requested {}; it holds {}, capacity "
                    "{}; build it again, larger",
                    file, human_share(facts.fpr_estimate), human_share(facts.fpr_target), counted(facts.keys, "row"),
                    human_count(facts.capacity_keys)));
  }
}

void add_mirror(const RedisMirrorSettings& settings, RedisMirror& mirror, const Gate& gate, GateSyncOptions& options) {
  const std::string name = mirror_name(settings);
  options.mirror = &mirror;
  options.on_mirror_trouble = [](const Error& error, Duration wait) {
    say(error.message() + "; trying again in " + to_text(wait) + ", and so on");
  };
  options.on_mirror_step = [name, &gate](MirrorState state) {
    say(fmt::format("{}: {} position {}", name, state == MirrorState::loaded ? "loaded, at" : "in step at",
                    gate.position().value_or(0)));
  };
}

Result<int> run(const GateSyncRequest& request) {
  catch_stop_signals();
  MANKAI_ASSIGN(const auto mirrored, mirror_settings(request.mirror));
  MANKAI_ASSIGN(auto settings, read_source_settings(request.file));
  GateOptions options;
  // The gate syncs explicitly before it confirms a position to the source.
  options.store.durability = Durability::never;
  options.store.checkpoint_interval = kCheckpointEvery;
  MANKAI_ASSIGN(auto gate, Gate::open(request.file, options));
  warn_of_loss(request.file, gate.store()->recovery());
  GateSyncOptions sync_options{
      .until_caught_up = request.once,
      .should_stop = [] { return stop_signal() != 0; },
      .on_trouble = [](const Error& error,
                       Duration wait) { say(error.message() + "; trying again in " + to_text(wait)); }};
  std::optional<RedisMirror> mirror;
  if (mirrored) {
    add_mirror(*mirrored, mirror.emplace(*mirrored), gate, sync_options);
  }
  GateSync sync(gate, std::move(settings), std::move(sync_options));
  const auto ran = sync.run();
  warn_of_drift(gate, request.file);
  warn_of_size(gate, request.file);
  const auto closed = gate.close();
  MANKAI_TRY(within(request.file, ran));
  MANKAI_TRY(within(request.file, closed));
  return request.once ? exit_code_after_stop(0) : exit_code_of_service(0);
}

}  // namespace

Subcommand gate_sync_subcommand() {
  auto request = std::make_shared<GateSyncRequest>();
  return {.name = "gate sync",
          .summary = "apply a table's changes to its gate",
          .description =
              "Applies the changes committed since the gate's position, and continues until Ctrl-C or SIGTERM, which "
              "write everything to the file. SIGTERM is a regular end, with exit code 0. Each change takes effect "
              "once, however often sync is killed and restarted; the database may discard a change once it is on disk "
              "here.\n\nIf a database or its file is unavailable, sync retries with growing delays and reports it on "
              "stderr; the gate answers as of its position. One sync per gate at a time.\n\nWith --mirror the gate is "
              "also a key of a Redis server, which many web servers can query with GATE.MAYBE. Each change is sent "
              "there after it is in the file, and a key that differs is loaded again. A server that is unavailable is "
              "retried and delays nothing else.",
          .examples = {{"mankai gate sync baskets.mk", "until Ctrl-C"},
                       {"mankai gate sync --once baskets.mk", "for a job that runs periodically"},
                       {"mankai gate sync baskets.mk --mirror redis://10.0.0.5 --mirror-key baskets",
                        "and mirrors the gate to Redis"}},
          .options = {positional("FILE", "File of the gate.", ValueKind::file, request->file),
                      flag("--once", "Exit when everything committed before the start is applied, or after an error.",
                           request->once),
                      mirror_options(request->mirror)},
          .run = [request] { return run(*request); }};
}

}  // namespace mankai::command
