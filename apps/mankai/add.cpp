#include <fmt/format.h>
#include <unistd.h>

#include <numeric>

#include "apps/mankai/filter_options.hpp"
#include "apps/mankai/format.hpp"
#include "apps/mankai/ids.hpp"
#include "apps/mankai/input.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/catalog/keys.hpp"
#include "mankai/durable/filter_file.hpp"

namespace mankai::command {
namespace {

struct Request {
  std::string file;
  std::vector<std::string> keys;
  InputRequest input;
  IdRequest ids;
  bool count = false;
  bool json = false;
};

struct Outcome {
  std::uint64_t keys_read = 0;
  std::uint64_t keys_new = 0;
};

Result<void> add_batch(const Request& request, IdReader& ids, std::span<const std::string_view> lines,
                       AnyFilter& filter) {
  if (!request.ids.has_ids()) {
    insert_keys(filter, lines);
    return {};
  }
  if (auto read = ids.read(lines); !read) {
    return read;
  }
  return insert_keys_with_ids(filter, ids.keys(), ids.ids());
}

// Locked from before it is read until after it is replaced, so that no other writer's keys are lost.
Result<Outcome> add_keys(const Request& request, AnyFilter& filter) {
  Outcome outcome;
  IdReader ids(request.ids);
  Result<void> added;
  const std::uint64_t before = keys_inserted(filter);
  const auto read = for_each_batch(request.keys, request.input, [&](std::span<const std::string_view> lines) {
    added = add_batch(request, ids, lines, filter);
    outcome.keys_read += lines.size();
    return added.has_value() && stop_signal() == 0;
  });
  if (!added || !read) {
    const Error& error = added ? read.error() : added.error();
    return fail(error.code, error.detail + " (" + request.file + " is left as it was)", error.os_error);
  }
  outcome.keys_new = keys_inserted(filter) - before;
  return outcome;
}

// What fills a filter: a kind that counts has each key as often as it was added, and the estimate sees it once.
std::uint64_t distinct_keys(const AnyFilter& filter) {
  const std::uint64_t keys = keys_inserted(filter);
  if (keys <= capacity_keys(filter) || !info_of(spec_of(filter).kind).can_count) {
    return keys;
  }
  const double estimate = describe(filter).keys_estimate;
  return estimate < static_cast<double>(keys) ? static_cast<std::uint64_t>(estimate) : keys;
}

void summarise(const Request& request, const AnyFilter& filter, const Outcome& outcome) {
  if (request.json) {
    Report report;
    report.add("keys_read", outcome.keys_read);
    if (!info_of(spec_of(filter).kind).can_count) {
      report.add("keys_new", outcome.keys_new);
    }
    report.add("keys_inserted", keys_inserted(filter));
    report.add("capacity_keys", capacity_keys(filter));
    const std::string text = report.json();
    static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
  } else if (request.count || isatty(STDERR_FILENO) == 1) {
    // A kind that counts takes every key, known or not.
    const std::string fresh = info_of(spec_of(filter).kind).can_count
                                  ? std::string()
                                  : fmt::format(", {} of them new", human_count(outcome.keys_new));
    say(fmt::format("{}: {} keys read{}; {} of {} in it", request.file, human_count(outcome.keys_read), fresh,
                    human_count(keys_inserted(filter)), human_count(capacity_keys(filter))));
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
  if (const std::string warning = capacity_warning(distinct_keys(*filter), capacity_keys(*filter)); !warning.empty()) {
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
  command.options = {positional("FILE", "The filter's file.", ValueKind::file, request->file)};
  for (Option& option : key_options(request->keys, request->input)) {
    command.options.push_back(std::move(option));
  }
  for (Option& option : id_options(request->ids,
                                   "in kinds that take ids, what later says which slice a key is in. The "
                                   "next number for each key unless given.")) {
    command.options.push_back(std::move(option));
  }
  command.options.push_back(
      flag("--count", "Prints a summary on standard error, as it does on a terminal.", request->count));
  command.options.push_back(flag("--json", "Prints the summary as JSON.", request->json));
  command.options.push_back(max_line_option(request->input));
  command.run = [request]() -> Result<int> {
    if (auto valid = check_keys(request->keys, request->input); !valid) {
      return std::unexpected(valid.error());
    }
    if (auto valid = check_ids(request->ids, !request->keys.empty()); !valid) {
      return std::unexpected(valid.error());
    }
    return run(*request);
  };
  return command;
}

}  // namespace mankai::command
