#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <list>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lab/counted_memory.hpp"
#include "lab/fading/arrays.hpp"
#include "lab/fading/lru.hpp"
#include "lab/fading/original.hpp"
#include "lab/outside.hpp"
#include "lab/parts.hpp"
#include "mankai/base/assert.hpp"

namespace mankai::lab::forgetting {
namespace {

constexpr Shape kTested{.s = 3000, .n = 3, .b = 8};
constexpr std::uint64_t kTestKeys = 10'000;
constexpr std::uint64_t kEnds = 100;

struct Ended {
  bool some_old_are_gone = false;
  bool all_young_are_known = true;
  std::uint64_t old_known = 0;
};

// The authors' test, for one filter and its keys.
template <class Filter, class Keys>
Ended run_test(Filter& filter, const Keys& key) {
  for (std::uint64_t i = 0; i < kTestKeys; ++i) {
    filter.insert(key(i));
  }
  Ended ended;
  for (std::uint64_t i = 0; i < kEnds; ++i) {
    ended.old_known += static_cast<std::uint64_t>(filter.may_contain(key(i)));
    ended.all_young_are_known = filter.may_contain(key(kTestKeys - 1 - i)) && ended.all_young_are_known;
  }
  ended.some_old_are_gone = ended.old_known < kEnds;
  return ended;
}

struct Tally {
  std::uint64_t runs = 0;
  std::uint64_t gone = 0;
  std::uint64_t known = 0;
  std::uint64_t old_known = 0;
  void add(const Ended& ended) {
    ++runs;
    gone += static_cast<std::uint64_t>(ended.some_old_are_gone);
    known += static_cast<std::uint64_t>(ended.all_young_are_known);
    old_known += ended.old_known;
  }
};

void judge_test(const Tally& ours, const Tally& in_order, Findings& findings) {
  findings.judged("own-test-old", equals(1), share(ours.gone, ours.runs));
  findings.judged("own-test-old-rate", equals(text_survival(kTested, kTestKeys - kEnds / 2.0)),
                  share(ours.old_known, ours.runs * kEnds));
  double all_known = 1;
  for (std::uint64_t age = 0; age < kEnds; ++age) {
    all_known *= full_survival(kTested, static_cast<double>(age));
  }
  findings.judged({"own-test-young", share(in_order.known, in_order.runs).value},
                  at_least(findings.threshold("own-test-young")), share(ours.known, ours.runs));
  findings.judged("own-test-young-formula", equals(all_known), share(ours.known, ours.runs));
}

Result<void> measure_own_test(const Context& context, Findings& findings) {
  Tally ours;
  Tally in_order;
  MANKAI_ASSIGN(auto array, make_array(kTested, context));
  const std::uint64_t runs = context.trials(1500, 50'000);
  Random random(context.seed);
  for (std::uint64_t run = 0; run < runs; ++run) {
    array.filter().clear();
    const Events events(random.next());
    ours.add(run_test(array, [&events](std::uint64_t i) { return events[i]; }));
    CodeArray code(kTested);
    constexpr std::uint64_t kIds = std::uint64_t{1} << 40U;
    const std::uint64_t first = random.below(kIds);
    in_order.add(run_test(code, [first](std::uint64_t i) { return Digest{first + i}; }));
  }
  judge_test(ours, in_order, findings);
  return {};
}

struct Deployed {
  const char* id;
  const char* what;
  std::uint64_t s;
};
constexpr std::array<Deployed, 3> kDeployed = {
    {{"clicks", "click history", 307}, {"browsing", "browsing history", 3067}, {"slider", "slider history", 8191}}};

Shape shape_of(const Deployed& deployed) { return {.s = deployed.s, .n = 2, .b = 8}; }

// With the 8 bytes that the heap adds to each piece.
std::uint64_t bytes_on_heap() {
  constexpr std::uint64_t kHeapBytes = 8;
  return Counted::bytes + kHeapBytes * Counted::pieces;
}

// An LRU as one writes it with the standard library: a list of events, and a map from an event to its node.
class UsualLru {
 public:
  explicit UsualLru(std::size_t capacity) : capacity_(capacity) { places_.reserve(capacity); }
  void insert(std::uint32_t event) {
    if (const auto found = places_.find(event); found != places_.end()) {
      events_.splice(events_.begin(), events_, found->second);
      return;
    }
    if (places_.size() == capacity_) {
      places_.erase(events_.back());
      events_.pop_back();
    }
    events_.push_front(event);
    places_.emplace(event, events_.begin());
  }
  [[nodiscard]] std::vector<std::uint32_t> to_bytes() const { return {events_.begin(), events_.end()}; }
  static UsualLru from_bytes(std::span<const std::uint32_t> events) {
    UsualLru lru(events.size());
    for (std::size_t i = events.size(); i-- > 0;) {
      lru.insert(events[i]);
    }
    return lru;
  }

 private:
  using Events = std::list<std::uint32_t, CountingAllocator<std::uint32_t>>;
  using Place = std::pair<const std::uint32_t, Events::iterator>;
  std::size_t capacity_;
  Events events_;
  std::unordered_map<std::uint32_t, Events::iterator, std::hash<std::uint32_t>, std::equal_to<>,
                     CountingAllocator<Place>>
      places_;
};

UsualLru full_lru(std::size_t events) {
  UsualLru lru(events);
  for (std::uint32_t event = 0; event < events; ++event) {
    lru.insert(event);
  }
  return lru;
}

std::size_t known_events(const Deployed& deployed) {
  return static_cast<std::size_t>(text_half_life(shape_of(deployed)));
}

struct Memories {
  double array = 0;  // an array of bytes and no more, as the text has it
  double ours = 0;   // what our filter allocates
  double lru = 0;    // the tightest LRU of as many events as are half known
  double usual_lru = 0;
};

Result<Memories> memories_of(const Deployed& deployed, const Context& context) {
  Memories bytes{.lru = text_half_life(shape_of(deployed)) * kTightEntryBytes};
  const std::uint64_t before = bytes_on_heap();
  {
    const std::vector<std::uint8_t, CountingAllocator<std::uint8_t>> array(deployed.s);
    bytes.array = static_cast<double>(bytes_on_heap() - before);
  }
  {
    const UsualLru lru = full_lru(known_events(deployed));
    bytes.usual_lru = static_cast<double>(bytes_on_heap() - before);
  }
  CountedMemory memory;
  const Shape shape = shape_of(deployed);
  MANKAI_ASSIGN(
      const auto filter,
      FadingFingerprints::create(
          {.slots = shape.s, .k = shape.n, .bits = shape.b, .hash = context.hash(), .memory = memory.memory()}));
  bytes.ours = memory.bytes();
  return bytes;
}

void judge_bytes(const Deployed& deployed, const Memories& bytes, Findings& findings) {
  findings.judged({"memory-{}", deployed.id, deployed.s, text_half_life(shape_of(deployed)), bytes.usual_lru,
                   bytes.ours, bytes.lru},
                  at_most(findings.threshold("memory-{}")), exact(bytes.ours / bytes.lru));
  findings.judged({"memory-overhead-{}", deployed.id, deployed.s, bytes.array},
                  at_most(findings.threshold("memory-overhead-{}")),
                  exact(bytes.array / static_cast<double>(deployed.s)));
}

// Ours: an image has a header, whole cache lines and checksums.
Result<void> judge_overhead(const Context& context, Findings& findings) {
  const auto side = [&](const Deployed& deployed) -> Result<Side> {
    MANKAI_ASSIGN(const auto bytes, memories_of(deployed, context));
    return Side{at_most(findings.threshold("memory-overhead-ours")),
                exact(bytes.ours / static_cast<double>(deployed.s))};
  };
  MANKAI_ASSIGN(const auto large, side(kDeployed.back()));
  MANKAI_ASSIGN(const auto small, side(kDeployed.front()));
  findings.depends("memory-overhead-ours", large, small);
  return {};
}

Result<std::vector<Cell>> measure_deployed(const Deployed& deployed, const Context& context, Findings& findings) {
  const Shape shape = shape_of(deployed);
  context.progress(fmt::format("{} places", shape.s));
  const double half_life = text_half_life(shape);
  MANKAI_ASSIGN(const auto known,
                survey(shape, static_cast<std::size_t>(half_life * 1.2), context.trials(1000, 10'000), context));
  MANKAI_ASSIGN(auto array, make_array(shape, context));
  MANKAI_ASSIGN(const auto bytes, memories_of(deployed, context));
  const Estimate measured = crossing(known, shape, 0.5);
  const double with_chance = text_age(shape, 0.5);
  findings.judged({"deployed-half-life-{}", deployed.id, shape.s, deployed.what, with_chance},
                  equals(with_chance).with_formula_error(std::abs(with_chance - age_by(full_survival, shape, 0.5))),
                  measured);
  insert_events(array, Events(context.seed), 0, events_to_fill(shape));
  const std::uint64_t trials = context.trials(300'000, 3'000'000);
  const Estimate rate = beside(absent_found(array, context.seed + 1, trials), text_plateau(shape), trials);
  findings.judged({"deployed-rate-{}", deployed.id, shape.s}, equals(text_plateau(shape)), rate);
  judge_bytes(deployed, bytes, findings);
  return std::vector<Cell>{deployed.what, shape.s,    with_chance, measured.value, measured.error,
                           rate.value,    rate.error, bytes.ours,  bytes.lru};
}

// Times of the processor for writing and reading a filter, as the authors did for every event, and an LRU of as many
// events as are half known. The least of some rounds that take turns.
Result<void> time_images(const Deployed& deployed, const Context& context, Findings& findings) {
  MANKAI_ASSIGN(auto array, make_array(shape_of(deployed), context));
  FadingFingerprints& filter = array.filter();
  insert_events(array, Events(context.seed), 0, events_to_fill(shape_of(deployed)));
  static_cast<void>(filter.seal());
  const UsualLru lru = full_lru(known_events(deployed));
  constexpr int kImages = 5000;
  std::uint64_t read = 0;
  const auto seconds_of = [](const auto& operation) {
    const double before = thread_cpu_seconds();
    for (int i = 0; i < kImages; ++i) {
      operation();
    }
    return (thread_cpu_seconds() - before) / kImages;
  };
  std::vector<double> of_filter;
  std::vector<double> of_lru;
  for (int round = 0; round < 15; ++round) {
    of_filter.push_back(
        seconds_of([&] { read += FadingFingerprints::from_bytes(filter.to_bytes(), Trust::checked) ? 1 : 0; }));
    of_lru.push_back(seconds_of([&] { read += UsualLru::from_bytes(lru.to_bytes()).to_bytes().size(); }));
  }
  MANKAI_ASSERT(read > 0);
  constexpr double kNano = 1e9;
  findings.judged({"serialized-fast-{}", deployed.id, deployed.s, mean(of_filter).value * kNano,
                   mean(of_lru).value * kNano, known_events(deployed)},
                  at_most(findings.threshold("serialized-fast-{}")), ratio_of_sums(of_filter, of_lru));
  return {};
}

}  // namespace

Result<void> measure_production(const Context& context, Findings& findings) {
  MANKAI_TRY(measure_own_test(context, findings));
  Figure figure = findings.figure("deployed");
  for (const Deployed& deployed : kDeployed) {
    MANKAI_ASSIGN(auto row, measure_deployed(deployed, context, findings));
    figure.rows.push_back(std::move(row));
  }
  findings.add(std::move(figure));
  MANKAI_TRY(judge_overhead(context, findings));
  for (const Deployed& deployed : kDeployed) {
    if (!context.quick) {
      MANKAI_TRY(time_images(deployed, context, findings));
    }
  }
  return {};
}

}  // namespace mankai::lab::forgetting
