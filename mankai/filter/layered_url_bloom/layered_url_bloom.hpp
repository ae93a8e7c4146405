#pragma once

/// The multi-layer Bloom filter of URLs: an array per level of the path, and one for whole URLs.
///
/// A URL is split at its slashes, with a digest per segment; level 0 is the host. Segment i goes into the array of
/// level i, and all of them together set k cells of the last array. A URL may be present if its segments are present at
/// their levels and its cells of the last array are set.
///
///     http://a/x/y      level 0: a     level 1: x     level 2: y      last array: a, x and y together
///
/// Every array has m cells and is sized for the number of URLs, as in the source; a level is created with the first URL
/// that needs it. A URL with more levels than exist is therefore absent. `max_levels` bounds the memory. Deeper
/// segments share the last level, which fills faster and rejects fewer absent keys.
///
/// Two modes:
///   - `repaired` (default): a segment is hashed with its level, and the last array holds the ordered digest of the
///     whole URL (`chain`), which distinguishes order, number and repetition of segments. Segments that share the last
///     level keep their own level in both digests: a/…/p/q and a/…/q/p stay apart there, too.
///   - `faithful`: the source's. All levels share k hash functions, cell j of the last array is the XOR of the
///     segments' j-th cells. m is a power of two: else the XOR of two positions may lie beyond the last one, and
///     folding it back, as the source's own program does, favors the low positions.
///
/// Source:  [Cen2010]; a report of Saha, Navale and Navandar retells it, with the program that its figures come from.
/// Formula: printed: f = (1 - e^(-kn/m))^(kL), the product of L rates. It holds for URLs whose segments are all absent
///          keys, if each level has n distinct ones; level 0, which has the hosts, never does. In truth the
///          false-positive probability of a URL is the product of f_i = fill_i^k over its segments that are absent at
///          their level, times f_x = fill_x^k of the last array. For recombined URLs and prefixes, all of whose
///          segments are known, it is f_x: no better than the last array alone, which takes a fraction of the memory.
///          `fpr_estimate` and `fpr_expected` are f_x.
/// Faithful: XOR ignores order and cancels segments that occur twice. If x and y are known at both levels, inserting
///           a/x/y makes a/y/x a certain false positive, and inserting a/x/x makes a/y/y and "a" false positives. f_x
///           does not hold for them; repaired, it holds for all URLs.
/// Cannot:  remove a URL. A flat filter of the whole URL's digest (`url::prefix_digests`) with as many bits in all is
///          better on every class but the first: at 31 bits per URL 3e-7 instead of 5 %. The levels reject unknown
///          hosts early, and answer about each segment.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "mankai/filter/bloom/bloom.hpp"
#include "mankai/filter/concepts.hpp"
#include "mankai/filter/parts/growing_filter.hpp"

namespace mankai {

/// How segments are hashed. The values are part of the image format.
enum class UrlLayering : std::uint8_t { repaired = 0, faithful = 1 };

/// The name used in specs.
[[nodiscard]] constexpr std::string_view name(UrlLayering layering) noexcept {
  return layering == UrlLayering::repaired ? "repaired" : "faithful";
}

/// A classic filter whose cells can also be addressed one by one.
class UrlLevel : public Bloom {
 public:
  explicit UrlLevel(Bloom filter) noexcept : Bloom(std::move(filter)) {}
  [[nodiscard]] static Result<UrlLevel> from_image(Image source);

  /// As the calls with a digest, for given cells. Pre: each below cell_count().
  [[nodiscard]] bool may_contain_cells(std::span<const std::uint64_t> cells) const noexcept;
  bool observe_cells(std::span<const std::uint64_t> cells) noexcept;
  void prefetch_cells(std::span<const std::uint64_t> cells) const noexcept;
};

/// See the top of this file, and concepts.hpp for common members. Cost: k cache lines for the last array and k per
/// level. Absent keys mostly end in the first array queried: the last array if repaired, level 0 if faithful.
class LayeredUrlBloom : public GrowingFilter<LayeredUrlBloom, UrlLevel> {
 public:
  static constexpr std::uint16_t kKind = 6;
  static constexpr std::string_view kName = "layered-url-bloom";
  static constexpr Promise kPromise{.no_false_negatives = true};
  static constexpr std::size_t kMaxLevels = 64;
  static constexpr std::size_t kDefaultLevels = 8;

  /// Every array has this shape.
  struct Params {
    std::uint64_t cell_count;
    std::uint32_t k;
    std::uint32_t layering;
    std::uint64_t max_levels;
  };

  /// What to create: arrays with the rate `fpr` each at `keys` URLs.
  struct Options {
    std::uint64_t keys = 0;
    double fpr = 0.01;
    UrlLayering layering = UrlLayering::repaired;
    /// 1 to kMaxLevels; deeper segments share the last level. Memory: up to max_levels + 1 arrays.
    std::size_t max_levels = kDefaultLevels;
    HashSpec hash = HashSpec::random();
    Memory memory = system_memory();
  };

  [[nodiscard]] static Result<LayeredUrlBloom> create(const Options& options);
  [[nodiscard]] Result<LayeredUrlBloom> create_like(const Memory& memory = system_memory()) const;

  [[nodiscard]] Params params() const noexcept { return kind_params<Params>(); }
  [[nodiscard]] UrlLayering layering() const noexcept { return static_cast<UrlLayering>(params().layering); }
  [[nodiscard]] std::size_t max_levels() const noexcept { return static_cast<std::size_t>(params().max_levels); }
  /// Levels created so far. The array of level i is slice(i + 1); slice(0) is the last array.
  [[nodiscard]] std::size_t levels() const noexcept { return slice_count() - 1; }

  /// Inserts a URL given as the digests of its segments (url::segment_digests), of which there may be none. Errors:
  /// std::bad_alloc if a level cannot be created, with all answers unchanged.
  void insert(std::span<const Digest> segments) { static_cast<void>(observe(segments)); }
  bool observe(std::span<const Digest> segments);
  [[nodiscard]] bool may_contain(std::span<const Digest> segments) const noexcept;

  /// Batches of URLs. Shape: `segments` of all URLs; `ends[c]`, the end of URL c in it, never decreasing and the last
  /// one segments.size(); outcomes[c]. After std::bad_alloc a prefix of the URLs has been inserted.
  void insert(std::span<const Digest> segments, std::span<const std::uint32_t> ends);
  void observe(std::span<const Digest> segments, std::span<const std::uint32_t> ends, std::span<bool> seen);
  void may_contain(std::span<const Digest> segments, std::span<const std::uint32_t> ends,
                   std::span<bool> outcomes) const noexcept;

  [[nodiscard]] std::uint64_t capacity_keys() const noexcept { return initial_keys(); }
  /// Inserts that set a bit: distinct URLs, less those that were false positives.
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept;
  [[nodiscard]] bool is_full() const noexcept { return keys_inserted() >= capacity_keys(); }

  /// Merges array by array. Errors: invalid_argument if size, mode, levels or seed differ; out_of_space, with both
  /// unchanged.
  [[nodiscard]] Result<void> merge(const LayeredUrlBloom& other);
  /// Removes every URL and all levels.
  void clear() noexcept;

  [[nodiscard]] unsigned probes_per_key() const noexcept { return params().k * static_cast<unsigned>(slice_count()); }
  [[nodiscard]] double lines_per_key() const noexcept { return probes_per_key(); }
  /// f_x, the rate for URLs all of whose segments are known at their levels: the worst class if repaired. Cost: a pass
  /// over the last array.
  [[nodiscard]] double fpr_estimate() const noexcept { return slice(0).fpr_estimate(); }
  /// f_x by the formula.
  [[nodiscard]] double fpr_expected(std::uint64_t keys) const noexcept { return slice(0).fpr_expected(keys); }
  /// From the last array. Cost: as fpr_estimate.
  [[nodiscard]] double keys_estimate() const noexcept { return slice(0).keys_estimate(); }

 private:
  friend class GrowingFilter<LayeredUrlBloom, UrlLevel>;
  using GrowingFilter::GrowingFilter;

  static Result<void> check_header(const ImageHeader& header);
  static Result<void> check_slice(const ImageHeader& outer, const UrlLevel& slice, std::size_t index);

  void make_levels(std::size_t count);
  void observe_window(std::span<const Digest> segments, std::span<const std::uint32_t> ends, std::size_t start,
                      std::span<bool> seen);
  void add_keys(std::uint64_t count) noexcept;
  /// The array of a level; deep levels share one.
  [[nodiscard]] std::size_t slice_of(std::size_t level) const noexcept { return std::min(level, max_levels() - 1) + 1; }
  [[nodiscard]] bool is_in_last_array(std::span<const Digest> segments) const noexcept;
  [[nodiscard]] bool is_known_at_its_levels(std::span<const Digest> segments) const noexcept;
};

static_assert(PathFilter<LayeredUrlBloom>);

}  // namespace mankai
