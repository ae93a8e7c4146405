#include <fmt/format.h>
#include <unistd.h>

#include <numeric>

#include "apps/mankai/filter_options.hpp"
#include "apps/mankai/format.hpp"
#include "apps/mankai/input.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/durable/filter_file.hpp"
#include "mankai/filter/keyed_batch.hpp"

namespace mankai::command {
namespace {

struct Request {
  std::string file;
  std::vector<std::string> keys;
  InputRequest input;
  bool count = false;
  bool json = false;
};

struct Outcome {
  std::uint64_t keys_read = 0;
  std::uint64_t keys_new = 0;
};

// Locked from before it is read until after it is replaced, so that no other writer's keys are lost.
Result<Outcome> add_keys(const Request& request, AnyFilter& filter) {
  Outcome outcome;
  const std::uint64_t before = keys_inserted(filter);
  auto added = for_each_batch(request.keys, request.input, [&](std::span<const std::string_view> keys) {
    std::visit([&](auto& f) { insert_keys(f, keys); }, filter);
    outcome.keys_read += keys.size();
    return stop_signal() == 0;
  });
  if (!added) {
    return fail(added.error().code, added.error().detail + " (" + request.file + " is left as it was)",
                added.error().os_error);
  }
  outcome.keys_new = keys_inserted(filter) - before;
  return outcome;
}

void summarise(const Request& request, const AnyFilter& filter, const Outcome& outcome) {
  if (request.json) {
    Report report;
    report.add("keys_read", outcome.keys_read);
    report.add("keys_new", outcome.keys_new);
    report.add("keys_inserted", keys_inserted(filter));
    report.add("capacity_keys", capacity_keys(filter));
    const std::string text = report.json();
    static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
  } else if (request.count || isatty(STDERR_FILENO) == 1) {
    say(fmt::format("{}: {} keys read, {} of them new; {} of {} in it", request.file, human_count(outcome.keys_read),
                    human_count(outcome.keys_new), human_count(keys_inserted(filter)),
                    human_count(capacity_keys(filter))));
  }
}

Result<int> run(const Request& request) {
  catch_stop_signals();
  auto lock = FileLock::acquire(request.file);
  if (!lock) {
    return std::unexpected(lock.error());
  }
  auto filter = open_filter(request.file, Access::change);
  if (!filter) {
    return std::unexpected(filter.error());
  }
  const auto outcome = add_keys(request, *filter);
  if (!outcome) {
    return std::unexpected(outcome.error());
  }
  if (auto saved = save_filter(request.file, *filter, Existing::replace, &*lock); !saved) {
    return std::unexpected(saved.error());
  }
  summarise(request, *filter, *outcome);
  if (const std::string warning = capacity_warning(keys_inserted(*filter), capacity_keys(*filter)); !warning.empty()) {
    say("warning: " + request.file + ": " + warning + "; create a larger one");
  }
  return exit_code_after_stop(0);
}

}  // namespace

Subcommand add_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "add",
      .summary = "add keys to a filter",
      .description =
          "Adds the keys given as arguments, or else the lines of the inputs, which may be compressed by gzip, zstd or "
          "xz. A key is the bytes of a line without its line feed and without a carriage return before that.\n\n"
          "The file is replaced as a whole at the end. After Ctrl-C or SIGTERM what was read until then is in it; "
          "after "
          "an error it is as it was. Only one process at a time can add; another one is told so at once.\n\n"
          "A filter that gets more keys than it was made for keeps recognising all of them, and takes more strangers "
          "for "
          "members; a warning says so.",
      .examples = {{"mankai add seen.mk https://example.com/", "one key"},
                   {"mankai add seen.mk < urls.txt", "one key a line"},
                   {"mankai add seen.mk --input monday.gz --input tuesday.zst --count",
                    "compressed files, and a summary"}},
  };
  Option input = positionals("--input", "Reads the lines of PATH, - for standard input. May be given more than once.",
                             ValueKind::file, request->input.paths);
  input.letter = 'i';
  input.value = "PATH";
  command.options = {
      positional("FILE", "The filter's file.", ValueKind::file, request->file),
      positionals("KEY", "Keys. Without any, they are read line by line.", ValueKind::text, request->keys),
      std::move(input),
      flag("--count", "Prints a summary on standard error, as it does on a terminal.", request->count),
      flag("--json", "Prints the summary as JSON.", request->json),
      max_line_option(request->input)};
  command.run = [request]() -> Result<int> {
    if (!request->keys.empty() && !request->input.paths.empty()) {
      return fail(ErrorCode::invalid_argument, "give either keys or --input, not both");
    }
    return run(*request);
  };
  return command;
}

}  // namespace mankai::command
