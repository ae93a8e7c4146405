#include <span>

#include "apps/mankai/input.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/base/number.hpp"
#include "mankai/gate/database/pgoutput.hpp"
#include "mankai/gate/gate_counts_file.hpp"
#include "mankai/gate/gate_follower.hpp"

namespace mankai::command {
namespace {

struct GateCheckRequest {
  std::string file;
  std::vector<std::string> keys;
  InputRequest input;
  std::uint64_t after = 0;
  bool count = false;
  bool quiet = false;
  bool json = false;
};

Result<std::uint64_t> parse_position(std::string_view text) {
  if (text.find('/') != std::string_view::npos) {
    MANKAI_ASSIGN(const auto lsn, parse_lsn(text));
    return lsn.value;
  }
  const auto position = to_number<std::uint64_t>(text);
  if (!position) {
    return fail(ErrorCode::invalid_argument,
                "'" + std::string(text) + "' is not a position; give one such as 1234 or 0/16B3748");
  }
  return *position;
}

void print(const GateCheckRequest& request, std::string_view key, bool is_maybe, std::string& text) {
  const std::string_view word = is_maybe ? "maybe" : "empty";
  if (request.json) {
    Report report;
    report.add("answer", std::string(word));
    add_bytes("key", key, report);
    text.append(report.json());
    return;
  }
  text.append(word).append("\t").append(key).append("\n");
}

Result<int> run(const GateCheckRequest& request) {
  MANKAI_TRY(check_keys(request.keys, request.input));
  catch_stop_signals();
  MANKAI_ASSIGN(const auto gate, GateFollower::open(request.file));
  const auto answer = [&](std::span<const std::string_view> keys, std::string& text) {
    bool is_any_maybe = false;
    for (const std::string_view key : keys) {
      const bool is_maybe = gate.maybe(key, request.after).is_maybe();
      is_any_maybe = is_any_maybe || is_maybe;
      if (!request.quiet) {
        print(request, key, is_maybe, text);
      }
    }
    return is_any_maybe;
  };
  const auto is_any_maybe = print_answers(request.keys, request.input, answer);
  const auto counted = request.count ? add_gate_counts(request.file, gate.counts()) : Result<void>{};
  MANKAI_TRY(is_any_maybe);
  MANKAI_TRY(counted);
  return exit_code_after_stop(static_cast<int>(request.quiet && !*is_any_maybe ? ExitCode::negative : ExitCode::fine));
}

}  // namespace

Subcommand gate_check_subcommand() {
  auto request = std::make_shared<GateCheckRequest>();
  return {
      .name = "gate check",
      .summary = "look up keys in a gate",
      .description =
          "Prints empty or maybe, a tab and the key, for each key given as an argument or for each line of the inputs, "
          "in order. empty is certain as of the gate's position; maybe is wrong for absent keys at the gate's "
          "false-positive rate. The exit code is 0 whatever the answers.\n\nA key is the text of the table's column; "
          "for a blob, its bytes.",
      .examples = {{"mankai gate check baskets.mk 5f21c07a", "empty or maybe"},
                   {"mankai gate check baskets.mk --after 1234 5f21c07a",
                    "maybe, until the change at position 1234 is applied"},
                   {"mankai gate check --quiet baskets.mk 5f21c07a; [ $? -eq 1 ] || psql ...",
                    "queries the database unless the key is certainly absent"}},
      .options = {positional("FILE", "File of the gate.", ValueKind::file, request->file),
                  key_options(request->keys, request->input),
                  parsed_option("--after", "POSITION", "Answer maybe until the change at POSITION is applied.",
                                parse_position, request->after),
                  with_letter('q', flag("--quiet",
                                        "Print nothing: exit code 0 if one of the keys is maybe, 1 if all are empty.",
                                        request->quiet)),
                  flag("--json", "Print a JSON object per line.", request->json),
                  flag("--count", "Add the number of queries to FILE-counts, which mankai gate status prints.",
                       request->count),
                  max_line_option(request->input)},
      .run = [request] { return run(*request); }};
}

}  // namespace mankai::command
