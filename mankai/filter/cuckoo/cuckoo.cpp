#include "mankai/filter/cuckoo/cuckoo.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/base/duration.hpp"
#include "mankai/filter/detail/option_text.hpp"

namespace mankai {
namespace {

using Params = Cuckoo::Params;

/// Of a filter with growth 1, the sub-filters that share the rate evenly, and one share for all that follow.
constexpr std::uint64_t kEvenSlices = 16;
/// The core of a fingerprint, which chooses its second bucket: enough bits for a load of 0.96.
constexpr std::uint32_t kCoreBits = 8;
/// Digests whose lines are fetched before any of them is inserted or erased.
constexpr std::size_t kPrefetchWindow = 32;
constexpr std::uint32_t kLeastFingerprint = 4;
/// The load up to which a sub-filter that is not the newest takes keys, or entries of newer ones.
constexpr double kRoomyLoad = 0.9;
constexpr std::uint32_t kTagBits = 4;

/// The growth factor, or 0.
std::uint32_t factor_of(const Params& params) noexcept {
  return params.growth == 0 ? 0 : std::uint32_t{1} << (params.growth - 1);
}

/// The core of fingerprints of so many bits, which a test gives.
std::uint32_t core_of(std::uint32_t fingerprint_bits) noexcept { return std::min(fingerprint_bits / 2, kCoreBits); }

double slice_rate(double fpr, std::uint32_t growth, std::uint64_t generation) noexcept {
  constexpr double kFirstShares = 0.33;
  const auto halvings = [generation](std::uint64_t from) {
    return -static_cast<int>(std::min<std::uint64_t>(generation < from ? 0 : generation - from + 1, 40));
  };
  if (growth == 0) {
    return fpr;
  }
  if (growth == 1) {
    return std::ldexp(fpr / static_cast<double>(kEvenSlices + 1), halvings(kEvenSlices));
  }
  return generation < 2 ? kFirstShares * fpr : std::ldexp((1 - 2 * kFirstShares) * fpr, halvings(2));
}

/// The binary logarithm of the growth factor: how often a sub-filter is doubled at a time.
std::uint32_t doublings_of(std::uint32_t growth) noexcept {
  return growth == 0 ? 0 : static_cast<std::uint32_t>(std::bit_width(growth) - 1);
}
/// How often a sub-filter with these extension bits is doubled before the next one opens.
std::uint32_t most_doublings(std::uint32_t growth, std::uint32_t extension) noexcept {
  constexpr std::uint32_t kMost = 12;  // more would cost bits at low rates
  const std::uint32_t step = doublings_of(growth);
  return step == 0 ? 0 : std::min(extension, kMost) / step * step;
}

/// What the slots of a sub-filter hold: as the header's rate needs, or as its fingerprint_bits say.
CuckooSlot slot_of(const ImageHeader& header, std::uint64_t generation) noexcept {
  const Params params = params_in<Params>(header);
  const std::uint32_t growth = factor_of(params);
  CuckooSlot slot{.fingerprint = 0, .count = params.count_bits, .tag = params.tag_bits};
  slot.marker = growth < 2 ? 0 : 1;
  const std::uint32_t most = cuckoo::kSlotBits.back() - slot.count - slot.tag - slot.marker;
  if (params.fingerprint_bits != 0) {
    slot.fingerprint = static_cast<std::uint32_t>(std::min<std::uint64_t>(params.fingerprint_bits + generation, most));
    slot.extension = growth == 0 ? 0 : slot.fingerprint - core_of(params.fingerprint_bits);
    return slot;
  }
  // Programs make many filters of one rate, whose formula takes a quarter of the time of making a small filter.
  struct Sized {
    double fpr;
    std::uint32_t growth;
    CuckooSlot given;
    CuckooSlot slot;
  };
  static constinit thread_local Sized last{};
  const double fpr = slice_rate(std::bit_cast<double>(header.fpr_target_bits), growth, generation);
  if (last.fpr == fpr && last.growth == growth && last.given == slot) {
    return last.slot;
  }
  last = {.fpr = fpr, .growth = growth, .given = slot, .slot = {}};
  const auto rate_of = [growth](const CuckooSlot& full) {
    return CuckooTable::fpr_of(full, most_doublings(growth, full.extension), CuckooTable::kLoad);
  };
  slot.fingerprint = growth == 0 ? kLeastFingerprint : kCoreBits + 1;
  slot.extension = growth == 0 ? 0 : 1;
  while (slot.fingerprint < std::min(most, kMostCuckooFingerprint) && rate_of(slot) > fpr) {
    ++slot.fingerprint;
    slot.extension += growth == 0 ? 0 : 1;
  }
  last.slot = slot.widened();
  return last.slot;
}

/// Where a sub-filter of a growing filter begins: as large as the one before has become, which doubles the filter; with
/// a larger growth factor as many times larger.
std::uint32_t first_level_of(const ImageHeader& header, std::uint64_t generation) noexcept {
  const std::uint32_t growth = factor_of(params_in<Params>(header));
  const std::uint32_t step = doublings_of(growth);
  std::uint64_t level = 0;
  for (std::uint64_t i = 0; step != 0 && i < generation && level < CuckooTable::kMostLevel; ++i) {
    level += most_doublings(growth, slot_of(header, i).extension) + (step == 1 ? 0 : step);
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(level, CuckooTable::kMostLevel));
}

/// Keys of a sub-filter at a level.
std::uint64_t keys_at(const ImageHeader& header, std::uint32_t level) noexcept {
  return header.capacity_keys > kMaxKeysInserted >> level ? kMaxKeysInserted : header.capacity_keys << level;
}

Result<CuckooTable> make_slice(const ImageHeader& header, std::uint64_t generation, const CuckooSlot& slot, Tick tick,
                               const Memory& memory) {
  const Params params = params_in<Params>(header);
  const double fpr = std::bit_cast<double>(header.fpr_target_bits);
  const std::uint32_t level = first_level_of(header, generation);
  return CuckooTable::create({.keys = keys_at(header, level),
                              .fpr = slice_rate(fpr, factor_of(params), generation),
                              .first_buckets = params.first_buckets,
                              .level = level,
                              .first_level = level,
                              .slot = slot,
                              .epoch = Duration(static_cast<std::int64_t>(params.epoch_us)),
                              .tick = tick,
                              .hash = {.kind = static_cast<HashKind>(header.hash_kind), .seed = header.seed},
                              .memory = memory,
                              .slice_tag = generation});
}

/// The lowest rate that a filter can have.
double least_rate(const Cuckoo::Options& options) noexcept {
  const bool grows = options.growth != 0;
  const std::uint32_t meta = options.counts + (options.max_ttl == Duration::zero() ? 0 : kTagBits);
  CuckooSlot slot{.fingerprint =
                      std::min(cuckoo::kSlotBits.back() - meta - (options.growth > 1 ? 1 : 0), kMostCuckooFingerprint)};
  slot.extension = grows ? slot.fingerprint - kCoreBits : 0;
  const double full = CuckooTable::fpr_of(slot, most_doublings(options.growth, slot.extension), 1);
  return full / slice_rate(1, options.growth, 0);
}

Result<void> check_options(const Cuckoo::Options& options) {
  MANKAI_TRY(check_request({.keys = options.keys, .fpr = options.fpr}));
  if (options.growth != 0) {
    MANKAI_TRY(check_growth({.factor = options.growth, .tightening = 0.5}));
    if (!std::has_single_bit(options.growth)) {
      return fail(ErrorCode::invalid_argument, "a cuckoo filter cannot grow by a factor of " +
                                                   std::to_string(options.growth) + ": give a power of 2, such as 2");
    }
  }
  if (options.counts != 0 && options.counts != 2 && options.counts != 4) {
    return fail(ErrorCode::invalid_argument, std::to_string(options.counts) + " bits of count: give 0, 2 or 4");
  }
  if (const double least = least_rate(options); options.fingerprint_bits == 0 && options.fpr < least) {
    return fail(ErrorCode::invalid_argument, "a rate so low is out of reach of a cuckoo filter: give at least " +
                                                 detail::shortest(std::ceil(least * 1e9) / 1e9));
  }
  if (options.fingerprint_bits != 0 &&
      (options.fingerprint_bits < 4 || options.fingerprint_bits > kMostCuckooFingerprint)) {
    return fail(ErrorCode::invalid_argument, "fingerprints of " + std::to_string(options.fingerprint_bits) +
                                                 " bits: give 4 to " + std::to_string(kMostCuckooFingerprint));
  }
  if (options.max_ttl < Duration::zero() || options.ttl_resolution < Duration::zero() ||
      options.max_ttl > kLongestDuration) {
    return fail(ErrorCode::invalid_argument, "a time to live is from 1 microsecond to 1000 years");
  }
  if (options.ttl_resolution != Duration::zero() &&
      options.ttl_resolution * static_cast<std::int64_t>(kCuckooLifetime) < options.max_ttl) {
    return fail(ErrorCode::invalid_argument, "a resolution of " + to_text(options.ttl_resolution) +
                                                 " is too fine for a time to live of " + to_text(options.max_ttl) +
                                                 ": give at least a thirteenth of it");
  }
  if (options.max_ttl != Duration::zero() && options.ttl_resolution > options.max_ttl) {
    return fail(ErrorCode::invalid_argument, "a resolution of " + to_text(options.ttl_resolution) +
                                                 " is longer than the time to live, " + to_text(options.max_ttl));
  }
  if (options.max_ttl == Duration::zero() && options.ttl_resolution != Duration::zero()) {
    return fail(ErrorCode::invalid_argument, "a resolution without a time to live: give both");
  }
  return {};
}

/// Calls `use(i)` for each digest, in order; their lines are fetched a window ahead.
template <class Use>
void for_each_fetched(const Cuckoo& filter, std::span<const Digest> digests, const Use& use) {
  for (std::size_t i = 0; i < digests.size(); ++i) {
    filter.prefetch_ahead(digests, i);
    use(i);
  }
}

/// Without the microseconds by which whole generations are longer than what was asked for.
std::string rounded_text(Duration longest) {
  return to_text(longest < std::chrono::seconds(1) ? longest : std::chrono::floor<std::chrono::milliseconds>(longest));
}

/// In generations: at most kCuckooLifetime, since the resolution is at least a thirteenth.
std::uint8_t lifetime_of(const Cuckoo::Options& options) noexcept {
  return options.max_ttl == Duration::zero()
             ? std::uint8_t{0}
             : static_cast<std::uint8_t>(divide_up(
                   options.max_ttl.count(), Cuckoo::generation_for(options.max_ttl, options.ttl_resolution).count()));
}

/// Buckets of the first sub-filter. In a small table, a few keys may share so many buckets that no move makes room: one
/// in 3,000 filters of 30 keys would refuse a key before its capacity. A growing filter opens a sub-filter then; a
/// fixed one has spare buckets, with which 1 of 60,000 did, and none of 60 keys or more.
std::uint64_t first_buckets_of(std::uint64_t keys, std::uint32_t growth) noexcept {
  constexpr std::uint64_t kSpareBuckets = 4;
  return CuckooTable::buckets_for(keys) + (growth == 0 ? kSpareBuckets : 0);
}

/// The header of a filter, and what the slots of its first sub-filter hold.
struct Beginning {
  ImageHeader header;
  CuckooSlot slot;
};

Beginning beginning_of(const Cuckoo::Options& options) noexcept {
  ImageHeader header =
      make_header(Cuckoo::kKind, ImageLayout::sliced,
                  {.capacity_keys = options.keys, .fpr_target = options.fpr, .hash = options.hash, .cells_bytes = 0});
  Params params{
      .first_buckets = first_buckets_of(options.keys, options.growth),
      .epoch_us = static_cast<std::uint64_t>(Cuckoo::generation_for(options.max_ttl, options.ttl_resolution).count()),
      .growth = static_cast<std::uint8_t>(options.growth == 0 ? 0 : std::bit_width(options.growth)),
      .lifetime = lifetime_of(options),
      .core_bits = 0,
      .count_bits = static_cast<std::uint8_t>(options.counts),
      .tag_bits = static_cast<std::uint8_t>(options.max_ttl == Duration::zero() ? 0 : kTagBits),
      .fingerprint_bits = static_cast<std::uint8_t>(options.fingerprint_bits),
      .reserved = {}};
  set_params(header, params);
  const CuckooSlot slot = slot_of(header, 0);
  params.core_bits = static_cast<std::uint8_t>(slot.core());
  set_params(header, params);
  return {.header = header, .slot = slot};
}

}  // namespace

Result<Cuckoo::Size> Cuckoo::size_of(const Options& options) {
  MANKAI_TRY(check_options(options));
  const CuckooSlot slot = beginning_of(options).slot;
  const std::uint64_t buckets = first_buckets_of(options.keys, options.growth);
  return Size{.slot = slot,
              .cells_bytes = CuckooTable::cells_bytes_for(buckets, slot.bits()),
              .load = static_cast<double>(options.keys) / static_cast<double>(buckets * cuckoo::kSlotsPerBucket)};
}

Result<Cuckoo> Cuckoo::create(const Options& options) {
  MANKAI_TRY(check_options(options));
  const auto [header, slot] = beginning_of(options);
  MANKAI_ASSIGN(auto first, make_slice(header, 0, slot, {}, options.memory));
  return Cuckoo(make_parts(header, std::move(first), options.memory));
}

Result<Cuckoo> Cuckoo::create_like(const Memory& memory) const {
  const ImageHeader like = header();
  MANKAI_ASSIGN(auto first, make_slice(like, 0, slot_of(like, 0), tick(), memory));
  return Cuckoo(make_parts(like, std::move(first), memory));
}

Result<void> Cuckoo::check_header(const ImageHeader& header) {
  const Params params = params_in<Params>(header);
  if (params.growth > std::bit_width(Growth::kMaxFactor) || params.reserved != decltype(params.reserved){}) {
    return fail(ErrorCode::corrupt, "impossible growth at offset 80, or reserved bytes before offset 88 are not zero");
  }
  if ((params.count_bits != 0 && params.count_bits != 2 && params.count_bits != 4) ||
      (params.tag_bits != 0 && params.tag_bits != kTagBits) || (params.tag_bits != 0) != (params.epoch_us != 0) ||
      params.epoch_us > static_cast<std::uint64_t>(kLongestDuration.count()) ||
      (params.lifetime == 0) != (params.tag_bits == 0) || params.lifetime > kCuckooLifetime ||
      (params.fingerprint_bits != 0 && params.fingerprint_bits < kLeastFingerprint) ||
      params.fingerprint_bits > kMostCuckooFingerprint || params.core_bits != slot_of(header, 0).core()) {
    return fail(ErrorCode::corrupt, "impossible bits of a slot, or length of a generation, from offset 72 on");
  }
  MANKAI_TRY(check_outer(header));
  if (params.first_buckets != first_buckets_of(header.capacity_keys, factor_of(params))) {
    return fail(ErrorCode::corrupt, std::to_string(params.first_buckets) + " buckets at offset 64 are not those for " +
                                        std::to_string(header.capacity_keys) + " keys at offset 40");
  }
  return {};
}

Result<void> Cuckoo::check_slice(const ImageHeader& outer, const CuckooTable& slice, std::size_t index) {
  const Params params = params_in<Params>(outer);
  const std::uint64_t generation = slice.slice_tag();
  const CuckooTable::Params own = slice.params();
  if (generation >= kMaxSlices || (index == 0 && generation != 0) ||
      slice.capacity_keys() != keys_at(outer, slice.level())) {
    return fail(ErrorCode::corrupt, "a sub-filter for " + std::to_string(slice.capacity_keys()) +
                                        " keys at offset 40 is not what generation " + std::to_string(generation) +
                                        " at offset 88 has");
  }
  if (own.first_buckets != params.first_buckets || own.first_level != first_level_of(outer, generation) ||
      slice.level() - slice.first_level() > most_doublings(factor_of(params), slice.slot().extension) ||
      own.epoch_us != params.epoch_us || slice.slot() != slot_of(outer, generation)) {
    return fail(ErrorCode::corrupt,
                "buckets, slots or expiry from offset 64 on are not those of generation " + std::to_string(generation));
  }
  return {};
}

std::uint32_t Cuckoo::growth_factor() const noexcept { return factor_of(params()); }

Duration Cuckoo::generation_for(Duration max_ttl, Duration resolution) noexcept {
  return resolution != Duration::zero()
             ? resolution
             : Duration(divide_up(max_ttl.count(), static_cast<std::int64_t>(kCuckooLifetime)));
}

Duration Cuckoo::epoch() const noexcept {
  return has_time() ? Duration(static_cast<std::int64_t>(params().epoch_us)) : kLongestDuration;
}

std::uint64_t Cuckoo::expansions() const noexcept {
  const std::uint64_t opened = slice_count() - 1;
  const std::uint32_t step = doublings_of(growth_factor());
  if (step == 0) {
    return opened;
  }
  return opened + sum([step](const CuckooTable& table) { return (table.level() - table.first_level()) / step; });
}

// Doubles the newest sub-filter, or opens the next.
void Cuckoo::grow_once() {
  CuckooTable& newest = slices().back();
  // Expired keys may have left room. Where they have not, nothing is swept: a growth that fails changes nothing.
  if (newest.is_unswept() && newest.live_slots() < newest.capacity_keys()) {
    newest.sweep(newest.cells_bytes() / kCacheLineBytes);
    return;
  }
  const std::uint32_t step = doublings_of(growth_factor());
  if (step != 0 && newest.level() + step <= CuckooTable::kMostLevel &&
      newest.level() - newest.first_level() + step <= most_doublings(growth_factor(), newest.slot().extension)) {
    auto larger = newest.doubled(step, memory());
    if (!larger) {
      throw std::bad_alloc();
    }
    newest = std::move(*larger);
    release_unused_backing();
    return;
  }
  // A hostile image may have the last generation that there can be.
  const std::uint64_t generation = std::min<std::uint64_t>(latest().slice_tag() + 1, kMaxSlices - 1);
  if (!grow([&] { return make_slice(header(), generation, slot_of(header(), generation), tick(), memory()); })) {
    throw std::bad_alloc();
  }
}

// By their generations, so that the newest stays the one to erase from first.
void Cuckoo::sort_slices() noexcept {
  for (std::size_t unsorted = slice_count(); unsorted > 0; --unsorted) {
    std::size_t least = 0;
    for (std::size_t i = 1; i < unsorted; ++i) {
      least = slices()[i].slice_tag() < slices()[least].slice_tag() ? i : least;
    }
    slices().move_to_end(least);
  }
}

void Cuckoo::prefetch_ahead(std::span<const Digest> digests, std::size_t at) const noexcept {
  if (at % kPrefetchWindow == 0) {
    for (const Digest digest : digests.subspan(at, std::min(kPrefetchWindow, digests.size() - at))) {
      prefetch(digest);
    }
  }
}

void Cuckoo::insert_until(Digest digest, std::uint64_t until) {
  while (!insert_in_slices(digest, until)) {
    grow_once();
  }
  sweep();
}

// Two lines per insertion: those of a full filter are swept before a thirteenth of its keys has been replaced.
void Cuckoo::sweep() noexcept {
  if (!has_time()) {
    return;
  }
  std::uint64_t lines = 2;
  for (std::size_t i = slice_count(); lines != 0 && i-- > 0;) {
    lines -= slices()[i].sweep(lines);
  }
}

// The newest first. Older ones have room again where keys were erased or have expired; an addition may go to any of
// them, since its unit matches the key wherever it is.
bool Cuckoo::insert_in_slices(Digest digest, std::uint64_t until) noexcept {
  CuckooTable& newest = slices().back();
  const bool has_room = growth_factor() == 0 || newest.taken_slots() < newest.capacity_keys();
  if (newest.insert(digest, until, has_room) == CuckooTable::Added::added) {
    return true;
  }
  for (std::size_t i = slice_count() - 1; i-- > 0;) {
    if (slices()[i].fill_ratio() < kRoomyLoad && slices()[i].insert(digest, until, true) == CuckooTable::Added::added) {
      return true;
    }
  }
  return false;
}

bool Cuckoo::try_insert_until(Digest digest, std::uint64_t until) {
  if (growth_factor() == 0) {
    const bool is_added = insert_in_slices(digest, until);
    if (is_added) {
      sweep();
    }
    return is_added;
  }
  insert_until(digest, until);
  return true;
}

// A wider search begins with the same buckets, so it finds the same room where a narrower one finds any. In a growing
// filter a search that fails lets the filter grow: there each copy has made the same searches.
void Cuckoo::expect_room() noexcept {
  if (growth_factor() == 0) {
    slices().back().expect_room();
  }
}

// The lines of several sub-filters arrive together, the newest first.
bool Cuckoo::may_contain_in_slices(Digest digest) const noexcept {
  constexpr std::size_t kTogether = 4;
  std::array<CuckooTable::Key, kTogether> keys;
  for (std::size_t end = slice_count(); end != 0;) {
    const std::size_t count = std::min(end, kTogether);
    end -= count;
    for (std::size_t i = 0; i < count; ++i) {
      keys[i] = slices()[end + i].fetched(digest);
    }
    for (std::size_t i = count; i-- > 0;) {
      if (slices()[end + i].may_contain(keys[i])) {
        return true;
      }
    }
  }
  return false;
}

bool Cuckoo::observe(Digest digest) {
  const bool seen = may_contain(digest);
  insert(digest);
  return seen;
}

EraseResult Cuckoo::erase(Digest digest) noexcept {
  if (!can_erase()) {
    return EraseResult::stuck;
  }
  std::size_t chosen = 0;
  if (slice_count() > 1) {
    std::optional<std::uint32_t> most;
    for (std::size_t i = 0; i < slice_count(); ++i) {
      if (const auto known = slices()[i].known_bits(digest); known && known >= most) {
        most = known;
        chosen = i;
      }
    }
  }
  const CuckooTable::Taken taken = slices()[chosen].erase(digest);
  if (taken.result == EraseResult::erased && has_time()) {
    for (std::size_t i = 0; i < slice_count(); ++i) {
      slices()[i].refresh(digest, taken.until);
    }
  }
  return taken.result;
}

KeyCount Cuckoo::estimate(Digest digest) const noexcept {
  KeyCount count;
  for (std::size_t i = 0; i < slice_count(); ++i) {
    const KeyCount more = slices()[i].estimate(digest);
    count.value += more.value;
    count.is_saturated = count.is_saturated || more.is_saturated;
  }
  // What can erase nothing counts nothing: a key that is found may have been added any number of times.
  count.is_saturated = count.is_saturated || (!can_erase() && count.value != 0);
  return count;
}

std::optional<Time> Cuckoo::expiry(Digest digest) const noexcept {
  MANKAI_ASSERT(has_time());
  std::uint64_t until = 0;
  for (std::size_t i = 0; i < slice_count(); ++i) {
    until = std::max(until, slices()[i].until(digest));
  }
  return until == 0 ? std::nullopt : std::optional(start_of({until}, epoch()));
}

void Cuckoo::insert(std::span<const Digest> digests) {
  for_each_fetched(*this, digests, [&](std::size_t i) { insert(digests[i]); });
}

void Cuckoo::insert_until(std::span<const Digest> digests, std::span<const std::uint64_t> until) {
  MANKAI_ASSERT(digests.size() == until.size());
  for_each_fetched(*this, digests, [&](std::size_t i) { insert_until(digests[i], until[i]); });
}

void Cuckoo::observe(std::span<const Digest> digests, std::span<bool> seen) {
  MANKAI_ASSERT(digests.size() == seen.size());
  for_each_fetched(*this, digests, [&](std::size_t i) { seen[i] = observe(digests[i]); });
}

void Cuckoo::erase(std::span<const Digest> digests, std::span<EraseResult> results) noexcept {
  MANKAI_ASSERT(digests.size() == results.size());
  for_each_fetched(*this, digests, [&](std::size_t i) { results[i] = erase(digests[i]); });
}

void Cuckoo::estimate(std::span<const Digest> digests, std::span<KeyCount> counts) const noexcept {
  MANKAI_ASSERT(digests.size() == counts.size());
  for_each_fetched(*this, digests, [&](std::size_t i) { counts[i] = estimate(digests[i]); });
}

void Cuckoo::advance(Tick tick) noexcept {
  for (std::size_t i = 0; i < slice_count(); ++i) {
    slices()[i].advance(tick);
  }
}

Result<std::uint64_t> Cuckoo::until_of(Time expiry) const {
  if (!has_time()) {
    return fail(ErrorCode::invalid_argument,
                "the keys of this cuckoo filter do not expire: create it with max-ttl, such as 7d");
  }
  const std::uint64_t until = tick_of(expiry, epoch()).value + 1;
  if (expiry <= start_of(tick(), epoch())) {
    return fail(ErrorCode::invalid_argument, "a time to live that is over: it ends before the filter's time");
  }
  if (!is_until(until)) {
    return fail(ErrorCode::invalid_argument, "a time to live beyond the filter's longest, " + rounded_text(max_ttl()) +
                                                 ": give a shorter one, or create the filter with a longer one");
  }
  return until;
}

// A key that is found needs no slot, unless a slot is one unit.
Result<void> Cuckoo::check_room(std::span<const Digest> digests) const {
  if (growth_factor() == 1 && slice_count() + digests.size() / initial_keys() + 2 > kMaxSlices) {
    return fail(ErrorCode::out_of_space,
                "the filter has grown as often as it can: create one with more keys or with growth=2");
  }
  if (growth_factor() != 0 || taken_slots() + digests.size() <= capacity_keys()) {
    return {};
  }
  const bool shares_slots = slot().count != 0 || has_time();
  const auto known =
      shares_slots ? std::ranges::count_if(digests, [&](Digest digest) { return may_contain(digest); }) : 0;
  if (live_slots() + digests.size() - static_cast<std::uint64_t>(known) > capacity_keys()) {
    return fail(ErrorCode::out_of_space, "the filter is full: it has room for " + std::to_string(capacity_keys()) +
                                             " keys and does not grow; create one with more keys or with growth=2");
  }
  return {};
}

Result<void> Cuckoo::check_erase() const {
  if (!can_erase()) {
    return fail(ErrorCode::invalid_argument,
                "a cuckoo filter with a time to live and without counts cannot remove keys: create it with counts=2");
  }
  return {};
}

Result<void> Cuckoo::merge(const Cuckoo& other) {
  MANKAI_TRY(check_same_hash(other));
  std::vector<CuckooTable> taken_over;
  for (std::size_t i = 0; i < other.slice_count(); ++i) {
    if (other.slices()[i].taken_slots() == 0) {
      continue;
    }
    MANKAI_ASSIGN(auto copy, copy_of(other.slices()[i]));
    taken_over.push_back(std::move(copy));
  }
  MANKAI_TRY(reserve_slices(taken_over.size()));
  for (CuckooTable& slice : taken_over) {
    slices().append(std::move(slice));
  }
  advance(std::max(tick(), other.tick()));
  if (!taken_over.empty()) {
    sort_slices();
  }
  return {};
}

void Cuckoo::compact() noexcept {
  for (std::size_t newer = slice_count(); newer-- > 1;) {
    for (std::size_t older = 0; older < newer && slices()[newer].taken_slots() != 0; ++older) {
      // Where there is hardly any room it is not worth a pass.
      if (slices()[older].fill_ratio() < kRoomyLoad) {
        slices()[older].absorb(slices()[newer]);
      }
    }
    if (slices()[newer].taken_slots() == 0) {
      slices().move_to_end(newer);
      slices().drop_last();
    }
  }
  if (slice_count() == 1 && taken_slots() == 0) {
    clear();
  }
  release_unused_backing();
}

void Cuckoo::clear() noexcept {
  slices().keep_first();
  CuckooTable& first = slices().back();
  if (first.level() != 0) {
    if (auto small = make_slice(header(), 0, slot_of(header(), 0), tick(), memory())) {
      first = std::move(*small);
      release_unused_backing();
      return;
    }
  }
  first.clear();
}

double Cuckoo::fpr_expected(std::uint64_t keys) const noexcept {
  double all_no = 0;
  for (std::uint64_t generation = 0; keys > 0 && generation < kMaxSlices; ++generation) {
    const CuckooSlot slot = slot_of(header(), generation);
    const std::uint32_t first = first_level_of(header(), generation);
    const std::uint32_t last = first + most_doublings(growth_factor(), slot.extension);
    std::uint32_t level = first;
    while (level < last && keys_at(header(), level) < keys) {
      level += doublings_of(growth_factor());
    }
    const std::uint64_t inside = std::min(keys, keys_at(header(), level));
    const double slots =
        std::ldexp(static_cast<double>(params().first_buckets * cuckoo::kSlotsPerBucket), static_cast<int>(level));
    all_no += std::log1p(-CuckooTable::fpr_of(slot, level - first, static_cast<double>(inside) / slots));
    keys -= inside;
  }
  return 0 - std::expm1(all_no);  // not -0 for an empty filter
}

}  // namespace mankai
