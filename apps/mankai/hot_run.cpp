#include "apps/mankai/hot_run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "apps/mankai/hot_report.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/signals.hpp"
#include "mankai/base/duration.hpp"
#include "mankai/hot/exact_decayed_counts.hpp"
#include "mankai/input/time_text.hpp"

namespace mankai::command {
namespace {

constexpr std::size_t kDefaultTop = 20;
/// Smaller counts are printed as 0.000; they are left out even if fewer than `top` keys remain.
constexpr double kLeastShown = 0.0005;
/// Exact counts this close to the last one of the list count as agreeing.
constexpr double kNearlyOnTheList = 0.99;

using Lines = std::span<const std::string_view>;

Time end_of_period(Time time, Duration period) {
  const auto since = time.time_since_epoch();
  const auto into = ((since % period) + period) % period;
  return time > Time::max() - period ? Time::max() : time - into + period;
}

Result<std::vector<std::string>> read_wanted(const HotRunRequest& request) {
  std::vector<std::string> wanted;
  if (request.wanted_path.empty()) {
    return wanted;
  }
  const InputRequest input{.paths = {request.wanted_path}, .lines = request.input.lines};
  MANKAI_TRY(for_each_batch({}, input, [&](Lines lines) {
    wanted.insert(wanted.end(), lines.begin(), lines.end());
    return true;
  }));
  return wanted;
}

class HotRun {
 public:
  HotRun(const HotRunRequest& request, Hot hot, HotKeys keys, std::vector<std::string> wanted, const std::string& state)
      : request_(request),
        hot_(std::move(hot)),
        keys_(std::move(keys)),
        wanted_(std::move(wanted)),
        state_(state),
        records_before_(hot_.records()),
        late_before_(hot_.late_records()),
        records_kept_(records_before_),
        last_time_(hot_.now()) {
    if (request.is_exact) {
      exact_.emplace(hot_.decay().lambda());
    }
  }

  Result<int> run() {
    InputRequest logs = request_.input;
    logs.follow_last = request_.follow;
    logs.follow_from_end = begins_at_end();
    const HotKeys like = keys_.another();
    MANKAI_ASSIGN(auto input, HotReader::open(logs, like, request_.future, [this] { wait(); }));
    hot_.begin(BatchMode::in_memory);
    const auto read = read_all(*input);
    // Without a time nothing decays.
    if (request_.at && last_time_ != Time() && stop_signal() == 0) {
      note(hot_.advance_to(*request_.at));
    }
    screen_.clear(output_);
    print();
    MANKAI_TRY(finish(read));
    return request_.follow ? exit_code_of_service(0) : exit_code_after_stop(0);
  }

 private:
  // A state with records has usually counted this log already.
  [[nodiscard]] bool begins_at_end() const {
    const bool is_resumed = request_.follow && !state_.empty() && records_before_ > 0;
    if (is_resumed && !request_.from) {
      say(state_ + ": has records already; following from the end of the log; --from start reads all of it");
    }
    return request_.from ? *request_.from == FollowFrom::end : is_resumed;
  }

  Result<void> read_all(Pipeline<HotReader>& input) {
    while (!output_.has_failed() && counted_) {
      MANKAI_ASSIGN(const auto* const block, input.next());
      if (block == nullptr) {
        break;
      }
      if (is_caught_up_) {
        hot_.begin(BatchMode::journaled);
      }
      take(block->keys);
      is_changed_ = true;
      if (is_live_) {
        refresh();
      }
      if (is_caught_up_) {
        keep();
      }
    }
    return {};
  }

  // Called when nothing more can be read at once. The initial contents of a followed log are one batch: if a crash left
  // half of them in the state, the next run would skip the other half.
  void wait() {
    refresh();
    if (request_.follow && !is_caught_up_) {
      keep();
      is_caught_up_ = true;
    }
  }

  // Commits only after the output was written, so that the state has no record that no table showed.
  void keep() {
    if (!state_.empty() && output_.flush()) {
      note(hot_.commit());
      records_kept_ = hot_.records();
    }
  }

  // The first error of the state ends the run.
  void note(Result<void> counted) {
    if (!counted && counted_) {
      counted_ = std::move(counted);
    }
  }

  void take(const HotKeys& keys) {
    keys_.add(keys);
    for (const HotKeys::Batch& batch : keys.batches()) {
      if (!batch.times.empty()) {
        batch.begin_at(last_time_);
        last_time_ = batch.times.back();
        count(batch);
      }
    }
  }

  // Flushes the output; on a terminal, redraws the table at most once per second.
  void refresh() {
    constexpr auto kBetweenTables = std::chrono::seconds(1);
    const auto now = std::chrono::steady_clock::now();
    if (is_live_ && is_changed_ && now >= next_table_) {
      screen_.draw(make_block(), heading(hot_.now()), output_);
      next_table_ = now + kBetweenTables;
      is_changed_ = false;
    }
    output_.flush();
  }

  // Splits the batch at ends of periods and at records after --at.
  void count(const HotKeys::Batch& batch) {
    if (!request_.at && !request_.every) {
      observe(batch, 0, batch.keys.size());
      return;
    }
    std::size_t begin = 0;
    for (std::size_t i = 0; i < batch.times.size(); ++i) {
      const Time time = batch.times[i];
      if (request_.at && time > *request_.at) {
        observe(batch, begin, i);
        begin = i + 1;
        left_out_.add(time);
      } else if (request_.every && (!period_end_ || time >= *period_end_)) {
        observe(batch, begin, i);
        begin = i;
        begin_period(time);
      }
    }
    observe(batch, begin, batch.keys.size());
  }

  void observe(const HotKeys::Batch& batch, std::size_t begin, std::size_t end) {
    const auto keys = batch.keys.subspan(begin, end - begin);
    const auto times = batch.times.subspan(begin, end - begin);
    note(hot_.observe(keys, times));
    if (exact_) {
      for (std::size_t i = 0; i < keys.size(); ++i) {
        exact_->insert(keys[i], tick_of(times[i], hot_.decay().epoch));
      }
    }
  }

  void begin_period(Time time) {
    if (period_end_) {
      note(hot_.advance_to(*period_end_));
      print();
    }
    period_end_ = end_of_period(time, *request_.every);
  }

  void print() {
    const HotBlock block = make_block();
    errors_ = block.errors.value_or(HotErrors{});
    if (request_.is_json) {
      output_.append(hot_json(block, settings(block)));
    } else if (is_terminal_) {
      output_.append(heading(block.at) + "\n" + hot_table(block) + "\n");
    } else {
      print_lines(block);
    }
  }

  void print_lines(const HotBlock& block) {
    if (request_.has_header && !std::exchange(has_printed_header_, true)) {
      output_.append(hot_header(block, request_.every ? "as of\t" : ""));
    }
    output_.append(hot_lines(block, request_.every ? format_time(block.at) + "\t" : ""));
  }

  [[nodiscard]] HotBlock make_block() const {
    HotBlock block{.at = hot_.now(), .epoch = hot_.decay().epoch, .is_ranked = request_.wanted_path.empty()};
    block.is_exact = exact_.has_value();
    block.has_rates = (hot_.decay().lambda_q32 < kLambdaOne || hot_.window() != Duration()) && hot_.newest() != Time();
    if (block.is_ranked) {
      for (const Hot::Entry& entry : entries()) {
        block.rows.push_back({.key = std::string(entry.key),
                              .count = entry.count,
                              .last_seen = seen(entry.last_seen),
                              .is_cut = entry.is_cut});
      }
    }
    for (const std::string& key : wanted_) {
      block.rows.push_back({.key = key, .count = hot_.estimate(key)});
    }
    if (exact_) {
      add_truth(block);
    }
    return block;
  }

  // Records without a time count as of 1970.
  [[nodiscard]] static std::optional<Time> seen(Time time) {
    return time == Time() ? std::nullopt : std::optional(time);
  }

  [[nodiscard]] std::vector<Hot::Entry> entries() const {
    if (!request_.min_count) {
      auto entries = hot_.top(request_.top.value_or(kDefaultTop));
      std::erase_if(entries, [](const Hot::Entry& entry) { return entry.count.raw < kLeastShown; });
      return entries;
    }
    auto entries = hot_.above(*request_.min_count);
    entries.resize(std::min<std::size_t>(entries.size(), request_.top.value_or(entries.size())));
    return entries;
  }

  void add_truth(HotBlock& block) const {
    const Tick now = hot_.filter().tick();
    const auto truth = block.is_ranked ? exact_->top(block.rows.size(), now) : decltype(exact_->top(0, now)){};
    const double least = truth.empty() ? 0 : truth.back().count * kNearlyOnTheList;
    HotErrors errors{.wanted = truth.size()};
    for (HotRow& row : block.rows) {
      if (row.is_cut) {
        continue;  // the rest of its key was not stored
      }
      row.exact = exact_->estimate(row.key, now);
      const double error = std::abs(row.count.raw - *row.exact);
      errors.largest = std::max(errors.largest, error);
      errors.mean += error / static_cast<double>(block.rows.size());
      errors.agreeing += static_cast<std::size_t>(*row.exact >= least);
    }
    block.errors = errors;
  }

  [[nodiscard]] std::string heading(Time at) const {
    return fmt::format(
        "{}  {}, {}", at == Time() ? "no times" : format_time(at), counted(hot_.records(), "record"),
        hot_.window() != Duration() ? "count in the last " + to_text(hot_.window()) : "half-life " + half_life_words());
  }

  [[nodiscard]] std::string half_life_words() const {
    const double seconds = hot_.decay().half_life_seconds();
    if (!std::isfinite(seconds)) {
      return "infinite";
    }
    return to_text(std::chrono::round<std::chrono::seconds>(std::chrono::duration<double>(seconds)));
  }

  [[nodiscard]] Report settings(const HotBlock& block) const {
    const HotLineCounts& lines = keys_.counts();
    const Decay decay = hot_.decay();
    Report report;
    report.add("at", format_time(block.at));
    report.add("newest", format_time(hot_.newest()));
    report.add("by", request_.keys.match ? "match"
                                         : std::string(hot_field_names()[static_cast<std::size_t>(request_.keys.by)]));
    if (request_.keys.match) {
      report.add("match", *request_.keys.match);
    }
    report.add("query", request_.keys.keep_query);
    report.add("format", std::string(name(keys_.format())));
    if (hot_.window() != Duration()) {
      report.add("window_seconds", std::chrono::duration<double>(hot_.window()).count());
    }
    report.add("half_life_seconds", decay.half_life_seconds());
    report.add("lambda", decay.lambda());
    report.add("epoch_seconds", std::chrono::duration<double>(decay.epoch).count());
    report.add("rate_unit", std::string("per hour"));
    report.add("rounding", std::string(name(hot_.filter().rounding())));
    report.add("memory_bytes", std::uint64_t{hot_.filter().image_bytes()});
    report.add("lines", lines.lines);
    report.add("malformed", lines.malformed);
    report.add("first_malformed", lines.first_malformed);
    report.add("without_key", lines.without_key);
    report.add("without_time", lines.without_time);
    report.add("left_out", left_out_.records);
    report.add("in_future", lines.in_future);
    report.add("first_in_future", lines.first_in_future);
    report.add("records", hot_.records() - records_before_);
    report.add("records_in_all", hot_.records());
    report.add("late", hot_.late_records() - late_before_);
    report.add("late_beyond_tolerance", hot_.records_beyond_tolerance());
    report.add("late_tolerance_seconds", std::chrono::duration<double>(hot_.late_tolerance()).count());
    return report;
  }

  // Commits only if everything was written: otherwise a repeated run would count records twice.
  Result<void> finish(const Result<void>& read) {
    if (auto finished = output_.finish(); !finished) {
      static_cast<void>(hot_.close());
      if (state_.empty()) {
        return finished;
      }
      return fail(finished.error().code,
                  finished.error().message() + "; " + state_ + left_as_it_was() + ": its table was not delivered");
    }
    summarize();
    return state_.empty() ? read : finish_state(counted_ ? read : counted_);
  }

  Result<void> finish_state(const Result<void>& counted) {
    if (!counted) {
      static_cast<void>(hot_.close());
      return fail_after(counted.error(), state_ + left_as_it_was());
    }
    if (stop_signal() != 0 && !request_.position.empty()) {
      say(state_ + left_as_it_was());
      return hot_.close();
    }
    // A commit that fails after the file is in place: the next run would count the records twice.
    const Store& store = *hot_.store();
    const std::uint64_t before = store.sequence();
    auto done = hot_.commit(request_.position);
    const bool is_in = done.has_value() || store.sequence() != before;
    if (done) {
      done = hot_.close();
    }
    if (done) {
      return {};
    }
    const bool is_durable = store.durable_sequence() == store.sequence();
    return fail_after(done.error(), is_in ? fmt::format("{} has these records{}: do not count them again", state_,
                                                        is_durable ? "" : ", unless power is lost")
                                          : state_ + left_as_it_was());
  }

  [[nodiscard]] std::string left_as_it_was() const {
    return records_kept_ == records_before_ ? " is unchanged" : " has what was counted before";
  }

  void summarize() const {
    const HotLineCounts& lines = keys_.counts();
    if (hot_.records() == records_before_) {
      left_out_.say_if_any();
    }
    if (lines.in_future > 0) {
      say(fmt::format("{} {} in the future and {} skipped (--future), the first one {}",
                      counted(lines.in_future, "record has a timestamp more than", "records have timestamps more than"),
                      to_text(request_.future), lines.in_future == 1 ? "was" : "were",
                      printable(lines.first_in_future)));
    }
    if (lines.malformed > 0) {
      say(fmt::format("{} of {} {} malformed and skipped, the first one {}", human_count(lines.malformed),
                      counted(lines.lines, "line"), lines.malformed == 1 ? "is" : "are",
                      printable(lines.first_malformed)));
    }
    if (lines.without_key > 0) {
      say(fmt::format("{} of {} {} not have the counted field and {} skipped", human_count(lines.without_key),
                      counted(lines.lines, "line"), lines.without_key == 1 ? "does" : "do",
                      lines.without_key == 1 ? "was" : "were"));
    }
    if (const std::uint64_t late = hot_.late_records() - late_before_; late > 0) {
      say(fmt::format(
          "{} arrived late, {} of them by more than {}; each was counted {}", counted(late, "record"),
          human_count(hot_.records_beyond_tolerance()), to_text(hot_.late_tolerance()),
          hot_.window() != Duration() ? "at its own time, if that is in the window" : "with its decayed weight"));
    }
    if (exact_ && request_.wanted_path.empty()) {
      say(
          fmt::format("{} of the {} rows are in the exact top {} or within 1% of it; count - exact is {:.3f} at most, "
                      "{:.3f} on average",
                      errors_.agreeing, errors_.wanted, errors_.wanted, errors_.largest, errors_.mean));
    }
  }

  const HotRunRequest& request_;
  Hot hot_;
  HotKeys keys_;
  std::vector<std::string> wanted_;
  const std::string& state_;
  std::optional<ExactDecayedCounts> exact_;
  std::optional<Time> period_end_;
  std::uint64_t records_before_;
  std::uint64_t late_before_;
  std::uint64_t records_kept_;
  HotLeftOut left_out_;
  Time last_time_;
  HotErrors errors_;  // of the last printed table
  bool has_printed_header_ = false;
  bool is_terminal_ = isatty(STDOUT_FILENO) == 1;
  bool is_live_ = is_terminal_ && request_.follow && !request_.is_json && !request_.every;
  bool is_changed_ = true;
  std::chrono::steady_clock::time_point next_table_;
  bool is_caught_up_ = false;  // the initial contents of a followed log were counted
  Result<void> counted_;
  HotScreen screen_;
  Output output_;
};

std::string words_of(const HotKeyRequest& keys) { return keys.match ? "this --match" : options_of_tag(keys_tag(keys)); }

Result<void> check_keys(const Hot& hot, const HotKeyRequest& keys, const std::string& state) {
  const std::uint64_t tag = hot.filter().keys_tag();
  if (tag == 0 || tag == keys_tag(keys)) {
    return {};
  }
  return fail(ErrorCode::invalid_argument,
              fmt::format("{}: counts the keys of {}, not of {}; give the same options, or another file", state,
                          options_of_tag(tag), words_of(keys)));
}

// The state has no keys tag, so its keys are unknown; this run must not store its own tag.
void warn_of_unknown_keys(const Hot& hot, const HotKeyRequest& keys, const std::string& state) {
  if (hot.filter().keys_tag() == 0) {
    say(
        fmt::format("warning: {}: does not store what it counts, so the keys of {} may be mixed with others; use a new "
                    "--state file to have that checked",
                    state, words_of(keys)));
  }
}

}  // namespace

Result<int> run_hot(const HotRunRequest& request, Hot hot, const std::string& state) {
  MANKAI_TRY(check_keys(hot, request.keys, state));
  if (request.at && hot.now() > *request.at) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("--at {} is before {}, the time of {}; time does not go back", format_time(*request.at),
                            format_time(hot.now()), state.empty() ? std::string("an empty memory") : state));
  }
  MANKAI_ASSIGN(auto keys, HotKeys::create(request.keys));
  MANKAI_ASSIGN(auto wanted, read_wanted(request));
  warn_of_unknown_keys(hot, request.keys, state);
  return HotRun(request, std::move(hot), std::move(keys), std::move(wanted), state).run();
}

}  // namespace mankai::command
