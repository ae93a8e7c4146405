#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <vector>

#include "lab/parts.hpp"
#include "lab/web_profiling/printed.hpp"
#include "lab/web_profiling/profiles.hpp"

namespace mankai::lab::profiling {
namespace {

constexpr unsigned kHashes = 3;
constexpr std::uint64_t kWindow = 10;  // epochs; the decayed counts of λ = 0.9 have the same sum
constexpr std::uint64_t kPane = 5;
constexpr std::uint64_t kCellBytes = 4;

double exponential(std::uint64_t age) { return std::pow(kLambda, static_cast<double>(age)); }
double window(std::uint64_t age) { return age < kWindow ? 1 : 0; }
double polynomial(std::uint64_t age) { return 1 / static_cast<double>(age + 1); }

// Consecutive epochs that share a set of counters.
struct Block {
  std::uint64_t newest = 0;
  std::uint64_t epochs = 0;
  std::vector<std::uint32_t> counters{};
};
using Blocks = std::vector<Block>;  // the newest first

void add_epoch(Blocks& blocks, std::uint64_t epoch, std::uint64_t counters) {
  blocks.insert(blocks.begin(), Block{.newest = epoch, .epochs = 1, .counters = std::vector<std::uint32_t>(counters)});
}
void drop_old(Blocks& blocks, std::uint64_t epoch) {
  std::erase_if(blocks, [epoch](const Block& block) { return epoch - block.newest >= kWindow; });
}

void open_epoch(Blocks& blocks, std::uint64_t epoch, std::uint64_t counters) { add_epoch(blocks, epoch, counters); }
void open_in_window(Blocks& blocks, std::uint64_t epoch, std::uint64_t counters) {
  add_epoch(blocks, epoch, counters);
  drop_old(blocks, epoch);
}
void open_in_panes(Blocks& blocks, std::uint64_t epoch, std::uint64_t counters) {
  if (blocks.empty() || blocks.front().epochs == kPane) {
    add_epoch(blocks, epoch, counters);
  } else {
    blocks.front().newest = epoch;
    ++blocks.front().epochs;
  }
  drop_old(blocks, epoch);
}
// Of three blocks of one length, the older two become one: at most two of each power of two remain [CohenStrauss2003].
void open_in_octaves(Blocks& blocks, std::uint64_t epoch, std::uint64_t counters) {
  add_epoch(blocks, epoch, counters);
  for (std::size_t at = 0; at + 2 < blocks.size();) {
    if (blocks[at].epochs != blocks[at + 2].epochs) {
      ++at;
      continue;
    }
    Block& younger = blocks[at + 1];
    std::ranges::transform(younger.counters, blocks[at + 2].counters, younger.counters.begin(), std::plus<>());
    younger.epochs += blocks[at + 2].epochs;
    blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(at) + 2);
  }
}

struct DecayFunction {
  const char* id;
  const char* words;
  double (*weight)(std::uint64_t age);
  void (*open)(Blocks& blocks, std::uint64_t epoch, std::uint64_t counters);
};
constexpr std::array<DecayFunction, 4> kFunctions = {{
    {"window", "sliding window of 10 epochs, a counter for each", window, open_in_window},
    {"panes", "sliding window of 10 epochs, a counter for 5", window, open_in_panes},
    {"polynomial", "polynomial, 1 / (age + 1), a counter for each epoch", polynomial, open_epoch},
    {"octaves", "polynomial, 1 / (age + 1), two counters for each power of two", polynomial, open_in_octaves},
}};

// The basic filter with several counters for one: a block counts with the weight of its newest epoch, so that none of
// its visits weighs too little.
class Blocked {
 public:
  Blocked(const DecayFunction& function, const PrintedShape& shape) : function_(&function), shape_(shape) {}

  void insert(const Visits& visits) {
    for (std::size_t epoch = 0; epoch < visits.epochs.size(); ++epoch) {
      now_ = epoch;
      function_->open(blocks_, epoch, shape_.counters);
      for (const std::uint32_t page : visits.of(epoch)) {
        const Digest digest = visits.digests[page];
        for (unsigned j = 0; j < shape_.k && !loses_insert(shape_.fault, digest.value); ++j) {
          ++blocks_.front().counters[shape_.position(digest, j)];
        }
      }
    }
  }
  [[nodiscard]] double estimate(Digest digest) const {
    double least = std::numeric_limits<double>::infinity();
    for (unsigned j = 0; j < shape_.k; ++j) {
      double sum = 0;
      for (const Block& block : blocks_) {
        sum += (shape_.fault == Fault::never_decays ? 1 : function_->weight(now_ - block.newest)) *
               block.counters[shape_.position(digest, j)];
      }
      least = std::min(least, sum);
    }
    return invents_yes(shape_.fault, digest.value) ? least + 1 : least;
  }

 private:
  const DecayFunction* function_;
  PrintedShape shape_;
  Blocks blocks_{};
  std::uint64_t now_ = 0;
};

// The most counters that one counter becomes in so many epochs.
std::uint64_t most_blocks(const DecayFunction& function, std::uint64_t epochs) {
  Blocks blocks;
  std::size_t most = 0;
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    function.open(blocks, epoch, 1);
    most = std::max(most, blocks.size());
  }
  return most;
}

std::vector<double> counts_by(double (*weight)(std::uint64_t age), const Visits& visits) {
  std::vector<double> counts(visits.names.size());
  const std::size_t last = visits.epochs.size() - 1;
  for (std::size_t epoch = 0; epoch <= last; ++epoch) {
    for (const std::uint32_t page : visits.of(epoch)) {
      counts[page] += weight(last - epoch);
    }
  }
  return counts;
}

struct FunctionErrors {
  double relative = 0;  // mean over live pages
  std::uint64_t live = 0;
  std::uint64_t under = 0;
};
FunctionErrors function_errors(const Visits& visits, std::span<const double> counts,
                               const std::function<double(Digest)>& estimate) {
  constexpr double kRounding = 1e-9;
  FunctionErrors errors;
  for (std::size_t page = 0; page < counts.size(); ++page) {
    if (counts[page] >= 1) {
      const double estimated = estimate(visits.digests[page]);
      errors.relative += std::abs(estimated - counts[page]) / counts[page];
      errors.under += estimated < counts[page] * (1 - kRounding) ? 1 : 0;
      ++errors.live;
    }
  }
  errors.relative /= static_cast<double>(errors.live);
  return errors;
}

void add_row(Figure& figure, const char* function, std::uint64_t kilobytes, std::uint64_t blocks,
             const FunctionErrors& errors) {
  figure.rows.push_back({function, kilobytes, blocks, errors.relative, errors.live,
                         static_cast<double>(errors.under) / static_cast<double>(errors.live)});
}

Result<FunctionErrors> measure_exponential(const Visits& visits, std::span<const double> counts, std::uint64_t bytes,
                                           const Context& context) {
  MANKAI_ASSIGN(auto basic, kMakeBasic({.bytes = bytes, .k = kHashes, .decay = drawn_decay(kLambda)}, context));
  basic->insert(visits);
  return function_errors(visits, counts, [&](Digest digest) { return basic->estimate(digest).raw; });
}

void judge_space(const DecayFunction& function, Findings& findings) {
  constexpr std::uint64_t kEpochs = 100;
  const std::uint64_t early = most_blocks(function, kEpochs);
  const std::uint64_t late = most_blocks(function, 10 * kEpochs);
  findings.judged({"decay-space-{}", function.id, function.words, early, late}, at_most(1),
                  exact(static_cast<double>(late) / static_cast<double>(early)));
}

}  // namespace

Result<void> measure_decay_functions(const Context& context, Findings& findings) {
  const std::uint64_t scale = context.trials(10, 1);
  const Visits visits =
      draw({.visits = 5'000'000 / scale, .pages = 500'000 / scale, .per_epoch = 50'000 / scale}, context);
  constexpr std::array<std::uint64_t, 3> kKilobytes = {256, 1024, 4096};
  Figure figure = findings.figure("decay-functions");
  std::vector<double> of_exponential;
  const auto add_series = [&figure](const char* words) {
    figure.series.push_back(
        {.title = words, .x = "KB", .y = "mean relative error", .is_line = true, .only = {{"decay function", words}}});
  };
  constexpr const char* kExponential = "exponential, λ = 0.9";
  const std::vector<double> exponential_counts = counts_by(exponential, visits);
  for (const std::uint64_t kilobytes : kKilobytes) {
    MANKAI_ASSIGN(const auto errors,
                  measure_exponential(visits, exponential_counts, kilobytes * 1024 / scale, context));
    add_row(figure, kExponential, kilobytes, 1, errors);
    of_exponential.push_back(errors.relative);
  }
  add_series(kExponential);
  for (const DecayFunction& function : kFunctions) {
    context.progress(fmt::format("decay functions, {}", function.id));
    const std::vector<double> counts = counts_by(function.weight, visits);
    const std::uint64_t blocks = most_blocks(function, visits.epochs.size());
    double least = std::numeric_limits<double>::infinity();
    std::uint64_t under = 0;
    std::uint64_t live = 0;
    for (std::size_t i = 0; i < kKilobytes.size(); ++i) {
      Blocked blocked(
          function,
          {.counters = kKilobytes[i] * 1024 / scale / (kCellBytes * blocks), .k = kHashes, .fault = context.fault});
      blocked.insert(visits);
      const FunctionErrors errors =
          function_errors(visits, counts, [&](Digest digest) { return blocked.estimate(digest); });
      add_row(figure, function.words, kKilobytes[i], blocks, errors);
      least = std::min(least, errors.relative / of_exponential[i]);
      under += errors.under;
      live += errors.live;
    }
    add_series(function.words);
    findings.judged({"decay-never-undercounts-{}", function.id, function.words, live}, equals(0), exact(under));
    findings.judged({"decay-error-{}", function.id, function.words}, at_least(1), exact(least));
    judge_space(function, findings);
  }
  findings.add(std::move(figure));
  return {};
}

}  // namespace mankai::lab::profiling
