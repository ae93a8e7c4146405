#include "apps/mankai/hot_remote.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "apps/mankai/hot_report.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/remote.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/store_options.hpp"
#include "mankai/input/time_text.hpp"

namespace mankai::command {
namespace {

constexpr std::size_t kShownKeys = 20;

/// Records of one second are sent together, as increments: HOT.INCRBYAT has one time for all items.
class HotSender {
 public:
  explicit HotSender(RemoteFilter& filter) : filter_(filter) {}

  Result<void> add(const HotKeys::Batch& batch, std::optional<Time> latest) {
    for (std::size_t i = 0; i < batch.keys.size(); ++i) {
      const Time time = batch.times[i] == Time() ? clock_now() : batch.times[i];
      if (latest && time > *latest) {
        left_out_.add(time);
        continue;
      }
      const bool is_of_group = std::chrono::floor<std::chrono::seconds>(time) == second_;
      if (!is_of_group || group_.size() >= kBatchLinesMax) {
        MANKAI_TRY(send());
      }
      second_ = std::chrono::floor<std::chrono::seconds>(time);
      latest_ = group_.empty() ? time : std::max(latest_, time);
      ++group_[std::string(batch.keys[i])];
    }
    return {};
  }

  // Waits for all acknowledgments. After an error of the server it fails again, at once.
  Result<void> drain() {
    MANKAI_TRY(send());
    while (filter_.outstanding() > 0) {
      MANKAI_TRY(take());
    }
    return {};
  }

  // Ends waiting after an error.
  void abandon() {
    filter_.abandon();
    while (filter_.outstanding() > 0) {
      static_cast<void>(take());
    }
  }

  [[nodiscard]] std::uint64_t acknowledged() const noexcept { return acknowledged_; }
  [[nodiscard]] std::uint64_t unsure() const noexcept { return unsure_; }
  [[nodiscard]] const HotLeftOut& left_out() const noexcept { return left_out_; }

 private:
  Result<void> send() {
    if (group_.empty()) {
      return {};
    }
    std::vector<std::string_view> keys;
    std::vector<std::uint64_t> counts;
    for (const auto& [key, count] : group_) {
      keys.emplace_back(key);
      counts.push_back(count);
    }
    MANKAI_TRY(filter_.submit(RemoteWork::add, keys, counts, latest_));
    sent_.push_back(std::move(counts));
    group_.clear();
    while (filter_.is_full()) {
      MANKAI_TRY(take());
    }
    return {};
  }

  Result<void> take() {
    MANKAI_ASSIGN(const auto batch, filter_.receive());
    for (std::size_t i = 0; i < batch.answers.size(); ++i) {
      const auto state = batch.answers[i].state;
      const bool is_certain = state == RemoteAnswer::State::certain;
      acknowledged_ += is_certain || state == RemoteAnswer::State::repeated ? sent_.front()[i] : 0;
      unsure_ += is_certain || state == RemoteAnswer::State::skipped ? 0 : sent_.front()[i];
    }
    sent_.pop_front();
    return batch.error ? std::unexpected(*batch.error) : Result<void>();
  }

  RemoteFilter& filter_;
  std::chrono::sys_seconds second_;
  Time latest_;
  std::map<std::string, std::uint64_t, std::less<>> group_;
  std::deque<std::vector<std::uint64_t>> sent_;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t unsure_ = 0;
  HotLeftOut left_out_;
};

Result<void> check(const HotRunRequest& request) {
  if (request.every || request.is_exact || !request.wanted_path.empty() || !request.position.empty()) {
    return fail(ErrorCode::invalid_argument,
                "--every, --exact, --keys and --position need a --state in a file, or none");
  }
  return {};
}

Result<void> read_all(const HotRunRequest& request, HotKeys& keys, HotSender& sender) {
  InputRequest logs = request.input;
  logs.follow_last = request.follow;
  logs.follow_from_end = request.from == FollowFrom::end;
  Result<void> waited;
  const HotKeys like = keys.another();
  MANKAI_ASSIGN(auto input,
                HotReader::open(logs, like, request.future, [&] { waited = waited ? sender.drain() : waited; }));
  Time last;
  for (;;) {
    MANKAI_ASSIGN(const auto* const block, input->next());
    MANKAI_TRY(waited);
    if (block == nullptr) {
      return {};
    }
    keys.add(block->keys);
    for (const HotKeys::Batch& batch : block->keys.batches()) {
      batch.begin_at(last);
      last = batch.times.empty() ? last : batch.times.back();
      MANKAI_TRY(sender.add(batch, request.at));
    }
  }
}

Result<HotBlock> read_table(const HotRunRequest& request, RemoteFilter& filter) {
  MANKAI_ASSIGN(const auto facts, filter.facts(false));
  const Time at = std::max(request.at.value_or(Time()), facts.newest.value_or(Time()));
  const std::size_t most = request.top.value_or(request.min_count ? SIZE_MAX : kShownKeys);
  MANKAI_ASSIGN(const auto hottest, filter.top(most, at));
  HotBlock block{.at = at, .epoch = std::chrono::hours(1)};  // rates are per hour already
  for (const RemoteHotKey& hot : hottest) {
    if (hot.count >= request.min_count.value_or(0)) {
      block.rows.push_back({.key = hot.key, .count = {.raw = hot.count, .rate = hot.rate}});
    }
  }
  return block;
}

void print(const HotRunRequest& request, const HotBlock& block, const Report& settings, Output& output) {
  if (request.is_json) {
    output.append(hot_json(block, settings));
  } else if (isatty(STDOUT_FILENO) == 1) {
    output.append(hot_table(block));
  } else {
    output.append((request.has_header ? hot_header(block) : "") + hot_lines(block));
  }
}

void summarize(const HotLineCounts& lines, const HotSender& sender, const std::string& name) {
  if (sender.acknowledged() + sender.unsure() == 0) {
    sender.left_out().say_if_any();
  }
  if (lines.malformed > 0) {
    say(fmt::format("{} of {} malformed and skipped, the first one {}", human_count(lines.malformed),
                    counted(lines.lines, "line"), printable(lines.first_malformed)));
  }
  if (sender.unsure() > 0) {
    say(fmt::format("warning: {}: the connection broke, and {} may be counted twice", name,
                    counted(sender.unsure(), "record")));
  }
}

// Prints the server's table. Errors: as RemoteFilter and Output.
Result<void> deliver_table(const HotRunRequest& request, RemoteFilter& filter, const HotLineCounts& lines,
                           const HotSender& sender, const std::string& name) {
  MANKAI_ASSIGN(const auto block, read_table(request, filter));
  Report settings;
  settings.add("at", format_time(block.at));
  settings.add("state", name);
  settings.add("rate_unit", std::string("per hour"));
  settings.add("lines", lines.lines);
  settings.add("malformed", lines.malformed);
  settings.add("left_out", sender.left_out().records);
  settings.add("records", sender.acknowledged());
  settings.add("unconfirmed", sender.unsure());
  Output output;
  print(request, block, settings, output);
  return output.finish();
}

std::string counted_words(const HotSender& sender, const std::string& name) {
  const std::uint64_t records = sender.acknowledged();
  if (records == 0) {
    return (sender.unsure() == 0 ? "nothing was counted in " : "nothing was certainly counted in ") + name;
  }
  return fmt::format("{} counted in {}; another run on the same inputs would count {} again",
                     counted(records, "record was", "records were"), name, records == 1 ? "it" : "them");
}

}  // namespace

Result<int> run_hot_remote(const HotRunRequest& request, const std::string& state,
                           const std::vector<std::string>& creation) {
  MANKAI_TRY(check(request));
  MANKAI_ASSIGN(auto filter, open_remote(state, RemoteCreation{.hot = creation}));
  const std::string name = to_text(filter.address());
  if (filter.type() != RemoteType::hot) {
    return fail(ErrorCode::invalid_argument,
                name + ": the key is of type " + filter.type_name() + ", not made by HOT.RESERVE; give another key");
  }
  MANKAI_ASSIGN(auto keys, HotKeys::create(request.keys));
  HotSender sender(filter);
  auto read = read_all(request, keys, sender);
  // What was read before an error of the input counts, and is in the table.
  auto drained = sender.drain();
  if (!drained) {
    sender.abandon();
  }
  summarize(keys.counts(), sender, name);
  if (drained) {
    drained = deliver_table(request, filter, keys.counts(), sender, name);
  }
  if (!read || !drained) {
    return fail_after(read ? drained.error() : read.error(), counted_words(sender, name));
  }
  return request.follow ? exit_code_of_service(0) : exit_code_after_stop(0);
}

}  // namespace mankai::command
