#include "mankai/takeover/valkey_bloom.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <string>
#include <utility>

namespace mankai::takeover {
namespace {

// A filter's bytes begin with a version, the bytes of the bitmap (64 bits), the probes (32 bits), and the seed.
constexpr std::uint8_t kFilterVersion = 1;
constexpr std::uint8_t kBlobVersion = 1;
constexpr std::size_t kFilterStartBytes = 13 + sizeof(ValkeyBloom::Seed);
constexpr std::uint64_t kMostKeys = std::numeric_limits<std::int64_t>::max();
// Rates are normal doubles, which take at most 1475 bits per key, and bitmaps are rounded up to a byte.
constexpr std::uint64_t kMostValkeyProbes = 1030;
constexpr double kMostBytes = 0x1p59;

// As compilers raise to an integer power: other orders of multiplication round otherwise.
double power(double base, std::size_t exponent) noexcept {
  double result = 1;
  for (; exponent != 0; exponent /= 2) {
    if (exponent % 2 != 0) {
      result *= base;
    }
    base *= base;
  }
  return result;
}

bool is_between_0_and_1(double number) noexcept { return number > 0 && number < 1; }

double bitmap_bytes(std::uint64_t keys, double fpr) noexcept {
  constexpr double kPerByte = -8.0 * std::numbers::ln2 * std::numbers::ln2;
  return std::ceil(static_cast<double>(keys) * std::log(fpr) / kPerByte);
}

std::uint64_t probes_for(std::uint64_t keys, std::uint64_t bits) noexcept {
  const double probes = static_cast<double>(bits) / static_cast<double>(keys) * std::numbers::ln2;
  return static_cast<std::uint64_t>(std::clamp(std::round(probes), 1.0, static_cast<double>(kMostValkeyProbes)));
}

Result<LinkShape> shape_for(std::uint64_t keys, double fpr) {
  const double bytes = bitmap_bytes(keys, fpr);
  if (bytes > kMostBytes) {
    return fail(ErrorCode::out_of_space, "a filter for " + std::to_string(keys) + " keys is too large to address");
  }
  const std::uint64_t bits = static_cast<std::uint64_t>(std::max(bytes, 1.0)) * 8;
  return LinkShape{
      .capacity_keys = keys, .bits = bits, .fpr = fpr, .probes_per_key = static_cast<unsigned>(probes_for(keys, bits))};
}

}  // namespace

// The filter before its links, of what is saved before them.
Result<ValkeyBloom> ValkeyBloom::empty_of(std::uint64_t expansion, double fpr, double tightening,
                                          std::uint64_t is_seed_random, std::uint64_t filters, const Memory& memory) {
  if (expansion > std::numeric_limits<std::uint32_t>::max() || is_seed_random > 1) {
    return fail(ErrorCode::corrupt, "an impossible expansion or kind of seed");
  }
  if (!is_between_0_and_1(fpr) || !is_between_0_and_1(tightening)) {
    return fail(ErrorCode::corrupt, "a rate or tightening ratio that is not between 0 and 1");
  }
  if (filters == 0 || filters > kMostLinks) {
    return fail(ErrorCode::corrupt, std::to_string(filters) + " filters; expected 1 to " + std::to_string(kMostLinks));
  }
  return ValkeyBloom({.expansion = static_cast<std::uint32_t>(expansion),
                      .fpr = fpr,
                      .tightening = tightening,
                      .is_seed_random = is_seed_random != 0},
                     memory);
}

void ValkeyBloom::set_seed(std::span<const std::byte> seed) noexcept {
  static_assert(sizeof(hash_keys_) == sizeof(seed_));
  MANKAI_ASSERT(seed.size() == sizeof(seed_));
  std::memcpy(seed_.data(), seed.data(), sizeof(seed_));
  std::memcpy(hash_keys_.data(), seed.data(), sizeof(seed_));
}

Result<void> ValkeyBloom::append_filter(const LinkShape& shape) {
  MANKAI_ASSIGN(auto cells, Region::allocate(memory(), static_cast<std::size_t>(shape.bits / 8)));
  links().emplace_back(shape, std::move(cells));
  return {};
}

Result<ValkeyBloom> ValkeyBloom::of(const Rule& rule, const Seed& seed, std::uint64_t keys, const Memory& memory) {
  ValkeyBloom bloom(rule, memory);
  bloom.set_seed(std::as_bytes(std::span(seed)));
  MANKAI_ASSIGN(const LinkShape shape, shape_for(keys, rule.fpr));
  MANKAI_TRY(bloom.append_filter(shape));
  return bloom;
}

Result<ValkeyBloom> ValkeyBloom::create(const Options& options) {
  if (options.keys == 0 || options.keys > kMostKeys || !is_between_0_and_1(options.fpr) ||
      !is_between_0_and_1(options.tightening)) {
    return fail(ErrorCode::invalid_argument,
                "a capacity of at least 1, and a rate and a tightening ratio between 0 and 1 are expected");
  }
  return of({.expansion = options.expansion,
             .fpr = options.fpr,
             .tightening = options.tightening,
             .is_seed_random = options.seed != kFixedSeed},
            options.seed, options.keys, options.memory);
}

Result<ValkeyBloom> ValkeyBloom::create_like() const { return of(rule_, seed_, initial_keys(), memory()); }

Result<ValkeyBloom> ValkeyBloom::clone() const {
  ValkeyBloom copy(rule_, memory());
  copy.set_seed(std::as_bytes(std::span(seed_)));
  for (const BitLink& filter : links()) {
    MANKAI_ASSIGN(auto cells, filter.cells().clone(memory()));
    copy.links().emplace_back(filter.shape(), std::move(cells));
  }
  return copy;
}

// Appends a filter of the next rate. What is saved after its bytes is checked by set_keys.
Result<void> ValkeyBloom::take_filter(std::span<const std::byte> bytes) {
  ByteCursor cursor(bytes);
  MANKAI_ASSIGN(const auto version, cursor.take_number<std::uint8_t>());
  if (version != kFilterVersion) {
    return fail(ErrorCode::unsupported_version, "a filter of version " + std::to_string(version));
  }
  MANKAI_ASSIGN(const auto cells_bytes, cursor.take_number<std::uint64_t>());
  MANKAI_ASSIGN(const auto probes, cursor.take_number<std::uint32_t>());
  MANKAI_ASSIGN(const auto seed, cursor.take(sizeof(Seed)));
  const auto cells = cursor.rest();
  if (cells.empty() || cells.size() != cells_bytes) {
    return fail(ErrorCode::corrupt, "a filter of " + std::to_string(cells_bytes) + " bytes, of which " +
                                        std::to_string(cells.size()) + " are present");
  }
  if (links().empty()) {
    set_seed(seed);
  }
  const Seed& shared = rule_.is_seed_random ? seed_ : kFixedSeed;
  if (!std::ranges::equal(seed, std::as_bytes(std::span(shared)))) {
    return fail(ErrorCode::corrupt, "a filter with another seed");
  }
  MANKAI_TRY(append_filter({.bits = cells_bytes * 8, .fpr = fpr_of(links().size()), .probes_per_key = probes}));
  std::ranges::copy(cells, links().back().cells().present().begin());
  return {};
}

Result<void> ValkeyBloom::set_keys(std::uint64_t capacity_keys, std::uint64_t keys) {
  if (capacity_keys == 0 || capacity_keys > kMostKeys || keys > kMostKeys) {
    return fail(ErrorCode::corrupt, "a filter with an impossible number of keys");
  }
  BitLink& filter = links().back();
  const std::uint64_t expected = probes_for(capacity_keys, filter.bits());
  const std::uint64_t probes = filter.probes_per_key();
  // Rounded elsewhere, the number may differ by one.
  if (probes == 0 || probes > kMostValkeyProbes || probes + 1 < expected || probes > expected + 1) {
    return fail(ErrorCode::corrupt,
                "a filter whose " + std::to_string(probes) + " probes are not those of its bits and capacity");
  }
  filter.set_keys(capacity_keys, keys);
  return {};
}

ByteBuffer ValkeyBloom::bytes_of_filter(const BitLink& filter) const {
  ByteBuffer out;
  out.reserve(kFilterStartBytes + filter.cells_bytes());
  append_number(out, kFilterVersion);
  append_number(out, std::uint64_t{filter.cells_bytes()});
  append_number(out, std::uint32_t{filter.probes_per_key()});
  append(out, std::as_bytes(std::span(seed_)));
  append(out, filter.cells().present());
  return out;
}

Result<ValkeyBloom> ValkeyBloom::load(FieldReader& fields, unsigned encver, const Memory& memory) {
  if (encver != kEncver) {
    return fail(ErrorCode::unsupported_version,
                "encoding " + std::to_string(encver) + " of " + std::string(kTypeName) + "; only 1 is known");
  }
  MANKAI_ASSIGN(const std::uint64_t filters, fields.unsigned_number());
  MANKAI_ASSIGN(const std::uint64_t expansion, fields.unsigned_number());
  MANKAI_ASSIGN(const double fpr, fields.real());
  MANKAI_ASSIGN(const double tightening, fields.real());
  MANKAI_ASSIGN(const std::uint64_t is_seed_random, fields.unsigned_number());
  MANKAI_ASSIGN(ValkeyBloom bloom, empty_of(expansion, fpr, tightening, is_seed_random, filters, memory));
  for (std::uint64_t i = 0; i < filters; ++i) {
    // The capacity follows the bytes, which are valid until then only.
    MANKAI_ASSIGN(const auto bytes, fields.string());
    MANKAI_TRY(bloom.take_filter(bytes));
    MANKAI_ASSIGN(const std::uint64_t capacity, fields.unsigned_number());
    std::uint64_t keys = capacity;
    if (i + 1 == filters) {
      MANKAI_ASSIGN(keys, fields.unsigned_number());
    }
    MANKAI_TRY(bloom.set_keys(capacity, keys));
  }
  return bloom;
}

void ValkeyBloom::save(FieldWriter& fields) const {
  fields.unsigned_number(links().size());
  fields.unsigned_number(rule_.expansion);
  fields.real(rule_.fpr);
  fields.real(rule_.tightening);
  fields.unsigned_number(static_cast<std::uint64_t>(rule_.is_seed_random));
  for (const BitLink& filter : links()) {
    fields.string(bytes_of_filter(filter));
    fields.unsigned_number(filter.capacity_keys());
  }
  fields.unsigned_number(links().back().keys_inserted());
}

Result<ValkeyBloom> ValkeyBloom::from_blob(std::span<const std::byte> blob, const Memory& memory) {
  ByteCursor cursor(blob);
  MANKAI_ASSIGN(const auto version, cursor.take_number<std::uint8_t>());
  if (version != kBlobVersion) {
    return fail(ErrorCode::unsupported_version, "a blob of version " + std::to_string(version));
  }
  MANKAI_ASSIGN(const auto expansion, cursor.take_number<std::uint32_t>());
  MANKAI_ASSIGN(const auto fpr, cursor.take_number<double>());
  MANKAI_ASSIGN(const auto tightening, cursor.take_number<double>());
  MANKAI_ASSIGN(const auto is_seed_random, cursor.take_number<std::uint8_t>());
  MANKAI_ASSIGN(const auto filters, cursor.take_number<std::uint64_t>());
  MANKAI_ASSIGN(ValkeyBloom bloom, empty_of(expansion, fpr, tightening, is_seed_random, filters, memory));
  for (std::uint64_t i = 0; i < filters; ++i) {
    MANKAI_ASSIGN(const auto length, cursor.take_number<std::uint64_t>());
    MANKAI_ASSIGN(const auto bytes, cursor.take(length));
    MANKAI_TRY(bloom.take_filter(bytes));
    MANKAI_ASSIGN(const auto keys, cursor.take_number<std::uint64_t>());
    MANKAI_ASSIGN(const auto capacity, cursor.take_number<std::uint64_t>());
    MANKAI_TRY(bloom.set_keys(capacity, keys));
  }
  if (!cursor.is_at_end()) {
    return fail(ErrorCode::corrupt, "bytes after the last filter");
  }
  return bloom;
}

ByteBuffer ValkeyBloom::to_blob() const {
  ByteBuffer out;
  append_number(out, kBlobVersion);
  append_number(out, rule_.expansion);
  append_number(out, rule_.fpr);
  append_number(out, rule_.tightening);
  append_number(out, static_cast<std::uint8_t>(rule_.is_seed_random));
  append_number(out, std::uint64_t{links().size()});
  for (const BitLink& filter : links()) {
    const ByteBuffer bytes = bytes_of_filter(filter);
    append_number(out, std::uint64_t{bytes.size()});
    append(out, bytes);
    append_number(out, filter.keys_inserted());
    append_number(out, filter.capacity_keys());
  }
  return out;
}

KeyHashes ValkeyBloom::hashes_of(std::string_view key) const noexcept {
  return {.first = siphash13_of_slice(key, hash_keys_[0]), .second = siphash13_of_slice(key, hash_keys_[1])};
}

double ValkeyBloom::fpr_of(std::size_t filter) const noexcept { return rule_.fpr * power(rule_.tightening, filter); }

AddResult ValkeyBloom::open_link() {
  if (is_nonscaling()) {
    return AddResult::full;
  }
  const double fpr = fpr_of(links().size());
  const std::uint64_t last = links().back().capacity_keys();
  if (!(fpr > std::numeric_limits<double>::min()) || last > kMostKeys / rule_.expansion ||
      links().size() == kMostLinks) {
    return AddResult::exhausted;
  }
  const auto shape = shape_for(last * rule_.expansion, fpr);
  return shape && append_filter(*shape) ? AddResult::fresh : AddResult::out_of_memory;
}

}  // namespace mankai::takeover
