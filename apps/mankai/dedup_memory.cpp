#include "apps/mankai/dedup_memory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "apps/mankai/file_kind.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/remote.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/store_options.hpp"
#include "apps/mankai/store_report.hpp"
#include "apps/mankai/store_run.hpp"
#include "mankai/base/duration.hpp"
#include "mankai/filter/scalable_bloom/scalable_bloom.hpp"
#include "mankai/input/time_text.hpp"

namespace mankai::command {
namespace {

/// Initial capacity of a growing filter: two megabytes.
constexpr std::uint64_t kGrowingKeys = 1'000'000;
/// Tolerates clock differences. A later timestamp is an error of the input; with a window it would make all keys
/// expire.
constexpr Duration kFuture = std::chrono::hours(24);

Result<Seen> open_seen(const DedupMemoryRequest& request) {
  if (!request.state.empty()) {
    MANKAI_TRY(check_is_no_gate(request.state));
  }
  // An existing state keeps its kind and size. A new one grows unless its size is given.
  const bool is_new = request.state.empty() || ::access(request.state.c_str(), F_OK) != 0;
  const bool is_sized = request.filter.keys || request.filter.kind || request.window;
  const bool grows = request.grow || (is_new && !is_sized);
  const bool starts_small = grows && is_new && !request.filter.keys;
  const SeenRequest wanted{.kind = grows && !request.filter.kind ? Kind{ScalableBloom::kKind} : request.filter.kind,
                           .keys = starts_small ? kGrowingKeys : request.filter.keys,
                           .fpr = request.filter.fpr,
                           .hash = request.filter.hash,
                           .seed = request.filter.seed,
                           .canonical = request.canonical ? std::optional(true) : std::nullopt,
                           .window = request.window};
  return request.state.empty()
             ? Seen::create(wanted)
             : opened_filter(request.state, Seen::open(request.state, wanted, request.store.options()));
}

// A clock that was wrong once leaves such a state.
void warn_of_future(const std::string& file, const Seen& seen) {
  const auto reached = seen.window() ? seen.time() : std::nullopt;
  if (reached && *reached > clock_now() + kFuture) {
    say(
        fmt::format("warning: {}: its time is {}, in the future, and no line in it expires before; if that time is "
                    "wrong, use another state",
                    file, format_time(*reached)));
  }
}

// Estimates the number of unexpired keys from the fill; keys_inserted includes expired ones.
std::uint64_t keys_left(const AnyFilter& filter) {
  const FilterInfo info = filter.describe();
  const bool is_countable = info.keys_estimate < static_cast<double>(info.keys_inserted);
  return is_countable ? static_cast<std::uint64_t>(std::llround(info.keys_estimate)) : info.keys_inserted;
}

Result<ConfirmedSeen> open_log(const DedupMemoryRequest& request) {
  ConfirmedSeenRequest wanted{.hash = request.filter.hash,
                              .seed = request.filter.seed,
                              .canonical = request.canonical ? std::optional(true) : std::nullopt};
  wanted.keys = request.filter.keys.value_or(kGrowingKeys);
  wanted.fpr = request.filter.fpr.value_or(wanted.fpr);
  auto memory = ConfirmedSeen::open(request.log, wanted, {.mode = request.store.mode});
  if (memory && memory->log().dropped_bytes() > 0) {
    say(
        fmt::format("warning: {}: dropped an incomplete batch of {} bytes at the end; the last lines of the previous "
                    "run may be printed again",
                    request.log, human_count(memory->log().dropped_bytes())));
  }
  return memory;
}

Result<void> check_log(const DedupMemoryRequest& request) {
  if (!request.state.empty()) {
    return fail(ErrorCode::invalid_argument, "--confirm and --state cannot be combined: --confirm keeps its own state");
  }
  if (request.window) {
    return fail(ErrorCode::invalid_argument,
                "--confirm and --forget cannot be combined: keys never expire from the log");
  }
  if (request.grow || request.filter.kind) {
    return fail(ErrorCode::invalid_argument,
                "--confirm cannot be combined with --kind or --grow: it has its own filter, which grows");
  }
  return {};
}

// Options of files and of kinds do not apply to a server.
Result<void> check_remote(const DedupMemoryRequest& request) {
  if (request.window) {
    return fail(ErrorCode::invalid_argument,
                "--forget needs a --state in a file; for a server, add ttl=TIME to the address");
  }
  if (request.filter.kind || request.filter.hash || request.filter.seed || request.grow) {
    return fail(ErrorCode::invalid_argument,
                "--kind, --hash, --seed and --grow need a --state in a file; in a server a filter grows");
  }
  return request.store.policy || request.store.mode
             ? fail(ErrorCode::invalid_argument, "--durability and --mode need a --state in a file")
             : Result<void>();
}

Result<DedupRemote> open_dedup_remote(const DedupMemoryRequest& request) {
  const RemoteCreation creation{.keys = request.filter.keys.value_or(kGrowingKeys),
                                .fpr = request.filter.fpr.value_or(Seen::kDefaultFpr)};
  MANKAI_ASSIGN(auto filter, open_remote(request.state, creation));
  return DedupRemote(std::move(filter), request.canonical);
}

}  // namespace

Result<void> check_dedup_memory(const DedupMemoryRequest& request) {
  if (is_remote_address(request.state)) {
    MANKAI_TRY(check_remote(request));
  }
  if (request.grow && request.filter.kind && !description_of(*request.filter.kind).can_grow) {
    return fail(ErrorCode::invalid_argument, "--grow needs a kind that grows; leave --kind out");
  }
  if (request.grow && request.window) {
    return fail(ErrorCode::invalid_argument,
                "--forget and --grow cannot be combined: a window has a fixed size; give --keys, the number of keys "
                "per window");
  }
  if (request.store.policy && request.state.empty() && request.log.empty()) {
    return fail(ErrorCode::invalid_argument, "--durability needs --state or --confirm");
  }
  return request.log.empty() ? Result<void>{} : check_log(request);
}

DedupMemory::DedupMemory(Memory memory, const DedupMemoryRequest& request)
    : memory_(std::move(memory)),
      file_(request.log.empty() ? request.state : request.log),
      policy_(request.store.policy.value_or(StoreRequest::Policy{})),
      seen_(std::make_unique<bool[]>(kBatchLinesMax)) {
  if (forgets()) {
    remembered_before_ = keys_left(std::get<Seen>(memory_).filter());
  }
}

Result<DedupMemory> DedupMemory::open(const DedupMemoryRequest& request) {
  if (!request.log.empty()) {
    auto log = open_log(request);
    return log ? Result<DedupMemory>(DedupMemory(std::move(*log), request)) : std::unexpected(log.error());
  }
  if (is_remote_address(request.state)) {
    MANKAI_ASSIGN(auto remote, open_dedup_remote(request));
    return DedupMemory(std::move(remote), request);
  }
  MANKAI_ASSIGN(auto seen, open_seen(request));
  if (seen.store() != nullptr) {
    warn_of_loss(request.state, seen.store()->recovery());
    warn_of_future(request.state, seen);
  }
  return DedupMemory(std::move(seen), request);
}

bool DedupMemory::forgets() const noexcept {
  const auto* const seen = std::get_if<Seen>(&memory_);
  return seen != nullptr && seen->window().has_value();
}

// A window is advanced before its keys are encoded, and a kind without such readers may check them against its state.
const AnyFilter* DedupMemory::filter() const noexcept {
  const auto* const seen = std::get_if<Seen>(&memory_);
  return seen != nullptr && !forgets() && seen->filter().kind().has_lock_free_readers ? &seen->filter() : nullptr;
}

Result<void> DedupMemory::observe(const DedupBatch& batch, const DeliverDedup& deliver) {
  if (auto* const remote = std::get_if<DedupRemote>(&memory_)) {
    return remote->observe(batch, deliver);
  }
  std::array<Answer, kBatchLinesMax> room;
  const auto answers = std::span(room).first(batch.lines.size());
  if (auto* const seen = std::get_if<Seen>(&memory_)) {
    MANKAI_TRY(observe(*seen, batch, answers));
  } else {
    std::get<ConfirmedSeen>(memory_).observe(batch.keys, answers);
  }
  deliver(batch, answers);
  return {};
}

Result<void> DedupMemory::drain(const DeliverDedup& deliver) {
  auto* const remote = std::get_if<DedupRemote>(&memory_);
  return remote == nullptr ? Result<void>() : remote->drain(deliver);
}

Result<void> DedupMemory::observe(Seen& seen, const DedupBatch& batch, std::span<Answer> answers) {
  const std::span<bool> outcomes(seen_.get(), batch.keys.size());
  seen.begin();
  const auto observe = [&]() -> Result<void> {
    if (batch.change) {
      return *batch.change ? seen.observe(**batch.change, outcomes) : std::unexpected(batch.change->error());
    }
    return forgets() ? seen.observe(batch.keys, times_of(batch), outcomes) : seen.observe(batch.keys, outcomes);
  };
  auto observed = observe();
  std::ranges::transform(outcomes, answers.begin(),
                         [](bool is_repeat) { return is_repeat ? Answer::repeat : Answer::fresh; });
  return observed;
}

// A key without a usable time gets that of the key before it, or the clock's if there is none.
std::span<const Time> DedupMemory::times_of(const DedupBatch& batch) {
  const Time now = clock_now();
  times_.clear();
  for (std::size_t i = 0; i < batch.keys.size(); ++i) {
    const std::optional<Time> time = batch.times.empty() ? std::nullopt : batch.times[i];
    const bool is_in_future = time > now + kFuture;
    in_future_ += static_cast<std::uint64_t>(is_in_future);
    without_time_ += static_cast<std::uint64_t>(!time);
    if (time && !is_in_future) {
      before_ = time;
    }
    times_.push_back(before_.value_or(now));
  }
  return times_;
}

Result<void> DedupMemory::commit() {
  if (file_.empty() || remote() != nullptr) {
    return {};
  }
  if (auto* const seen = std::get_if<Seen>(&memory_)) {
    return seen->commit();
  }
  is_unsynced_ = true;
  auto committed = std::get<ConfirmedSeen>(memory_).commit();
  return committed ? sync_if_due() : committed;
}

Result<void> DedupMemory::idle() { return is_unsynced_ ? sync_if_due() : Result<void>{}; }

Result<void> DedupMemory::sync_if_due() {
  const auto now = std::chrono::steady_clock::now();
  const bool is_due = policy_.durability == Durability::always ||
                      (policy_.durability == Durability::interval && now - synced_ >= policy_.interval);
  if (!is_due) {
    return {};
  }
  synced_ = now;
  is_unsynced_ = false;
  return std::get<ConfirmedSeen>(memory_).sync();
}

Result<void> DedupMemory::close() {
  if (auto* const seen = std::get_if<Seen>(&memory_)) {
    return seen->close();
  }
  if (auto* const remote = std::get_if<DedupRemote>(&memory_)) {
    return remote->close();
  }
  return std::get<ConfirmedSeen>(memory_).close();
}

std::string DedupMemory::capacity_warning(bool is_at_end) const {
  const auto* const seen = std::get_if<Seen>(&memory_);
  if (seen == nullptr || !seen->is_over_capacity()) {
    return {};
  }
  if (forgets()) {
    return fmt::format(
        "more distinct lines per {} than --keys ({}): more than {} of the new lines are dropped; give a larger --keys",
        to_text(*seen->window()), human_count(seen->capacity_keys()), human_share(seen->filter().spec().fpr));
  }
  if (is_at_end) {
    return command::capacity_warning(seen->keys_inserted(), seen->capacity_keys());
  }
  return fmt::format(
      "more than {}: from here on, more than {} of the new lines are dropped; give a larger --keys, or "
      "none",
      counted(seen->capacity_keys(), "distinct line"), human_share(seen->filter().spec().fpr));
}

bool DedupMemory::is_overfull() const noexcept {
  const auto* const seen = std::get_if<Seen>(&memory_);
  return seen != nullptr && seen->is_overfull();
}

std::string DedupMemory::overfull_error() const {
  const auto& seen = std::get<Seen>(memory_);
  const std::string where = file_.empty() ? "" : file_ + ": ";
  if (forgets()) {
    return fmt::format(
        "{}more than twice the capacity of {} ({}) within a part of it: new lines may have been dropped; run it "
        "again with a larger --keys",
        where, to_text(*seen.window()), counted(seen.capacity_keys(), "key"));
  }
  return fmt::format(
      "{}more than twice the capacity ({}): new lines may have been dropped, {} of them at the end; run it again "
      "{}",
      where, counted(seen.capacity_keys(), "key"), human_share(seen.filter().describe().fpr_estimate),
      file_.empty() ? "without --keys" : "with another --state and without --keys");
}

void DedupMemory::add_to(Report& report, std::uint64_t unique) const {
  if (const auto* const confirmed = std::get_if<ConfirmedSeen>(&memory_)) {
    add_log_to(report, *confirmed);
    return;
  }
  if (remote() != nullptr) {
    remote()->add_to(report);
    return;
  }
  const auto& seen = std::get<Seen>(memory_);
  if (forgets()) {
    add_window_to(report, seen);
  }
  add_filter_to(report, seen, unique);
}

void DedupMemory::add_filter_to(Report& report, const Seen& seen, std::uint64_t unique) const {
  const FilterInfo info = seen.filter().describe();
  const std::string warning = seen.is_over_capacity() ? ": over capacity; give a larger --keys, or none" : "";
  const std::uint64_t remembered =
      forgets() ? std::min(keys_left(seen.filter()), remembered_before_ + unique) : info.keys_inserted;
  report.add("keys_inserted", remembered, "remembered",
             fmt::format("{}{} of {}{}", forgets() ? "about " : "", human_count(remembered),
                         human_count(info.capacity_keys), warning));
  report.add("capacity_keys", info.capacity_keys);
  report.add("over_capacity", seen.is_over_capacity());
  report.add("memory_bytes", info.image_bytes, "memory", human_bytes(info.image_bytes));
  report.add("fpr_target", info.fpr_target);
  report.add("fpr_estimate", info.fpr_estimate, "false-positive rate",
             fmt::format("{} of new lines are dropped", human_share(info.fpr_estimate)));
}

void DedupMemory::add_window_to(Report& report, const Seen& seen) const {
  const auto seconds = [](Duration duration) { return std::chrono::duration<double>(duration).count(); };
  report.add("window_seconds", seconds(*seen.window()), "window",
             fmt::format("{}, expires after {}", to_text(*seen.window()), to_text(*seen.forgets_after())));
  report.add("forgets_after_seconds", seconds(*seen.forgets_after()));
  report.add("without_time", without_time_);
  report.add("in_future", in_future_);
}

void DedupMemory::add_log_to(Report& report, const ConfirmedSeen& memory) const {
  const DigestLog& log = memory.log();
  report.add("log_keys", log.digests(), "in the log",
             fmt::format("{} in {}, {}", human_count(log.digests()), counted(log.runs() + 1, "file"),
                         human_bytes(log.file_bytes())));
  report.add("log_bytes", log.file_bytes());
  report.add("log_runs", std::uint64_t{log.runs()});
  report.add("log_dropped_bytes", log.dropped_bytes());
  report.add("capacity_keys", memory.filter().capacity_keys());
  report.add("memory_bytes", memory.memory_bytes(), "memory", human_bytes(memory.memory_bytes()));
}

}  // namespace mankai::command
