#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/filter/any_filter.hpp"
#include "mankai/filter/change.hpp"
#include "mankai/filter/cuckoo/cuckoo.hpp"
#include "mankai/filter/decayed_top/decayed_top.hpp"
#include "mankai/filter/recent_values/recent_values.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"
#include "mankai/url/canonical_url.hpp"
#include "tests/support/examples.hpp"
#include "tests/support/random.hpp"

// What programs ask of a filter of any kind: all that the kind can do, at random, for tests that must do everything to
// every kind.

namespace mankai::test {

inline AnyFilter filter_of(std::string_view spec) { return create_filter(parse_spec(spec).value()).value(); }

inline const KindDescription& info_of(const AnyFilter& filter) { return filter.kind(); }

inline std::vector<std::byte> image_of(const AnyFilter& filter) { return filter.to_bytes(); }

/// Answers of a vector's kind, which std::vector<bool> has no span of.
class Flags {
 public:
  explicit Flags(std::size_t size) : flags_(std::make_unique<bool[]>(size)), size_(size) {}
  [[nodiscard]] std::span<bool> span() noexcept { return {flags_.get(), size_}; }
  [[nodiscard]] std::vector<bool> list() const { return std::vector<bool>(flags_.get(), flags_.get() + size_); }

 private:
  std::unique_ptr<bool[]> flags_;
  std::size_t size_;
};

/// One call, as a program makes it.
struct Request {
  Operation operation{};
  std::vector<std::string> keys = {};
  std::vector<std::uint64_t> ids = {};
  std::vector<Time> times = {};
  std::vector<std::uint32_t> values = {};
  double strength = 1;
  Time time = {};

  [[nodiscard]] std::vector<std::string_view> views() const { return {keys.begin(), keys.end()}; }
  /// The request for so many of the keys. Pre: it has keys.
  [[nodiscard]] Request part(std::size_t begin, std::size_t count) const {
    const auto cut = [&](const auto& list) {
      using List = std::remove_cvref_t<decltype(list)>;
      const auto first = list.begin() + static_cast<std::ptrdiff_t>(begin);
      return list.empty() ? List() : List(first, first + static_cast<std::ptrdiff_t>(count));
    };
    return {.operation = operation,
            .keys = cut(keys),
            .ids = cut(ids),
            .times = cut(times),
            .values = cut(values),
            .strength = strength,
            .time = time};
  }
};

/// What a request answered.
struct Answers {
  std::vector<bool> seen = {};
  std::vector<EraseResult> erased = {};

  friend bool operator==(const Answers&, const Answers&) = default;
};

inline Result<Change> encoded(ChangeEncoder& encoder, const Request& request) {
  const auto keys = request.views();
  switch (request.operation) {
    case Operation::insert: return encoder.insert(keys);
    case Operation::insert_with_ids: return encoder.insert(keys, request.ids);
    case Operation::insert_at: return encoder.insert(keys, request.times);
    case Operation::insert_until: return encoder.insert_until(keys, request.times);
    case Operation::erase: return encoder.erase(keys);
    case Operation::erase_with_ids: return encoder.erase(keys, request.ids);
    case Operation::put: return encoder.put(keys, request.values, request.strength);
    case Operation::advance: break;
  }
  return encoder.advance(request.time);
}

/// A key as a filter of canonical or plain keys hashes it.
inline std::string_view hashed_form(const AnyFilter& filter, std::string_view key, url::CanonicalUrl& canonical) {
  const auto rules = url::url_rules(filter.canonical_version());
  return rules && url::canonicalize(key, canonical, *rules) ? canonical.text() : key;
}

/// Whether an operation says which keys were there before.
inline bool answers_seen(Operation operation) noexcept {
  return operation == Operation::insert || operation == Operation::insert_at || operation == Operation::insert_until;
}

/// Fulfils a request key by key: by the calls of the class where only one class has them. Pre: the kind can.
inline Answers done_directly(AnyFilter& filter, const Request& request) {
  if (request.operation == Operation::advance) {
    filter.advance(request.time).value();
    return {};
  }
  const auto keys = request.views();
  Answers answers;
  Flags seen(keys.size());
  url::CanonicalUrl canonical;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string_view hashed = hashed_form(filter, keys[i], canonical);
    const Digest digest = filter.hasher()(hashed);
    EraseResult erased{};
    switch (request.operation) {
      case Operation::insert: filter.observe({&keys[i], 1}, seen.span().subspan(i, 1)).value(); break;
      case Operation::insert_with_ids:
        filter.as<ScalableCountingBloom>()->insert(digest, request.ids[i]).value();
        break;
      case Operation::insert_at:
        seen.span()[i] = filter.as<DecayedTop>()->may_contain(digest);
        filter.as<DecayedTop>()->insert(digest, hashed, request.times[i]);
        break;
      case Operation::insert_until: {
        auto* cuckoo = filter.as<Cuckoo>();
        seen.span()[i] = cuckoo->may_contain(digest);
        cuckoo->insert_until(digest, cuckoo->until_of(request.times[i]).value());
        break;
      }
      case Operation::erase:
        filter.erase({&keys[i], 1}, {&erased, 1}).value();
        answers.erased.push_back(erased);
        break;
      case Operation::erase_with_ids:
        answers.erased.push_back(filter.as<ScalableCountingBloom>()->erase(digest, request.ids[i]));
        break;
      case Operation::put: filter.as<RecentValues>()->put(digest, request.values[i], request.strength); break;
      case Operation::advance: break;
    }
  }
  const bool inserts = answers_seen(request.operation);
  answers.seen = inserts ? seen.list() : std::vector<bool>();
  return answers;
}

/// Does a change and asks for its answers.
inline Result<Answers> applied(AnyFilter& filter, const Change& change) {
  const bool inserts = answers_seen(change.operation);
  const bool erases = change.operation == Operation::erase || change.operation == Operation::erase_with_ids;
  Flags seen(inserts ? change.keys : 0);
  Answers answers;
  answers.erased.resize(erases ? change.keys : 0);
  const auto done = filter.apply(change, {.seen = seen.span(), .erased = answers.erased});
  if (!done) {
    return std::unexpected(done.error());
  }
  answers.seen = seen.list();
  return answers;
}

/// Makes requests that a filter can fulfil, from a small world of keys, so that they meet again: URLs in several
/// spellings, what is no URL, nothing, long keys. Times go on, with late events; ids rise, with late ones.
class RequestMaker {
 public:
  /// With steps, each one's requests can be made without those of the steps before, which they follow: if no step makes
  /// more than two.
  RequestMaker(const AnyFilter& filter, std::uint64_t seed, std::uint64_t step = 0)
      : info_(info_of(filter)),
        random_(seed + (step << 32U)),
        newest_id_(step * 100),
        now_(std::chrono::hours(24 * 365 * 50) + std::chrono::hours(step * 4)) {
    if (const auto* counting = filter.as<ScalableCountingBloom>()) {
      first_id_ = counting->first_id();
    }
    operations_.push_back(Operation::insert);
    add(Operation::insert_with_ids, info_.key_shape == KeyShape::numbered);
    add(Operation::insert_at, info_.key_shape == KeyShape::named);
    add(Operation::erase, info_.can_erase && ChangeEncoder(filter).erase({}).has_value());
    add(Operation::erase_with_ids, info_.key_shape == KeyShape::numbered);
    add(Operation::put, info_.key_shape == KeyShape::valued);
    add(Operation::advance, filter.time().has_value());
    add(Operation::insert_until, info_.has_ttl && filter.time().has_value());
  }

  /// The filter may be of an earlier moment than that of the last request, so it is advanced again.
  void time_was_lost() noexcept { is_advanced_ = false; }
  /// What the kind can do.
  [[nodiscard]] std::span<const Operation> operations() const noexcept { return operations_; }
  /// A kind of operation at random, of up to so many keys.
  Request next(std::size_t most_keys) {
    const bool has_ttl = operations_.back() == Operation::insert_until;
    if (has_ttl && !is_advanced_) {
      return of(Operation::advance, 0);
    }
    return of(operations_[random_.below(operations_.size())], 1 + random_.below(most_keys));
  }
  Request of(Operation operation, std::size_t keys) {
    Request request{.operation = operation};
    if (operation == Operation::advance) {
      now_ += std::chrono::minutes(random_.below(90));
      request.time = now_;
      is_advanced_ = true;
      return request;
    }
    for (std::size_t i = 0; i < keys; ++i) {
      add_key(request);
    }
    if (operation == Operation::put) {
      constexpr std::array<double, 4> kStrengths{1, 0.5, 0.25, 0.01};
      request.strength = kStrengths[random_.below(kStrengths.size())];
    }
    return request;
  }
  std::string key() {
    constexpr std::uint64_t kWorld = 3000;
    const std::uint64_t number = random_.below(kWorld);
    const std::string name = std::to_string(number);
    switch (number % 16) {
      case 0: return "no url " + name;
      case 1: return random_.below(50) == 0 ? std::string() : "HTTP://Host" + name + ".Example.org:80/a/../b%20c?q";
      case 2:
        return random_.below(20) == 0 ? "http://long.example/" + std::string(1000 + number % 100, 'x') + name
                                      : std::string("nul\0byte", 8) + name;
      case 3: return "http://deep.example/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/" + name;
      default: return "http://host" + std::to_string(number % 40) + ".example/path/" + name;
    }
  }

 private:
  void add(Operation operation, bool can) {
    if (can) {
      operations_.push_back(operation);
    }
  }
  void add_key(Request& request) {
    request.keys.push_back(key());
    switch (request.operation) {
      case Operation::insert_with_ids:
      case Operation::erase_with_ids:
        newest_id_ += random_.below(3);
        request.ids.push_back(first_id_ + (random_.below(10) == 0 ? random_.below(newest_id_ + 1) : newest_id_));
        break;
      case Operation::insert_at:
        now_ += std::chrono::seconds(random_.below(60));
        request.times.push_back(random_.below(10) == 0 ? now_ - std::chrono::minutes(random_.below(600)) : now_);
        break;
      case Operation::insert_until:
        request.times.push_back(now_ + std::chrono::minutes(1 + random_.below(std::uint64_t{12} * 60)));
        break;
      case Operation::put: request.values.push_back(static_cast<std::uint32_t>(random_.below(100))); break;
      default: break;
    }
  }

  const KindDescription& info_;
  Random random_;
  std::vector<Operation> operations_;
  std::uint64_t first_id_ = 0;
  std::uint64_t newest_id_;
  Time now_;
  bool is_advanced_ = false;  // times to live count from there
};

}  // namespace mankai::test
