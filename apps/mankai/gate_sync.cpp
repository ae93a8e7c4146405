#include "mankai/database/gate_sync.hpp"

#include <fmt/format.h>

#include "apps/mankai/format.hpp"
#include "apps/mankai/gate_subcommands.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/store_report.hpp"
#include "mankai/base/duration.hpp"
#include "mankai/database/source_settings.hpp"

namespace mankai::command {
namespace {

// Web servers that open the file anew do again what its journal has: it must not become long.
constexpr Duration kCheckpointEvery = std::chrono::minutes(1);

struct Request {
  std::string file;
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

void warn_of_size(const Gate& gate, const std::string& file) {
  const GateFacts facts = gate.facts();
  if (facts.keys > facts.capacity_keys) {
    say(
        fmt::format("{}: holds {} keys and was made for {}: {} of the strangers are answered maybe; build it again, "
                    "larger",
                    file, human_count(facts.keys), human_count(facts.capacity_keys), human_share(facts.fpr_estimate)));
  }
}

Result<int> run(const Request& request) {
  catch_stop_signals();
  auto settings = read_source_settings(request.file);
  if (!settings) {
    return std::unexpected(settings.error());
  }
  GateOptions options;
  // What is applied is synchronised before the source is told.
  options.store.durability = Durability::never;
  options.store.checkpoint_interval = kCheckpointEvery;
  auto gate = Gate::open(request.file, options);
  if (!gate) {
    return std::unexpected(gate.error());
  }
  warn_of_loss(request.file, gate->store()->recovery());
  GateSync sync(*gate, std::move(*settings),
                {.until_caught_up = request.once,
                 .should_stop = [] { return stop_signal() != 0; },
                 .on_trouble = [&](const Error& error,
                                   Duration wait) { say(error.message() + "; trying again in " + to_text(wait)); }});
  const auto ran = sync.run();
  warn_of_drift(*gate, request.file);
  warn_of_size(*gate, request.file);
  const auto closed = gate->close();
  if (!ran || !closed) {
    return std::unexpected((ran ? closed.error() : ran.error()).within(request.file));
  }
  return exit_code_after_stop(0);
}

}  // namespace

Subcommand gate_sync_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "gate sync",
      .summary = "keep a gate in step with its table",
      .description =
          "Applies what was committed since the gate's position, and goes on until Ctrl-C or SIGTERM, which put "
          "everything into the file. Each change is applied once in effect, however often this is killed and started "
          "again, and the database may forget a change when the disk has it.\n\n"
          "A database that cannot be reached is tried again, for ever, with longer and longer waits, and that is said "
          "on stderr; the gate answers meanwhile as of its position. One sync a gate at a time.",
      .examples = {{"mankai gate sync baskets.mk", "until Ctrl-C"},
                   {"mankai gate sync --once baskets.mk", "what is there now, for a job that runs now and then"}},
  };
  command.options = {
      positional("FILE", "The gate's file.", ValueKind::file, request->file),
      flag("--once", "Ends when everything is applied that was committed before it began, or with an error.",
           request->once)};
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command
