#include "mankai/seen/seen.hpp"

#include <memory>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/base/duration.hpp"
#include "mankai/filter/any_filter.hpp"

namespace mankai {
namespace {

FilterSpec spec_for(const SeenRequest& request) {
  const Kind kind = request.window ? Kind{RotatingBloom::kKind} : default_kind();
  FilterSpec spec{.kind = request.kind.value_or(kind),
                  .keys = request.keys.value_or(Seen::kDefaultKeys),
                  .fpr = request.fpr.value_or(Seen::kDefaultFpr),
                  .hash = request.hash.value_or(kDefaultHash),
                  .seed = request.seed,
                  .canonical = request.canonical.value_or(false)};
  if (request.window) {
    set_option(spec, "window", to_text(*request.window));
  }
  return spec;
}

// A window is rounded up to equal parts.
bool differs_in_window(const std::optional<Duration>& asked, const AnyFilter& found) {
  if (!asked) {
    return false;
  }
  const auto* const rotating = found.as<RotatingBloom>();
  if (rotating == nullptr) {
    return true;
  }
  const Duration parts(rotating->generations() - 1);
  return (*asked + parts - Duration(1)) / parts * parts != rotating->window();
}

// Lists the requested options that differ from the file's, separated by commas.
std::string differing_options(const AnyFilter& filter, const SeenRequest& request) {
  const FilterSpec found = filter.spec();
  const bool is_canonical = found.canonical || description_of(found.kind).key_shape == KeyShape::path;
  std::string names;
  const auto add = [&names](bool is_different, std::string_view name) {
    names += is_different ? (names.empty() ? "" : ", ") + std::string(name) : std::string();
  };
  add(differs(request.kind, found.kind), "kind");
  add(differs(request.keys, found.keys), "keys");
  add(differs(request.fpr, found.fpr), "fpr");
  add(differs(request.hash, found.hash), "hash");
  add(differs(request.seed, found.seed.value()), "seed");
  add(differs(request.canonical, is_canonical), "canonical");
  add(differs_in_window(request.window, filter), "window");
  return names;
}

// A state that was created for another request would answer, but not as requested.
Result<void> check_request_fits(const std::string& path, const AnyFilter& filter, const SeenRequest& request) {
  const std::string names = differing_options(filter, request);
  if (names.empty()) {
    return {};
  }
  FilterSpec shown = filter.spec();
  shown.seed.reset();
  return created_otherwise(path, "as " + to_string(shown) + ", which differs from the request in " + names);
}

// A counting kind would count every repeat until its counters saturate or it grows without bound. A kind with time
// would never advance without a window.
Result<void> check_kind_fits(Kind kind, bool may_have_window, Sharing sharing) {
  const KindDescription& info = description_of(kind);
  if (kind == Kind{RotatingBloom::kKind} && may_have_window) {
    return {};
  }
  if (info.has_time || info.key_shape == KeyShape::valued) {
    return fail(ErrorCode::invalid_argument, "kind " + std::string(info.name) +
                                                 " may need times or values, which are not given here; use "
                                                 "blocked-bloom, scalable-bloom or fading-fingerprints, or "
                                                 "rotating-bloom with a window");
  }
  // Processes that share a filter do not add what is there.
  if (!info.can_count || sharing == Sharing::processes) {
    return {};
  }
  return fail(ErrorCode::invalid_argument, "kind " + std::string(info.name) +
                                               " counts repeats, which has no use here; blocked-bloom or "
                                               "scalable-bloom store as many keys in a quarter of the memory (a "
                                               "counting-bloom that processes share can forget keys)");
}

}  // namespace

Result<void> Seen::check(const SeenRequest& request) {
  const Kind kind = spec_for(request).kind;
  if (request.sharing == Sharing::processes) {
    MANKAI_TRY(check_can_share(description_of(kind)));
  }
  if (request.window && kind != Kind{RotatingBloom::kKind}) {
    return fail(ErrorCode::invalid_argument, "kind " + std::string(description_of(kind).name) +
                                                 " has no window; leave the kind out to use rotating-bloom");
  }
  return check_kind_fits(kind, request.window.has_value(), request.sharing);
}

Result<Seen> Seen::create(const SeenRequest& request) {
  MANKAI_TRY(check(request));
  if (request.sharing == Sharing::processes) {
    return fail(ErrorCode::invalid_argument, "processes can share only a filter in a file; give it a path");
  }
  MANKAI_ASSIGN(auto filter, create_filter(spec_for(request)));
  return Seen(KeptFilter(std::move(filter)));
}

Result<Seen> Seen::open(const std::string& path, const SeenRequest& request, const StoreOptions& options) {
  MANKAI_TRY(check(request));
  const auto open_kept = request.sharing == Sharing::processes ? KeptFilter::share : KeptFilter::open;
  MANKAI_ASSIGN(auto kept, open_kept(path, [&request] { return create_filter(spec_for(request)); }, options));
  MANKAI_TRY(within(path, check_kind_fits(kept.filter().kind().kind, true, request.sharing)));
  MANKAI_TRY(check_request_fits(path, kept.filter(), request));
  return Seen(std::move(kept));
}

Result<void> Seen::observe(std::span<const std::string_view> keys, std::span<bool> seen) {
  if (rotating() != nullptr) {
    return fail(ErrorCode::invalid_argument, "keys expire from this filter; pass the time of each key");
  }
  return observe_new(keys, seen);
}

Result<void> Seen::observe(std::string_view key, bool& seen) {
  AnyFilter* const memory = kept_.memory();
  if (memory == nullptr || rotating() != nullptr) {
    return observe({&key, 1}, {&seen, 1});
  }
  MANKAI_ASSIGN(seen, memory->observe(key));
  return {};
}

Result<void> Seen::observe(const Change& change, std::span<bool> seen) {
  Store* const store = kept_.store();
  return store != nullptr ? store->change(change, {.seen = seen}) : kept_.memory()->apply(change, {.seen = seen});
}

Result<void> Seen::observe_new(std::span<const std::string_view> keys, std::span<bool> seen) {
  if (Store* const store = kept_.store()) {
    return store->observe(keys, seen);
  }
  if (SharedFilter* const shared = kept_.shared()) {
    return shared->observe(keys, seen);
  }
  return kept_.memory()->observe(keys, seen);
}

// Observes only keys that are absent, which finds repeats within the batch. The others would be inserted into the
// newest generation as well, and frequent keys would never expire.
Result<void> Seen::observe(std::span<const std::string_view> keys, std::span<const Time> times, std::span<bool> seen) {
  if (rotating() == nullptr) {
    return fail(ErrorCode::invalid_argument, "keys do not expire from this filter; pass no times");
  }
  MANKAI_ASSERT(keys.size() == times.size() && keys.size() == seen.size());
  std::vector<std::string_view> fresh;
  std::vector<std::size_t> places;
  for (std::size_t begin = 0, end = 0; begin < keys.size(); begin = end) {
    MANKAI_TRY(advance_to(times[begin]));
    const Time until = start_of(Tick{rotating()->tick().value + 1}, rotating()->epoch());
    end = begin + 1;
    while (end < keys.size() && times[end] < until) {
      ++end;
    }
    filter().may_contain(keys.subspan(begin, end - begin), seen.subspan(begin, end - begin));
    fresh.clear();
    places.clear();
    for (std::size_t i = begin; i < end; ++i) {
      if (!seen[i]) {
        fresh.push_back(keys[i]);
        places.push_back(i);
      }
    }
    if (fresh.empty()) {
      continue;
    }
    const auto outcomes = std::make_unique<bool[]>(fresh.size());
    MANKAI_TRY(observe_new(fresh, {outcomes.get(), fresh.size()}));
    for (std::size_t i = 0; i < places.size(); ++i) {
      seen[places[i]] = outcomes[i];
    }
  }
  return {};
}

Result<void> Seen::forget(std::span<const std::string_view> keys, std::span<EraseResult> results) {
  if (SharedFilter* const shared = kept_.shared()) {
    return shared->forget(keys, results);
  }
  return fail(ErrorCode::invalid_argument,
              "this filter cannot forget keys; create it with kind counting-bloom, and let processes share it");
}

Result<void> Seen::advance_to(Time time) {
  if (tick_of(time, rotating()->epoch()) <= rotating()->tick()) {
    return {};
  }
  if (Store* const store = kept_.store()) {
    return store->advance(time);
  }
  return kept_.memory()->advance(time);
}

const RotatingBloom* Seen::rotating() const noexcept { return filter().as<RotatingBloom>(); }

std::optional<Duration> Seen::window() const noexcept {
  return rotating() == nullptr ? std::nullopt : std::optional(rotating()->window());
}

std::optional<Duration> Seen::forgets_after() const noexcept {
  return rotating() == nullptr ? std::nullopt : std::optional(rotating()->window() + rotating()->epoch());
}

std::optional<Time> Seen::time() const noexcept { return filter().time(); }

bool Seen::is_over_capacity() const noexcept {
  return rotating() == nullptr ? keys_inserted() > capacity_keys()
                               : rotating()->keys_of_epoch() > rotating()->epoch_capacity_keys();
}

bool Seen::is_overfull() const noexcept {
  if (rotating() != nullptr) {
    return rotating()->keys_of_epoch() / 2 > rotating()->epoch_capacity_keys();
  }
  return keys_inserted() / 2 > capacity_keys() && !filter().kind().forgets;
}

std::uint64_t Seen::keys_inserted() const noexcept {
  return kept_.shared() != nullptr ? kept_.shared()->keys_inserted() : filter().keys_inserted();
}

std::uint64_t Seen::sequence() const noexcept {
  if (const SharedFilter* const shared = kept_.shared()) {
    return shared->sequence();
  }
  return store() != nullptr ? store()->sequence() : 0;
}

std::uint64_t Seen::durable_sequence() const noexcept {
  if (const SharedFilter* const shared = kept_.shared()) {
    return shared->durable_sequence();
  }
  return store() != nullptr ? store()->durable_sequence() : 0;
}

std::uint64_t Seen::capacity_keys() const noexcept { return filter().capacity_keys(); }

}  // namespace mankai
