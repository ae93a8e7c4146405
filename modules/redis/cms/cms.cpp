/// The CMS.* commands: RedisBloom's contract of count-min sketches.

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <vector>

#include "mankai/base/number.hpp"
#include "modules/redis/cms/any.hpp"
#include "modules/redis/engine/family.hpp"
#include "modules/redis/engine/layout.hpp"
#include "modules/redis/engine/reserve.hpp"
#include "modules/redis/image/move.hpp"
#include "modules/redis/image/work.hpp"

namespace mankai::redis {
namespace {

using SketchKey = ImageKey<AnySketch>;
using SketchLookup = Lookup<SketchKey>;

constexpr std::size_t kFirstItem = 2;
constexpr const char* kAbsent = "CMS: key does not exist";
constexpr const char* kBadOption = "CMS: unknown argument";
constexpr const char* kBadInit = "CMS: invalid init arguments";
constexpr const char* kWrongWeights = "CMS: wrong number of keys/weights";
constexpr const char* kTooDeep =
    "ERR too many items in one command for a sketch of so many rows; send fewer items per command";

Result<void> must_exist(const SketchLookup& lookup) {
  return lookup.is_absent() ? refuse(kAbsent) : lookup.must_be_whole();
}

/// What a sketch is created with.
struct CmsSettings {
  AnySketch::Shape shape;
  HashSpec hash{};
  Layout layout{};
};

// Replicas get the dimensions, and the hash by its name. Without a hash, they make RedisBloom's layout.
void replicate_creation(const Call& call, const CmsSettings& settings) {
  if (settings.layout != Layout::mankai) {
    engine.replicate_verbatim(call.context());
    return;
  }
  static constinit RepeatedCommand creation("CMS.INITBYDIM");
  creation.begin().add(static_cast<long long>(settings.shape.width)).add(static_cast<long long>(settings.shape.depth));
  creation.add(settings.hash).replicate(call);
}

Result<AnySketch::Shape> read_dimensions(const Call& call) {
  const long long width = call.integer(2).value_or(0);
  const long long depth = call.integer(3).value_or(0);
  if (width < 1 || depth < 1) {
    return refuse(width < 1 ? "CMS: invalid width" : "CMS: invalid depth");
  }
  return AnySketch::Shape{.width = static_cast<std::uint64_t>(width), .depth = static_cast<std::uint64_t>(depth)};
}

Result<AnySketch::Shape> read_probabilities(const Call& call) {
  const double error = call.real(2).value_or(0);
  const double probability = call.real(3).value_or(0);
  if (!(error > 0 && error < 1)) {
    return refuse("CMS: invalid overestimation value");
  }
  if (!(probability > 0 && probability < 1)) {
    return refuse("CMS: invalid prob value");
  }
  return AnySketch::Shape::of_error(error, probability);
}

// [HASH name] [SEED hex32], or in RedisBloom's layout [CELL_SIZE bytes].
Result<void> read_options(const Call& call, CmsSettings& settings) {
  constexpr std::size_t kFirstOption = 4;
  HashRequest request;
  bool has_cell_size = false;
  for (std::size_t i = kFirstOption; i < call.size(); i += 2) {
    MANKAI_TRY(must_be_once(call, kFirstOption, i));
    if (HashRequest::is_option(call, i)) {
      MANKAI_TRY(request.read(call, i));
      settings.hash = request.hash();
    } else if (call.is(i, "CELL_SIZE")) {
      const long long bytes = i + 1 < call.size() ? call.integer(i + 1).value_or(0) : 0;
      if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) {
        return refuse("CMS: CELL_SIZE must be 1, 2, 4 or 8");
      }
      settings.shape.cell_bytes = static_cast<std::uint32_t>(bytes);
      has_cell_size = true;
    } else {
      return refuse(kBadOption);
    }
  }
  settings.layout = request.is_given() ? Layout::mankai : layout_of_new_value(call);
  return has_cell_size && settings.layout == Layout::mankai ? refuse(kBadOption) : Result<void>();
}

Result<AnySketch> create_sketch(const CmsSettings& settings) {
  return settings.layout == Layout::mankai
             ? value_of<AnySketch>(Sketch::create(
                   {.width = settings.shape.width, .depth = settings.shape.depth, .hash = settings.hash}))
             : value_of<AnySketch>(takeover::CountMin::create(settings.shape, engine_memory()));
}

// Dimensions whose product exceeds 63 bits are invalid; all others are a matter of memory.
bool is_only_large(const AnySketch::Shape& shape) noexcept {
  constexpr std::int64_t kLargeCells = std::int64_t{1} << 38;  // any layout takes fewer
  std::int64_t cells = 0;
  return !__builtin_mul_overflow(shape.width, shape.depth, &cells) && cells >= kLargeCells;
}

template <Result<AnySketch::Shape> (*Read)(const Call&)>
Answer cms_init(Call& call) {
  MemoryLimit limit(call.context());
  SketchLookup lookup(call, kRead | kWrite);
  if (!lookup.is_absent()) {
    return refuse("CMS: key already exists");
  }
  CmsSettings settings;
  MANKAI_ASSIGN(settings.shape, Read(call));
  MANKAI_TRY(read_options(call, settings));
  lookup.limit(limit);
  auto made = create_sketch(settings);
  if (!made) {
    return refuse(made.error().code == ErrorCode::invalid_argument && !is_only_large(settings.shape)
                      ? kBadInit
                      : memory_error("CMS: Insufficient memory to create the key"));
  }
  lookup.set(std::make_unique<SketchKey>(std::move(*made)));
  replicate_creation(call, settings);
  call.key_changed("cms.initbydim");
  return call.ok();
}

const char* text_of(takeover::CountMin::Fault fault) noexcept {
  return fault == takeover::CountMin::Fault::overflow ? "CMS: INCRBY overflow" : "CMS: INCRBY underflow";
}

// Replies with a count for each item. `count(start, items, counts)` gives those of a window; every `step` arguments
// there is an item, and between them increments. A count at its limit is a lower bound: INCRBY says so to clients (a
// replica would log an error), and QUERY returns it. RedisBloom's small cells are left unchanged instead.
template <class Count>
Answer reply_counts(const Call& call, const AnySketch& sketch, std::size_t step, const Count& count) {
  const std::size_t all = (call.size() - kFirstItem) / step;
  const std::uint64_t hashed = sketch.theirs() != nullptr ? weighed_items(call, kFirstItem, step) : all;
  if (is_too_much(call, multiply_saturating(hashed, sketch.shape().depth))) {
    return refuse(kTooDeep);
  }
  call.array(all);
  std::array<std::string_view, AnySketch::kWindow> texts;
  std::array<AnySketch::Count, AnySketch::kWindow> numbers;
  for (std::size_t start = 0; start < all; start += AnySketch::kWindow) {
    const auto items = std::span(texts).first(std::min(AnySketch::kWindow, all - start));
    const auto counts = std::span(numbers).first(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      items[i] = call.text(kFirstItem + (start + i) * step);
    }
    count(start, items, counts);
    for (const AnySketch::Count& each : counts) {
      each || !call.is_from_client() ? call.number(each.value_or(0)) : call.error(text_of(each.error()));
    }
  }
  return kOk;
}

// Errors: to be replied; std::bad_alloc.
Result<std::vector<std::int64_t>> read_increments(const Call& call, const AnySketch& sketch) {
  const bool may_be_negative = sketch.is_of_8_12() || (sketch.theirs() != nullptr && !call.is_from_client());
  std::vector<std::int64_t> increments;
  increments.reserve((call.size() - kFirstItem) / 2);
  for (std::size_t i = kFirstItem + 1; i < call.size(); i += 2) {
    const auto increment = call.integer(i);
    if (!increment || (*increment < 0 && !may_be_negative)) {
      return refuse(increment ? "CMS: Number cannot be negative" : "CMS: Cannot parse number");
    }
    if (*increment == std::numeric_limits<std::int64_t>::min()) {
      return refuse("CMS: invalid increment");
    }
    increments.push_back(*increment);
  }
  return increments;
}

Answer cms_incrby(Call& call) {
  if (call.size() % 2 != 0) {
    return call.wrong_arity();
  }
  SketchLookup lookup(call, kRead | kWrite);
  MANKAI_TRY(must_exist(lookup));
  AnySketch& sketch = *lookup.value();
  MANKAI_ASSIGN(const auto increments, read_increments(call, sketch));
  const auto add = [&](std::size_t start, std::span<const std::string_view> items, std::span<AnySketch::Count> counts) {
    sketch.add(items, std::span(increments).subspan(start, items.size()), counts);
  };
  MANKAI_TRY(reply_counts(call, sketch, 2, add));
  if (std::ranges::any_of(increments, [](std::int64_t increment) { return increment != 0; })) {
    engine.replicate_verbatim(call.context());
    call.key_changed("cms.incrby");
  }
  return kOk;
}

Answer cms_query(Call& call) {
  const SketchLookup lookup(call, kRead);
  MANKAI_TRY(must_exist(lookup));
  const AnySketch& sketch = *lookup.value();
  return reply_counts(call, sketch, 1,
                      [&](std::size_t /*start*/, std::span<const std::string_view> items,
                          std::span<AnySketch::Count> counts) { sketch.count(items, counts); });
}

/// The arguments of MERGE behind the destination: numkeys source … [WEIGHTS weight …]
class Merge {
 public:
  static constexpr std::size_t kFirstSource = 3;

  /// Errors: to be replied; std::bad_alloc.
  Result<void> read(const Call& call) {
    const auto count = call.integer(2);
    if (!count || *count < 1) {
      return refuse(count ? "CMS: Number of keys must be positive" : "CMS: invalid numkeys");
    }
    std::size_t keyword = kFirstSource;
    while (keyword < call.size() && !call.is(keyword, "WEIGHTS")) {
      ++keyword;
    }
    const std::size_t keys = keyword - kFirstSource;
    const bool has_weights = keyword < call.size();
    if (keys != static_cast<std::uint64_t>(*count) || (has_weights && call.size() != keyword + 1 + keys)) {
      return refuse(has_weights ? kWrongWeights : "CMS: wrong number of keys");
    }
    sources_ = keys;
    has_weights_ = has_weights;
    return {};
  }
  /// Reads the weight of each source, then opens it, in RedisBloom's order. Errors: as read's.
  Result<void> open(const Call& call, const AnySketch& destination) {
    for (std::size_t i = 0; i < sources_; ++i) {
      const auto weight = has_weights_ ? call.integer(kFirstSource + sources_ + 1 + i) : 1;
      if (!weight) {
        return refuse("CMS: invalid weight value");
      }
      lookups_.push_back(std::make_unique<SketchLookup>(call, kRead, kFirstSource + i));
      MANKAI_TRY(must_exist(*lookups_.back()));
      const AnySketch* const source = lookups_.back()->value();
      if (const char* difference = destination.difference_from(*source); difference != nullptr) {
        return refuse(difference);
      }
      terms_.push_back({.sketch = source, .weight = *weight});
    }
    return {};
  }
  [[nodiscard]] std::span<const AnySketch::Term> terms() const noexcept { return terms_; }

 private:
  std::size_t sources_ = 0;
  bool has_weights_ = false;
  std::vector<AnySketch::Term> terms_;
  std::vector<std::unique_ptr<SketchLookup>> lookups_;
};

constexpr std::array kMerges = {keys_at(1, 0, kKeyReadWrite | kKeyAccess | kKeyUpdate),
                                counted_keys_at(2, kKeyReadOnly | kKeyAccess), KeySpec{}};

// For clusters: Redis 7.0 routes by ranges of keys and by this, not by keys behind their number.
Answer name_keys_of_merge(const Call& call) {
  const auto sources = static_cast<unsigned long long>(std::max(call.integer(2).value_or(0), 0LL));
  const std::size_t end =
      Merge::kFirstSource + std::min<unsigned long long>(sources, call.size() - Merge::kFirstSource);
  engine.key_at_pos_with_flags(call.context(), 1, static_cast<int>(kMerges[0].flags));
  for (std::size_t i = Merge::kFirstSource; i < end; ++i) {
    engine.key_at_pos_with_flags(call.context(), static_cast<int>(i), static_cast<int>(kMerges[1].flags));
  }
  return kOk;
}

Answer cms_merge(Call& call) {
  if (engine.is_keys_position_request(call.context()) != 0) {
    return name_keys_of_merge(call);
  }
  SketchLookup lookup(call, kRead | kWrite);
  MANKAI_TRY(must_exist(lookup));
  Merge merge;
  MANKAI_TRY(merge.read(call));
  MANKAI_TRY(merge.open(call, *lookup.value()));
  // 2^29 cells of ours, and 2^25 of RedisBloom's, take up to a second.
  const std::uint64_t cells_per_unit = lookup.value()->theirs() != nullptr ? 2 : 32;
  if (is_too_much(call, multiply_saturating<std::uint64_t>(lookup.value()->cell_count() / cells_per_unit,
                                                           merge.terms().size()))) {
    return refuse("ERR too many counters in one command; merge fewer sketches per command");
  }
  if (!lookup.value()->assign_sum(merge.terms())) {
    return refuse("CMS: MERGE overflow");
  }
  engine.replicate_verbatim(call.context());
  call.key_changed("cms.merge");
  return call.ok();
}

Answer cms_info(Call& call) {
  const SketchLookup lookup(call, kRead);
  MANKAI_TRY(must_exist(lookup));
  const AnySketch& sketch = *lookup.value();
  const auto [width, depth, cell_bytes] = sketch.shape();
  const Fact wide = {"width", width};
  const Fact deep = {"depth", depth};
  const Fact count = {"count", sketch.total()};
  return sketch.is_of_8_12() ? reply_facts(call, {wide, deep, count, {"cell_size", cell_bytes}})
                             : reply_facts(call, {wide, deep, count});
}

constexpr std::array kDimensionArguments = {
    kKeyArgument, argument("width", ArgumentKind::integer), argument("depth", ArgumentKind::integer), kHash, kSeed,
    kEnd};
constexpr std::array kProbabilityArguments = {
    kKeyArgument, argument("error", ArgumentKind::real), argument("probability", ArgumentKind::real), kHash, kSeed,
    kEnd};
constexpr std::array kMergeArguments = {
    kKeyArgument, argument("numkeys", ArgumentKind::integer), key_argument("source", 1, kArgumentMultiple),
    argument("weight", ArgumentKind::integer, kArgumentOptional | kArgumentMultiple, "WEIGHTS"), kEnd};
constexpr const char* kBatch = "O(N * D), N items, D rows";

constexpr std::array kCommands = {
    command<-4, cms_init<read_dimensions>>("cms.initbydim", "write deny-oom fast",
                                           "Creates an empty sketch of a width and a depth", "O(1)", kCreates,
                                           kDimensionArguments),
    command<-4, cms_init<read_probabilities>>("cms.initbyprob", "write deny-oom fast",
                                              "Creates an empty sketch for an error and its probability", "O(1)",
                                              kCreates, kProbabilityArguments),
    // Not deny-oom: neither takes memory.
    command<-4, cms_incrby>("cms.incrby", "write fast", "Adds to the counts of items and returns them", kBatch,
                            kUpdates, kIncrbyArguments),
    command<-4, cms_merge>("cms.merge", "write getkeys-api",
                           "Replaces a sketch by the weighted sum of sketches of the same shape",
                           "O(N * C), N sources of C cells", kMerges, kMergeArguments),
    command<-3, cms_query>("cms.query", "readonly fast", "Returns the counts of items", kBatch, kReads, kKeyItems),
    command<2, cms_info>("cms.info", "readonly fast", "Returns the shape of a sketch and the sum of its increments",
                         "O(1)", kReads, kKeyOnly),
    scandump<AnySketch>("cms.scandump"),
    loadchunk<AnySketch>(),
};

}  // namespace

MANKAI_DEFINE_FAMILY(cms) = {.name = "cms", .category = "cms", .type = kTypeOf<SketchKey>, .commands = kCommands};

}  // namespace mankai::redis
