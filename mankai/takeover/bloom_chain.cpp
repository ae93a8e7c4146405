#include "mankai/takeover/bloom_chain.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "mankai/base/bits.hpp"
#include "mankai/hash/murmur2.hpp"

namespace mankai::takeover {
namespace {

// RedisBloom's options. 2 is another one, which no command sets.
constexpr std::uint32_t kNoRound = 1;
constexpr std::uint32_t kWideHashes = 4;
constexpr std::uint32_t kNoScaling = 8;
constexpr std::uint32_t kKnownOptions = kNoRound | kWideHashes | kNoScaling;

// Encodings in which fields appeared.
constexpr unsigned kHasBits = 1;
constexpr unsigned kHasOptions = 2;
constexpr unsigned kHasGrowth = 4;
constexpr std::uint32_t kOldGrowth = 2;

// RedisBloom's constants, truncated as it has them: at a rate of 0.25 they yield 3 probes, not 2.
constexpr double kLn2 = 0.693147180559945;
constexpr double kSquaredLn2 = 0.480453013918201;
constexpr std::uint32_t kNarrowSeed = 0x9747b28cU;
constexpr std::uint64_t kWideSeed = 0xc6a4a7935bd1e995U;
// |ln| of the least double takes so many.
constexpr unsigned kMostProbes = 1075;
// Cells are allocated in words; RedisBloom 2.2 rounded up to a byte.
constexpr std::uint64_t kWordBits = 64;
constexpr unsigned kMostLog2Bits = 62;
constexpr double kMostBits = 0x1p62;

// Bytes of a header before the links, and per link; the older ones have no growth, and capacities of 32 bits.
constexpr std::size_t kStartBytes = 20;
constexpr std::size_t kOldStartBytes = 16;
constexpr std::size_t kLinkBytes = 53;
constexpr std::size_t kOldLinkBytes = 49;

double bits_per_key(double fpr) noexcept { return std::abs(std::log(fpr)) / kSquaredLn2; }

bool is_rate(double fpr) noexcept { return fpr > 0 && fpr < 1; }

// The number of bits that a link without rounding wants, or kMostBits.
double wanted_bits(std::uint64_t keys, double per_key) noexcept {
  return std::min(std::floor(static_cast<double>(keys) * per_key), kMostBits);
}

// Encoding 0 saved no number of bits: it is that of the cells if it is a power of 2, else it was not rounded.
std::uint64_t bits_of_first_encoding(std::uint64_t bytes, std::uint64_t keys, double per_key) noexcept {
  const double wanted = wanted_bits(keys, per_key);
  return std::has_single_bit(bytes) ? bytes * 8 : wanted >= 1 ? static_cast<std::uint64_t>(wanted) : 0;
}

// Errors: corrupt if the sum wraps, or would with the next key.
Result<void> add_keys(std::uint64_t& total, std::uint64_t keys) {
  if (__builtin_add_overflow(total, keys, &total)) {
    return fail(ErrorCode::corrupt, "a link of " + std::to_string(keys) + " keys");
  }
  return {};
}
Result<void> check_total(std::uint64_t total, std::uint64_t size) {
  if (total != size || total == std::numeric_limits<std::uint64_t>::max()) {
    return fail(ErrorCode::corrupt,
                "the links have " + std::to_string(total) + " keys instead of " + std::to_string(size));
  }
  return {};
}

}  // namespace

/// A link's numbers as they are saved.
struct BloomChain::LinkFields {
  std::uint64_t capacity_keys = 0;
  double fpr = 0;
  std::uint64_t probes = 0;
  double bits_per_key = 0;
  std::uint64_t bits = 0;  // 0 in old filters whose number of bits is a power of 2
  std::uint64_t log2_bits = 0;
  std::uint64_t bytes = 0;
  std::uint64_t keys_inserted = 0;

  // Pre: log2_bits is below 64.
  [[nodiscard]] std::uint64_t modulus() const noexcept { return log2_bits != 0 ? std::uint64_t{1} << log2_bits : bits; }
};

Result<BloomChain::LinkFields> BloomChain::plan_link(std::uint64_t keys, double fpr, std::uint32_t options) {
  LinkFields link{.capacity_keys = keys, .fpr = fpr, .bits_per_key = takeover::bits_per_key(fpr)};
  link.probes = static_cast<std::uint64_t>(std::ceil(kLn2 * link.bits_per_key));
  const double wanted = static_cast<double>(keys) * link.bits_per_key;
  if (wanted >= kMostBits) {
    return fail(ErrorCode::out_of_space, "a filter for " + std::to_string(keys) + " keys is too large to address");
  }
  if ((options & kNoRound) != 0) {
    link.bits = std::max<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1);
  } else {
    // Not below 1: links are created this way at rates below 1/2 only.
    link.log2_bits = static_cast<std::uint64_t>(std::max(std::floor(std::log2(wanted)), 0.0)) + 1;
    link.bits = link.modulus();
    link.capacity_keys +=
        static_cast<std::uint64_t>(std::floor(static_cast<double>(link.bits) - wanted) / link.bits_per_key);
  }
  link.bytes = divide_up(link.bits, kWordBits) * sizeof(std::uint64_t);
  link.bits = link.bytes * 8;
  return link;
}

Result<void> BloomChain::check_options(std::uint64_t options, std::uint64_t growth, std::uint64_t links) {
  if ((options & ~std::uint64_t{kKnownOptions}) != 0) {
    return fail(ErrorCode::corrupt, "unknown options " + std::to_string(options));
  }
  if (growth > std::numeric_limits<std::uint32_t>::max()) {
    return fail(ErrorCode::corrupt, "impossible expansion " + std::to_string(growth));
  }
  if (links == 0 || links > kMostLinks) {
    return fail(ErrorCode::corrupt, std::to_string(links) + " links; expected 1 to " + std::to_string(kMostLinks));
  }
  return {};
}

Result<void> BloomChain::check_link(const LinkFields& link, std::uint32_t options) {
  if (!is_rate(link.fpr) || link.capacity_keys == 0) {
    return fail(ErrorCode::corrupt, "a link with an impossible rate or capacity");
  }
  // Its own formula, but not another processor's logarithm to the last bit.
  constexpr double kSlack = 1e-9;
  const double expected = takeover::bits_per_key(link.fpr);
  if (!(std::abs(link.bits_per_key - expected) <= kSlack * expected) || link.probes > kMostProbes ||
      link.probes != static_cast<std::uint64_t>(std::ceil(kLn2 * link.bits_per_key))) {
    return fail(ErrorCode::corrupt, "a link whose probes or bits per key are not those of its rate");
  }
  const double wanted = wanted_bits(link.capacity_keys, link.bits_per_key);
  if (link.bytes == 0 || link.bytes > static_cast<std::uint64_t>(kMostBits) / 8 || link.log2_bits > kMostLog2Bits) {
    return fail(ErrorCode::corrupt, "a link of " + std::to_string(link.bytes) + " bytes");
  }
  // No more memory than capacity and rate explain; less only raises the rate.
  const std::uint64_t cells = link.bytes * 8;
  const double most_bits = ((options & kNoRound) != 0 || link.log2_bits == 0 ? wanted : 2 * wanted + 1) + kWordBits;
  if (static_cast<double>(cells) > most_bits || link.modulus() == 0 || link.modulus() > cells ||
      cells - link.modulus() >= kWordBits) {
    return fail(ErrorCode::corrupt, "a link of " + std::to_string(link.bytes) + " bytes for " +
                                        std::to_string(link.capacity_keys) + " keys and " +
                                        std::to_string(link.modulus()) + " bits");
  }
  // Encoding 0 had the number of bits before it was rounded up; nothing else differs from the cells.
  const bool is_unrounded = link.log2_bits == 0 && static_cast<double>(link.bits) == wanted;
  const bool is_left_out = link.log2_bits != 0 && link.bits == 0;
  if (link.bits != cells && !is_unrounded && !is_left_out) {
    return fail(ErrorCode::corrupt,
                "a link of " + std::to_string(link.bits) + " bits in " + std::to_string(link.bytes) + " bytes");
  }
  return {};
}

BloomChain::LinkFields BloomChain::fields_of(const ChainLink& link) noexcept {
  return {.capacity_keys = link.capacity_keys(),
          .fpr = link.fpr_target(),
          .probes = link.probes_per_key(),
          .bits_per_key = link.form().bits_per_key,
          .bits = link.form().log2_bits != 0 ? link.cells_bytes() * 8 : link.bits(),
          .log2_bits = link.form().log2_bits,
          .bytes = link.cells_bytes(),
          .keys_inserted = link.keys_inserted()};
}

Result<Cells> BloomChain::cells_of(const LinkFields& link) const {
  MANKAI_ASSIGN(auto cells, Region::allocate(memory(), static_cast<std::size_t>(link.bytes)));
  return Cells(std::move(cells));
}

// Pre: the fields are those of a plan, or have been checked.
void BloomChain::append_link(const LinkFields& link, Cells cells) {
  links().emplace_back(LinkShape{.capacity_keys = link.capacity_keys,
                                 .keys_inserted = link.keys_inserted,
                                 .bits = link.modulus(),
                                 .fpr = link.fpr,
                                 .probes_per_key = static_cast<unsigned>(link.probes)},
                       ChainLink::Form{.bits_per_key = link.bits_per_key,
                                       .log2_bits = static_cast<std::uint8_t>(link.log2_bits),
                                       .has_wide_hashes = (options_ & kWideHashes) != 0},
                       std::move(cells));
}

Result<BloomChain> BloomChain::create(const Options& options) {
  if (options.keys == 0 || !is_rate(options.fpr)) {
    return fail(ErrorCode::invalid_argument, "a capacity of at least 1 and a rate between 0 and 1 are expected");
  }
  BloomChain chain(kNoRound | kWideHashes | (options.is_nonscaling ? kNoScaling : 0), options.expansion,
                   options.memory);
  const double fpr = options.is_nonscaling ? options.fpr : options.fpr * kTightening;
  if (fpr == 0) {
    return fail(ErrorCode::invalid_argument, "the rate is too small");
  }
  MANKAI_ASSIGN(const LinkFields first, plan_link(options.keys, fpr, chain.options_));
  MANKAI_ASSIGN(auto cells, chain.cells_of(first));
  chain.append_link(first, std::move(cells));
  return chain;
}

Result<BloomChain> BloomChain::create_like() const {
  BloomChain chain(options_, growth_, memory());
  LinkFields first = fields_of(links().front());
  first.keys_inserted = 0;
  MANKAI_ASSIGN(auto cells, chain.cells_of(first));
  chain.append_link(first, std::move(cells));
  return chain;
}

Result<BloomChain> BloomChain::clone() const {
  BloomChain chain(options_, growth_, memory());
  for (const ChainLink& link : links()) {
    MANKAI_ASSIGN(auto cells, link.cells().clone(memory()));
    chain.append_link(fields_of(link), std::move(cells));
  }
  return chain;
}

Result<BloomChain> BloomChain::load(FieldReader& fields, unsigned encver, const Memory& memory) {
  if (encver > kEncver) {
    return fail(ErrorCode::unsupported_version, "encoding " + std::to_string(encver) + " of " + std::string(kTypeName) +
                                                    "; the newest known is " + std::to_string(kEncver));
  }
  MANKAI_ASSIGN(const std::uint64_t size, fields.unsigned_number());
  MANKAI_ASSIGN(const std::uint64_t count, fields.unsigned_number());
  std::uint64_t options = 0;
  if (encver >= kHasOptions) {
    MANKAI_ASSIGN(options, fields.unsigned_number());
  }
  std::uint64_t growth = kOldGrowth;
  if (encver >= kHasGrowth) {
    MANKAI_ASSIGN(growth, fields.unsigned_number());
  }
  MANKAI_TRY(check_options(options, growth, count));
  BloomChain chain(static_cast<std::uint32_t>(options), static_cast<std::uint32_t>(growth), memory);
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    LinkFields link;
    MANKAI_ASSIGN(link.capacity_keys, fields.unsigned_number());
    MANKAI_ASSIGN(link.fpr, fields.real());
    MANKAI_ASSIGN(link.probes, fields.unsigned_number());
    MANKAI_ASSIGN(link.bits_per_key, fields.real());
    if (encver >= kHasBits) {
      MANKAI_ASSIGN(link.bits, fields.unsigned_number());
      MANKAI_ASSIGN(link.log2_bits, fields.unsigned_number());
    }
    MANKAI_ASSIGN(const auto cells, fields.string());
    link.bytes = cells.size();
    if (encver < kHasBits) {
      link.bits = bits_of_first_encoding(link.bytes, link.capacity_keys, link.bits_per_key);
    }
    MANKAI_TRY(check_link(link, chain.options_));
    MANKAI_ASSIGN(auto copy, chain.cells_of(link));
    std::ranges::copy(cells, copy.present().begin());
    chain.append_link(link, std::move(copy));
    MANKAI_ASSIGN(const std::uint64_t keys, fields.unsigned_number());
    chain.links().back().set_keys(link.capacity_keys, keys);
    MANKAI_TRY(add_keys(total, keys));
  }
  MANKAI_TRY(check_total(total, size));
  return chain;
}

void BloomChain::save(FieldWriter& fields) const {
  fields.unsigned_number(keys_inserted());
  fields.unsigned_number(links().size());
  fields.unsigned_number(options_);
  fields.unsigned_number(growth_);
  for (const ChainLink& each : links()) {
    const LinkFields link = fields_of(each);
    fields.unsigned_number(link.capacity_keys);
    fields.real(link.fpr);
    fields.unsigned_number(link.probes);
    fields.real(link.bits_per_key);
    fields.unsigned_number(link.bits);
    fields.unsigned_number(link.log2_bits);
    each.cells().with_all(memory(), [&](std::span<const std::byte> all) { fields.string(all); });
    fields.unsigned_number(link.keys_inserted);
  }
}

ByteBuffer BloomChain::header() const {
  ByteBuffer out;
  out.reserve(kStartBytes + links().size() * kLinkBytes);
  append_number(out, keys_inserted());
  append_number(out, static_cast<std::uint32_t>(links().size()));
  append_number(out, options_);
  append_number(out, growth_);
  for (const ChainLink& each : links()) {
    const LinkFields link = fields_of(each);
    append_number(out, link.bytes);
    append_number(out, link.bits);
    append_number(out, link.keys_inserted);
    append_number(out, link.fpr);
    append_number(out, link.bits_per_key);
    append_number(out, static_cast<std::uint32_t>(link.probes));
    append_number(out, link.capacity_keys);
    append_number(out, static_cast<std::uint8_t>(link.log2_bits));
  }
  return out;
}

Result<BloomChain> BloomChain::from_header(std::span<const std::byte> header, std::uint64_t bytes_max,
                                           const Memory& memory, CellsOfHeader cells) {
  ByteCursor bytes(header);
  MANKAI_ASSIGN(const auto size, bytes.take_number<std::uint64_t>());
  MANKAI_ASSIGN(const auto count, bytes.take_number<std::uint32_t>());
  MANKAI_ASSIGN(const auto options, bytes.take_number<std::uint32_t>());
  // The length tells the forms apart.
  const bool has_growth = header.size() != kOldStartBytes + std::size_t{count} * kOldLinkBytes;
  const bool is_newest = header.size() == kStartBytes + std::size_t{count} * kLinkBytes;
  if (has_growth && !is_newest && header.size() != kStartBytes + std::size_t{count} * kOldLinkBytes) {
    return fail(ErrorCode::corrupt,
                "a header of " + std::to_string(header.size()) + " bytes for " + std::to_string(count) + " links");
  }
  std::uint32_t growth = kOldGrowth;
  if (has_growth) {
    MANKAI_ASSIGN(growth, bytes.take_number<std::uint32_t>());
  }
  MANKAI_TRY(check_options(options, growth, count));
  std::vector<LinkFields> planned;
  std::uint64_t left = bytes_max;
  std::uint64_t total = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    LinkFields link;
    MANKAI_ASSIGN(link.bytes, bytes.take_number<std::uint64_t>());
    MANKAI_ASSIGN(link.bits, bytes.take_number<std::uint64_t>());
    MANKAI_ASSIGN(link.keys_inserted, bytes.take_number<std::uint64_t>());
    MANKAI_ASSIGN(link.fpr, bytes.take_number<double>());
    MANKAI_ASSIGN(link.bits_per_key, bytes.take_number<double>());
    MANKAI_ASSIGN(link.probes, bytes.take_number<std::uint32_t>());
    if (is_newest) {
      MANKAI_ASSIGN(link.capacity_keys, bytes.take_number<std::uint64_t>());
    } else {
      MANKAI_ASSIGN(link.capacity_keys, bytes.take_number<std::uint32_t>());
    }
    MANKAI_ASSIGN(link.log2_bits, bytes.take_number<std::uint8_t>());
    MANKAI_TRY(check_link(link, options));
    MANKAI_TRY(add_keys(total, link.keys_inserted));
    if (link.bytes > left) {
      return fail(ErrorCode::out_of_space, "the filter is larger than " + std::to_string(bytes_max) + " bytes");
    }
    left -= link.bytes;
    planned.push_back(link);
  }
  MANKAI_TRY(check_total(total, size));
  BloomChain chain(options, growth, memory);
  const bool is_small = bytes_max - left <= kSmallCellsBytes;
  for (const LinkFields& link : planned) {
    MANKAI_ASSIGN(auto of_link, cells == CellsOfHeader::all || is_small ? chain.cells_of(link)
                                                                        : Result<Cells>(Cells::absent(link.bytes)));
    chain.append_link(link, std::move(of_link));
  }
  return chain;
}

BloomChain::Chunk BloomChain::chunk(std::uint64_t iterator) const noexcept {
  const std::uint64_t start = iterator - 1;  // 0 is beyond all links
  std::uint64_t link_start = 0;
  for (const ChainLink& link : links()) {
    const auto present = link.cells().present();
    const std::uint64_t skipped = start - std::min(start, link_start);
    if (skipped < present.size()) {
      const auto rest = present.subspan(static_cast<std::size_t>(skipped));
      const auto part = rest.first(std::min(rest.size(), kMostChunkBytes));
      return {.iterator = link_start + skipped + part.size() + 1, .bytes = part};
    }
    link_start += link.cells_bytes();
  }
  return {};
}

BloomChain::ChunkStatus BloomChain::load_chunk(std::uint64_t iterator, std::span<const std::byte> bytes) {
  if (iterator == 0 || iterator < bytes.size()) {
    return ChunkStatus::bad_iterator;
  }
  std::uint64_t offset = iterator - bytes.size() - 1;  // wraps beyond all links
  for (ChainLink& link : links()) {
    if (offset < link.cells_bytes()) {
      if (bytes.size() > link.cells_bytes() - offset) {
        return ChunkStatus::too_big;
      }
      const auto written = link.cells().write(offset, bytes, memory());
      return written                                           ? ChunkStatus::copied
             : written.error().code == ErrorCode::out_of_space ? ChunkStatus::out_of_memory
                                                               : ChunkStatus::too_early;
    }
    offset -= link.cells_bytes();
  }
  return ChunkStatus::no_link;
}

bool BloomChain::is_nonscaling() const noexcept { return (options_ & kNoScaling) != 0; }

double BloomChain::fpr_target() const noexcept {
  return links().front().fpr_target() / (is_nonscaling() ? 1 : kTightening);
}

KeyHashes BloomChain::hashes_of(std::string_view key) const noexcept {
  if ((options_ & kWideHashes) != 0) {
    const std::uint64_t first = murmur2_64a(key, kWideSeed);
    return {.first = first, .second = murmur2_64a(key, first)};
  }
  const std::uint32_t first = murmur2_32(key, kNarrowSeed);
  return {.first = first, .second = murmur2_32(key, first)};
}

AddResult BloomChain::open_link() {
  if (is_nonscaling()) {
    return AddResult::full;
  }
  const ChainLink& last = links().back();
  const std::uint64_t keys = last.capacity_keys() * growth_;  // wraps, as there
  const double fpr = last.fpr_target() * kTightening;
  if (keys == 0 || fpr == 0 || links().size() == kMostLinks) {
    return AddResult::exhausted;
  }
  const auto link = plan_link(keys, fpr, options_);
  auto cells = link ? cells_of(*link) : std::unexpected(link.error());
  if (!cells) {
    return AddResult::out_of_memory;
  }
  append_link(*link, std::move(*cells));
  return AddResult::fresh;
}

}  // namespace mankai::takeover
