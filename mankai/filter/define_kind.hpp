#pragma once

/// Makes a filter class a kind: included only by the file NAME_kind.cpp of each kind.
///
/// That file writes a struct with the members below and ends with MANKAI_DEFINE_KIND(NAME, STRUCT):
///
///     struct BloomKind : KindDefaults {                     // key shape, growth and readers, where they differ
///     using Filter = Bloom;                                 // the class
///     struct Options { … };                                 // what only this kind can be asked for, with defaults
///     static constexpr std::string_view kSummary = "…";
///     static constexpr std::array kOptions = {…};           // of OptionOf<Options>, see kind_options.hpp
///     static constexpr std::array<std::string_view, N> kExamples = {"keys=500", …};  // KindDescription::examples
///     static Result<Filter> create(const CreateRequest& request, const Options& options);
///     static Options options_of(const Filter& filter);      // so that create makes the same filter again
///     static void describe(const Filter& filter, FilterInfo& info);
///     // optional: plan, plan_within, plan_forgetting, with the types of KindDescription's members
///
/// The concepts that the class satisfies determine everything else.

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "mankai/filter/detail/apply_change.hpp"
#include "mankai/filter/detail/key_windows.hpp"
#include "mankai/filter/filter_body.hpp"
#include "mankai/filter/kind_options.hpp"
#include "mankai/filter/parts/growth.hpp"
#include "mankai/filter/parts/keyed_batch.hpp"
#include "mankai/url/canonical_url.hpp"

namespace mankai {

/// The common options of all kinds.
struct CreateRequest {
  std::uint64_t keys = 0;
  double fpr = 0;
  HashSpec hash{};
  Memory memory{};
};

/// Defaults of the structs of kinds.
struct KindDefaults {
  static constexpr KeyShape kKeyShape = KeyShape::whole;
  static constexpr bool kCanGrow = false;             ///< beyond the capacity that it was created with
  static constexpr bool kHasLockFreeReaders = false;  ///< readers may run beside every change, advance included
};

/// Add the fields of FilterInfo that several kinds have.
void describe_growth(const Growth& growth, FilterInfo& info);
void describe_now(Tick tick, Duration epoch, FilterInfo& info);  ///< without the epoch
void describe_time(Tick tick, Duration epoch, FilterInfo& info);
void describe_decay(const Decay& decay, FilterInfo& info);
[[nodiscard]] inline double seconds_of(Duration duration) { return static_cast<double>(duration.count()) / 1e6; }

namespace detail {

/// A filter that grows beyond the capacity that it was created with.
template <class F>
concept GrowingFrom = requires(const F filter) { filter.initial_keys(); };

template <class F>
std::uint64_t requested_keys(const F& filter) {
  if constexpr (GrowingFrom<F>) {
    return filter.initial_keys();
  } else {
    return filter.capacity_keys();
  }
}

template <class F>
Result<F> open_image(Region region, Trust trust, const Memory& memory) {
  if constexpr (requires { F::from_region(std::move(region), trust, memory); }) {
    return F::from_region(std::move(region), trust, memory);
  } else {
    MANKAI_ASSIGN(Image image, Image::adopt(std::move(region), trust));
    return F::from_image(std::move(image));
  }
}

/// Calls `use(start, digests, ends)` per window of URLs with the digests of their segments.
template <class F, class Use>
void for_each_path_window(const F& filter, Keys keys, const Use& use) {
  Paths paths(keys.size());
  std::vector<Digest> digests;
  for_each_url_window(keys, [&](std::size_t start, Keys window) {
    paths.read(window, rules_of(filter));
    digests.resize(paths.segments().size());
    filter.hasher()(paths.segments(), digests);
    use(start, std::span<const Digest>(digests), paths.ends());
  });
}

template <class F>
void may_contain_keys_of(const F& filter, Keys keys, std::span<bool> outcomes) {
  if constexpr (AssociativeFilter<F>) {
    for_each_digest(filter, keys, [&](std::size_t i, Digest digest) { outcomes[i] = has_value(filter, digest); });
  } else if constexpr (PathFilter<F>) {
    for_each_path_window(filter, keys,
                         [&](std::size_t start, std::span<const Digest> digests, std::span<const std::uint32_t> ends) {
                           filter.may_contain(digests, ends, outcomes.subspan(start, ends.size()));
                         });
  } else {
    for_each_digest_window(filter, keys, [&](std::size_t start, std::span<const Digest> digests) {
      filter.may_contain(digests, outcomes.subspan(start, digests.size()));
    });
  }
}

template <class F, class Count>
void count_keys_of(const F& filter, Keys keys, std::span<Count> counts) {
  for_each_digest_window(filter, keys, [&](std::size_t start, std::span<const Digest> digests) {
    filter.estimate(digests, counts.subspan(start, digests.size()));
  });
}

/// Errors: invalid_argument for a time before the filter's.
template <class F>
Result<Tick> tick_of_filter(const F& filter, Time time) {
  if (!has_time_of(filter)) {
    return fail(ErrorCode::invalid_argument, "the keys of this " + std::string(F::kName) +
                                                 " filter do not expire: create it with max-ttl, such as 7d");
  }
  const Tick tick = tick_of(time, filter.epoch());
  if (tick < filter.tick()) {
    return fail(ErrorCode::invalid_argument,
                "the filter has advanced to a later time, and time cannot go back: pass a time that is not before the "
                "start of its epoch");
  }
  return tick;
}

/// The description in K's file; the macro specializes it.
template <class K>
const KindDescription& description_of() noexcept;

/// The Kind of K's description.
template <class K>
class KindBody final : public FilterBody {
 public:
  using F = typename K::Filter;

  explicit KindBody(F filter) noexcept : filter_(std::move(filter)), hasher_(filter_.hash()) {}

  [[nodiscard]] const KindDescription& kind() const noexcept override { return description_of<K>(); }
  [[nodiscard]] void* address() noexcept override { return &filter_; }

  void may_contain(Keys keys, std::span<bool> outcomes) const override { may_contain_keys_of(filter_, keys, outcomes); }
  [[nodiscard]] bool may_contain(std::string_view key) const override {
    if constexpr (!AssociativeFilter<F> && !PathFilter<F>) {
      if (filter_.canonical_version() == 0) [[likely]] {
        return filter_.may_contain(hasher_(key));
      }
    }
    bool outcome = false;
    may_contain_keys_of(filter_, Keys(&key, 1), {&outcome, 1});
    return outcome;
  }
  [[nodiscard]] std::optional<bool> observe(std::string_view key) override {
    if constexpr (K::kKeyShape == KeyShape::whole && !requires { filter_.check_room(std::span<const Digest>()); }) {
      if (filter_.canonical_version() == 0) [[likely]] {
        return filter_.observe(hasher_(key));
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] Result<void> count(Keys keys, std::span<KeyCount> counts) const override {
    if constexpr (FrequencyFilter<F>) {
      count_keys_of(filter_, keys, counts);
      return {};
    } else {
      return unable(kind(), DecayedFrequencyFilter<F> ? "has decayed counts only" : "does not count",
                    [](const KindDescription& each) { return each.can_count && !each.counts_decay; });
    }
  }
  [[nodiscard]] Result<void> count(Keys keys, std::span<DecayedCount> counts) const override {
    if constexpr (DecayedFrequencyFilter<F>) {
      count_keys_of(filter_, keys, counts);
      return {};
    } else {
      return unable(kind(), "has no decayed counts", [](const KindDescription& each) { return each.counts_decay; });
    }
  }
  [[nodiscard]] Result<std::vector<ValueMatches>> recall(std::string_view key,
                                                         std::uint32_t min_matches) const override {
    if constexpr (AssociativeFilter<F>) {
      std::vector<ValueMatches> values;
      for_each_digest(filter_, std::span(&key, 1),
                      [&](std::size_t, Digest digest) { values = filter_.get(digest, min_matches); });
      return values;
    } else {
      return unable(kind(), "stores no values",
                    [](const KindDescription& each) { return each.key_shape == KeyShape::valued; });
    }
  }
  [[nodiscard]] std::optional<Time> time() const noexcept override {
    if constexpr (DecayingFilter<F>) {
      return has_time_of(filter_) ? std::optional(start_of(filter_.tick(), filter_.epoch())) : std::nullopt;
    } else {
      return std::nullopt;
    }
  }

  [[nodiscard]] Result<void> apply(const Change& change, const Outcomes& outcomes) override {
    return apply_to(filter_, change, outcomes);
  }
  [[nodiscard]] Result<std::uint64_t> observe_concurrent(Keys keys, std::span<bool> seen) override {
    if constexpr (ConcurrentFilter<F>) {
      std::uint64_t absent = 0;
      for_each_digest_window(filter_, keys, [&](std::size_t start, std::span<const Digest> digests) {
        absent += filter_.observe_concurrent(digests, seen.subspan(start, digests.size()));
      });
      return absent;
    } else {
      return std::unexpected(check_can_share(kind()).error());
    }
  }
  [[nodiscard]] Result<std::uint64_t> erase_concurrent(Keys keys, std::span<EraseResult> results) override {
    if constexpr (ConcurrentFilter<F> && DeletableFilter<F>) {
      std::uint64_t erased = 0;
      for_each_digest_window(filter_, keys, [&](std::size_t start, std::span<const Digest> digests) {
        erased += filter_.erase_concurrent(digests, results.subspan(start, digests.size()));
      });
      return erased;
    } else {
      return unable(kind(), "cannot remove keys beside other processes",
                    [](const KindDescription& each) { return each.can_share && each.can_erase; });
    }
  }
  [[nodiscard]] Result<void> count_again(std::uint64_t keys) override {
    if constexpr (ConcurrentFilter<F>) {
      filter_.count_again(keys);
      return {};
    } else {
      return check_can_share(kind());
    }
  }
  [[nodiscard]] Result<void> merge(FilterBody& other) override {
    if constexpr (requires { filter_.merge(filter_); }) {
      return filter_.merge(*static_cast<const F*>(other.address()));
    } else {
      return unable(kind(), "cannot be merged", [](const KindDescription& each) { return each.can_merge; });
    }
  }
  void clear() noexcept override { filter_.clear(); }

  [[nodiscard]] Result<AnyFilter> create_like(const Memory& memory) const override {
    MANKAI_ASSIGN(F made, filter_.create_like(memory));
    return AnyFilter(std::move(made));
  }
  [[nodiscard]] FilterSpec spec() const override {
    FilterSpec spec{.kind = kind().kind,
                    .keys = requested_keys(filter_),
                    .fpr = filter_.fpr_target(),
                    .hash = filter_.hash().kind,
                    .seed = filter_.hash().seed};
    spec.canonical = filter_.canonical_version() != 0 && K::kKeyShape != KeyShape::path;
    spec.options = texts_of<K>(K::options_of(filter_));
    return spec;
  }
  [[nodiscard]] FilterInfo describe() const override {
    FilterInfo info{.kind = kind().kind,
                    .format_version = kImageVersion,
                    .capacity_keys = filter_.capacity_keys(),
                    .fpr_target = filter_.fpr_target(),
                    .keys_inserted = filter_.keys_inserted(),
                    .hash = filter_.hash().kind,
                    .canonical_version = filter_.canonical_version(),
                    .cell_count = filter_.cell_count(),
                    .cells_bytes = filter_.cells_bytes(),
                    .image_bytes = filter_.image_bytes(),
                    .probes_per_key = filter_.probes_per_key(),
                    .lines_per_key = filter_.lines_per_key(),
                    .fill_ratio = filter_.fill_ratio(),
                    .fpr_estimate = filter_.fpr_estimate(),
                    .keys_estimate = filter_.keys_estimate(),
                    .fpr_formula = {},
                    .fields = {}};
    K::describe(filter_, info);
    return info;
  }

  [[nodiscard]] std::uint64_t keys_inserted() const noexcept override { return filter_.keys_inserted(); }
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept override { return filter_.capacity_keys(); }
  [[nodiscard]] Room room() const noexcept override {
    if constexpr (NumberedFilter<F>) {
      return {.keys = filter_.room(), .first_id = filter_.slice_first_id(filter_.slice_count() - 1)};
    } else if constexpr (requires { filter_.room(); }) {
      return {.keys = filter_.room()};
    } else {
      return {.keys = K::kCanGrow ? 0 : std::numeric_limits<std::uint64_t>::max()};
    }
  }
  [[nodiscard]] std::uint64_t image_bytes() const noexcept override { return filter_.image_bytes(); }
  [[nodiscard]] Hasher hasher() const noexcept override { return filter_.hasher(); }
  [[nodiscard]] std::uint8_t canonical_version() const noexcept override { return filter_.canonical_version(); }
  [[nodiscard]] std::vector<std::span<const std::byte>> seal_parts() override { return filter_.seal_parts(); }
  [[nodiscard]] std::vector<std::byte> to_bytes() const override { return filter_.to_bytes(); }
  [[nodiscard]] Result<void> verify() const override { return filter_.verify(); }

  [[nodiscard]] Result<Tick> tick_at(Time time) const override {
    if constexpr (DecayingFilter<F>) {
      return tick_of_filter(filter_, time);
    } else {
      return unable(kind(), "has no time", [](const KindDescription& each) { return each.has_time; });
    }
  }
  [[nodiscard]] Time now() const noexcept override {
    if constexpr (NamedFilter<F>) {
      return std::max(filter_.newest(), start_of(filter_.tick(), filter_.epoch()));
    } else {
      return {};
    }
  }
  [[nodiscard]] Result<void> check_id(std::uint64_t id) const override {
    if constexpr (NumberedFilter<F>) {
      return filter_.check_id(id);
    } else {
      return {};
    }
  }
  [[nodiscard]] Result<void> check_room(std::span<const Digest> digests) const override {
    if constexpr (requires { filter_.check_room(digests); }) {
      return filter_.check_room(digests);
    } else {
      return {};
    }
  }
  [[nodiscard]] Result<void> check_erase() const override {
    if constexpr (requires { filter_.check_erase(); }) {
      return filter_.check_erase();
    } else {
      return {};
    }
  }
  [[nodiscard]] Result<std::uint64_t> until_of(Time expiry) const override {
    if constexpr (ExpiringFilter<F>) {
      return filter_.until_of(expiry);
    } else {
      return unable(kind(), "has no time to live for each key",
                    [](const KindDescription& each) { return each.has_ttl; });
    }
  }
  void prefetch(Digest digest, std::optional<std::uint64_t> id) const noexcept override {
    if constexpr (requires { filter_.prefetch(digest, *id); }) {
      filter_.prefetch(digest, id ? *id : filter_.next_id());
    } else if constexpr (requires { filter_.prefetch(digest); }) {
      filter_.prefetch(digest);
    }
  }

 private:
  F filter_;
  SingleHasher hasher_;  ///< of single keys: reading it from the image would double their cost
};

/// Parses the options, creates the filter, and stores the version of the URL rules if its keys are canonicalized.
template <class K>
Result<AnyFilter> create_kind(const FilterSpec& spec, const HashSpec& hash, const Memory& memory) {
  MANKAI_ASSIGN(const typename K::Options options, options_from<K>(spec.options));
  MANKAI_ASSIGN(typename K::Filter filter,
                K::create({.keys = spec.keys, .fpr = spec.fpr, .hash = hash, .memory = memory}, options));
  if (spec.canonical || K::kKeyShape == KeyShape::path) {
    filter.set_canonical_version(url::kCanonicalVersion);
  }
  return AnyFilter(std::move(filter));
}

/// Errors: corrupt.
template <class K>
Result<AnyFilter> open_kind(Region region, Trust trust, const Memory& memory) {
  MANKAI_ASSIGN(typename K::Filter filter, open_image<typename K::Filter>(std::move(region), trust, memory));
  return AnyFilter(std::move(filter));
}

/// Derives the description from the struct and the concepts of its class.
template <class K>
constexpr KindDescription description_from() {
  using F = typename K::Filter;
  KindDescription description{.kind = Kind{F::kKind},
                              .name = F::kName,
                              .summary = K::kSummary,
                              .key_shape = K::kKeyShape,
                              .can_erase = DeletableFilter<F>,
                              .can_count = FrequencyFilter<F> || DecayedFrequencyFilter<F>,
                              .can_grow = K::kCanGrow,
                              .can_merge = MergeableFilter<F> || PathFilter<F>,
                              .can_share = ConcurrentFilter<F>,
                              .counts_decay = DecayedFrequencyFilter<F>,
                              .has_time = DecayingFilter<F>,
                              .has_ttl = ExpiringFilter<F>,
                              .forgets = F::kPromise.forgets,
                              .has_lock_free_readers = K::kHasLockFreeReaders,
                              .examples = K::kExamples,
                              .options = kOptionTable<K>,
                              .normalize = normalize_options<K>,
                              .create = create_kind<K>,
                              .open = open_kind<K>,
                              .plan = nullptr,
                              .plan_within = nullptr,
                              .plan_forgetting = nullptr};
  if constexpr (requires { K::plan; }) {
    description.plan = K::plan;
  }
  if constexpr (requires { K::plan_within; }) {
    description.plan_within = K::plan_within;
  }
  if constexpr (requires { K::plan_forgetting; }) {
    description.plan_forgetting = K::plan_forgetting;
  }
  return description;
}

}  // namespace detail

/// Ends a kind's file: NAME is the line of the list in kinds.cpp, K the struct described above.
// NOLINTBEGIN(bugprone-macro-parentheses): K is a type.
#define MANKAI_DEFINE_KIND(name, K)                                             \
  extern const KindDescription name##_kind;                                     \
  constinit const KindDescription name##_kind = detail::description_from<K>();  \
  template <>                                                                   \
  const KindDescription& detail::description_of<K>() noexcept {                 \
    return name##_kind;                                                         \
  }                                                                             \
  template <>                                                                   \
  AnyFilter erase_type(K::Filter filter) {                                      \
    return AnyFilter(std::make_unique<detail::KindBody<K>>(std::move(filter))); \
  }
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace mankai
