#include "modules/redis/url/commands.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <vector>

#include "mankai/filter/parts/hash_windows.hpp"
#include "mankai/url/canonical_url.hpp"
#include "modules/redis/engine/memory.hpp"
#include "modules/redis/engine/url_length.hpp"
#include "modules/redis/image/facts.hpp"
#include "modules/redis/image/reserve.hpp"
#include "modules/redis/image/work.hpp"
#include "modules/redis/url/value.hpp"

namespace mankai::redis {
namespace {

constexpr std::size_t kFirstUrl = 2;
// URLs brought into canonical form before any is looked up: what that takes stays in the near caches.
constexpr std::size_t kUrlWindow = 512;
static_assert(kUrlWindow <= kHashWindow);

constexpr const char* kOtherRules =
    "ERR the URLs of this filter were made canonical by rules that this module does not know";

/// What became of an argument.
enum class Outcome : std::uint8_t { fresh, seen, no_url, too_long, full, out_of_memory };

/// Some arguments of a call in canonical form.
class UrlWindow {
 public:
  /// Errors: std::bad_alloc, here and in `read`.
  UrlWindow(std::size_t urls, url::UrlRules rules) : rules_(rules), forms_(std::min(urls, kUrlWindow)) {
    texts_.reserve(forms_.size());
    places_.reserve(forms_.size());
  }

  /// Reads the URLs from argument `first` on, as many as fit, and tells how many that were.
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
  /// Those that are URLs, and the place of each among those that were read.
  [[nodiscard]] std::span<const std::string_view> texts() const noexcept { return texts_; }
  [[nodiscard]] std::span<const std::size_t> places() const noexcept { return places_; }

 private:
  url::UrlRules rules_;
  std::vector<url::CanonicalUrl> forms_;
  std::vector<std::string_view> texts_;
  std::vector<std::size_t> places_;
};

/// What becomes of arguments from `start` on, as far as they are not URLs that are looked up.
void refuse(const Call& call, std::size_t start, std::span<Outcome> outcomes) noexcept {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    outcomes[i] = is_too_long(call, call.text(kFirstUrl + start + i)) ? Outcome::too_long : Outcome::no_url;
  }
}

/// Adds the URLs of a call, in order. Where there is no room left, that one and all behind it are told so.
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
      refuse(call, start, outcomes.subspan(start, end));
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

/// Asks about the URLs of a call; without a filter none has been seen. Errors: std::bad_alloc.
void ask_urls(const Call& call, const UrlValue* value, std::span<Outcome> outcomes) {
  UrlWindow window(outcomes.size(), value != nullptr ? value->rules().value() : url::UrlRules::keys);
  std::array<bool, kUrlWindow> seen{};
  for (std::size_t start = 0; start < outcomes.size();) {
    const std::size_t count = window.read(call, kFirstUrl + start);
    refuse(call, start, outcomes.subspan(start, count));
    if (value != nullptr) {
      value->ask(window.texts(), std::span(seen).first(window.texts().size()));
    }
    for (std::size_t i = 0; i < window.places().size(); ++i) {
      outcomes[start + window.places()[i]] = seen[i] ? Outcome::seen : Outcome::fresh;
    }
    start += count;
  }
}

/// Whether a filter that is made now would take one of the arguments.
bool has_url(const Call& call) {
  url::CanonicalUrl form;
  for (std::size_t i = kFirstUrl; i < call.size(); ++i) {
    if (!is_too_long(call, call.text(i)) && url::canonicalize(call.text(i), form, url::UrlRules::keys)) {
      return true;
    }
  }
  return false;
}

/// An array with an outcome for each argument: `yes` is 1.
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

// Replicas get the URLs that are new. `fresh` has room for all. Returns whether there are any.
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

// Of the filter that there is or would be made.
WorkShape shape_of(const UrlLookup& lookup) noexcept {
  if (lookup.value() != nullptr) {
    return work_shape(lookup.value()->filter());
  }
  const auto keys = static_cast<std::uint64_t>(url_defaults().capacity_keys);
  return {.room = keys, .newest = keys, .expansion = static_cast<std::uint64_t>(url_defaults().expansion)};
}

constexpr const char* kReserve = "URL.RESERVE";
constexpr const char* kReserveEvent = "url.reserve";

constexpr std::array kFacts = {
    Fact<UrlValue>{"Capacity", [](const Call& call, const UrlKey&,
                                  const ScalableBloom& filter) { return call.number(filter.capacity_keys()); }},
    Fact<UrlValue>{"Size", [](const Call& call, const UrlKey& key,
                              const ScalableBloom&) { return call.number(key.memory_bytes()); }},
    Fact<UrlValue>{"Number of filters", [](const Call& call, const UrlKey&,
                                           const ScalableBloom& filter) { return call.number(filter.slice_count()); }},
    Fact<UrlValue>{"Number of URLs", [](const Call& call, const UrlKey&,
                                        const ScalableBloom& filter) { return call.number(filter.keys_inserted()); }},
    Fact<UrlValue>{"Expansion rate", [](const Call& call, const UrlKey&,
                                        const ScalableBloom& filter) { return call.number(filter.growth().factor); }},
    Fact<UrlValue>{"Error rate", [](const Call& call, const UrlKey&,
                                    const ScalableBloom& filter) { return call.real_number(filter.fpr_target()); }},
    Fact<UrlValue>{"URL rules", [](const Call& call, const UrlKey&,
                                   const ScalableBloom& filter) { return call.number(filter.canonical_version()); }},
};

}  // namespace

GrowingDefaults& url_defaults() noexcept {
  constexpr long long kInitialUrls = 1000;
  static constinit GrowingDefaults defaults{
      .prefix = "url", .capacity_keys = kInitialUrls, .url_rules = url::kCanonicalVersion};
  return defaults;
}

int url_reserve(Call& call) { return growing_reserve<UrlValue>(call, url_defaults(), kReserve, kReserveEvent); }

int url_add(Call& call) {
  if (call.size() <= kFirstUrl) {
    return call.wrong_arity();
  }
  std::vector<Outcome> outcomes(call.size() - kFirstUrl, Outcome::out_of_memory);
  std::vector<String*> fresh;
  fresh.reserve(outcomes.size());
  MemoryLimit limit(call.context());
  UrlLookup lookup(call, call.arguments()[1], kRead | kWrite);
  lookup.limit(limit);
  const bool is_new = lookup.is_absent();
  if (is_too_much(call, work_of_adding(shape_of(lookup), outcomes.size()))) {
    return call.error(kTooMuchWork);
  }
  if (is_new) {
    if (!has_url(call)) {
      ask_urls(call, nullptr, outcomes);
      return reply_outcomes(call, outcomes, Outcome::seen);
    }
    if (const auto reserved = reserve_growing(call, lookup, kReserve, url_defaults().settings()); !reserved) {
      return reply_not_made(call, reserved.error());
    }
  }
  if (lookup.value() == nullptr || !lookup.value()->rules()) {
    return call.error(lookup.value() == nullptr ? lookup.error() : kOtherRules);
  }
  add_urls(call, *lookup.value(), outcomes);
  const bool has_fresh = replicate_fresh(call, outcomes, fresh);
  if (is_new) {
    call.key_changed(call.arguments()[1], kReserveEvent);
  }
  if (has_fresh) {
    call.key_changed(call.arguments()[1], "url.add");
  }
  return reply_outcomes(call, outcomes, Outcome::fresh);
}

int url_seen(Call& call) {
  if (call.size() <= kFirstUrl) {
    return call.wrong_arity();
  }
  const UrlLookup lookup(call, call.arguments()[1], kRead);
  if (lookup.value() == nullptr && !lookup.is_absent()) {
    return call.error(lookup.error());
  }
  if (lookup.value() != nullptr && !lookup.value()->rules()) {
    return call.error(kOtherRules);
  }
  std::vector<Outcome> outcomes(call.size() - kFirstUrl, Outcome::out_of_memory);
  if (lookup.value() != nullptr && is_too_much(call, outcomes.size() * lookup.value()->filter().slice_count())) {
    return call.error(kTooMuchWork);
  }
  ask_urls(call, lookup.value(), outcomes);
  return reply_outcomes(call, outcomes, Outcome::seen);
}

int url_info(Call& call) { return reply_facts<UrlValue>(call, kFacts); }

}  // namespace mankai::redis
