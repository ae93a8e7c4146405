#include <fmt/format.h>
#include <unistd.h>

#include <limits>
#include <numeric>

#include "apps/mankai/filter_options.hpp"
#include "apps/mankai/format.hpp"
#include "apps/mankai/ids.hpp"
#include "apps/mankai/input.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/subcommands.hpp"
#include "apps/mankai/times.hpp"
#include "mankai/catalog/keys.hpp"
#include "mankai/durable/filter_file.hpp"

namespace mankai::command {
namespace {

/// The share of a key's places that a value takes over.
constexpr double kDefaultStrength = 0.5;

struct Request {
  std::string file;
  std::vector<std::string> keys;
  InputRequest input;
  IdRequest ids;
  IdRequest values{.noun = "value", .most = std::numeric_limits<std::uint32_t>::max()};
  double strength = kDefaultStrength;
  std::optional<Time> at;
  bool count = false;
  bool json = false;
};

struct Outcome {
  std::uint64_t keys_read = 0;
  std::uint64_t keys_new = 0;
};

Result<void> add_batch(const Request& request, IdReader& ids, std::span<const std::string_view> lines,
                       AnyFilter& filter) {
  if (!request.ids.has_ids() && !request.values.has_ids()) {
    insert_keys(filter, lines);
    return {};
  }
  if (auto read = ids.read(lines); !read) {
    return read;
  }
  if (request.ids.has_ids()) {
    return insert_keys_with_ids(filter, ids.keys(), ids.ids());
  }
  const std::vector<std::uint32_t> values(ids.ids().begin(), ids.ids().end());
  return put_values(filter, ids.keys(), values, request.strength);
}

// A value must come with each key of a kind that keeps values, and with no other.
Result<void> check_values(const Request& request, const AnyFilter& filter) {
  const KindInfo& info = info_of(spec_of(filter).kind);
  if (info.key_shape == KeyShape::valued && !request.values.has_ids()) {
    return fail(ErrorCode::invalid_argument, "a filter of kind " + std::string(info.name) +
                                                 " keeps values beside its keys: give --value or --with-values");
  }
  return {};
}

// Locked from before it is read until after it is replaced, so that no other writer's keys are lost.
Result<Outcome> add_keys(const Request& request, AnyFilter& filter) {
  Outcome outcome;
  IdReader ids(request.values.has_ids() ? request.values : request.ids);
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

// A kind that counts or forgets takes every key, known or not.
bool takes_every_key(const AnyFilter& filter) {
  const KindInfo& info = info_of(spec_of(filter).kind);
  return info.can_count || info.forgets;
}

// A kind that forgets as keys come is never over its capacity.
bool has_capacity(const AnyFilter& filter) {
  const KindInfo& info = info_of(spec_of(filter).kind);
  return !info.forgets || info.has_time;
}

// What fills a filter: a kind that counts has each key as often as it was added, and the estimate sees it once.
std::uint64_t distinct_keys(const AnyFilter& filter) {
  const std::uint64_t keys = keys_inserted(filter);
  if (keys <= capacity_keys(filter) || !takes_every_key(filter)) {
    return keys;
  }
  const double estimate = describe(filter).keys_estimate;
  return estimate < static_cast<double>(keys) ? static_cast<std::uint64_t>(estimate) : keys;
}

void summarise(const Request& request, const AnyFilter& filter, const Outcome& outcome) {
  if (request.json) {
    Report report;
    report.add("keys_read", outcome.keys_read);
    if (!takes_every_key(filter)) {
      report.add("keys_new", outcome.keys_new);
    }
    report.add("keys_inserted", keys_inserted(filter));
    report.add("capacity_keys", capacity_keys(filter));
    const std::string text = report.json();
    static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
  } else if (request.count || isatty(STDERR_FILENO) == 1) {
    const std::string fresh =
        takes_every_key(filter) ? std::string() : fmt::format(", {} of them new", human_count(outcome.keys_new));
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
  if (auto valid = check_values(request, *filter); !valid) {
    return std::unexpected(valid.error().within(request.file));
  }
  if (auto advanced = advance_to_now(*filter, request.at); !advanced) {
    return std::unexpected(advanced.error().within(request.file));
  }
  const auto outcome = add_keys(request, *filter);
  if (!outcome) {
    return std::unexpected(outcome.error());
  }
  if (auto saved = save_filter(request.file, *filter, Existing::replace, &*lock); !saved) {
    return std::unexpected(saved.error());
  }
  summarise(request, *filter, *outcome);
  if (const std::string warning = capacity_warning(distinct_keys(*filter), capacity_keys(*filter));
      has_capacity(*filter) && !warning.empty()) {
    say("warning: " + request.file + ": " + warning + "; create a larger one");
  }
  return exit_code_after_stop(0);
}

Result<double> parse_share(std::string_view text) { return text == "1" ? Result<double>(1.0) : parse_rate(text); }

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
  for (Option& option : id_options(request->values, "in kinds that keep values beside keys, a whole number.")) {
    command.options.push_back(std::move(option));
  }
  command.options.push_back(parsed_option("--strength", "S",
                                          "The share of a key's places that a value takes over. 0.5 unless given.",
                                          parse_share, request->strength));
  command.options.push_back(
      at_option("When the keys came, in kinds that forget with time. Now unless given, or when the last key came if "
                "that was later.",
                request->at));
  command.options.push_back(
      flag("--count", "Prints a summary on standard error, as it does on a terminal.", request->count));
  command.options.push_back(flag("--json", "Prints the summary as JSON.", request->json));
  command.options.push_back(max_line_option(request->input));
  command.run = [request]() -> Result<int> {
    if (auto valid = check_keys(request->keys, request->input); !valid) {
      return std::unexpected(valid.error());
    }
    for (const IdRequest* numbers : {&request->ids, &request->values}) {
      if (auto valid = check_ids(*numbers, !request->keys.empty()); !valid) {
        return std::unexpected(valid.error());
      }
    }
    if (request->ids.has_ids() && request->values.has_ids()) {
      return fail(ErrorCode::invalid_argument, "ids and values exclude each other");
    }
    return run(*request);
  };
  return command;
}

}  // namespace mankai::command
