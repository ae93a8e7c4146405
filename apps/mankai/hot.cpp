#include <fmt/format.h>

#include <algorithm>

#include "apps/mankai/file_kind.hpp"
#include "apps/mankai/hot_remote.hpp"
#include "apps/mankai/hot_run.hpp"
#include "apps/mankai/remote.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/store_options.hpp"
#include "apps/mankai/store_report.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/base/duration.hpp"
#include "mankai/base/number.hpp"
#include "mankai/input/time_text.hpp"

namespace mankai::command {
namespace {

constexpr std::int64_t kEpochsPerHalfLife = 64;
/// Epoch of counts that never decay: all records are in one epoch, so none is late.
constexpr Duration kOneEpoch = std::chrono::years(1000);

struct HotCommandRequest {
  HotRunRequest run;
  std::optional<Duration> half_life;
  std::optional<Duration> window;
  std::optional<double> lambda;
  std::optional<Duration> epoch;
  bool all_time = false;
  std::optional<Duration> late;
  FilterOptions filter;
  std::string match;
  std::string state;
  StoreRequest store;
};

Result<double> parse_decimal(std::string_view text) {
  const auto value = to_number<double>(text);
  if (!value || !(*value >= 0)) {
    return fail(ErrorCode::invalid_argument,
                "'" + std::string(text) + "' is not valid; give a number such as 0.9 or 20");
  }
  return *value;
}

constexpr std::array<std::string_view, 2> kFollowFrom = {"start", "end"};

Result<FollowFrom> parse_follow_from(std::string_view text) {
  const auto* const found = std::ranges::find(kFollowFrom, text);
  if (found == kFollowFrom.end()) {
    return fail(ErrorCode::invalid_argument, "'" + std::string(text) + "' is not valid; give start or end");
  }
  return static_cast<FollowFrom>(found - kFollowFrom.begin());
}

Result<std::optional<Decay>> decay_of(const HotCommandRequest& request) {
  if (request.window) {
    if (request.all_time || request.half_life || request.lambda || request.epoch) {
      return fail(
          ErrorCode::invalid_argument,
          "--window cannot be combined with --half-life, --all-time, --lambda or --epoch: counts of a window do "
          "not decay");
    }
    return std::optional<Decay>();
  }
  if (request.all_time) {
    if (request.half_life || request.lambda || request.epoch) {
      return fail(ErrorCode::invalid_argument,
                  "--all-time cannot be combined with --half-life, --lambda or --epoch: it counts without decay");
    }
    return Decay::of(1, kOneEpoch);
  }
  if (request.lambda) {
    if (request.half_life) {
      return fail(ErrorCode::invalid_argument, "--lambda and --half-life cannot be combined");
    }
    if (!request.epoch) {
      return fail(ErrorCode::invalid_argument, "--lambda needs --epoch, the time between two decay steps");
    }
    return Decay::of(*request.lambda, *request.epoch);
  }
  if (!request.half_life && !request.epoch) {
    return std::optional<Decay>();
  }
  const Duration half_life = request.half_life.value_or(Hot::kDefaultHalfLife);
  const Duration longest = half_life / kEpochsPerHalfLife;
  if (request.epoch && *request.epoch > longest) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("--epoch {} is too long for a half-life of {}; give {} at most, or leave it out; with "
                            "--lambda any epoch is valid",
                            to_text(*request.epoch), to_text(half_life), to_text(longest)));
  }
  return Decay::of_half_life(half_life, request.epoch.value_or(Duration::zero()));
}

Result<void> check(const HotCommandRequest& request) {
  const HotRunRequest& run = request.run;
  if (run.is_exact && !request.state.empty()) {
    return fail(ErrorCode::invalid_argument,
                "--exact and --state cannot be combined: exact counts exist for the records of this run only");
  }
  if (run.is_exact && request.window) {
    return fail(ErrorCode::invalid_argument, "--exact and --window cannot be combined");
  }
  if (run.at && run.follow) {
    return fail(ErrorCode::invalid_argument, "--at and --follow cannot be combined");
  }
  if (run.from && !run.follow) {
    return fail(ErrorCode::invalid_argument, "--from needs --follow");
  }
  if (!run.wanted_path.empty() && (run.top || run.min_count)) {
    return fail(ErrorCode::invalid_argument, "--keys cannot be combined with --top or --min-count");
  }
  const std::vector<std::string>& logs = run.input.paths;
  if (run.wanted_path == "-" && (logs.empty() || std::ranges::find(logs, "-") != logs.end())) {
    return fail(ErrorCode::invalid_argument, "the log and --keys cannot both be standard input; give a file for one");
  }
  if (run.top && *run.top == 0) {
    return fail(ErrorCode::invalid_argument, "--top 0 prints nothing; give at least 1");
  }
  return {};
}

Result<void> check_state(const HotCommandRequest& request) {
  if (request.state.empty() && (request.store.policy || !request.store.position.empty())) {
    return fail(ErrorCode::invalid_argument, "--durability and --position need --state");
  }
  if (request.run.follow && !request.store.position.empty()) {
    return fail(ErrorCode::invalid_argument, "--position and --follow cannot be combined");
  }
  return check_store_request(request.store);
}

// The options of HOT.RESERVE for a new key.
std::vector<std::string> hot_creation(const HotCommandRequest& request) {
  std::vector<std::string> words{"MEMORY", std::to_string(request.run.memory_bytes.value_or(Hot::kDefaultMemoryBytes))};
  const auto add = [&](std::string name, const std::optional<Duration>& time) {
    if (time) {
      words.insert(words.end(), {std::move(name), to_text(*time)});
    }
  };
  add("HALFLIFE", request.half_life);
  add("WINDOW", request.window);
  if (request.lambda) {
    words.insert(words.end(), {"LAMBDA", fmt::format("{}", *request.lambda)});
  }
  add("EPOCH", request.epoch);
  if (request.run.rounding == CountRounding::balanced) {
    words.insert(words.end(), {"ROUNDING", "BALANCED"});
  }
  return words;
}

Result<int> run_in_server(const HotCommandRequest& request) {
  if (request.all_time || request.late || request.filter.hash || request.filter.seed || request.store.policy ||
      request.store.mode) {
    return fail(ErrorCode::invalid_argument,
                "--all-time, --late, --hash, --seed, --durability and --mode need a --state in a file");
  }
  return run_hot_remote(request.run, request.state, hot_creation(request));
}

// Errors: invalid_argument, with the least size.
Result<void> check_memory(const HotRequest& wanted) {
  // Neither the half-life nor the length of the window matters.
  const DecayedTop::Options sized{
      .bytes = std::max<std::uint64_t>(wanted.memory_bytes.value_or(Hot::kDefaultMemoryBytes), 1),
      .decay = Decay::of_half_life(Hot::kDefaultHalfLife).value(),
      .window = Duration(wanted.window ? DecayedTop::kPanesOfWindow : 0)};
  MANKAI_TRY(within("--memory", DecayedTop::image_bytes_of(sized)));
  return {};
}

Result<int> run(HotCommandRequest& request) {
  MANKAI_TRY(check(request));
  MANKAI_TRY(check_state(request));
  MANKAI_ASSIGN(const auto decay, decay_of(request));
  if (!request.match.empty()) {
    request.run.keys.match = request.match;
  }
  catch_stop_signals();
  HotRequest wanted{.decay = decay,
                    .window = request.window,
                    .memory_bytes = request.run.memory_bytes,
                    .rounding = request.run.rounding,
                    .hash = request.filter.hash,
                    .seed = request.filter.seed,
                    .keys_tag = keys_tag(request.run.keys)};
  wanted.late_tolerance = request.late.value_or(wanted.late_tolerance);
  request.run.position = request.store.position;
  MANKAI_TRY(check_memory(wanted));
  if (is_remote_address(request.state)) {
    return run_in_server(request);
  }
  MANKAI_ASSIGN(auto hot, request.state.empty() ? Hot::create(wanted)
                                                : opened_filter(request.state, Hot::open(request.state, wanted,
                                                                                         request.store.options())));
  if (hot.store() != nullptr) {
    warn_of_loss(request.state, hot.store()->recovery());
  }
  return run_hot(request.run, std::move(hot), request.state);
}

Result<CountRounding> parse_rounding(std::string_view text) {
  if (text != kCountRoundingNames[0] && text != kCountRoundingNames[1]) {
    return fail(ErrorCode::invalid_argument, "'" + std::string(text) + "' is not valid; give strict or balanced");
  }
  return text == kCountRoundingNames[0] ? CountRounding::strict : CountRounding::balanced;
}

constexpr std::array<std::string_view, 6> kFormats = {"auto", "combined", "squid", "w3c", "json", "keys"};

Options input_options(HotCommandRequest& request) {
  return {
      positionals("LOG", "Logs to read, oldest first; - is standard input [default: standard input].", ValueKind::file,
                  request.run.input.paths),
      choice_option(parsed_option("--format", "FORMAT",
                                  "Log format: auto detects it for each log; combined is the Common or Combined Log "
                                  "Format of Apache and nginx; squid; w3c (IIS, CloudFront); json (an object per "
                                  "line); keys (a key per line, optionally after a time) [default: auto].",
                                  parse_log_format, request.run.keys.parser.format),
                    kFormats),
      choice_option(
          parsed_option(
              "--by", "FIELD",
              "Field to count: path (the request's target without the query), url (the same with the host, if the log "
              "has it), host, referrer, status, client or agent [default: path]. Records without it are skipped.",
              parse_hot_field, request.run.keys.by),
          hot_field_names()),
      flag("--query", "Keep the query of --by path and url.", request.run.keys.keep_query),
      text_option("--match", "REGEX",
                  "Count the text matched by the first group of a regular expression (RE2 syntax), or by all of it if "
                  "it has no group. Lines without a match are skipped.",
                  ValueKind::text, request.match),
      parsed_option("--json-fields", "FIELD=NAME,...",
                    "Names of the fields time, client, host, method, target, referrer, agent and status in JSON lines, "
                    "such as time=ts,target=request.uri [default: those of common servers].",
                    parse_log_field_names, request.run.keys.parser.names)};
}

Options time_options(HotCommandRequest& request) {
  return {
      parsed_option("--half-life", "TIME",
                    "Time after which a count has halved, such as 90s, 10m, 1h or 7d [default: 1h].", parse_duration,
                    request.half_life),
      parsed_option("--window", "TIME",
                    "Count the records of the last TIME, such as 24h, instead of decaying. The window moves in steps "
                    "of 1/8 of it: counts include up to a step more. Counts of keys that are not hot need about "
                    "nine times the memory.",
                    parse_duration, request.window),
      flag("--all-time", "Print totals: counts do not decay and have no rate per hour.", request.all_time),
      parsed_option("--lambda", "FACTOR",
                    "Decay factor instead of a half-life: every --epoch multiplies counts by FACTOR.", parse_decimal,
                    request.lambda),
      parsed_option("--epoch", "TIME",
                    "Time between two decay steps, at most 1/64 of the half-life [default: 1/64 of it].",
                    parse_duration, request.epoch),
      parsed_option("--at", "TIME",
                    "Count as of TIME, such as 2016-03-28T12:00:00Z: later records are skipped, and counts decay "
                    "until then [default: the time of the newest record].",
                    parse_time, request.run.at),
      parsed_option("--every", "TIME",
                    "Print the table at the end of each interval of TIME that has records, such as 1h or 1d, "
                    "counted from 1970 in UTC, and at the end.",
                    parse_duration, request.run.every),
      parsed_option("--late", "TIME",
                    "Report separately the records that arrive later than TIME after a newer one. They are counted "
                    "with their decayed weight [default: 5m].",
                    parse_duration, request.late),
      parsed_option("--future", "TIME",
                    "Skip and report records with timestamps more than TIME in the future: one of them would decay "
                    "all other counts to nothing [default: 1d].",
                    parse_duration, request.run.future)};
}

Options follow_options(HotCommandRequest& request) {
  return {
      flag("--follow",
           "Keep reading when a log ends, as tail -F does, also after rotation; a terminal shows the table every "
           "second. Ctrl-C ends it; SIGTERM is a regular end, with exit code 0.",
           request.run.follow),
      choice_option(
          parsed_option(
              "--from", "WHERE",
              "Where --follow starts in the log: start or end [default: start; end if --state has records already].",
              parse_follow_from, request.run.from),
          kFollowFrom)};
}

Options output_options(HotCommandRequest& request) {
  return {
      parsed_option("--top", "N",
                    "Largest number of keys to print; keys with a count of 0.000 are left out [default: 20].",
                    parse_count, request.run.top),
      parsed_option("--min-count", "COUNT",
                    "Print every stored key with at least this decayed count, unless --top is given too.",
                    parse_decimal, request.run.min_count),
      text_option("--keys", "FILE",
                  "Print the counts of the keys in FILE, one per line, in their order, instead of the hottest keys.",
                  ValueKind::file, request.run.wanted_path),
      parsed_option("--memory", "BYTES", "Size of the memory of keys and counts [default: 256KiB].", parse_bytes,
                    request.run.memory_bytes),
      choice_option(parsed_option("--rounding", "ROUNDING",
                                  "How counts are rounded: strict, never below the truth; balanced, with half of the "
                                  "error, some too low [default: strict].",
                                  parse_rounding, request.run.rounding),
                    kCountRoundingNames),
      text_option("--state", "FILE",
                  "Keep the counts in FILE, so the next run continues where this one stopped. FILE stores what is "
                  "counted: a run with another --by, --query or --match is an error. A FILE of mankai create does not "
                  "store that: each run prints a warning." +
                      std::string(kOrRemote),
                  ValueKind::file_or_server, request.state),
      durability_option(request.store, "the counts of --follow"),
      mode_option(request.store.mode),
      position_option(request.store, "the logs' records"),
      flag("--exact",
           "Count exactly as well, in as much memory as necessary, and print the exact counts and the errors.",
           request.run.is_exact),
      flag("--header", "Print a line of column titles, as on a terminal, when the output is a pipe or a file.",
           request.run.has_header),
      flag("--json", "Print an object with settings, figures and rows; with --every one per line.",
           request.run.is_json)};
}

}  // namespace

Subcommand hot_subcommand() {
  auto request = std::make_shared<HotCommandRequest>();
  return {
      .name = "hot",
      .summary = "print the hottest keys of web logs, by decayed counts",
      .description =
          "Reads web server logs and prints the keys (paths, unless --by says otherwise) with the highest decayed "
          "counts: each occurrence adds 1, and counts halve after every --half-life. Time is that of the records; now "
          "is the time of the newest one. Memory has a fixed size: it stores the hottest keys and a sketch of all "
          "others, so a count is never too low, and rarely too high.\n\nPrints rank, count, rate (per hour, smoothed), "
          "time of the last occurrence, and key: as an aligned table on a terminal, separated by tabs otherwise, then "
          "without a heading unless --header is given. Logs may be compressed with gzip, zstd or xz. Malformed lines "
          "are counted, and the first one is reported on standard error; they never end the run.\n\n--state keeps the "
          "counts in FILE, so the next run continues where this one stopped. The file is created if it is missing, and "
          "locked while in use. The counts of a run are added together at the end, also after Ctrl-C, and not at all "
          "if an input is corrupt, the output cannot be written or the process is killed. With --follow, what the log "
          "contains at the start is added together, then each line as it arrives: --durability sets when it survives a "
          "power loss.",
      .examples = {{"mankai hot access.log", "the 20 hottest paths"},
                   {"mankai hot --window 24h access.log", "the paths with the most requests in the last 24 hours"},
                   {"zcat access.log.*.gz | mankai hot --half-life 1d --by client",
                    "the busiest clients, with a half-life of a day"},
                   {"mankai hot --follow /var/log/nginx/access.log", "a live table"},
                   {"mankai hot --every 1h --top 3 --json access.log", "a series of tables, as JSON lines"},
                   {"mankai hot --match 'utm_source=([^& ]+)' access.log", "counts what a regular expression matches"},
                   {"mankai hot --keys pages.txt --state hot.mk access.log", "counts of given keys"},
                   {"mankai hot --all-time --by status access.log", "plain totals"},
                   {"mankai hot --exact access.log", "counts and their errors"}},
      .options = {input_options(*request), follow_options(*request), time_options(*request), output_options(*request),
                  hash_options(request->filter), max_line_option(request->run.input),
                  threads_option(request->run.input)},
      .run = [request] { return run(*request); }};
}

}  // namespace mankai::command
