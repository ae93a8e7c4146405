#include "mankai/gate/database/gate_sync.hpp"

#include <fmt/format.h>

#include "apps/mankai/format.hpp"
#include "apps/mankai/gate_mirror.hpp"
#include "apps/mankai/gate_subcommands.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/store_report.hpp"
#include "mankai/base/duration.hpp"
#include "mankai/gate/database/source_settings.hpp"

namespace mankai::command {
namespace {

// Processes that reopen the file replay its journal: it must stay short.
constexpr Duration kCheckpointEvery = std::chrono::minutes(1);

struct Request {
  std::string file;
  MirrorRequest mirror;
  bool once = false;
};

void warn_of_drift(const Gate& gate, const std::string& file) {
  if (gate.missed_erasures() > 0) {
    say(
        fmt::format("{}: {} keys that left the table were not in the gate: somebody else has changed it, or it was "
                    "copied; build it again",
                    file, human_count(gate.missed_erasures())));
  }
}

// By cells, not rows: many rows of one key use the same cells.
void warn_of_size(const Gate& gate, const std::string& file) {
  constexpr double kTolerated = 1.2;
  const GateFacts facts = gate.facts();
  if (facts.fpr_estimate > kTolerated * facts.fpr_target) {
    say(
        fmt::format("{}: is too full: {} of the keys without a row are answered maybe, and {} was asked for; it has {} "
                    "rows and was made for {}: build it again, larger",
                    file, human_share(facts.fpr_estimate), human_share(facts.fpr_target), human_count(facts.keys),
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

Result<int> run(const Request& request) {
  catch_stop_signals();
  MANKAI_ASSIGN(const auto mirrored, mirror_settings(request.mirror));
  MANKAI_ASSIGN(auto settings, read_source_settings(request.file));
  GateOptions options;
  // GateSync synchronises before it acknowledges.
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
  if (!ran || !closed) {
    return std::unexpected((ran ? closed.error() : ran.error()).within(request.file));
  }
  return request.once ? exit_code_after_stop(0) : exit_code_of_service(0);
}

}  // namespace

Subcommand gate_sync_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "gate sync",
      .summary = "keep a gate in step with its table",
      .description =
          "Applies what was committed since the gate's position, and continues until Ctrl-C or SIGTERM, which write "
          "everything to the file. SIGTERM is the regular end, with exit code 0. Each change is applied exactly once "
          "in "
          "effect, even after crashes, and acknowledged to the database when it is on disk.\n\n"
          "A database that cannot be reached is retried forever, with growing waits and a message on stderr; meanwhile "
          "the gate answers as of its position. One process per gate can sync.\n\n"
          "With --mirror the gate is also a key of a Redis server, which many web servers can ask with GATE.MAYBE. "
          "Each "
          "change is sent there after it is in the file, and a key that differs is loaded again. A server that cannot "
          "be reached is retried and delays nothing.",
      .examples = {{"mankai gate sync baskets.mk", "until Ctrl-C"},
                   {"mankai gate sync --once baskets.mk", "what was committed so far, for a periodic job"},
                   {"mankai gate sync baskets.mk --mirror redis://10.0.0.5 --mirror-key baskets",
                    "and one gate in Redis for all web servers"}},
  };
  command.options = {
      positional("FILE", "The gate's file.", ValueKind::file, request->file),
      flag("--once", "End when everything is applied that was committed before the start, or with an error.",
           request->once)};
  for (Option& option : mirror_options(request->mirror)) {
    command.options.push_back(std::move(option));
  }
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command
