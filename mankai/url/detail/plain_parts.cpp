#include "mankai/url/detail/plain_parts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

// This file is compiled once per instruction set by Highway's foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mankai/url/detail/plain_parts.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#ifndef MANKAI_URL_PLAIN_PARTS_ONCE
#define MANKAI_URL_PLAIN_PARTS_ONCE
namespace mankai::url {
namespace {

constexpr std::size_t kChunk = 64;
constexpr std::size_t kLeast = 16;

/// A bit per byte of a chunk.
struct ByteSets {
  std::uint64_t other = 0;  ///< is not `is_plain`, or a backslash
  std::uint64_t label = 0;  ///< of a canonical name
  std::uint64_t dot = 0;
  std::uint64_t slash = 0;
  std::uint64_t question = 0;
};

constexpr std::uint64_t bit_at(std::size_t place) noexcept { return std::uint64_t{1} << place; }
// Pre: places < 64.
constexpr std::uint64_t bits_below(std::size_t places) noexcept { return bit_at(places) - 1; }
constexpr auto first_bit(std::uint64_t bits) noexcept { return static_cast<std::size_t>(std::countr_zero(bits)); }
constexpr auto last_bit(std::uint64_t bits) noexcept { return static_cast<std::size_t>(std::bit_width(bits)) - 1; }

template <std::size_t kSize>
bool begins_with(const std::uint8_t* text, std::size_t size, const char (&start)[kSize]) noexcept {
  return size >= kSize - 1 && std::memcmp(text, start, kSize - 1) == 0;
}

// Whether a path may need work: contains "//" (a run of slashes) or "/." (which may begin a "." or "..").
constexpr bool has_path_work(const ByteSets& sets, std::uint64_t path) noexcept {
  return (sets.slash & path & (((sets.slash | sets.dot) & path) >> 1)) != 0;
}

// Finds the host in the first chunk. Returns false if it is not plain.
inline bool find_host(const std::uint8_t* text, std::size_t size, const ByteSets& sets, std::uint64_t present,
                      PlainParts& parts) noexcept {
  const std::size_t begin = begins_with(text, size, "http://") ? 7 : begins_with(text, size, "https://") ? 8 : 0;
  const std::uint64_t after_host = ~((sets.label | sets.dot) & present) & ~bits_below(begin);
  if (after_host == 0) {
    return false;
  }
  const std::size_t host_end = first_bit(after_host);
  // The first byte of each label.
  const std::uint64_t labels = bit_at(begin) | (sets.dot & bits_below(host_end) & ~bits_below(begin)) << 1;
  const bool has_empty_label = (labels & (sets.dot | bit_at(host_end))) != 0;
  if (has_empty_label || (host_end < size && text[host_end] != '/')) {
    return false;
  }
  parts.host_begin = begin;
  parts.host_end = host_end;
  parts.last_begin = last_bit(labels);
  const std::uint64_t labels_before = labels ^ bit_at(parts.last_begin);
  parts.last_two_begin = labels_before == 0 ? begin : last_bit(labels_before);
  // A digit may begin the last number of an IPv4 address.
  return text[parts.last_begin] < '0' || text[parts.last_begin] > '9';
}

}  // namespace
}  // namespace mankai::url
#endif

HWY_BEFORE_NAMESPACE();
namespace mankai::url {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class Tag, class Mask>
HWY_INLINE std::uint64_t bits_of(Tag d, Mask mask) {
  std::conditional_t<hn::MaxLanes(Tag()) == 32, std::uint32_t, std::uint16_t> bits = 0;
  static_assert(hn::MaxLanes(Tag()) <= 8 * sizeof(bits));
  hn::StoreMaskBits(d, mask, reinterpret_cast<std::uint8_t*>(&bits));
  return bits;
}

template <class Tag, class Vector>
HWY_INLINE auto is_among(Tag d, Vector bytes, char first, char last) {
  const Vector place = hn::Sub(bytes, hn::Set(d, static_cast<std::uint8_t>(first)));
  return hn::Eq(hn::Min(place, hn::Set(d, static_cast<std::uint8_t>(last - first))), place);
}

// Vectors that would end after the text end with it instead, and so overlap the one before. Pre: size >= lanes.
template <class Tag>
HWY_INLINE ByteSets read_vectors(Tag d, const std::uint8_t* text, std::size_t size) {
  ByteSets sets;
  const auto is = [d](auto bytes, char byte) { return hn::Eq(bytes, hn::Set(d, static_cast<std::uint8_t>(byte))); };
  for (std::size_t at = 0; at < kChunk; at += hn::Lanes(d)) {
    const std::size_t from = std::min(at, size - hn::Lanes(d));
    const auto bytes = hn::LoadU(d, text + from);
    const auto unclear = hn::Or(hn::Or(is(bytes, '#'), is(bytes, '%')), is(bytes, '\\'));
    const auto plain = hn::AndNot(unclear, is_among(d, bytes, '!', '~'));
    const auto alphanumeric = hn::Or(is_among(d, bytes, 'a', 'z'), is_among(d, bytes, '0', '9'));
    sets.other |= bits_of(d, hn::Not(plain)) << from;
    sets.label |= bits_of(d, hn::Or(alphanumeric, hn::Or(is(bytes, '-'), is(bytes, '_')))) << from;
    sets.dot |= bits_of(d, is(bytes, '.')) << from;
    sets.slash |= bits_of(d, is(bytes, '/')) << from;
    sets.question |= bits_of(d, is(bytes, '?')) << from;
  }
  return sets;
}

// The first bytes of a text, at most a chunk. Pre: size >= kLeast.
HWY_INLINE ByteSets read_chunk(const std::uint8_t* text, std::size_t size) {
  const hn::CappedTag<std::uint8_t, 2 * kLeast> wide;
  const hn::CappedTag<std::uint8_t, kLeast> narrow;
  return size >= hn::Lanes(wide) ? read_vectors(wide, text, size) : read_vectors(narrow, text, size);
}

}  // namespace

// NOLINTNEXTLINE(misc-use-internal-linkage): Highway's table needs names with external linkage.
bool find_parts(std::string_view raw, PlainParts& parts) {
  const auto* text = reinterpret_cast<const std::uint8_t*>(raw.data());
  const std::size_t size = raw.size();
  std::array<std::uint8_t, kLeast> padded{};
  if (size < kLeast) {
    std::memcpy(padded.data(), text, size);
    text = padded.data();
  }
  ByteSets sets = read_chunk(text, std::max(size, kLeast));
  const std::uint64_t present = size < kChunk ? bits_below(size) : ~std::uint64_t{0};
  if ((sets.other & present) != 0 || !find_host(text, size, sets, present, parts)) {
    return false;
  }
  parts.path_end = size;
  std::uint64_t path = present & ~bits_below(parts.host_end);
  for (std::size_t base = 0;;) {
    if (const std::uint64_t questions = sets.question & path; questions != 0) {
      path &= bits_below(first_bit(questions));
      parts.path_end = base + first_bit(questions);
    }
    if (has_path_work(sets, path)) {
      return false;
    }
    if (base + kChunk >= size) {
      return true;
    }
    // Chunks overlap, so that both bytes of path work are in one.
    base = std::min(base + kChunk - 1, size - kChunk);
    sets = read_chunk(text + base, kChunk);
    if (sets.other != 0) {
      return false;
    }
    const std::size_t before = parts.host_end > base ? parts.host_end - base : 0;
    path = parts.path_end != size ? 0 : ~bits_below(before);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mankai::url
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mankai::url {
namespace {

HWY_EXPORT(find_parts);

}  // namespace

bool find_plain_parts(std::string_view raw, PlainParts& parts) noexcept {
  return HWY_DYNAMIC_DISPATCH(find_parts)(raw, parts);
}

}  // namespace mankai::url
#endif  // HWY_ONCE
