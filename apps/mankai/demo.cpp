#include <fmt/format.h>

#include <array>
#include <chrono>

#include "apps/mankai/format.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/baseline/exact_sets.hpp"
#include "mankai/service/seen.hpp"
#include "mankai/stream/line_reader.hpp"
#include "mankai/stream/url_generator.hpp"

namespace mankai::command {
namespace {

constexpr double kPromisedRate = 0.01;
constexpr std::size_t kBatch = kBatchLinesMax;
constexpr std::size_t kExamples = 3;

struct Request {
  std::uint64_t count = 1'000'000;
  std::optional<std::uint64_t> seed;
  bool json = false;
};

struct Stream {
  std::string bytes;
  std::vector<std::string_view> urls;
  std::vector<bool> is_repeat;  // by the generator, which knows without looking anything up
  std::uint64_t distinct = 0;
};

struct Answers {
  std::vector<bool> seen;
  double seconds = 0;
  std::uint64_t memory_bytes = 0;
};

struct Verdict {
  std::uint64_t repeats = 0;
  std::uint64_t repeats_missed = 0;
  std::uint64_t firsts_lost = 0;
  std::vector<std::size_t> examples;
};

Result<Stream> generate(const Request& request, std::uint64_t seed) {
  auto generator = UrlGenerator::create({.count = request.count, .seed = seed});
  if (!generator) {
    return std::unexpected(generator.error());
  }
  Stream stream;
  std::vector<std::size_t> ends;
  while (generator->has_next()) {
    stream.is_repeat.push_back(generator->append_next(stream.bytes).is_repeat);
    ends.push_back(stream.bytes.size());
  }
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    stream.urls.push_back(std::string_view(stream.bytes).substr(begin, end - begin));
    begin = end;
  }
  stream.distinct = generator->distinct_so_far();
  return stream;
}

template <class Work>
double seconds_of(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Result<Answers> ask_mankai(const Stream& stream, std::uint64_t seed) {
  auto seen = Seen::create({.keys = stream.distinct, .fpr = kPromisedRate, .seed = {{seed, 0}}});
  if (!seen) {
    return std::unexpected(seen.error());
  }
  Answers answers;
  Result<void> observed;
  answers.seen.reserve(stream.urls.size());
  answers.seconds = seconds_of([&] {
    std::array<bool, kBatch> outcomes{};
    for (std::size_t i = 0; i < stream.urls.size() && observed; i += kBatch) {
      const auto batch = std::span(stream.urls).subspan(i, std::min(kBatch, stream.urls.size() - i));
      const auto seen_before = std::span(outcomes).first(batch.size());
      observed = seen->observe(batch, seen_before);
      answers.seen.insert(answers.seen.end(), seen_before.begin(), seen_before.end());
    }
  });
  if (!observed) {
    return std::unexpected(observed.error());
  }
  answers.memory_bytes = describe(seen->filter()).image_bytes;
  return answers;
}

// What each key costs in a hash set of strings: a node, its bucket, and the bytes that do not fit into the string.
std::uint64_t exact_bytes(const Stream& stream) {
  constexpr std::uint64_t kNodeAndBucket = 64;
  constexpr std::uint64_t kInPlace = 15;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < stream.urls.size(); ++i) {
    if (!stream.is_repeat[i]) {
      bytes += kNodeAndBucket + (stream.urls[i].size() > kInPlace ? stream.urls[i].size() + 1 : 0);
    }
  }
  return bytes;
}

Answers ask_exact(const Stream& stream) {
  Answers answers;
  answers.seen.reserve(stream.urls.size());
  baseline::HashSet set;
  answers.seconds = seconds_of([&] {
    for (const std::string_view url : stream.urls) {
      answers.seen.push_back(set.observe(url));
    }
  });
  answers.memory_bytes = exact_bytes(stream);
  return answers;
}

Verdict compare(const Answers& mankai, const Answers& exact) {
  Verdict verdict;
  std::array<std::size_t, 3> shown{};
  for (std::size_t i = 0; i < exact.seen.size(); ++i) {
    const bool is_lost = mankai.seen[i] && !exact.seen[i];
    verdict.repeats += static_cast<std::uint64_t>(exact.seen[i]);
    verdict.repeats_missed += static_cast<std::uint64_t>(exact.seen[i] && !mankai.seen[i]);
    verdict.firsts_lost += static_cast<std::uint64_t>(is_lost);
    // A few of each: right about a repeat, right about a new one, wrong.
    std::size_t& count = shown[is_lost ? 2 : static_cast<std::size_t>(exact.seen[i])];
    if (count < kExamples) {
      ++count;
      verdict.examples.push_back(i);
    }
  }
  return verdict;
}

double per_second(const Stream& stream, const Answers& answers) {
  return static_cast<double>(stream.urls.size()) / answers.seconds;
}

std::string example(const Stream& stream, const Answers& mankai, const Answers& exact, std::size_t i) {
  const auto word = [](bool seen) { return seen ? "repeat" : "new"; };
  std::string_view url = stream.urls[i];
  constexpr std::size_t kWidth = 64;
  const std::string shown = url.size() > kWidth ? std::string(url.substr(0, kWidth - 1)) + "…" : std::string(url);
  return fmt::format("  {:>9}  {:<6}  {:<6}  {}{}\n", human_count(i + 1), word(mankai.seen[i]), word(exact.seen[i]),
                     shown, mankai.seen[i] == exact.seen[i] ? "" : "   <- lost");
}

std::string report_text(const Stream& stream, const Answers& mankai, const Answers& exact, const Verdict& verdict) {
  const double lost_share = static_cast<double>(verdict.firsts_lost) / static_cast<double>(stream.distinct);
  std::string text = fmt::format(
      "Have I seen it? {} URLs, {:.0f} % of them repeats; a filter for {} keys at {} beside an exact set.\n\n",
      human_count(stream.urls.size()),
      100 * static_cast<double>(verdict.repeats) / static_cast<double>(stream.urls.size()),
      human_count(stream.distinct), human_share(kPromisedRate));
  const auto line = [&text](std::string_view what, const std::string& ours, const std::string& truth) {
    text += fmt::format("  {:<34} {:>16} {:>16}\n", what, ours, truth);
  };
  line("", "mankai", "exact set");
  line("told new", human_count(stream.distinct - verdict.firsts_lost), human_count(stream.distinct));
  line("told repeat", human_count(verdict.repeats - verdict.repeats_missed + verdict.firsts_lost),
       human_count(verdict.repeats));
  line("repeats missed", human_count(verdict.repeats_missed), "0");
  line("new ones taken for repeats", human_count(verdict.firsts_lost), "0");
  line("  as a share (promised: at most 1 %)", human_share(lost_share), "0 %");
  line("memory", human_bytes(mankai.memory_bytes), human_bytes(exact.memory_bytes));
  line("URLs a second", human_count(static_cast<std::uint64_t>(per_second(stream, mankai))),
       human_count(static_cast<std::uint64_t>(per_second(stream, exact))));
  text += fmt::format("\n  {:.0f} times less memory, {:.1f} times the speed.\n\n  {:>9}  {:<6}  {:<6}  URL\n",
                      static_cast<double>(exact.memory_bytes) / static_cast<double>(mankai.memory_bytes),
                      exact.seconds / mankai.seconds, "number", "mankai", "truth");
  for (const std::size_t i : verdict.examples) {
    text += example(stream, mankai, exact, i);
  }
  text +=
      "\nTry next:\n"
      "  mankai gen urls --count 5M > urls.txt\n"
      "  mankai dedup --count urls.txt > unique.txt\n"
      "  mankai plan --keys 10M --fpr 0.1%\n"
      "  mankai --help\n";
  return text;
}

std::string report_json(const Stream& stream, const Answers& mankai, const Answers& exact, const Verdict& verdict) {
  Report report;
  report.add("urls", std::uint64_t{stream.urls.size()});
  report.add("distinct", stream.distinct);
  report.add("repeats", verdict.repeats);
  report.add("repeats_missed", verdict.repeats_missed);
  report.add("firsts_lost", verdict.firsts_lost);
  report.add("lost_share", static_cast<double>(verdict.firsts_lost) / static_cast<double>(stream.distinct));
  report.add("promised_rate", kPromisedRate);
  report.add("filter_bytes", mankai.memory_bytes);
  report.add("exact_bytes", exact.memory_bytes);
  report.add("filter_urls_per_second", per_second(stream, mankai));
  report.add("exact_urls_per_second", per_second(stream, exact));
  return report.json();
}

Result<int> run(const Request& request) {
  constexpr std::uint64_t kDefaultSeed = 1;
  const std::uint64_t seed = request.seed.value_or(kDefaultSeed);
  if (request.count == 0) {
    return fail(ErrorCode::invalid_argument, "--count: a stream needs at least one URL");
  }
  const auto stream = generate(request, seed);
  if (!stream) {
    return std::unexpected(stream.error());
  }
  const auto mankai = ask_mankai(*stream, seed);
  if (!mankai) {
    return std::unexpected(mankai.error());
  }
  const Answers exact = ask_exact(*stream);
  const Verdict verdict = compare(*mankai, exact);
  Output output;
  output.append(request.json ? report_json(*stream, *mankai, exact, verdict)
                             : report_text(*stream, *mankai, exact, verdict));
  if (auto finished = output.finish(); !finished) {
    return std::unexpected(finished.error());
  }
  return 0;
}

Result<std::uint64_t> parse_seed_number(std::string_view text) {
  const auto seed = parse_seed(text);
  if (!seed || (*seed)[1] != 0) {
    return fail(ErrorCode::invalid_argument, "'" + std::string(text) + "' is wrong: give a 64-bit number");
  }
  return (*seed)[0];
}

}  // namespace

Subcommand demo_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "demo",
      .summary = "a tour: a million URLs, the answers beside the exact truth",
      .description =
          "Generates a stream of URLs, asks a filter and an exact set of each whether it came before, and shows the "
          "answers, the memory and the speed of both side by side.",
      .examples = {{"mankai demo", "takes a few seconds"}, {"mankai demo --count 10M --json", "more, for programs"}},
  };
  command.options = {
      parsed_option("--count", "N", "How many URLs. 1M unless given.", parse_count, request->count),
      parsed_option("--seed", "S", "Another seed gives other URLs. 1 unless given.", parse_seed_number, request->seed),
      flag("--json", "Prints a JSON object.", request->json)};
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command
