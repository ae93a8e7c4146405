#include "mankai/filter/any_filter.hpp"

#include <algorithm>

#include "mankai/base/assert.hpp"
#include "mankai/filter/define_kind.hpp"
#include "mankai/url/canonical_url.hpp"

namespace mankai {
namespace {

HashSpec hash_of(const FilterSpec& spec) {
  return spec.seed ? HashSpec{.kind = spec.hash, .seed = *spec.seed} : HashSpec::random(spec.hash);
}

// Applies changes one after the other: `encode(start, count)` encodes the keys of a window.
template <class Encode>
Result<void> apply_windows(AnyFilter& filter, std::size_t keys, const Outcomes& outcomes, const Encode& encode) {
  for (std::size_t start = 0; start < keys; start += ChangeEncoder::kMaxKeys) {
    const std::size_t count = std::min(ChangeEncoder::kMaxKeys, keys - start);
    MANKAI_ASSIGN(const Change change, encode(start, count));
    MANKAI_TRY(filter.apply(change, outcomes.part(start, count)));
  }
  return {};
}

}  // namespace

AnyFilter::AnyFilter(std::unique_ptr<FilterBody> body) noexcept : body_(std::move(body)) {}
AnyFilter::AnyFilter(AnyFilter&&) noexcept = default;
AnyFilter& AnyFilter::operator=(AnyFilter&&) noexcept = default;
AnyFilter::~AnyFilter() = default;

const KindDescription& AnyFilter::kind() const noexcept { return body_->kind(); }
void* AnyFilter::address() const noexcept { return body_->address(); }

ChangeEncoder& AnyFilter::encoder() {
  if (!encoder_) {
    encoder_ = std::make_unique<ChangeEncoder>(*this);
  }
  return *encoder_;
}

void AnyFilter::may_contain(Keys keys, std::span<bool> outcomes) const {
  MANKAI_ASSERT(keys.size() == outcomes.size());
  body_->may_contain(keys, outcomes);
}

bool AnyFilter::may_contain(std::string_view key) const { return body_->may_contain(key); }

Result<void> AnyFilter::count(Keys keys, std::span<KeyCount> counts) const {
  MANKAI_ASSERT(keys.size() == counts.size());
  return body_->count(keys, counts);
}

Result<void> AnyFilter::count(Keys keys, std::span<DecayedCount> counts) const {
  MANKAI_ASSERT(keys.size() == counts.size());
  return body_->count(keys, counts);
}

Result<std::vector<ValueMatches>> AnyFilter::recall(std::string_view key, std::uint32_t min_matches) const {
  return body_->recall(key, min_matches);
}

std::optional<Time> AnyFilter::time() const noexcept { return body_->time(); }

Result<void> AnyFilter::insert(Keys keys) {
  return apply_windows(*this, keys.size(), {}, [&](std::size_t start, std::size_t count) {
    return encoder().insert(keys.subspan(start, count));
  });
}

Result<void> AnyFilter::observe(Keys keys, std::span<bool> seen) {
  MANKAI_ASSERT(keys.size() == seen.size());
  return apply_windows(*this, keys.size(), {.seen = seen}, [&](std::size_t start, std::size_t count) {
    return encoder().insert(keys.subspan(start, count));
  });
}

Result<bool> AnyFilter::observe(std::string_view key) {
  if (const auto seen = body_->observe(key)) [[likely]] {
    return *seen;
  }
  bool seen = false;
  MANKAI_TRY(observe({&key, 1}, {&seen, 1}));
  return seen;
}

Result<std::uint64_t> AnyFilter::observe_concurrent(Keys keys, std::span<bool> seen) {
  MANKAI_ASSERT(keys.size() == seen.size());
  return body_->observe_concurrent(keys, seen);
}

Result<std::uint64_t> AnyFilter::erase_concurrent(Keys keys, std::span<EraseResult> results) {
  MANKAI_ASSERT(keys.size() == results.size());
  return body_->erase_concurrent(keys, results);
}

Result<void> AnyFilter::count_again(std::uint64_t keys) { return body_->count_again(keys); }

Result<void> AnyFilter::erase(Keys keys, std::span<EraseResult> results) {
  MANKAI_ASSERT(keys.size() == results.size());
  return apply_windows(*this, keys.size(), {.erased = results}, [&](std::size_t start, std::size_t count) {
    return encoder().erase(keys.subspan(start, count));
  });
}

Result<void> AnyFilter::advance(Time time) {
  MANKAI_ASSIGN(const Change change, encoder().advance(time));
  return apply(change);
}

Result<void> AnyFilter::merge(const AnyFilter& other) {
  if (&kind() != &other.kind()) {
    return fail(ErrorCode::invalid_argument, "the filters are of different kinds (" + std::string(kind().name) +
                                                 " and " + std::string(other.kind().name) +
                                                 "); create the second one like the first");
  }
  return body_->merge(*other.body_);
}

void AnyFilter::clear() noexcept { body_->clear(); }

Result<AnyFilter> AnyFilter::create_like(const Memory& memory) const { return body_->create_like(memory); }
FilterSpec AnyFilter::spec() const { return body_->spec(); }
FilterInfo AnyFilter::describe() const { return body_->describe(); }
std::uint64_t AnyFilter::keys_inserted() const noexcept { return body_->keys_inserted(); }
std::uint64_t AnyFilter::capacity_keys() const noexcept { return body_->capacity_keys(); }
Room AnyFilter::room() const noexcept { return body_->room(); }
std::uint64_t AnyFilter::image_bytes() const noexcept { return body_->image_bytes(); }
Hasher AnyFilter::hasher() const noexcept { return body_->hasher(); }
std::uint8_t AnyFilter::canonical_version() const noexcept { return body_->canonical_version(); }
std::vector<std::span<const std::byte>> AnyFilter::seal_parts() { return body_->seal_parts(); }
std::vector<std::byte> AnyFilter::to_bytes() const { return body_->to_bytes(); }
Result<void> AnyFilter::verify() const { return body_->verify(); }

Result<AnyFilter> create_filter(const FilterSpec& spec, const Memory& memory) {
  const KindDescription* kind = find_kind(spec.kind);
  if (kind == nullptr) {
    return fail(ErrorCode::invalid_argument,
                "this library has no kind " + std::to_string(static_cast<std::uint16_t>(spec.kind)));
  }
  const HashSpec hash = hash_of(spec);
  MANKAI_TRY(check_seed(hash));
  MANKAI_TRY(check_options(spec));
  return kind->create(spec, hash, memory);
}

Result<AnyFilter> filter_from_region(Region region, Trust trust, const Memory& memory) {
  MANKAI_ASSIGN(const ImageHeader header, read_header(region.bytes(), region.size()));
  if (header.canonical_version != 0 && !url::url_rules(header.canonical_version)) {
    return fail(ErrorCode::unsupported_version,
                "its keys were canonicalized by version " + std::to_string(header.canonical_version) +
                    " of the URL rules (offset 15), and this library has versions 1 to " +
                    std::to_string(url::kCanonicalVersion) + "; use the library that created it, or create it again");
  }
  const KindDescription* kind = find_kind(Kind{header.kind});
  if (kind == nullptr) {
    return fail(ErrorCode::unsupported_version,
                "kind " + std::to_string(header.kind) + " at offset 10 is unknown to this library: use a newer one");
  }
  return kind->open(std::move(region), trust, memory);
}

void describe_growth(const Growth& growth, FilterInfo& info) {
  info.fields.push_back({"growth", "growth", std::uint64_t{growth.factor}});
  info.fields.push_back({"tightening", "tightening", growth.tightening});
  info.fields.push_back({"bound", "bound", std::string(name(growth.bound))});
}

void describe_now(Tick tick, Duration epoch, FilterInfo& info) {
  info.fields.push_back(
      {"time_seconds", "time, since 1970", seconds_of(Duration(start_of(tick, epoch).time_since_epoch()))});
}

void describe_time(Tick tick, Duration epoch, FilterInfo& info) {
  describe_now(tick, epoch, info);
  info.fields.push_back({"epoch_seconds", "epoch", seconds_of(epoch)});
}

void describe_decay(const Decay& decay, FilterInfo& info) {
  info.fields.push_back({"half_life_seconds", "half-life", decay.half_life_seconds()});
  info.fields.push_back({"lambda", "lambda", decay.lambda()});
}

}  // namespace mankai
