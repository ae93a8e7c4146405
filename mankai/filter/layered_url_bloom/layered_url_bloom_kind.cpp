#include "mankai/filter/define_kind.hpp"
#include "mankai/filter/layered_url_bloom/layered_url_bloom.hpp"

namespace mankai {
namespace {

constexpr std::array kLayerings = {UrlLayering::repaired, UrlLayering::faithful};

struct LayeredUrlBloomOptions {
  std::uint32_t levels = LayeredUrlBloom::kDefaultLevels;
  UrlLayering layering = UrlLayering::repaired;
};

struct LayeredUrlBloomKind : KindDefaults {
  using Filter = LayeredUrlBloom;
  using Options = LayeredUrlBloomOptions;
  static constexpr std::string_view kSummary = "seen this URL? an array per level of its path, and one for the whole";
  static constexpr KeyShape kKeyShape = KeyShape::path;
  static constexpr bool kHasLockFreeReaders = true;
  static constexpr std::array kOptions = {
      number_option<Options, &Options::levels, 1, Filter::kMaxLevels>(
          "levels", "N",
          "Largest number of path levels with an array of their own; deeper segments share the last one [default: 8]."),
      choice_option<Options, &Options::layering, kLayerings>(
          "layering", "MODE",
          "What the arrays of levels hold: repaired, or faithful to the paper, which answers yes for some URLs that "
          "were never added [default: repaired].")};
  static constexpr std::array<std::string_view, 3> kExamples = {"keys=300", "keys=300,layering=faithful,hash=siphash",
                                                                "keys=300,levels=2,hash=xxh3"};

  static Result<Filter> create(const CreateRequest& request, const Options& options) {
    return Filter::create({.keys = request.keys,
                           .fpr = request.fpr,
                           .layering = options.layering,
                           .max_levels = options.levels,
                           .hash = request.hash,
                           .memory = request.memory});
  }
  static Options options_of(const Filter& filter) {
    return {.levels = static_cast<std::uint32_t>(filter.max_levels()), .layering = filter.layering()};
  }

  static void describe(const Filter& filter, FilterInfo& info) {
    info.fpr_formula = "saturation^phase of the array of whole URLs";
    info.fields.push_back({"levels", "levels", std::uint64_t{filter.levels()}});
    info.fields.push_back({"max_levels", "largest number of levels", std::uint64_t{filter.max_levels()}});
    info.fields.push_back({"layering", "layering", std::string(name(filter.layering()))});
    info.fields.push_back({"phase", "probes per array", std::uint64_t{filter.params().k}});
  }
};

}  // namespace

MANKAI_DEFINE_KIND(layered_url_bloom, LayeredUrlBloomKind)

}  // namespace mankai
