#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <limits>
#include <utility>

#include "apps/mankai/input.hpp"
#include "apps/mankai/numbers.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/remote.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/store_options.hpp"
#include "apps/mankai/store_report.hpp"
#include "apps/mankai/store_run.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/base/duration.hpp"
#include "mankai/filter/any_filter.hpp"

namespace mankai::command {
namespace {

/// Keys that wait until they are on the disk, and are then printed, one a line, in the order in which they came.
class Acks {
 public:
  /// Takes keys whose last change has this number; numbers rise.
  void wait_for(std::uint64_t sequence, std::span<const std::string_view> keys);
  /// Prints the keys whose changes are on the disk, up to this number, at once.
  void print(std::uint64_t durable_sequence, Output& output);

  /// How much memory the keys that wait take.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct Batch {
    std::uint64_t sequence;
    std::string lines;
  };

  std::deque<Batch> waiting_;
  std::size_t bytes_ = 0;
};

void Acks::wait_for(std::uint64_t sequence, std::span<const std::string_view> keys) {
  std::size_t bytes = 0;
  for (const std::string_view key : keys) {
    bytes += key.size() + 1;
  }
  std::string lines;
  lines.reserve(bytes);
  for (const std::string_view key : keys) {
    lines.append(key).append("\n");
  }
  bytes_ += bytes;
  waiting_.push_back({.sequence = sequence, .lines = std::move(lines)});
}

void Acks::print(std::uint64_t durable_sequence, Output& output) {
  while (!waiting_.empty() && waiting_.front().sequence <= durable_sequence) {
    output.append(waiting_.front().lines);
    bytes_ -= waiting_.front().lines.size();
    waiting_.pop_front();
  }
  output.flush();
}

/// The share of a key's places that a value takes over.
constexpr double kDefaultStrength = 0.5;

Result<std::uint64_t> parse_ttl(std::string_view text) {
  MANKAI_ASSIGN(const Duration ttl, parse_duration(text));
  return ttl > Duration::zero() ? Result<std::uint64_t>(static_cast<std::uint64_t>(ttl.count()))
                                : fail(ErrorCode::invalid_argument, "a time to live of 0; give one such as 90s or 7d");
}

struct AddRequest {
  std::string file;
  std::vector<std::string> keys;
  InputRequest input;
  NumberRequest ids;
  NumberRequest values{.noun = "value", .most = std::numeric_limits<std::uint32_t>::max()};
  double strength = kDefaultStrength;
  NumberRequest ttls{.noun = "ttl", .parse = parse_ttl};
  std::optional<Time> at;
  StoreRequest store;
  bool ack = false;
  bool count = false;
  bool json = false;
};

struct Outcome {
  std::uint64_t keys_read = 0;
  std::uint64_t keys_new = 0;
};

// Kinds that store values need one for each key.
Result<void> check_values(const AddRequest& request, const AnyFilter& filter) {
  const KindDescription& info = filter.kind();
  if (info.key_shape == KeyShape::valued && !request.values.is_given()) {
    return fail(ErrorCode::invalid_argument, "a filter of kind " + std::string(info.name) +
                                                 " stores a value with each key; give --value or --with-values");
  }
  return {};
}

/// Adds batches of keys, and acknowledges them once they are durable.
class Adder {
 public:
  Adder(const AddRequest& request, StoreRun& run) : request_(request), run_(run), numbers_(numbers_of(request)) {}

  // Returns whether to continue.
  Result<bool> add(std::span<const std::string_view> lines) {
    Store& store = run_.store();
    if (has_numbers()) {
      MANKAI_TRY(numbers_.read(lines));
    }
    // The time to live of a key starts when it is read, so a long input advances the filter.
    if (const auto time = store.filter().time();
        time && store.filter().kind().has_ttl && !request_.at && clock_now() > *time) {
      MANKAI_TRY(store.advance(clock_now()));
      run_.note_keys(0);
    }
    if (request_.ids.is_given()) {
      MANKAI_TRY(store.insert(numbers_.keys(), numbers_.all()));
    } else if (request_.values.is_given()) {
      const std::vector<std::uint32_t> values(numbers_.all().begin(), numbers_.all().end());
      MANKAI_TRY(store.put(numbers_.keys(), values, request_.strength));
    } else if (request_.ttls.is_given()) {
      MANKAI_TRY(add_expiring(store));
    } else {
      MANKAI_TRY(store.insert(lines));
    }
    keys_read_ += lines.size();
    run_.note_keys(lines.size());
    MANKAI_TRY(acknowledge(has_numbers() ? numbers_.keys() : lines));
    return stop_signal() == 0 && !output_.has_failed();
  }

  void print_acks() {
    if (request_.ack && !run_.is_whole()) {
      acks_.print(run_.store().durable_sequence(), output_);
    }
  }

  // Pre: everything is on the disk.
  Result<void> finish_acks() {
    if (!request_.ack) {
      return {};
    }
    acks_.print(run_.store().durable_sequence(), output_);
    if (auto finished = output_.finish(); !finished) {
      // An error also for a closed pipe: otherwise it would look as if all of the input were acknowledged.
      return fail(finished.error().code,
                  finished.error().message() + "; the lines read before that are in " + request_.file);
    }
    return {};
  }

  // At most a quarter of the sync interval, so that keys are acknowledged soon after each sync.
  [[nodiscard]] std::chrono::milliseconds look_interval() const {
    constexpr auto kShortest = std::chrono::milliseconds(10);
    const auto interval = std::chrono::duration_cast<std::chrono::milliseconds>(request_.store.options().interval / 4);
    return request_.ack ? std::clamp(interval, kShortest, request_.input.look_interval) : request_.input.look_interval;
  }

  [[nodiscard]] std::uint64_t keys_read() const noexcept { return keys_read_; }

 private:
  // Keys that wait for their acknowledgment are kept in memory, up to a limit; then reading waits for a sync.
  Result<void> acknowledge(std::span<const std::string_view> keys) {
    constexpr std::size_t kMostWaiting = std::size_t{64} << 20;
    if (!request_.ack) {
      return {};
    }
    acks_.wait_for(run_.store().sequence(), keys);
    if (acks_.bytes() > kMostWaiting && !run_.is_whole()) {
      MANKAI_TRY(run_.store().sync());
    }
    print_acks();
    return {};
  }

  // Times to live start at --at, or now, or at the filter's time if that is later.
  Result<void> add_expiring(Store& store) {
    const Time now = std::max(request_.at.value_or(clock_now()), store.filter().time().value_or(Time::min()));
    std::vector<Time> expiries(numbers_.all().size());
    std::ranges::transform(numbers_.all(), expiries.begin(),
                           [now](std::uint64_t ttl) { return now + Duration(static_cast<std::int64_t>(ttl)); });
    return store.insert_until(numbers_.keys(), expiries);
  }

  static const NumberRequest& numbers_of(const AddRequest& request) noexcept {
    return request.values.is_given() ? request.values : request.ttls.is_given() ? request.ttls : request.ids;
  }
  [[nodiscard]] bool has_numbers() const noexcept { return numbers_of(request_).is_given(); }

  const AddRequest& request_;
  StoreRun& run_;
  NumberReader numbers_;
  Acks acks_;
  Output output_;
  std::uint64_t keys_read_ = 0;
};

Result<void> summarize(const AddRequest& request, const AnyFilter& filter, const Outcome& outcome) {
  if (request.json) {
    Report report;
    report.add("keys_read", outcome.keys_read);
    if (!takes_every_key(filter)) {
      report.add("keys_new", outcome.keys_new);
    }
    report.add("keys_inserted", filter.keys_inserted());
    report.add("capacity_keys", filter.capacity_keys());
    return write_summary(report.json());
  }
  if (request.count || isatty(STDERR_FILENO) == 1) {
    const std::string fresh =
        takes_every_key(filter) ? std::string() : fmt::format(", {} of them new", human_count(outcome.keys_new));
    say(fmt::format("{}: {} read{}; holds {} of {}", request.file, counted(outcome.keys_read, "key"), fresh,
                    human_count(filter.keys_inserted()), human_count(filter.capacity_keys())));
  }
  return {};
}

// Checks combinations of options.
Result<void> check(const AddRequest& request) {
  MANKAI_TRY(check_keys(request.keys, request.input));
  for (const NumberRequest* numbers : {&request.ids, &request.values, &request.ttls}) {
    MANKAI_TRY(check_numbers(*numbers, !request.keys.empty()));
  }
  if (int{request.ids.is_given()} + int{request.values.is_given()} + int{request.ttls.is_given()} > 1) {
    return fail(ErrorCode::invalid_argument, "ids, values and times to live cannot be combined");
  }
  if (request.ack && !request.store.position.empty()) {
    return fail(
        ErrorCode::invalid_argument,
        "--position and --ack cannot be combined: all keys are one batch, and exit code 0 means that it is on disk");
  }
  return check_store_request(request.store);
}

Result<void> check_remote(const AddRequest& request) {
  const bool has_time = request.at || request.ttls.is_given();
  if (has_time || request.values.is_given() || request.store.policy || !request.store.position.empty()) {
    return fail(ErrorCode::invalid_argument,
                "--at, --ttl, --value, --durability and --position are valid for files only");
  }
  return {};
}

/// Adds keys to a filter in a server, and counts the answers.
class RemoteAdder {
 public:
  RemoteAdder(const AddRequest& request, RemoteFilter filter)
      : request_(request), pipe_(std::move(filter), RemoteWork::add), name_(to_text(pipe_.filter().address())) {}

  Result<void> run() {
    const auto deliver = [this](RemotePipe::Lines lines, std::span<const RemoteAnswer> answers) {
      for (std::size_t i = 0; i < lines.size(); ++i) {
        take(lines[i], answers[i]);
      }
      output_.flush();
    };
    auto added =
        answer_lines(pipe_, request_.keys, request_.input, request_.ids, output_, deliver, [] { return false; });
    const auto finished = output_.finish();
    say_what_was_odd();
    if (!finished) {
      // As with a file, an error also for a closed pipe.
      return fail(finished.error().code, finished.error().message() + "; the lines read before that are in " + name_);
    }
    if (!added) {
      const std::string lost = lost_ == 0 ? "" : fmt::format(", {} sent without an answer", human_count(lost_));
      return fail_after(added.error(), fmt::format("{} added before{}", counted(added_, "key"), lost));
    }
    return summarize();
  }

 private:
  void take(std::string_view line, const RemoteAnswer& answer) {
    const bool is_added = answer.state <= RemoteAnswer::State::repeated;
    added_ += is_added ? 1U : 0U;
    new_ += is_added && answer.value > 0 ? 1U : 0U;
    refused_ += answer.state == RemoteAnswer::State::refused ? 1U : 0U;
    lost_ += answer.state == RemoteAnswer::State::lost ? 1U : 0U;
    unsure_ += answer.state == RemoteAnswer::State::repeated || answer.state == RemoteAnswer::State::lost ? 1U : 0U;
    if (request_.ack && is_added) {
      output_.append_line(line);
    }
  }

  void say_what_was_odd() const {
    if (refused_ > 0) {
      say(fmt::format("{}: {} added", name_,
                      counted(refused_, "key is not a URL and was not", "keys are not URLs and were not")));
    }
    const RemoteType type = pipe_.filter().type();
    if (unsure_ > 0 && type != RemoteType::bloom && type != RemoteType::url) {
      say(fmt::format("warning: {}: the connection broke, and {} may be counted twice", name_,
                      counted(unsure_, "key")));
    }
  }

  // CF.INSERT and HOT.INCRBY do not tell which keys are new.
  [[nodiscard]] bool tells_new() const {
    const RemoteType type = pipe_.filter().type();
    return type != RemoteType::cuckoo && type != RemoteType::hot;
  }

  Result<void> summarize() {
    MANKAI_ASSIGN(const auto facts, pipe_.filter().facts(false));
    if (request_.json) {
      Report report;
      report.add("keys_read", added_ + refused_);
      if (tells_new()) {
        report.add("keys_new", new_);
      }
      add_facts(pipe_.filter(), facts, report);
      return write_summary(report.json());
    }
    if (request_.count || isatty(STDERR_FILENO) == 1) {
      const std::string fresh = tells_new() ? fmt::format(", {} of them new", human_count(new_)) : "";
      say(fmt::format("{}: {} read{}; holds {}", name_, counted(added_ + refused_, "key"), fresh,
                      human_count(facts.keys)));
    }
    return {};
  }

  const AddRequest& request_;
  RemotePipe pipe_;
  std::string name_;
  Output output_;
  std::uint64_t added_ = 0;
  std::uint64_t new_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t unsure_ = 0;
  std::uint64_t lost_ = 0;
};

Result<int> add_in_server(const AddRequest& request) {
  constexpr double kDefaultFpr = 0.001;
  MANKAI_TRY(check_remote(request));
  catch_stop_signals();
  MANKAI_ASSIGN(const auto address, parse_remote_address(request.file));
  const auto creation = address.keys ? std::optional(RemoteCreation{.fpr = kDefaultFpr}) : std::nullopt;
  MANKAI_ASSIGN(auto filter, open_remote(request.file, creation));
  MANKAI_TRY(RemoteAdder(request, std::move(filter)).run());
  return exit_code_after_stop(0);
}

Result<int> run(const AddRequest& request) {
  MANKAI_TRY(check(request));
  if (is_remote_address(request.file)) {
    return add_in_server(request);
  }
  catch_stop_signals();
  const auto mode = request.keys.empty() ? StoreRun::Mode::batches : StoreRun::Mode::whole;
  MANKAI_ASSIGN(auto store_run, StoreRun::open(request.file, request.store, mode));
  const AnyFilter& filter = store_run.store().filter();
  MANKAI_TRY(within(request.file, check_values(request, filter)));
  const std::uint64_t keys_before = filter.keys_inserted();
  Adder adder(request, store_run);
  InputRequest input = request.input;
  input.look_interval = adder.look_interval();
  auto added = advance_to_now(store_run.store(), request.at);
  if (added) {
    store_run.note_keys(0);
    added = for_each_batch(
        request.keys, input, [&](std::span<const std::string_view> lines) { return adder.add(lines); },
        [&] { adder.print_acks(); });
  }
  if (!added) {
    auto error = store_run.give_up(added.error());
    // The keys read before the error are in the file.
    adder.print_acks();
    return error;
  }
  MANKAI_TRY(store_run.finish());
  MANKAI_TRY(adder.finish_acks());
  const Outcome outcome{.keys_read = adder.keys_read(), .keys_new = filter.keys_inserted() - keys_before};
  MANKAI_TRY(summarize(request, filter, outcome));
  if (const std::string warning = capacity_warning(filter); !warning.empty()) {
    say("warning: " + request.file + ": " + warning + "; create a larger one");
  }
  return exit_code_after_stop(0);
}

Result<double> parse_share(std::string_view text) { return text == "1" ? Result<double>(1.0) : parse_rate(text); }

}  // namespace

Subcommand add_subcommand() {
  auto request = std::make_shared<AddRequest>();
  return {
      .name = "add",
      .summary = "add keys to a filter",
      .description =
          "Adds keys to a filter: those given as arguments, or the lines of the inputs, which may be compressed with "
          "gzip, zstd or xz. A key is a line without its line feed or carriage return and line feed.\n\nKeys from "
          "inputs are written to FILE-journal as they are read, and to FILE at the end and at checkpoints. Keys that "
          "were read survive a crash of the process; --durability sets when they survive a power loss. After Ctrl-C, "
          "SIGTERM or an error, the keys read before are in the filter; an error prints their number. Keys given as "
          "arguments, and all keys with --position, are added together or not at all. Only one process at a time can "
          "add; another one fails immediately.\n\nBeyond its capacity a filter still has no false negatives, but its "
          "false-positive rate rises; add prints a warning.",
      .examples = {{"mankai add seen.mk https://example.com/", "one key"},
                   {"mankai add seen.mk < urls.txt", "one key per line"},
                   {"mankai add seen.mk --input monday.gz --input tuesday.zst --count",
                    "compressed files, and a summary"},
                   {"producer | mankai add seen.mk --ack | consumer", "prints the keys that are on disk"},
                   {"mankai add sessions.mk --ttl 1h < users.txt", "keys that expire, in a filter with --max-ttl"},
                   {"mankai add hits.mk --input monday.log --position monday.log", "adds all of the file, or nothing"}},
      .options = {filter_positional(request->file), key_options(request->keys, request->input),
                  number_options(
                      request->ids,
                      "for kinds that take ids; remove needs the same id [default: the next number for each key]."),
                  number_options(request->values, "for kinds that store values; a whole number.", "V"),
                  number_options(request->ttls,
                                 "such as 90s, 10m or 7d, for filters that were created with --max-ttl [default: the "
                                 "longest].",
                                 "TIME"),
                  parsed_option("--strength", "S", "Share of a key's slots that the value overwrites [default: 0.5].",
                                parse_share, request->strength),
                  at_option(
                      "Time of the keys, for kinds with time [default: now, or the filter's time if that is later].",
                      request->at),
                  durability_option(request->store, "added keys"),
                  flag("--ack",
                       "Print each key on a line of its own once it is on disk: with always after its batch, with "
                       "interval after a sync, with never at the end.",
                       request->ack),
                  position_option(request->store, "all keys"),
                  flag("--count", "Print a summary on standard error, as on a terminal.", request->count),
                  flag("--json", "Print the summary as JSON.", request->json), max_line_option(request->input)},
      .run = [request] { return run(*request); }};
}

}  // namespace mankai::command
