#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "lab/fading/arrays.hpp"
#include "lab/fading/lru.hpp"
#include "lab/fading/original.hpp"
#include "lab/parts.hpp"
#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"

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
  findings.judged("own-test-old", equals(1), exact(share(ours.gone, ours.runs).value));
  findings.judged("own-test-old-rate", equals(text_survival(kTested, kTestKeys - kEnds / 2.0)),
                  share(ours.old_known, ours.runs * kEnds));
  double all_known = 1;
  for (std::uint64_t age = 0; age < kEnds; ++age) {
    all_known *= full_survival(kTested, static_cast<double>(age));
  }
  const Estimate measured = share(ours.known, ours.runs);
  findings.judged({"own-test-young-always", share(in_order.known, in_order.runs).value}, equals(1), measured);
  findings.judged("own-test-young", equals(all_known), measured);
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

struct Bytes {
  double image = 0;
  double lru = 0;
};

Result<Bytes> bytes_of(const Deployed& deployed, const Context& context) {
  MANKAI_ASSIGN(const auto array, make_array(shape_of(deployed), context));
  return Bytes{.image = static_cast<double>(array.filter().image_bytes()),
               .lru = text_half_life(shape_of(deployed)) * kTightEntryBytes};
}

void judge_bytes(const Deployed& deployed, const Bytes& bytes, Findings& findings) {
  const auto places = static_cast<double>(deployed.s);
  findings.judged({"memory-{}", deployed.id, deployed.s, text_half_life(shape_of(deployed)), kTightEntryBytes},
                  at_most(bytes.lru / 2), exact(bytes.image));
  findings.undecided({"memory-overhead-{}", deployed.id, deployed.s, bytes.image}, equals(1 + 1 / places),
                     exact(bytes.image / places));
}

Result<std::vector<Cell>> measure_deployed(const Deployed& deployed, const Context& context, Findings& findings) {
  const Shape shape = shape_of(deployed);
  context.progress(fmt::format("{} places", shape.s));
  const double half_life = text_half_life(shape);
  MANKAI_ASSIGN(const auto known,
                survey(shape, static_cast<std::size_t>(half_life * 1.2), context.trials(1000, 10'000), context));
  MANKAI_ASSIGN(auto array, make_array(shape, context));
  MANKAI_ASSIGN(const auto bytes, bytes_of(deployed, context));
  const Estimate measured = crossing(known, shape, 0.5);
  const double with_chance = text_age(shape, 0.5);
  findings.judged({"deployed-half-life-{}", deployed.id, shape.s, deployed.what, with_chance}, equals(with_chance),
                  measured);
  insert_events(array, Events(context.seed), 0, events_to_fill(shape));
  const std::uint64_t trials = context.trials(300'000, 3'000'000);
  const Estimate rate = beside(absent_found(array, context.seed + 1, trials), text_plateau(shape), trials);
  findings.judged({"deployed-rate-{}", deployed.id, shape.s}, equals(text_plateau(shape)), rate);
  judge_bytes(deployed, bytes, findings);
  return std::vector<Cell>{deployed.what, shape.s,    with_chance, measured.value, measured.error,
                           rate.value,    rate.error, bytes.image, bytes.lru};
}

struct alignas(kCacheLineBytes) Line {
  std::array<std::byte, kCacheLineBytes> bytes;
};

// Times writing and reading a filter, as the authors did for every event.
Result<void> time_images(const Deployed& deployed, const Context& context, Findings& findings) {
  MANKAI_ASSIGN(auto array, make_array(shape_of(deployed), context));
  FadingFingerprints& filter = array.filter();
  insert_events(array, Events(context.seed), 0, events_to_fill(shape_of(deployed)));
  static_cast<void>(filter.seal());
  const std::vector<std::byte> image = filter.to_bytes();
  std::vector<std::byte> copy(image.size());
  std::vector<Line> lines(divide_up(image.size(), sizeof(Line)));
  const std::span aligned = std::as_writable_bytes(std::span(lines)).first(image.size());
  std::ranges::copy(image, aligned.begin());
  constexpr std::uint64_t kOperations = 5000;
  std::uint64_t opened = 0;
  const auto repeat = [](const auto& operation) {
    return [operation] {
      for (std::uint64_t i = 0; i < kOperations; ++i) {
        operation();
      }
    };
  };
  const std::vector<std::function<void()>> works = {
      repeat([&] {
        std::memcpy(copy.data(), image.data(), image.size());
        opened += std::to_integer<std::uint64_t>(copy[opened % copy.size()]) & 1U;
      }),
      repeat([&] { filter.to_bytes(copy); }),
      repeat([&] { opened += FadingFingerprints::from_bytes(image, Trust::checked) ? 1 : 0; }),
      repeat([&] { opened += FadingFingerprints::attach(aligned, Trust::fast) ? 1 : 0; })};
  const auto times = nanoseconds_interleaved(context.trials(5, 25), kOperations, works);
  MANKAI_ASSERT(opened > 0);
  constexpr std::array<const char*, 3> kNames = {"written", "read into memory of its own, checked",
                                                 "used where it stands"};
  constexpr std::array<const char*, 3> kIds = {"write", "read", "attach"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    findings.undecided({"time-{}-{}", kIds.at(i), deployed.id, deployed.s, kNames.at(i)}, equals(times[0].value),
                       times[i + 1]);
  }
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
  return time_images(kDeployed.front(), context, findings);
}

}  // namespace mankai::lab::forgetting
