#include "mankai/takeover/takeover_survey.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "mankai/takeover/bloom_chain.hpp"
#include "mankai/takeover/count_min.hpp"
#include "mankai/takeover/cuckoo_chain.hpp"
#include "mankai/takeover/heavy_keeper.hpp"
#include "mankai/takeover/valkey_bloom.hpp"

namespace mankai::takeover {
namespace {

/// A value that loads.
struct Loaded {
  std::uint64_t items = 0;
  std::string doubt = {};
};
using Load = Result<Loaded> (*)(FieldReader& fields, unsigned encver);

// Of chunks that never arrived, or of an item that was deleted without having been added.
constexpr std::string_view kCopyAgain =
    "compare it with the server that the items were added to, and copy it again with SCANDUMP and LOADCHUNK";

// Below this share of the items that a filter counts, its set bits are too few to be chance.
constexpr double kLeastShareOfItems = 0.75;
constexpr double kChanceItems = 8;

// The number of keys that set this many bits: -m/k ln(1 - fill), [Swamidass2007].
template <class Filter>
double estimated_keys(const Filter& filter) {
  double keys = 0;
  for (std::size_t i = 0; i < filter.slice_count(); ++i) {
    const auto& link = filter.slice(i);
    const double fill = std::pow(link.fpr_estimate(), 1.0 / link.probes_per_key());
    keys += -static_cast<double>(link.bits()) / link.probes_per_key() * std::log1p(-fill);
  }
  return keys;
}

template <class Filter>
Result<Loaded> load_bloom(FieldReader& fields, unsigned encver) {
  MANKAI_ASSIGN(const auto filter, Filter::load(fields, encver));
  Loaded loaded{.items = filter.keys_inserted()};
  const auto items = static_cast<double>(loaded.items);
  if (const double found = estimated_keys(filter); found < kLeastShareOfItems * items - kChanceItems) {
    loaded.doubt = "it counts " + std::to_string(loaded.items) + " items, but has the bits of about " +
                   std::to_string(std::llround(found));
  }
  return loaded;
}

Result<Loaded> load_cuckoo(FieldReader& fields, unsigned encver) {
  MANKAI_ASSIGN(const auto filter, CuckooChain::load(fields, encver));
  Loaded loaded{.items = filter.shape().items};
  if (const std::uint64_t cells = filter.occupied_cells(); cells != loaded.items) {
    loaded.doubt =
        "it counts " + std::to_string(loaded.items) + " items, but has " + std::to_string(cells) + " cells in use";
  }
  return loaded;
}

Result<Loaded> load_count_min(FieldReader& fields, unsigned encver) {
  MANKAI_ASSIGN(const auto sketch, CountMin::load(fields, encver));
  return Loaded{.items = sketch.total()};
}

Result<Loaded> load_top(FieldReader& fields, unsigned encver) {
  MANKAI_ASSIGN(const auto top, HeavyKeeper::load(fields, encver));
  return Loaded{.items = top.list().size()};
}

struct KnownType {
  std::string_view name;
  std::string_view family;
  Load load;  ///< nullptr: always refused
  std::string_view reason = {};
  std::string_view remedy = {};
};

constexpr std::array kKnownTypes = {
    KnownType{.name = BloomChain::kTypeName, .family = "BF", .load = load_bloom<BloomChain>},
    KnownType{.name = ValkeyBloom::kTypeName, .family = "BF", .load = load_bloom<ValkeyBloom>},
    KnownType{.name = CuckooChain::kTypeName, .family = "CF", .load = load_cuckoo},
    KnownType{.name = CountMin::kTypeName, .family = "CMS", .load = load_count_min},
    KnownType{.name = HeavyKeeper::kTypeName, .family = "TOPK", .load = load_top},
    KnownType{.name = "TDIS-TYPE",
              .family = "TDIGEST",
              .load = nullptr,
              .reason = "Mankai has no t-digests",
              .remedy = "delete it before the takeover, or set bf.t-digests to carry in the new server, which keeps it "
                        "without commands for it"},
};
constexpr KnownType kOtherType{
    .name = {},
    .family = {},
    .load = nullptr,
    .reason = "its type is another module's",
    .remedy = "load that module into the new server too, or delete the key before the takeover"};
constexpr std::string_view kOwnTypes = "mankai-";

// RedisBloom below 2.2, which hashed by another function.
constexpr unsigned kFirstCuckooEncver = 4;

const KnownType& known_type(const ModuleType& type) {
  const auto* const found = std::ranges::find(kKnownTypes, type.name, &KnownType::name);
  return found == kKnownTypes.end() ? kOtherType : *found;
}

std::string_view remedy_for(const Error& error, const KnownType& type, unsigned encver) {
  if (error.code != ErrorCode::unsupported_version) {
    return "restore it from an intact dump or replica, or delete it before the takeover";
  }
  return type.family == "CF" && encver < kFirstCuckooEncver ? "delete it before the takeover"
                                                            : "use a later version of Mankai";
}

class Surveyor {
 public:
  explicit Surveyor(RdbFileReader& file) noexcept : file_(file) {}

  Result<TakeoverSurvey> run() {
    for (;;) {
      MANKAI_ASSIGN(const auto key, file_.next());
      if (!key) {
        break;
      }
      survey_.databases.insert(key->database);
      ++survey_.keys[static_cast<std::size_t>(key->kind)];
      if (key->kind == RdbKind::module) {
        MANKAI_TRY(take(*key));
      }
    }
    survey_.file = file_.facts();
    survey_.bytes = file_.offset();
    return std::move(survey_);
  }

 private:
  Result<void> take(const RdbKey& key) {
    const std::uint64_t begin = file_.offset();
    const KnownType& known = known_type(key.module);
    SurveyedType& type = survey_.types[key.module.name];
    type.family = known.family;
    ++type.keys;
    ++type.encvers[key.module.encver];
    if (known.load != nullptr) {
      MANKAI_TRY(load(known, type, key));
    } else if (!key.module.name.starts_with(kOwnTypes)) {
      refuse(key, type, std::string(known.reason), known.remedy);
    }
    MANKAI_TRY(file_.skip_value());
    const std::uint64_t bytes = file_.offset() - begin;
    type.bytes += bytes;
    type.largest_bytes = std::max(type.largest_bytes, bytes);
    return {};
  }

  Result<void> load(const KnownType& known, SurveyedType& type, const RdbKey& key) {
    const unsigned encver = key.module.encver;
    auto loaded = file_.read([&](FieldReader& fields) { return known.load(fields, encver); });
    if (loaded) {
      type.items += loaded->items;
      if (!loaded->doubt.empty()) {
        ++type.doubtful;
        add(key, std::move(loaded->doubt), kCopyAgain);
      }
      return {};
    }
    if (loaded.error().code != ErrorCode::corrupt && loaded.error().code != ErrorCode::unsupported_version) {
      return std::unexpected(loaded.error().within("key \"" + key.name + "\""));
    }
    refuse(key, type, loaded.error().detail, remedy_for(loaded.error(), known, encver));
    return {};
  }

  void refuse(const RdbKey& key, SurveyedType& type, std::string reason, std::string_view remedy) {
    ++type.refused;
    add(key, std::move(reason), remedy).is_refused = true;
  }

  SurveyFinding& add(const RdbKey& key, std::string reason, std::string_view remedy) {
    if (survey_.findings.size() == TakeoverSurvey::kMostFindings) {
      return beyond_;
    }
    SurveyFinding& finding = survey_.findings.emplace_back();
    finding.database = key.database;
    finding.key = key.name;
    finding.type = key.module;
    finding.reason = std::move(reason);
    finding.remedy = remedy;
    return finding;
  }

  RdbFileReader& file_;
  TakeoverSurvey survey_;
  SurveyFinding beyond_;  // kMostFindings
};

std::uint64_t sum_of(const TakeoverSurvey& survey, std::uint64_t SurveyedType::* count) {
  return std::accumulate(survey.types.begin(), survey.types.end(), std::uint64_t{0},
                         [&](std::uint64_t sum, const auto& type) { return sum + type.second.*count; });
}

}  // namespace

std::uint64_t TakeoverSurvey::refused() const noexcept { return sum_of(*this, &SurveyedType::refused); }
std::uint64_t TakeoverSurvey::doubtful() const noexcept { return sum_of(*this, &SurveyedType::doubtful); }

std::string_view TakeoverSurvey::engines() const noexcept {
  constexpr unsigned kRedis70 = 10;
  constexpr unsigned kRedis72 = 11;
  constexpr unsigned kRedis74 = 12;
  if (file.is_valkey) {
    return "Valkey 9 and later";
  }
  if (file.version <= kRedis70) {
    return "Redis 7.0 and later, Valkey 7.2 and later";
  }
  if (file.version <= kRedis72) {
    return "Redis 7.2 and later, Valkey 7.2 and later";
  }
  if (file.version <= kRedis74) {
    return file.has_redis_only ? "Redis 7.4 and later"
                               : "Redis 7.4 and later, Valkey 9 and later with rdb-version-check relaxed";
  }
  return file.has_redis_only ? "Redis 8.6 and later"
                             : "Redis 8.6 and later, Valkey 9 and later with rdb-version-check relaxed";
}

Result<TakeoverSurvey> survey_rdb(RdbFileReader& file) { return Surveyor(file).run(); }

}  // namespace mankai::takeover
