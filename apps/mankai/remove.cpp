#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "apps/mankai/input.hpp"
#include "apps/mankai/numbers.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/remote.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/store_options.hpp"
#include "apps/mankai/store_run.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/filter/any_filter.hpp"

namespace mankai::command {
namespace {

struct RemoveRequest {
  std::string file;
  std::vector<std::string> keys;
  InputRequest input;
  NumberRequest ids;
  StoreRequest store;
  bool quiet = false;
  bool count = false;
  bool json = false;
};

struct RemovedKeys {
  std::uint64_t keys_read = 0;
  std::uint64_t removed = 0;
  std::uint64_t unknown = 0;  // in a server

  [[nodiscard]] std::uint64_t refused() const noexcept { return keys_read - removed; }
};

std::string_view word_for(EraseResult result) {
  switch (result) {
    case EraseResult::erased: return "removed";
    case EraseResult::absent: return "absent";
    case EraseResult::ambiguous: return "ambiguous";
    case EraseResult::below_ids: return "below-ids";
    case EraseResult::stuck: return "stuck";
  }
  return "";
}

class Remover {
 public:
  Remover(const RemoveRequest& request, StoreRun& run) : request_(request), run_(run), numbers_(request.ids) {}

  Result<RemovedKeys> remove() {
    const auto removed = for_each_batch(
        request_.keys, request_.input, [&](std::span<const std::string_view> lines) { return take(lines); },
        [&] { output_.flush(); });
    if (!removed) {
      output_.flush();  // the keys that were read and refused
      return run_.give_up(removed.error(), "removed from");
    }
    MANKAI_TRY(run_.finish("removed from"));
    if (auto finished = output_.finish(); !finished) {
      return fail(finished.error().code,
                  finished.error().message() + "; the keys read before that were removed from " + request_.file);
    }
    return outcome_;
  }

 private:
  Result<bool> take(std::span<const std::string_view> lines) {
    MANKAI_TRY(numbers_.read(lines));
    std::array<EraseResult, kBatchLinesMax> all{};
    const auto results = std::span(all).first(lines.size());
    Store& store = run_.store();
    MANKAI_TRY(request_.ids.is_given() ? store.erase(numbers_.keys(), numbers_.all(), results)
                                       : store.erase(numbers_.keys(), results));
    run_.note_keys(lines.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      outcome_.removed += results[i] == EraseResult::erased ? 1U : 0U;
      if (results[i] != EraseResult::erased && !request_.quiet) {
        // Prints the line as read, so that the output can be the input of another attempt.
        output_.append(word_for(results[i]));
        output_.append("\t");
        output_.append_line(lines[i]);
      }
    }
    outcome_.keys_read += lines.size();
    return stop_signal() == 0 && !output_.has_failed();
  }

  const RemoveRequest& request_;
  StoreRun& run_;
  NumberReader numbers_;
  Output output_;
  RemovedKeys outcome_;
};

Result<void> summarize(const RemoveRequest& request, std::optional<std::uint64_t> keys_left,
                       const RemovedKeys& outcome) {
  if (request.json) {
    Report report;
    report.add("keys_read", outcome.keys_read);
    report.add("keys_removed", outcome.removed);
    report.add("keys_refused", outcome.refused());
    if (keys_left) {
      report.add("keys_inserted", *keys_left);
    }
    return write_summary(report.json());
  }
  if (request.count || isatty(STDERR_FILENO) == 1) {
    say(fmt::format("{}: {} read, {} removed, {} refused{}", request.file, counted(outcome.keys_read, "key"),
                    human_count(outcome.removed), human_count(outcome.refused()),
                    keys_left ? "; holds " + human_count(*keys_left) : ""));
  }
  return {};
}

std::string_view word_for(const RemoteAnswer& answer) {
  if (answer.state == RemoteAnswer::State::lost) {
    return "unknown";
  }
  return answer.value < 0 ? "stuck" : "absent";
}

Result<int> remove_in_server(RemoveRequest request) {
  if (request.store.policy || !request.store.position.empty()) {
    return fail(ErrorCode::invalid_argument, "--durability and --position are valid for files only");
  }
  catch_stop_signals();
  MANKAI_ASSIGN(auto filter, open_remote(request.file));
  request.file = to_text(filter.address());  // for messages, without a password
  RemotePipe pipe(std::move(filter), RemoteWork::remove);
  Output output;
  RemovedKeys outcome;
  const auto deliver = [&](RemotePipe::Lines lines, std::span<const RemoteAnswer> answers) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const bool is_removed = answers[i].state == RemoteAnswer::State::certain && answers[i].value > 0;
      ++outcome.keys_read;
      outcome.removed += is_removed ? 1U : 0U;
      outcome.unknown += answers[i].state == RemoteAnswer::State::lost ? 1U : 0U;
      if (!is_removed && !request.quiet) {
        output.append(word_for(answers[i]));
        output.append("\t");
        output.append_line(lines[i]);
      }
    }
  };
  const auto removed =
      answer_lines(pipe, request.keys, request.input, request.ids, output, deliver, [] { return false; });
  if (auto finished = output.finish(); !finished) {
    return fail(finished.error().code,
                finished.error().message() + "; the keys read before that were removed from " + request.file);
  }
  const auto summarized = summarize(request, std::nullopt, outcome);
  if (outcome.unknown > 0) {
    say(fmt::format("warning: {}: {} not known to be removed, because the server did not confirm it", request.file,
                    counted(outcome.unknown, "key is", "keys are")));
  }
  if (!removed) {
    return fail_after(removed.error(), counted(outcome.removed, "key") + " removed before");
  }
  MANKAI_TRY(summarized);
  if (outcome.unknown > 0) {
    return exit_code_after_stop(static_cast<int>(ExitCode::input_output));
  }
  const bool is_negative = request.quiet && outcome.refused() > 0;
  return exit_code_after_stop(static_cast<int>(is_negative ? ExitCode::negative : ExitCode::fine));
}

Result<int> run(const RemoveRequest& request) {
  MANKAI_TRY(check_keys(request.keys, request.input));
  MANKAI_TRY(check_numbers(request.ids, !request.keys.empty()));
  MANKAI_TRY(check_store_request(request.store));
  if (is_remote_address(request.file)) {
    return remove_in_server(request);
  }
  catch_stop_signals();
  const auto mode = request.keys.empty() ? StoreRun::Mode::batches : StoreRun::Mode::whole;
  MANKAI_ASSIGN(auto store_run, StoreRun::open(request.file, request.store, mode));
  MANKAI_ASSIGN(const auto outcome, Remover(request, store_run).remove());
  MANKAI_TRY(summarize(request, store_run.store().filter().keys_inserted(), outcome));
  const bool is_negative = request.quiet && outcome.refused() > 0;
  return exit_code_after_stop(static_cast<int>(is_negative ? ExitCode::negative : ExitCode::fine));
}

}  // namespace

Subcommand remove_subcommand() {
  auto request = std::make_shared<RemoveRequest>();
  return {
      .name = "remove",
      .summary = "remove keys from a filter",
      .description =
          "Removes one occurrence of each key from a filter of a kind that supports it (see mankai plan). Refused keys "
          "are printed after a reason and a tab: absent, the key is not in the filter, and removing it would cause "
          "false negatives; ambiguous, several sub-filters may contain it, and an id is needed; below-ids, the id is "
          "too low; stuck, its counters saturated, and it stays; unknown, a server did not confirm whether it removed "
          "the key (exit code 4).\n\nRemove only keys that were added: removing a false positive may cause false "
          "negatives for other keys.\n\nKeys from inputs are removed in FILE-journal as they are read, and in FILE at "
          "the end and at checkpoints. After Ctrl-C, SIGTERM or an error, the keys read before stay removed; an error "
          "prints their number. Keys given as arguments, and all keys with --position, are removed together or not at "
          "all.",
      .examples = {{"mankai remove spam.mk https://example.com/", "one key"},
                   {"mankai remove links.mk --with-ids < gone.tsv > refused.tsv",
                    "keys and the ids they were added with, in a scalable-counting-bloom"},
                   {"mankai remove --quiet spam.mk KEY || echo 'was not in it'", "the answer as an exit code"}},
      .options = {filter_positional(request->file), key_options(request->keys, request->input),
                  with_letter(
                      'q', flag("--quiet", "Print nothing: exit code 0 if all keys were removed, 1 if one was refused.",
                                request->quiet)),
                  number_options(request->ids, "with which they were added."),
                  durability_option(request->store, "removed keys"), position_option(request->store, "all keys"),
                  flag("--count", "Print a summary on standard error, as on a terminal.", request->count),
                  flag("--json", "Print the summary as JSON.", request->json), max_line_option(request->input)},
      .run = [request] { return run(*request); }};
}

}  // namespace mankai::command
