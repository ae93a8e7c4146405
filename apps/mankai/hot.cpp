#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "apps/mankai/filter_options.hpp"
#include "apps/mankai/hot_run.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/store_options.hpp"
#include "apps/mankai/store_report.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/base/duration.hpp"
#include "mankai/input/time_text.hpp"

namespace mankai::command {
namespace {

constexpr std::int64_t kEpochsPerHalfLife = 64;
/// Of counts that never fade: all records lie in one epoch, so that none is late.
constexpr Duration kOneEpoch = std::chrono::years(1000);

struct Request {
  HotRunRequest run;
  std::optional<Duration> half_life;
  std::optional<double> lambda;
  std::optional<Duration> epoch;
  bool all_time = false;
  std::optional<Duration> late;
  FilterOptions filter;  // hash and seed
  std::string match;
  std::string state;
  StoreRequest store;
};

Result<double> parse_number(std::string_view text) {
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || !(value >= 0)) {
    return fail(ErrorCode::invalid_argument, "'" + std::string(text) + "' is wrong: give a number such as 0.9 or 20");
  }
  return value;
}

constexpr std::array<std::string_view, 2> kFollowFrom = {"start", "end"};

Result<FollowFrom> parse_follow_from(std::string_view text) {
  const auto* const found = std::ranges::find(kFollowFrom, text);
  if (found == kFollowFrom.end()) {
    return fail(ErrorCode::invalid_argument, "'" + std::string(text) + "' is neither start nor end");
  }
  return static_cast<FollowFrom>(found - kFollowFrom.begin());
}

Result<std::optional<Decay>> decay_of(const Request& request) {
  const auto wrapped = [](const Result<Decay>& decay) {
    return decay ? Result<std::optional<Decay>>(*decay) : std::unexpected(decay.error());
  };
  if (request.all_time) {
    if (request.half_life || request.lambda || request.epoch) {
      return fail(ErrorCode::invalid_argument,
                  "--all-time counts without decay: it cannot be combined with --half-life, --lambda or --epoch");
    }
    return wrapped(Decay::of(1, kOneEpoch));
  }
  if (request.lambda) {
    if (request.half_life) {
      return fail(ErrorCode::invalid_argument, "--lambda and --half-life say the same: give one of them");
    }
    if (!request.epoch) {
      return fail(ErrorCode::invalid_argument, "--lambda needs --epoch: how often counts are multiplied by it");
    }
    return wrapped(Decay::of(*request.lambda, *request.epoch));
  }
  if (!request.half_life && !request.epoch) {
    return std::optional<Decay>();
  }
  const Duration half_life = request.half_life.value_or(Hot::kDefaultHalfLife);
  const Duration longest = half_life / kEpochsPerHalfLife;
  if (request.epoch && *request.epoch > longest) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("--epoch {} is too long for a half-life of {}: give {} at most, or leave it out; --lambda with "
                    "--epoch takes any",
                    to_text(*request.epoch), to_text(half_life), to_text(longest)));
  }
  return wrapped(Decay::of_half_life(half_life, request.epoch.value_or(Duration::zero())));
}

Result<void> check(const Request& request) {
  const HotRunRequest& run = request.run;
  if (run.is_exact && !request.state.empty()) {
    return fail(ErrorCode::invalid_argument,
                "--exact knows the truth about the records of this run only: leave --state out");
  }
  if (run.at && run.follow) {
    return fail(ErrorCode::invalid_argument, "--at names one moment, --follow goes on: give one of them");
  }
  if (run.from && !run.follow) {
    return fail(ErrorCode::invalid_argument, "--from says where --follow begins: give both");
  }
  if (!run.wanted_path.empty() && (run.top || run.min_count)) {
    return fail(ErrorCode::invalid_argument,
                "--keys prints the keys that it is given: leave --top and --min-count out");
  }
  if (run.top && *run.top == 0) {
    return fail(ErrorCode::invalid_argument, "--top 0 prints nothing: give at least 1");
  }
  return {};
}

Result<void> check_state(const Request& request) {
  if (request.state.empty() && (request.store.policy || !request.store.position.empty())) {
    return fail(ErrorCode::invalid_argument, "--durability and --position say how --state is kept: give it too");
  }
  if (request.run.follow && !request.store.position.empty()) {
    return fail(ErrorCode::invalid_argument,
                "--position says where the logs end, and --follow goes on: give one of them");
  }
  return check_store_request(request.store);
}

Result<int> run(Request& request) {
  MANKAI_TRY(check(request));
  MANKAI_TRY(check_state(request));
  MANKAI_ASSIGN(const auto decay, decay_of(request));
  if (!request.match.empty()) {
    request.run.keys.match = request.match;
  }
  catch_stop_signals();
  HotRequest wanted{.decay = decay,
                    .memory_bytes = request.run.memory_bytes,
                    .hash = request.filter.hash,
                    .seed = request.filter.seed,
                    .keys_tag = keys_tag(request.run.keys)};
  wanted.late_tolerance = request.late.value_or(wanted.late_tolerance);
  request.run.position = request.store.position;
  MANKAI_ASSIGN(auto hot, request.state.empty() ? Hot::create(wanted)
                                                : Hot::open(request.state, wanted, request.store.options()));
  if (hot.store() != nullptr) {
    warn_of_loss(request.state, hot.store()->recovery());
  }
  return run_hot(request.run, std::move(hot), request.state);
}

constexpr std::array<std::string_view, 6> kFormats = {"auto", "combined", "squid", "w3c", "json", "keys"};

void add_input_options(Request& request, std::vector<Option>& options) {
  options.push_back(positionals("LOG",
                                "Logs to read, the oldest first, - for standard input. Standard input without any.",
                                ValueKind::file, request.run.input.paths));
  options.push_back(choice_option(
      parsed_option(
          "--format", "FORMAT",
          "How lines are written: auto finds it out for each log; combined is the Common or Combined Log Format "
          "of Apache and nginx; squid, w3c (IIS, CloudFront), json (an object a line); keys (a key a line, "
          "behind a time or not). auto unless given.",
          parse_log_format, request.run.keys.parser.format),
      kFormats));
  options.push_back(choice_option(
      parsed_option(
          "--by", "FIELD",
          "What is counted: path (the request's target as it is, without the query), url (the same, behind "
          "the host where the log has it), host, referrer, status, client or agent. path unless given. Records "
          "without it are left out.",
          parse_hot_field, request.run.keys.by),
      hot_field_names()));
  options.push_back(flag("--query", "Keeps the query of --by path and url.", request.run.keys.keep_query));
  options.push_back(
      text_option("--match", "REGEX",
                  "Counts what the first group of the regular expression (RE2 syntax) matches in the line, or "
                  "all that it matches if it has no group. Lines without a match are left out.",
                  ValueKind::text, request.match));
  options.push_back(
      parsed_option("--json-fields", "FIELD=NAME,...",
                    "Where JSON lines have the time, client, host, method, target, referrer, agent or "
                    "status, such as time=ts,target=request.uri. The names of common servers unless given.",
                    parse_log_field_names, request.run.keys.parser.names));
}

void add_time_options(Request& request, std::vector<Option>& options) {
  options.push_back(parsed_option("--half-life", "TIME",
                                  "After this time a count is worth half, such as 90s, 10m, 1h or 7d. 1h unless given.",
                                  parse_duration, request.half_life));
  options.push_back(flag("--all-time",
                         "Prints plain totals: counts are never multiplied by anything, and have no rate per hour.",
                         request.all_time));
  options.push_back(parsed_option(
      "--lambda", "FACTOR", "Instead of a half-life: counts are multiplied by FACTOR at the start of every --epoch.",
      parse_number, request.lambda));
  options.push_back(parsed_option("--epoch", "TIME",
                                  "How often counts fade; at most a 64th of the half-life, which it is unless given.",
                                  parse_duration, request.epoch));
  options.push_back(parsed_option("--at", "TIME",
                                  "As of this moment, such as 2016-03-28T12:00:00Z: later records are left out; counts "
                                  "fade until then. The time of the newest record unless given.",
                                  parse_time, request.run.at));
  options.push_back(parsed_option("--every", "TIME",
                                  "Prints the table as of the end of each hour, day or whatever TIME is, counted from "
                                  "1970 in UTC, that has records, and at the end.",
                                  parse_duration, request.run.every));
  options.push_back(
      parsed_option("--late", "TIME",
                    "Records that come so long after a newer one are reported apart from other late ones. "
                    "All are counted for what is left of them. 5m unless given.",
                    parse_duration, request.late));
  options.push_back(
      parsed_option("--future", "TIME",
                    "Records that are so much later than this machine's clock are left out and reported: one of them "
                    "would make all others count for nothing. 1d unless given.",
                    parse_duration, request.run.future));
}

void add_follow_options(Request& request, std::vector<Option>& options) {
  options.push_back(flag("--follow",
                         "Goes on when a log ends, as tail -F does, also when it is rotated; on a terminal the "
                         "table is redrawn every second. Ctrl-C ends it; SIGTERM is the regular end, with exit code 0.",
                         request.run.follow));
  options.push_back(choice_option(
      parsed_option("--from", "WHERE",
                    "Where --follow begins in the log: at the start, or at the end, with the next line that is "
                    "written. The start, unless --state has records already.",
                    parse_follow_from, request.run.from),
      kFollowFrom));
}

void add_output_options(Request& request, std::vector<Option>& options) {
  options.push_back(parsed_option(
      "--top", "N", "How many keys are printed at most; keys whose count is 0.000 are left out. [default: 20]",
      parse_count, request.run.top));
  options.push_back(
      parsed_option("--min-count", "COUNT",
                    "Prints every key that came at least so often lately, however many, unless --top is given "
                    "too: as far as the table has room for them.",
                    parse_number, request.run.min_count));
  options.push_back(
      text_option("--keys", "FILE",
                  "Prints the counts of the keys that are the lines of FILE, in their order, instead of the "
                  "hottest ones.",
                  ValueKind::file, request.run.wanted_path));
  options.push_back(parsed_option("--memory", "BYTES",
                                  "How large the memory of keys and counts is. 256KiB unless given.", parse_bytes,
                                  request.run.memory_bytes));
  options.push_back(
      text_option("--state", "FILE",
                  "Continues from what the last run left in FILE, and leaves it for the next. FILE stores what "
                  "is counted: a run with another --by, --query or --match is refused. A FILE of an earlier version "
                  "or of mankai create does not store that: each run prints a warning.",
                  ValueKind::file, request.state));
  options.push_back(durability_option(request.store, "what --follow counts into --state"));
  options.push_back(mode_option(request.store.mode));
  options.push_back(position_option(request.store, "what the logs add to --state"));
  options.push_back(flag("--exact",
                         "Counts exactly as well, in as much memory as it takes, and prints the truth and the error.",
                         request.run.is_exact));
  options.push_back(flag("--json", "Prints an object with settings, figures and rows; with --every one a line.",
                         request.run.is_json));
}

}  // namespace

Subcommand hot_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "hot",
      .summary = "print what is hot lately in a web log",
      .description =
          "Reads web server logs and prints the keys (paths, unless --by says otherwise) that came most lately: each "
          "time a "
          "key comes counts 1, and half as much after every --half-life. Time is what the records say; now is the "
          "newest "
          "one's. The memory is the same for any log: it keeps the hottest keys and a sketch of all others, so that a "
          "count is never too low, and seldom too high.\n\n"
          "Prints rank, count, rate (times an hour, smoothed), when it was last seen, and the key: as an aligned table "
          "on a "
          "terminal, with tabs between them otherwise. Logs may be compressed by gzip, zstd or xz. A line that is not "
          "of "
          "the log's format is counted and the first one reported, on standard error; it never ends the run.\n\n"
          "With --state the next run goes on where this one ended. The file is made if it is missing and locked while "
          "in use. What a run counts goes in together at the end, also after Ctrl-C; and not at all when an input is "
          "broken, the output cannot be written or the process is killed. While following, what was there at first "
          "goes "
          "in together, and then each line as it comes: --durability says when it survives the machine's end.",
      .examples = {{"mankai hot access.log", "the 20 hottest paths"},
                   {"zcat access.log.*.gz | mankai hot --half-life 1d --by client", "the busiest clients of late"},
                   {"mankai hot --follow /var/log/nginx/access.log", "a live table"},
                   {"mankai hot --every 1h --top 3 --json access.log", "a series, JSON lines"},
                   {"mankai hot --match 'utm_source=([^& ]+)' access.log", "what a regular expression finds"},
                   {"mankai hot --keys pages.txt --state hot.mk access.log", "what a search ranker needs"},
                   {"mankai hot --all-time --by status access.log", "plain totals"},
                   {"mankai hot --exact access.log", "beside the truth"}},
  };
  add_input_options(*request, command.options);
  add_follow_options(*request, command.options);
  add_time_options(*request, command.options);
  add_output_options(*request, command.options);
  for (Option& option : filter_options(request->filter, "", "")) {
    if (option.name == "--hash" || option.name == "--seed") {
      command.options.push_back(std::move(option));
    }
  }
  command.options.push_back(max_line_option(request->run.input));
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command
