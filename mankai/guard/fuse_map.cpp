#include "mankai/guard/fuse_map.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <ranges>
#include <string>

#include "mankai/base/assert.hpp"
#include "mankai/filter/parts/packed_fields.hpp"

namespace mankai {
namespace {

constexpr std::uint32_t kMaxSegmentBits = 18;
constexpr std::uint64_t kMaxSegments = std::uint64_t{1} << 32;

// Seeds per size, and sizes. Random keys need 1.6 seeds on average; the 24th size has 1.5 times the cells of the first.
constexpr unsigned kSeedsPerSize = 3;
constexpr unsigned kSizes = 48;
constexpr std::uint64_t kGrowth = 64;  // each size has this fraction more cells than the one before

// Within 0.09 of the logarithm, and bit for bit equal on every machine, because the size is stored.
double log2_nearly(std::uint64_t n) noexcept {
  const int whole = static_cast<int>(std::bit_width(n)) - 1;
  return whole + (static_cast<double>(n) / static_cast<double>(std::uint64_t{1} << whole) - 1);
}

// Fewest cells with which three in five seeds work, measured for 1e2, 3e2, 1e3, … 1e6 keys with the best segments.
FuseMap::Params shape_for(std::uint64_t keys, unsigned value_bits) noexcept {
  constexpr std::uint64_t kBehind = 3;
  FuseMap::Params params{.keys = keys, .value_bits = value_bits};
  if (keys < 2) {
    return params;
  }
  const double log = log2_nearly(keys);
  const double factor = std::clamp(0.79 + 5.22 / log, 1.07, 3.0);
  const auto cells = static_cast<std::uint64_t>(factor * static_cast<double>(keys)) + 1;
  params.segment_bits = std::min(static_cast<std::uint32_t>(std::max(0.0, log / 1.54 - 0.5)), kMaxSegmentBits);
  const std::uint64_t all = divide_up(cells, std::uint64_t{1} << params.segment_bits);
  params.segments = std::max(all, kBehind + 1) - kBehind;
  return params;
}

bool has_twice(std::span<const Digest> keys) {
  if (std::ranges::adjacent_find(keys, std::ranges::greater_equal()) == keys.end()) {
    return false;
  }
  std::vector<Digest> sorted(keys.begin(), keys.end());
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) != sorted.end();
}

Result<void> check(std::span<const Digest> keys, std::span<const std::uint32_t> values, unsigned value_bits) {
  MANKAI_ASSERT(keys.size() == values.size());
  if (value_bits < FuseMap::kMinValueBits || value_bits > FuseMap::kMaxValueBits) {
    return fail(ErrorCode::invalid_argument,
                "values of " + std::to_string(value_bits) + " bits are impossible: give a width from 2 to 32");
  }
  if (keys.size() > FuseMap::kMaxKeys) {
    return fail(ErrorCode::invalid_argument, std::to_string(keys.size()) + " keys are too many for one map: at most " +
                                                 std::to_string(FuseMap::kMaxKeys));
  }
  const auto too_wide = std::ranges::find_if(values, [&](std::uint64_t value) { return value >> value_bits != 0; });
  if (too_wide != values.end()) {
    return fail(ErrorCode::invalid_argument,
                "the value " + std::to_string(*too_wide) + " does not fit in " + std::to_string(value_bits) + " bits");
  }
  return {};
}

}  // namespace

class FuseMapBuild {
 public:
  FuseMapBuild(std::span<const Digest> keys, std::span<const std::uint32_t> values) : keys_(keys), values_(values) {
    hashes_.resize(keys.size());
    hash_values_.resize(keys.size());
    order_.reserve(keys.size());
  }

  [[nodiscard]] bool order_keys(const FuseMap::Params& params);
  /// Pre: order_keys with the same params returned true.
  [[nodiscard]] std::vector<std::uint64_t> fill(const FuseMap::Params& params) const;

 private:
  // A peeled key's place in hashes_, times kArity, and which of its cells is set for it.
  static_assert(FuseMap::kMaxKeys <= (std::uint64_t{1} << 32) / FuseMap::kArity);

  void sort_keys(const FuseMap& map);
  [[nodiscard]] bool count_cells(const FuseMap& map);
  void take(const FuseMap& map, std::uint32_t cell);

  std::span<const Digest> keys_;
  std::span<const std::uint32_t> values_;
  std::vector<std::uint64_t> hashes_;       ///< of the keys, by segment of their first cell
  std::vector<std::uint32_t> hash_values_;  ///< in the same order
  std::vector<std::uint8_t> counts_;        ///< number of keys of each cell that are not peeled yet
  std::vector<std::uint32_t> together_;     ///< exclusive or of their places in hashes_: with one key left, its place
  std::vector<std::uint32_t> alone_;        ///< cells with one key, which may have been peeled since
  std::vector<std::uint32_t> order_;
};

// So that keys that follow one another have cells close together, which stay in the cache. The map does not depend on
// it.
void FuseMapBuild::sort_keys(const FuseMap& map) {
  const auto segment_of = [&](std::uint64_t hash) { return map.positions(hash)[0] >> map.params().segment_bits; };
  std::vector<std::uint32_t> ends(map.params().segments + 1);
  for (const Digest key : keys_) {
    ++ends[segment_of(map.spread(key)) + 1];
  }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  for (std::size_t key = 0; key < keys_.size(); ++key) {
    const std::uint64_t hash = map.spread(keys_[key]);
    const std::uint32_t place = ends[segment_of(hash)]++;
    hashes_[place] = hash;
    hash_values_[place] = values_[key];
  }
}

bool FuseMapBuild::count_cells(const FuseMap& map) {
  counts_.assign(map.cell_count(), 0);
  together_.assign(map.cell_count(), 0);
  for (std::uint32_t key = 0; key < hashes_.size(); ++key) {
    for (const std::uint64_t at : map.positions(hashes_[key])) {
      together_[at] ^= key;
      if (++counts_[at] == 0) {
        return false;  // 256 keys in a cell, where four are usual
      }
    }
  }
  return true;
}

void FuseMapBuild::take(const FuseMap& map, std::uint32_t cell) {
  const std::uint32_t key = together_[cell];
  const auto positions = map.positions(hashes_[key]);
  order_.push_back(key * FuseMap::kArity +
                   static_cast<std::uint32_t>(std::ranges::find(positions, cell) - positions.begin()));
  for (const std::uint64_t at : positions) {
    together_[at] ^= key;
    if (--counts_[at] == 1) {
      alone_.push_back(static_cast<std::uint32_t>(at));
    }
  }
}

bool FuseMapBuild::order_keys(const FuseMap::Params& params) {
  const FuseMap map(params, nullptr);
  order_.clear();
  sort_keys(map);
  if (!count_cells(map)) {
    return false;
  }
  // Peels cell by cell, each time followed by what becomes free: successive keys then have their cells close together.
  for (std::uint32_t start = 0; start < counts_.size(); ++start) {
    alone_.assign(1, start);
    while (!alone_.empty()) {
      const std::uint32_t cell = alone_.back();
      alone_.pop_back();
      if (counts_[cell] == 1) {
        take(map, cell);
      }
    }
  }
  return order_.size() == keys_.size();
}

std::vector<std::uint64_t> FuseMapBuild::fill(const FuseMap::Params& params) const {
  std::vector<std::uint64_t> words(FuseMap::words_for(params));
  const FuseMap map(params, words.data());
  PackedFields cells(words.data(), map.cell_count(), params.value_bits);
  for (std::uint64_t at = 0; at < cells.count(); ++at) {
    cells.set(at, mix_integer(at, ~params.seed).value >> (64 - params.value_bits));
  }
  // In reverse: keys that were peeled later do not use this key's cell.
  for (const std::uint32_t each : order_ | std::views::reverse) {
    const std::uint64_t hash = hashes_[each / FuseMap::kArity];
    const std::uint32_t wrong = map.lookup_spread(hash) ^ hash_values_[each / FuseMap::kArity];
    const std::uint64_t cell = map.positions(hash)[each % FuseMap::kArity];
    cells.set(cell, cells[cell] ^ wrong);
  }
  return words;
}

FuseMap::FuseMap(const Params& params, const std::uint64_t* words) noexcept
    : params_(params),
      segment_(std::uint64_t{1} << params.segment_bits),
      first_cells_(params.segments << params.segment_bits),
      value_mask_(static_cast<std::uint32_t>((std::uint64_t{1} << params.value_bits) - 1)),
      bytes_(reinterpret_cast<const unsigned char*>(words)) {}

Result<FuseMap::Cells> FuseMap::build(std::span<const Digest> keys, std::span<const std::uint32_t> values,
                                      unsigned value_bits, std::uint64_t seed) {
  MANKAI_TRY(check(keys, values, value_bits));
  FuseMapBuild attempts(keys, values);
  Params params = shape_for(keys.size(), value_bits);
  for (unsigned attempt = 0; attempt < kSizes * kSeedsPerSize; ++attempt) {
    params.seed = mix_integer(attempt, seed).value;
    if (attempts.order_keys(params)) {
      return Cells{.params = params, .words = attempts.fill(params)};
    }
    // A repeated key makes every seed fail.
    if (attempt == 0 && has_twice(keys)) {
      return fail(ErrorCode::invalid_argument, "a key is repeated: give each key once");
    }
    if ((attempt + 1) % kSeedsPerSize == 0) {
      params.segments += divide_up(params.segments, kGrowth);
    }
  }
  return fail(ErrorCode::out_of_space,
              "no seed works for these " + std::to_string(keys.size()) +
                  " keys: they are not hashes, or an adversary chose them; hash with a secret seed");
}

std::uint64_t FuseMap::words_for(const Params& params) noexcept {
  const bool is_one = params.value_bits >= kMinValueBits && params.value_bits <= kMaxValueBits &&
                      params.segment_bits <= kMaxSegmentBits && params.segments >= 1 && params.segments <= kMaxSegments;
  if (!is_one) {
    return 0;
  }
  const std::uint64_t cells = (params.segments + kArity - 1) << params.segment_bits;
  // One more word, so that eight bytes can be loaded from wherever a cell begins.
  return PackedFields::words_for(cells, params.value_bits) + 1;
}

Result<FuseMap> FuseMap::from_cells(const Params& params, std::span<const std::uint64_t> words) {
  const std::uint64_t expected = words_for(params);
  if (expected == 0) {
    return fail(ErrorCode::corrupt, "invalid map of " + std::to_string(params.segments) + " segments of 2^" +
                                        std::to_string(params.segment_bits) + " cells of " +
                                        std::to_string(params.value_bits) + " bits");
  }
  if (words.size() != expected) {
    return fail(ErrorCode::corrupt,
                "the map's cells are " + std::to_string(words.size()) + " words, not " + std::to_string(expected));
  }
  return FuseMap(params, words.data());
}

}  // namespace mankai
