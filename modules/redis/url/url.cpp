/// The URL.* commands: which URLs have been seen, however they are spelled. An argument that is not a URL gets an error
/// as its answer; the others are processed.

#include <algorithm>
#include <array>
#include <new>
#include <vector>

#include "mankai/filter/parts/hash_windows.hpp"
#include "mankai/url/canonical_url.hpp"
#include "modules/redis/engine/family.hpp"
#include "modules/redis/image/move.hpp"
#include "modules/redis/image/reserve.hpp"
#include "modules/redis/image/work.hpp"
#include "modules/redis/url/value.hpp"

namespace mankai::redis {
namespace {

constexpr std::size_t kFirstUrl = 2;
constexpr long long kInitialUrls = 1000;

/// Parameters of filters that URL.ADD creates, set by the configs url-*. Threads: the engine's main thread.
constinit GrowingDefaults defaults{
    .prefix = "url", .capacity_keys = capacity_setting(kInitialUrls), .url_rules = url::kCanonicalVersion};

// URLs that are canonicalized before the first of them is looked up; few enough to stay in the near caches.
constexpr std::size_t kUrlWindow = 512;
static_assert(kUrlWindow <= kHashWindow);

constexpr const char* kOtherRules =
    "ERR this module does not support the rules by which the URLs of this filter were canonicalized";

enum class Outcome : std::uint8_t { fresh, seen, no_url, too_long, full, out_of_memory };

class UrlWindow {
 public:
  /// Errors: std::bad_alloc, here and in `read`.
  UrlWindow(std::size_t urls, url::UrlRules rules) : rules_(rules), forms_(std::min(urls, kUrlWindow)) {
    texts_.reserve(forms_.size());
    places_.reserve(forms_.size());
  }

  /// Reads the URLs from argument `first` on, as many as fit. Returns how many arguments that were.
  std::size_t read(const Call& call, std::size_t first) {
    texts_.clear();
    places_.clear();
    const std::size_t count = std::min(call.size() - first, forms_.size());
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_too_long(call, call.text(first + i)) && url::canonicalize(call.text(first + i), forms_[i], rules_)) {
        texts_.push_back(forms_[i].text());
        places_.push_back(i);
      }
    }
    return count;
  }
  [[nodiscard]] std::span<const std::string_view> texts() const noexcept { return texts_; }
  [[nodiscard]] std::span<const std::size_t> places() const noexcept { return places_; }

 private:
  url::UrlRules rules_;
  std::vector<url::CanonicalUrl> forms_;
  std::vector<std::string_view> texts_;
  std::vector<std::size_t> places_;
};

void mark_refused(const Call& call, std::size_t start, std::span<Outcome> outcomes) noexcept {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    outcomes[i] = is_too_long(call, call.text(kFirstUrl + start + i)) ? Outcome::too_long : Outcome::no_url;
  }
}

/// Adds the URLs of a call in order. Without room, that URL and all later ones get that outcome.
void add_urls(const Call& call, UrlValue& value, std::span<Outcome> outcomes) noexcept {
  try {
    UrlWindow window(outcomes.size(), value.rules().value());
    std::array<bool, kUrlWindow> seen;
    for (std::size_t start = 0; start < outcomes.size();) {
      const std::size_t count = window.read(call, kFirstUrl + start);
      const std::size_t urls = window.texts().size();
      const AddReport report = value.add(window.texts(), std::span(seen).first(urls));
      const std::size_t done = report.done;
      const std::size_t end = done == urls ? count : window.places()[done];
      mark_refused(call, start, outcomes.subspan(start, end));
      for (std::size_t i = 0; i < done; ++i) {
        outcomes[start + window.places()[i]] = seen[i] ? Outcome::seen : Outcome::fresh;
      }
      if (end != count) {
        const Outcome stop = report.stop == AddStop::full ? Outcome::full : Outcome::out_of_memory;
        std::ranges::fill(outcomes.subspan(start + end), stop);
        return;
      }
      start += count;
    }
  } catch (const std::bad_alloc&) {
    return;
  }
}

/// Looks up the URLs of a call; without a filter none has been seen.
void ask_urls(const Call& call, const UrlValue* value, std::span<Outcome> outcomes) {
  UrlWindow window(outcomes.size(), value != nullptr ? value->rules().value() : url::UrlRules::keys);
  std::array<bool, kUrlWindow> seen{};
  for (std::size_t start = 0; start < outcomes.size();) {
    const std::size_t count = window.read(call, kFirstUrl + start);
    mark_refused(call, start, outcomes.subspan(start, count));
    if (value != nullptr) {
      value->ask(window.texts(), std::span(seen).first(window.texts().size()));
    }
    for (std::size_t i = 0; i < window.places().size(); ++i) {
      outcomes[start + window.places()[i]] = seen[i] ? Outcome::seen : Outcome::fresh;
    }
    start += count;
  }
}

bool has_url(const Call& call) {
  url::CanonicalUrl form;
  for (std::size_t i = kFirstUrl; i < call.size(); ++i) {
    if (!is_too_long(call, call.text(i)) && url::canonicalize(call.text(i), form, url::UrlRules::keys)) {
      return true;
    }
  }
  return false;
}

/// Replies with an array of outcomes; `yes` becomes 1.
int reply_outcomes(const Call& call, std::span<const Outcome> outcomes, Outcome yes) noexcept {
  call.array(outcomes.size());
  for (const Outcome outcome : outcomes) {
    if (outcome == Outcome::no_url) {
      call.error("ERR not a URL: it has no host");
    } else if (outcome == Outcome::too_long) {
      call.error(kUrlTooLong);
    } else if (outcome == Outcome::full) {
      call.error(kFilterFull);
    } else if (outcome == Outcome::out_of_memory) {
      call.error(memory_error(kNoMemory));
    } else {
      call.truth(outcome == yes);
    }
  }
  return kOk;
}

// Replicates the new URLs. `fresh` has room for all. Returns whether there are any.
bool replicate_fresh(const Call& call, std::span<const Outcome> outcomes, std::vector<String*>& fresh) noexcept {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i] == Outcome::fresh) {
      fresh.push_back(call.arguments()[kFirstUrl + i]);
    }
  }
  if (fresh.empty()) {
    return false;
  }
  if (fresh.size() == outcomes.size()) {
    engine.replicate_verbatim(call.context());
  } else {
    engine.replicate(call.context(), "URL.ADD", "sv", call.arguments()[1], fresh.data(), fresh.size());
  }
  return true;
}

constinit RepeatedCommand repeated_reserve("URL.RESERVE");
constexpr const char* kReserveEvent = "url.reserve";

Answer url_reserve(Call& call) {
  MANKAI_ASSIGN(const auto settings, read_reserve(call, defaults));
  return reserve<UrlValue>(call, settings, kReserveEvent, [](const Call& made_by, const GrowingSettings& made) {
    replicate_reserve(made_by, repeated_reserve, made);
  });
}

Answer url_add(Call& call) {
  std::vector<Outcome> outcomes(call.size() - kFirstUrl, Outcome::out_of_memory);
  std::vector<String*> fresh;
  fresh.reserve(outcomes.size());
  MemoryLimit limit(call.context());
  UrlLookup lookup(call, kRead | kWrite);
  lookup.limit(limit);
  const bool is_new = lookup.is_absent();
  if (is_too_much(call, work_of_adding(work_shape(lookup.value(), defaults), outcomes.size()))) {
    return refuse(kTooMuchWork);
  }
  if (is_new) {
    if (!has_url(call)) {
      ask_urls(call, nullptr, outcomes);
      return reply_outcomes(call, outcomes, Outcome::seen);
    }
    MANKAI_TRY(reserve_growing(call, lookup, repeated_reserve, defaults.settings()));
  }
  MANKAI_TRY(lookup.must_be_whole());
  if (!lookup.value()->rules()) {
    return refuse(kOtherRules);
  }
  add_urls(call, *lookup.value(), outcomes);
  const bool has_fresh = replicate_fresh(call, outcomes, fresh);
  if (is_new) {
    call.key_changed(kReserveEvent);
  }
  if (has_fresh) {
    call.key_changed("url.add");
  }
  return reply_outcomes(call, outcomes, Outcome::fresh);
}

Answer url_seen(Call& call) {
  const UrlLookup lookup(call, kRead);
  MANKAI_TRY(lookup.may_be_absent());
  if (lookup.value() != nullptr && !lookup.value()->rules()) {
    return refuse(kOtherRules);
  }
  std::vector<Outcome> outcomes(call.size() - kFirstUrl, Outcome::out_of_memory);
  if (lookup.value() != nullptr && is_too_much(call, outcomes.size() * lookup.value()->filter().slice_count())) {
    return refuse(kTooMuchWork);
  }
  ask_urls(call, lookup.value(), outcomes);
  return reply_outcomes(call, outcomes, Outcome::seen);
}

Answer url_info(Call& call) {
  const UrlLookup lookup(call, kRead);
  MANKAI_TRY(lookup.must_be_whole());
  const ScalableBloom& filter = lookup.value()->filter();
  return reply_facts(call, {{"Capacity", filter.capacity_keys()},
                            {"Size", lookup.found()->memory_bytes()},
                            {"Number of filters", filter.slice_count()},
                            {"Number of URLs", filter.keys_inserted()},
                            {"Expansion rate", filter.growth().factor},
                            {"Error rate", filter.fpr_target()},
                            {"URL rules", filter.canonical_version()}});
}

constexpr std::array kKeyUrls = {kKeyArgument, argument("url", ArgumentKind::string, kArgumentMultiple), kEnd};

constexpr std::array kReserveArguments = {kKeyArgument,
                                          kErrorRate,
                                          kCapacity,
                                          kExpansion,
                                          kHash,
                                          kSeed,
                                          argument("rules", ArgumentKind::integer, kArgumentOptional, "RULES"),
                                          kEnd};

constexpr const char* kBatch = "O(N * F), N URLs in F sub-filters";

constexpr std::array kCommands = {
    command<-4, url_reserve>("url.reserve", "write deny-oom fast",
                             "Creates an empty filter for a number of URLs at a false-positive rate", "O(1)", kCreates,
                             kReserveArguments),
    command<-3, url_add>(
        "url.add", "write deny-oom fast",
        "Adds URLs, in any spelling, to a filter, creates it if it is absent, and returns which are new", kBatch,
        kInserts, kKeyUrls),
    command<-3, url_seen>("url.seen", "readonly fast",
                          "Returns which URLs, in any spelling, may have been added to a filter", kBatch, kReads,
                          kKeyUrls),
    command<2, url_info>("url.info", "readonly fast", "Returns facts about a filter of URLs", "O(F), F sub-filters",
                         kReads, kKeyOnly),
    scandump<UrlValue>("url.scandump"),
    loadchunk<UrlValue>(),
};

}  // namespace

MANKAI_DEFINE_FAMILY(url) = {
    .name = "url",
    .category = "url",
    .type = kTypeOf<UrlKey>,
    .commands = kCommands,
    .register_settings = [](Context* context) noexcept { return register_growing_configs(context, defaults); }};

}  // namespace mankai::redis
