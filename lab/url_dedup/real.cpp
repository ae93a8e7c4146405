#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lab/parts.hpp"
#include "lab/url_dedup/algorithms.hpp"
#include "lab/url_dedup/filters.hpp"
#include "mankai/hash/path_mix.hpp"
#include "mankai/input/line_reader.hpp"
#include "mankai/url/canonical_url.hpp"
#include "mankai/url/segments.hpp"

namespace mankai::lab::dedup {
namespace {

struct DataSet {
  const char* id;
  const char* file;
  std::size_t column;  ///< of the tab-separated line, from 0
  const char* what;
  bool is_large;  ///< not in a quick run
};
constexpr std::array<DataSet, 3> kDataSets = {{
    {"links", "reddit-links-a.tsv.zst", 2, "links that people shared, up to 2013", true},
    {"wikipedia", "wikipedia-edits-2015-09-12.tsv.zst", 1, "pages of Wikipedia that were edited on one day", false},
    {"crawl", "iscx-benign-35k.txt.zst", 0, "a crawl of 310 hosts", false},
}};

struct Split {
  Urls members{};
  Urls absent_keys{};
};

std::string_view column_of(std::string_view line, std::size_t column) noexcept {
  for (; column > 0; --column) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) {
      return {};
    }
    line.remove_prefix(tab + 1);
  }
  return line.substr(0, line.find('\t'));
}

Result<Split> read_split(const std::string& path, std::size_t column, const Hasher& hasher) {
  MANKAI_ASSIGN(auto source, ::mankai::Source::open(path));
  MANKAI_ASSIGN(auto reader, LineReader::create(std::move(source)));
  Split split;
  std::unordered_set<std::uint64_t> known;
  url::CanonicalUrl url;
  std::vector<std::string_view> segments;
  std::vector<Digest> digests;
  while (true) {
    MANKAI_ASSIGN(const auto lines, reader.next_batch());
    if (lines.empty()) {
      return split;
    }
    for (const std::string_view line : lines) {
      if (line.starts_with('#') || !url::canonicalize(column_of(line, column), url, url::UrlRules::keys)) {
        continue;
      }
      url::split_segments(url, segments);
      url::segment_digests(hasher, segments, digests);
      if (known.insert(whole(digests).value).second) {
        (known.size() % 2 == 0 ? split.members : split.absent_keys).add(digests);
      }
    }
  }
}

class KnownSegments {
 public:
  explicit KnownSegments(const Urls& members) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      for (std::size_t level = 0; level < members[i].size(); ++level) {
        if (level == levels_.size()) {
          levels_.emplace_back();
        }
        levels_[level].insert(members[i][level].value);
      }
    }
  }

  /// The corrected formula for one key: the product of the rates of all levels that can answer no.
  [[nodiscard]] double rate(std::span<const Digest> url, const LayeredUrlBloom& filter) const {
    if (url.size() > levels_.size()) {
      return 0;
    }
    double rate = 1;
    for (std::size_t level = 0; level < url.size(); ++level) {
      rate *= is_known(url, level) ? 1 : level_rate(filter, std::min(level, filter.levels() - 1));
    }
    return rate;
  }

  /// The first segment that is new at its level, or the URL. A false positive of that segment's level is one of all
  /// keys that share it.
  [[nodiscard]] std::uint64_t cluster(std::span<const Digest> url) const {
    for (std::size_t level = 0; level < url.size(); ++level) {
      if (level >= levels_.size() || !is_known(url, level)) {
        return at_level(url[level], level).value;
      }
    }
    return whole(url).value;
  }

 private:
  [[nodiscard]] bool is_known(std::span<const Digest> url, std::size_t level) const {
    return levels_[level].contains(url[level].value);
  }

  std::vector<std::unordered_set<std::uint64_t>> levels_;
};

struct Field {
  ArrayShape shape;
  Classic bloom;
  Layers layered;
  Layered repaired;
  Flat equal;
  Segments segments;
};

Result<Field> make_field(const Split& split, const Setting& setting, const Context& context) {
  const std::uint64_t keys = split.members.size();
  const ArrayShape shape = ArrayShape::of(keys, setting.fpr, context);
  Layers layered(LayeredAlgorithm(shape), context.fault);
  layered.insert(split.members);
  MANKAI_ASSIGN(auto repaired, make_layered(keys, setting.fpr, UrlLayering::repaired, context));
  MANKAI_ASSIGN(auto equal, make_urls<Flat>(keys, layered.filter().arrays() * shape.cells, 0, context));
  MANKAI_ASSIGN(auto segments, make_urls<Segments>(keys, shape.cells, shape.k, context));
  Field field{.shape = shape,
              .bloom = Classic(ClassicAlgorithm(shape), context.fault),
              .layered = std::move(layered),
              .repaired = std::move(repaired),
              .equal = std::move(equal),
              .segments = std::move(segments)};
  field.bloom.insert(split.members);
  field.repaired.insert(split.members);
  field.equal.insert(split.members);
  field.segments.insert(split.members);
  return field;
}

double mean_depth(const Urls& urls) noexcept {
  return static_cast<double>(urls.segments.size()) / static_cast<double>(urls.size());
}

// The repaired filter's rate less what the corrected formula gives for its keys, of clusters that are independent.
Estimate corrected_difference(const Layered& repaired, const KnownSegments& known, const Urls& absent_keys) {
  std::unordered_map<std::uint64_t, std::pair<double, double>> clusters;
  const double last = last_rate(repaired.filter());
  for (std::size_t i = 0; i < absent_keys.size(); ++i) {
    Urls one;
    one.add(absent_keys[i]);
    auto& [difference, keys] = clusters[known.cluster(absent_keys[i])];
    difference += static_cast<double>(repaired.count_yes(one)) - last * known.rate(absent_keys[i], repaired.filter());
    keys += 1;
  }
  std::vector<double> differences;
  std::vector<double> sizes;
  for (const auto& [_, cluster] : clusters) {
    differences.push_back(cluster.first);
    sizes.push_back(cluster.second);
  }
  return ratio_of_sums(differences, sizes);
}

void judge_field(const DataSet& data, const Split& split, const Field& field, const Setting& setting,
                 Findings& findings, Figure& figure) {
  const KnownSegments known(split.members);
  const double percent = 100 * setting.fpr;
  const std::string id = fmt::format("{}-{:.0f}", data.id, percent);
  const std::string on =
      fmt::format("{} ({} members, as many absent keys), p = {:.0f} %", data.what, split.members.size(), percent);
  const auto keys = static_cast<double>(split.members.size());
  const double depth = mean_depth(split.absent_keys);
  double printed = 0;
  for (std::size_t i = 0; i < split.absent_keys.size(); ++i) {
    printed += std::pow(field.shape.expected_rate(split.members.size()), split.absent_keys[i].size());
  }
  printed /= static_cast<double>(split.absent_keys.size());
  const Estimate bloom = field.bloom.rate(split.absent_keys);
  const Estimate layered = field.layered.rate(split.absent_keys);
  const Estimate repaired = field.repaired.rate(split.absent_keys);
  double corrected = 0;
  for (std::size_t i = 0; i < split.absent_keys.size(); ++i) {
    corrected += known.rate(split.absent_keys[i], field.repaired.filter());
  }
  corrected *= last_rate(field.repaired.filter()) / static_cast<double>(split.absent_keys.size());
  const std::size_t arrays = field.layered.filter().arrays();
  findings.judged({"real-members-{}", id, on}, equals(0),
                  exact(field.layered.count_missed(split.members) + field.repaired.count_missed(split.members)));
  findings.judged({"real-printed-{}", id, on, depth, corrected}, equals(printed), layered);
  findings.judged({"real-corrected-{}", id, on, repaired.value}, equals(0),
                  corrected_difference(field.repaired, known, split.absent_keys));
  findings.judged({"real-less-{}", id, on, arrays}, at_most(kLess), over(layered, bloom));
  findings.judged({"real-most-effective-{}", id, on}, at_most(field.equal.filter().fpr_estimate()), layered);
  const auto add = [&](const char* name, const Estimate& rate, double cells) {
    figure.rows.push_back({data.id, percent, name, cells / keys, rate.value, rate.error, depth, printed});
  };
  const auto cells = static_cast<double>(field.shape.cells);
  add("one Bloom filter", bloom, cells);
  add("multi-layer, as in the program", layered, cells * static_cast<double>(arrays));
  add("multi-layer, repaired", repaired, static_cast<double>(field.repaired.filter().cell_count()));
  add("Bloom of equal total bits", field.equal.rate(split.absent_keys),
      static_cast<double>(field.equal.filter().cell_count()));
  add("segments in one filter (Algorithms 1 and 2)", field.segments.rate(split.absent_keys),
      static_cast<double>(field.segments.filter().cell_count()));
}

}  // namespace

Result<void> measure_real(const Context& context, Findings& findings) {
  Figure figure = findings.figure("real-urls");
  const Hasher hasher(context.hash());
  for (const DataSet& data : kDataSets) {
    if (!context.data_dir || (context.quick && data.is_large)) {
      findings.skipped({"real-{}", data.id, data.what}, {}, context.data_dir ? Missing::full_run : Missing::data);
      continue;
    }
    MANKAI_ASSIGN(const auto split, read_split(*context.data_dir + "/urls/" + data.file, data.column, hasher));
    for (const Setting& setting : {kRepository, kConference}) {
      MANKAI_ASSIGN(const auto field, make_field(split, setting, context));
      judge_field(data, split, field, setting, findings, figure);
    }
  }
  if (!figure.rows.empty()) {
    findings.add(std::move(figure));
  }
  return {};
}

}  // namespace mankai::lab::dedup
