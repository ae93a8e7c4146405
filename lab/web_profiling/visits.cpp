#include "lab/web_profiling/visits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "mankai/input/line_reader.hpp"
#include "mankai/input/log_parser.hpp"

namespace mankai::lab::profiling {
namespace {

class Pages {
 public:
  Pages(Visits& visits, const Hasher& hasher) noexcept : visits_(visits), hasher_(hasher) {}

  std::uint32_t number_of(std::string_view name) {
    const auto next = static_cast<std::uint32_t>(visits_.names.size());
    const auto [found, is_new] = numbers_.try_emplace(std::string(name), next);
    if (is_new) {
      visits_.names.emplace_back(name);
      visits_.digests.push_back(hasher_(name));
    }
    return found->second;
  }

 private:
  Visits& visits_;
  const Hasher& hasher_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

void add_visit(Visits& visits, std::uint32_t page, Tick tick) {
  if (visits.epochs.empty() || tick > visits.last()) {
    visits.epochs.push_back({.tick = tick, .end = visits.pages.size()});
  }
  visits.pages.push_back(page);
  ++visits.epochs.back().end;
}

}  // namespace

std::vector<std::uint64_t> visits_of_pages(const Visits& visits) {
  std::vector<std::uint64_t> counts(visits.names.size());
  for (const std::uint32_t page : visits.pages) {
    ++counts[page];
  }
  return counts;
}

double harmonic(std::uint64_t n, double z) noexcept {
  double sum = 0;
  // Small terms first, for accuracy.
  for (std::uint64_t i = n; i > 0; --i) {
    sum += std::pow(static_cast<double>(i), -z);
  }
  return sum;
}

Zipf::Zipf(std::uint64_t pages, double z) : cells_(pages) {
  const double scale = static_cast<double>(pages) / harmonic(pages, z);
  std::vector<std::uint32_t> poor;
  std::vector<std::uint32_t> rich;
  for (std::uint32_t page = 0; page < pages; ++page) {
    cells_[page] = {.keep = scale * std::pow(page + 1.0, -z), .alias = page};
    (cells_[page].keep < 1 ? poor : rich).push_back(page);
  }
  // Each poor cell is filled from a rich one, which may then be poor itself.
  while (!poor.empty() && !rich.empty()) {
    const std::uint32_t taker = poor.back();
    const std::uint32_t giver = rich.back();
    poor.pop_back();
    cells_[taker].alias = giver;
    cells_[giver].keep -= 1 - cells_[taker].keep;
    if (cells_[giver].keep < 1) {
      rich.pop_back();
      poor.push_back(giver);
    }
  }
}

Visits draw(const Workload& workload, const Context& context) {
  const Hasher hasher(context.hash());
  Visits visits;
  visits.names.reserve(workload.pages);
  visits.digests.reserve(workload.pages);
  for (std::uint64_t page = 0; page < workload.pages; ++page) {
    visits.names.push_back(fmt::format("/page/{}", page));
    visits.digests.push_back(hasher(visits.names.back()));
  }
  const Zipf zipf(workload.pages, context.fault == Fault::levels_draws ? 0 : workload.z);
  Random random(context.seed + workload.visits);
  visits.pages.reserve(workload.visits);
  for (std::uint64_t visit = 0; visit < workload.visits; ++visit) {
    add_visit(visits, zipf(random), {1 + (visit / workload.per_epoch)});
  }
  return visits;
}

Setting figure_3(const Context& context) {
  const std::uint64_t scale = context.trials(5, 1);
  return {.counters = 80'000 / scale,
          .visits = draw({.visits = 1'000'000 / scale, .pages = 40'000 / scale, .per_epoch = 20'000 / scale}, context)};
}

Visits in_epochs(Visits visits, std::uint64_t epochs) {
  visits.epochs.clear();
  for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
    visits.epochs.push_back({.tick = {epoch}, .end = visits.pages.size() * epoch / epochs});
  }
  return visits;
}

Result<Visits> read_log(const std::string& path, Duration epoch, const Context& context) {
  MANKAI_ASSIGN(auto source, ::mankai::Source::open(path));
  MANKAI_ASSIGN(auto reader, LineReader::create(std::move(source)));
  MANKAI_ASSIGN(auto parser, LogParser::create());
  const Hasher hasher(context.hash());
  Visits visits;
  Pages pages(visits, hasher);
  LogRecord record;
  while (true) {
    MANKAI_ASSIGN(const auto lines, reader.next_batch());
    if (lines.empty()) {
      break;
    }
    for (const std::string_view line : lines) {
      if (parser.parse(line, record) == LogLine::record && record.time && !record.target.empty()) {
        add_visit(visits, pages.number_of(record.target.substr(0, record.target.find('?'))),
                  tick_of(*record.time, epoch));
      }
    }
  }
  if (visits.pages.empty()) {
    return fail(ErrorCode::corrupt, path + " has no visits");
  }
  return visits;
}

double Truth::mass(Tick tick) const noexcept {
  double sum = 0;
  for (std::size_t page = 0; page < pages(); ++page) {
    sum += at(page, tick);
  }
  return sum;
}

Truth truth_of(const Visits& visits, double lambda) {
  Truth truth(visits.names.size(), lambda);
  for (std::size_t epoch = 0; epoch < visits.epochs.size(); ++epoch) {
    for (const std::uint32_t page : visits.of(epoch)) {
      truth.insert(page, visits.epochs[epoch].tick);
    }
  }
  return truth;
}

}  // namespace mankai::lab::profiling
