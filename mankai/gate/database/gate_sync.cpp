#include "mankai/gate/database/gate_sync.hpp"
#include "mankai/filter/counting_bloom/counting_bloom.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "mankai/filter/any_filter.hpp"
#include "mankai/gate/database/detail/gate_leftovers.hpp"
#include "mankai/gate/database/source_settings.hpp"
#include "mankai/gate/gate_position.hpp"
#include "mankai/hash/hasher.hpp"
#include "mankai/store/filter_file.hpp"

namespace mankai {
namespace {

using Clock = std::chrono::steady_clock;

// How soon a stop is noticed.
constexpr Duration kSlice = std::chrono::milliseconds(100);
constexpr std::uint64_t kMinKeys = 1000;

constexpr std::string_view kNameStart = "mankai_";
constexpr std::string_view kNameDigits = "0123456789abcdef";
constexpr std::size_t kNameDigitCount = 8;

// A name that no other gate has: eight hexadecimal digits of the system's randomness.
std::string new_name() {
  constexpr unsigned kBits = 4;
  std::uint64_t drawn = HashSpec::random().seed[0];
  std::string name(kNameStart);
  for (std::size_t i = 0; i < kNameDigitCount; ++i, drawn >>= kBits) {
    name += kNameDigits[drawn % kNameDigits.size()];
  }
  return name;
}

bool is_installed_name(std::string_view name) {
  return name.size() == kNameStart.size() + kNameDigitCount && name.starts_with(kNameStart) &&
         name.find_first_not_of(kNameDigits, kNameStart.size()) == std::string_view::npos;
}

// A file is found again from wherever the gate is synced.
std::string with_whole_path(const std::string& source) {
  constexpr std::string_view kScheme = "sqlite:";
  if (!source.starts_with(kScheme) || source.size() == kScheme.size()) {
    return source;
  }
  std::error_code ignored;
  const auto whole = std::filesystem::absolute(source.substr(kScheme.size()), ignored);
  return whole.empty() ? source : std::string(kScheme) + whole.lexically_normal().string();
}

Result<void> stopped() { return fail(ErrorCode::invalid_argument, "was stopped before the gate was built"); }

Result<Gate> gate_of_snapshot(RowSource& source, const RowSourceSettings& settings, const GateBuild& build) {
  MANKAI_ASSIGN(const auto count, source.count_keys());
  auto gate = Gate::create(
      {.keys = build.keys.value_or(std::max(2 * count, kMinKeys)), .fpr = build.fpr, .source_id = settings.installed});
  if (!gate) {
    return std::unexpected(gate.error());
  }
  MANKAI_ASSIGN(const auto position, source.snapshot([&](std::span<const std::string_view> keys) -> Result<void> {
    if (build.should_stop && build.should_stop()) {
      return stopped();
    }
    return gate->apply({.inserted = keys}, 0);
  }));
  MANKAI_TRY(gate->apply({.mark = position.mark}, position.number));
  return gate;
}

// The filter's place is taken last, and where that fails the old settings stand again. A crash in between leaves filter
// and settings of two gates, which differ in their name and are refused.
Result<void> put_in_place(const std::string& path, const RowSourceSettings& settings, Gate& gate,
                          const GateBuild& build) {
  const auto old = read_source_settings(path);
  // Settings without their filter are of no use to anybody.
  MANKAI_TRY(write_source_settings(path, settings, Existing::replace, build.mode));
  auto saved = gate.save(path, build.existing, build.mode);
  if (!saved) {
    static_cast<void>(old ? write_source_settings(path, *old, Existing::replace)
                          : remove_file(source_settings_path(path)));
  }
  return saved;
}

bool may_pass(const Error& error) { return error.code == ErrorCode::io || error.code == ErrorCode::locked; }

bool was_stopped(const Error& error) { return error.code == ErrorCode::io && error.os_error == EINTR; }

// Of a gate's file; empty where none is there, or it cannot be read.
std::string installed_name_in(const std::string& path) {
  const auto store = inspect_store(path);
  return store ? installed_name_of(store->filter, store->info.recovery.position) : std::string();
}

// What to do by hand for a gate whose source is not known.
std::string words_without_source(const Error& why, const std::string& name) {
  const std::string parts = name.empty() ? "whose names begin with mankai_" : "which are named " + name;
  return why.message() + ": its database is not known; take its parts out there by hand, " + parts +
         ": docs/gate.md has the SQL";
}

// One build, from the moment when what it may leave is written down.
class Builder {
 public:
  Builder(const std::string& path, RowSourceSettings settings, const GateBuild& build, detail::GateLeftovers& leftovers)
      : path_(path), settings_(std::move(settings)), build_(build), leftovers_(leftovers) {}

  Result<GateBuilt> run() {
    const auto old = read_source_settings(path_);
    std::string left = words_of(leftovers_.take_out(old ? old->installed : std::string()));
    const std::string unknown = old ? std::string() : words_of_unknown(old.error());
    MANKAI_ASSIGN(auto source, open_row_source(settings_));
    source->stop_when(build_.should_stop);
    MANKAI_TRY(note(old));
    auto gate = build(*source);
    if (!gate) {
      return give_up(gate.error(), *source, old);
    }
    // The new gate is in use by now.
    if (auto taken_out = words_of(leftovers_.take_out(settings_.installed)); !taken_out.empty()) {
      left = std::move(taken_out);
    }
    left += (left.empty() || unknown.empty() ? "" : "; ") + unknown;
    const std::uint64_t position = gate->position().value_or(0);
    return GateBuilt{.keys = gate->facts().keys,
                     .position = position,
                     .position_text = source->position_text(position),
                     .replaced_left = std::move(left)};
  }

 private:
  static std::string words_of(const Result<std::size_t>& taken_out) {
    return taken_out ? std::string() : taken_out.error().message();
  }

  // Of a gate that is replaced, and of which nothing says where its parts are; empty where there is none.
  std::string words_of_unknown(const Error& why) const {
    const std::string name = installed_name_in(path_);
    return name.empty() && why.code == ErrorCode::not_found ? std::string() : words_without_source(why, name);
  }

  // Which of the two is in use is said by FILE-source, whenever this ends.
  Result<void> note(const Result<RowSourceSettings>& old) {
    auto noted = old ? leftovers_.add(*old) : Result<void>{};
    return noted ? leftovers_.add(settings_) : noted;
  }

  Result<Gate> build(RowSource& source) {
    MANKAI_TRY(source.install());
    auto gate = gate_of_snapshot(source, settings_, build_);
    auto placed = gate ? put_in_place(path_, settings_, *gate, build_) : std::unexpected(gate.error());
    return placed ? std::move(gate) : std::unexpected(placed.error());
  }

  std::unexpected<Error> give_up(const Error& why, RowSource& source, const Result<RowSourceSettings>& old) {
    Result<std::size_t> taken_out = 0;
    if (source.is_installed()) {
      taken_out = source.uninstall();
    }
    auto forgotten = taken_out ? leftovers_.forget(settings_.installed) : std::unexpected(taken_out.error());
    if (old && forgotten) {
      forgotten = leftovers_.forget(old->installed);
    }
    if (forgotten) {
      return std::unexpected(why);
    }
    return fail(why.code,
                why.detail + "; and what was put into the database could not be taken out: " +
                    forgotten.error().message() + "; `mankai gate drop " + path_ + "` tries it again",
                why.os_error);
  }

  const std::string& path_;
  RowSourceSettings settings_;
  const GateBuild& build_;
  detail::GateLeftovers& leftovers_;
};

bool is_there(const std::string& path) {
  std::array<std::byte, 1> none{};
  const auto size = read_start(path, none);
  return size || size.error().code != ErrorCode::not_found;
}

Result<void> list_anew(detail::GateLeftovers& leftovers, const RowSourceSettings& settings) {
  auto forgotten = leftovers.forget(settings.installed);
  return forgotten ? leftovers.add(settings) : forgotten;
}

}  // namespace

std::string installed_name_of(const AnyFilter& filter, const SourcePosition& position) {
  const FilterSpec spec = filter.spec();
  const auto parsed = parse_gate_position(position.view());
  const bool is_gate = spec.kind == Kind{CountingBloom::kKind} && !spec.canonical && parsed.has_value();
  return is_gate && is_installed_name(parsed->source_id) ? parsed->source_id : std::string();
}

Result<GateBuilt> build_gate(const std::string& path, RowSourceSettings settings, const GateBuild& build) {
  settings.installed = new_name();
  settings.source = with_whole_path(settings.source);
  MANKAI_TRY(to_text(settings));
  if (build.existing == Existing::refuse && is_there(path)) {
    return fail(ErrorCode::invalid_argument, path + ": exists already");
  }
  MANKAI_TRY(open_row_source(settings));
  const auto leftovers = detail::GateLeftovers::open(path);
  return leftovers ? Builder(path, std::move(settings), build, **leftovers).run() : std::unexpected(leftovers.error());
}

Result<std::size_t> drop_gate(const std::string& path, bool is_forced) {
  auto gate = Gate::open(path);  // one that is damaged or missing can be dropped
  if (!gate && gate.error().code == ErrorCode::locked) {
    return std::unexpected(gate.error());
  }
  const auto settings = read_source_settings(path);
  const std::string name = gate && is_installed_name(gate->source_id()) ? gate->source_id() : std::string();
  const bool has_settings_lost = !settings && (settings.error().code != ErrorCode::not_found || !name.empty());
  if (!settings && !has_settings_lost && !is_there(detail::GateLeftovers::path_of(path))) {
    return std::unexpected(settings.error());
  }
  MANKAI_ASSIGN(const auto leftovers, detail::GateLeftovers::open(path));
  if (has_settings_lost && !is_forced && (name.empty() || !leftovers->lists(name))) {
    return fail(settings.error().code,
                words_without_source(settings.error(), name) + "; --force ends the gate, and leaves them there");
  }
  MANKAI_TRY(settings ? list_anew(*leftovers, *settings) : Result<void>{});
  auto taken_out = leftovers->take_out({});
  if (!taken_out && !is_forced) {
    return taken_out;
  }
  leftovers->forget_all();
  const bool is_named = gate && !gate->source_id().empty();
  auto gone = is_named ? gate->forget_source() : Result<void>{};
  gone = gone ? remove_file(source_settings_path(path)) : gone;
  return gone ? Result<std::size_t>(taken_out.value_or(0)) : std::unexpected(gone.error());
}

GateSync::GateSync(Gate& gate, RowSourceSettings settings, GateSyncOptions options)
    : gate_(gate), settings_(std::move(settings)), options_(std::move(options)) {
  if (options_.mirror != nullptr) {
    mirror_.emplace(*options_.mirror, gate_,
                    detail::MirrorCare{.look_every = options_.acknowledge_every,
                                       .first_wait = options_.first_wait,
                                       .longest_wait = options_.longest_wait,
                                       .on_trouble = options_.on_mirror_trouble,
                                       .on_step = options_.on_mirror_step});
  }
}

void GateSync::stop() noexcept { is_stopped_.store(true, std::memory_order_relaxed); }

bool GateSync::is_stopped() const {
  return is_stopped_.load(std::memory_order_relaxed) || (options_.should_stop && options_.should_stop());
}

Result<void> GateSync::check_gate() const {
  if (gate_.position() && gate_.source_id() == settings_.installed) {
    return {};
  }
  return fail(ErrorCode::invalid_argument,
              "the gate and what says where its keys come from are not of the same build: build it again");
}

Result<void> GateSync::look_after_mirror() { return mirror_ ? mirror_->look() : Result<void>{}; }

void GateSync::wait(Duration duration) {
  const auto until = Clock::now() + duration;
  while (!is_stopped() && Clock::now() < until) {
    static_cast<void>(look_after_mirror());  // what must end run is met again when the source is
    std::this_thread::sleep_for(std::min<Clock::duration>(kSlice, until - Clock::now()));
  }
}

Result<void> GateSync::run() {
  MANKAI_TRY(check_gate());
  Duration pause = options_.first_wait;
  while (true) {
    auto followed = follow();
    source_.reset();
    if (!followed && was_stopped(followed.error()) && is_stopped()) {
      return {};
    }
    if (followed || is_gate_broken_ || options_.until_caught_up || !may_pass(followed.error())) {
      return followed;
    }
    if (is_stopped()) {
      return {};
    }
    pause = std::exchange(made_progress_, false) ? options_.first_wait : pause;
    if (options_.on_trouble) {
      options_.on_trouble(followed.error(), pause);
    }
    wait(pause);
    pause = std::min(2 * pause, options_.longest_wait);
  }
}

// One connection's life.
Result<void> GateSync::follow() {
  MANKAI_ASSIGN(auto source, open_row_source(settings_));
  source_ = std::move(source);
  source_->stop_when([this] { return is_stopped(); });
  MANKAI_TRY(source_->start({gate_.position().value_or(0), gate_.position_mark()}));
  RowChanges changes;
  auto acknowledged_at = Clock::now();
  while (!is_stopped()) {
    MANKAI_TRY(take(changes, kSlice));
    MANKAI_TRY(look_after_mirror());
    if (Clock::now() - acknowledged_at >= options_.acknowledge_every) {
      MANKAI_TRY(acknowledge());
      acknowledged_at = Clock::now();
    }
    if (options_.until_caught_up) {
      const auto done = is_caught_up();
      if (!done || *done) {
        return done ? finish() : std::unexpected(done.error());
      }
    }
  }
  return acknowledge();
}

Result<bool> GateSync::take(RowChanges& changes, Duration patience) {
  const auto came = source_->next(changes, patience);
  if (!came || !*came) {
    return came;
  }
  const GateChanges wanted{.clears = changes.clears,
                           .inserted = changes.inserted.views(),
                           .erased = changes.erased.views(),
                           .mark = changes.mark};
  const GatePosition from{
      .position = gate_.position().value_or(0), .source_id = gate_.source_id(), .mark = gate_.position_mark()};
  auto applied = gate_.apply(wanted, changes.position);
  if (!applied) {
    is_gate_broken_ = true;
    return std::unexpected(applied.error());
  }
  made_progress_ = true;
  if (options_.on_applied) {
    options_.on_applied(changes);
  }
  MANKAI_TRY(tell_mirror(wanted, from));
  return true;
}

// What others have been told is not taken back by a power cut: the disk has it first.
Result<void> GateSync::tell_mirror(const GateChanges& changes, const GatePosition& from) {
  if (!mirror_) {
    return {};
  }
  auto synced = sync_gate();
  return synced ? mirror_->applied(changes, from) : synced;
}

Result<void> GateSync::sync_gate() {
  auto synced = gate_.sync();
  is_gate_broken_ = is_gate_broken_ || !synced;
  return synced;
}

Result<bool> GateSync::is_caught_up() {
  if (!target_) {
    MANKAI_ASSIGN(const auto mark, source_->mark());
    target_ = mark;
  }
  return gate_.position().value_or(0) >= *target_;
}

Result<void> GateSync::finish() {
  auto acknowledged = acknowledge();
  return acknowledged && mirror_ ? mirror_->finish() : acknowledged;
}

Result<void> GateSync::acknowledge() {
  const std::uint64_t position = gate_.position().value_or(0);
  if (position == acknowledged_) {
    return {};
  }
  MANKAI_TRY(sync_gate());
  auto told = source_->acknowledge(position);
  if (told) {
    acknowledged_ = position;
  }
  return told;
}

}  // namespace mankai
