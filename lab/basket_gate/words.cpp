#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "examples/words/word_rules.hpp"
#include "lab/basket_gate/gate.hpp"
#include "lab/basket_gate/table.hpp"
#include "lab/counted_memory.hpp"
#include "lab/outside.hpp"
#include "lab/parts.hpp"

namespace mankai::lab::basket {
namespace {

using word_rules::Task;

constexpr std::uint32_t kWordPhase = 6;

bool is_exception(const Task& task, const std::string& word) { return task.exceptions.contains(word); }

struct Text {
  std::uint64_t words = 0;
  std::uint64_t exceptions = 0;
  std::uint64_t accesses = 0;
  std::uint64_t wasted = 0;
  std::uint64_t wrong = 0;

  [[nodiscard]] double exception_share() const { return static_cast<double>(exceptions) / static_cast<double>(words); }
};

// Writes every word by the rule, or by the dictionary if the gate says maybe.
Text write(const Task& task, const Gate& gate) {
  Text text;
  const Hasher hasher = gate.filter().hasher();
  for (const std::string& word : task.words) {
    const bool asks = gate.may_contain(hasher(std::string_view(word)));
    const auto entry = task.exceptions.find(word);
    const bool is_listed = entry != task.exceptions.end();
    ++text.words;
    text.exceptions += is_listed ? 1U : 0U;
    text.accesses += asks ? 1U : 0U;
    text.wasted += asks && !is_listed ? 1U : 0U;
    text.wrong += is_listed && (asks ? entry->second : task.rule(word)) != entry->second ? 1U : 0U;
  }
  return text;
}

Result<Gate> gate_of(const Task& task, std::uint32_t phase, const Context& context, Memory memory = system_memory()) {
  MANKAI_ASSIGN(
      auto gate,
      make_under_test<Bloom>(
          {.keys = task.exceptions.size(), .fpr = std::exp2(-static_cast<double>(phase)), .k = phase, .memory = memory},
          context));
  for (const auto& [word, written] : task.exceptions) {
    gate.insert(gate.filter().hasher()(std::string_view(word)));
  }
  return gate;
}

// The file of exceptions as a one-to-one table would hold it: the words as they are to be written, one a line.
double list_bytes(const Task& task) {
  std::size_t bytes = 0;
  for (const auto& [word, written] : task.exceptions) {
    bytes += written.size() + 1;
  }
  return static_cast<double>(bytes);
}

// Pages read from SQLite files with little memory. Without the filter every word is looked up in a table of all words.
Result<double> pages_saved(const Task& task, const Gate& gate, const Context& context) {
  constexpr int kCachePages = 16;
  MANKAI_ASSIGN(const auto folder, TemporaryFolder::create());
  std::unordered_map<std::string, std::string> all;
  for (const std::string& word : task.words) {
    all[word] = is_exception(task, word) ? task.exceptions.at(word) : task.rule(word);
  }
  MANKAI_ASSIGN(auto table, Table::create(folder.file("all"), all));
  MANKAI_ASSIGN(auto exceptions, Table::create(folder.file("exceptions"), task.exceptions));
  MANKAI_TRY(table.set_cache(kCachePages));
  MANKAI_TRY(exceptions.set_cache(kCachePages));
  const std::uint64_t before = table.pages_read();
  const std::uint64_t before_exceptions = exceptions.pages_read();
  Random random(context.seed);
  for (std::uint64_t i = 0; i < context.trials(20'000, 400'000); ++i) {
    const std::string& word = task.words[random.below(task.words.size())];
    MANKAI_TRY(table.value_of(word));
    if (gate.may_contain(gate.filter().hasher()(std::string_view(word)))) {
      MANKAI_TRY(exceptions.value_of(word));
    }
  }
  return static_cast<double>(table.pages_read() - before) /
         static_cast<double>(exceptions.pages_read() - before_exceptions);
}

Result<void> judge_task(const Task& task, const std::string& name, const Context& context, Findings& findings) {
  CountedMemory memory;
  MANKAI_ASSIGN(const auto gate, gate_of(task, kWordPhase, context, memory.memory()));
  const Text text = write(task, gate);
  const double rate = gate.filter().fpr_estimate();
  const double asked = text.exception_share() + (1 - text.exception_share()) * rate;
  findings.judged({"never-wrong-{}", name, text.words, text.exceptions}, equals(0), exact(text.wrong));
  findings.judged({"simple-words-that-ask-{}", name}, equals(rate), share(text.wasted, text.words - text.exceptions));
  findings.judged({"less-space-{}", name, task.exceptions.size()}, at_most(1),
                  exact(memory.bytes() / list_bytes(task)));
  MANKAI_ASSIGN(const auto saved, pages_saved(task, gate, context));
  findings.judged({"faster-than-slow-storage-{}", name}, at_least(1 / asked), exact(saved));
  return {};
}

// The share of words that the rule solves.
void judge_rule(const Task& task, const std::string& name, Findings& findings) {
  const std::uint64_t simple =
      count_of(0, task.words.size(), [&](std::uint64_t i) { return !is_exception(task, task.words[i]); });
  findings.judged("majority-is-simple-" + name, at_least(0.5),
                  exact(static_cast<double>(simple) / static_cast<double>(task.words.size())));
}

void skip_task(const std::string& name, Findings& findings) {
  const auto skip = [&findings](const Entry& entry, const Expected& expected) {
    findings.skipped(entry, expected, Missing::word_list);
  };
  skip("majority-is-simple-" + name, at_least(0.5));
  skip({"never-wrong-{}", name, 0, 0}, equals(0));
  skip({"simple-words-that-ask-{}", name}, equals(std::exp2(-static_cast<double>(kWordPhase))));
  skip({"less-space-{}", name, 0}, at_most(1));
  skip({"faster-than-slow-storage-{}", name}, at_least(1));
}

Result<void> add_rows(Figure& figure, const Task& task, const std::string& name, const Context& context) {
  for (std::uint32_t phase = 1; phase <= 10; ++phase) {
    MANKAI_ASSIGN(const auto gate, gate_of(task, phase, context));
    const Text text = write(task, gate);
    const double simple = 1 - text.exception_share();
    figure.rows.push_back(
        {name, phase, static_cast<double>(gate.filter().cell_count()) / static_cast<double>(task.exceptions.size()),
         text.exception_share() + simple * gate.filter().fpr_estimate(),
         static_cast<double>(text.accesses) / static_cast<double>(text.words),
         simple * share(text.wasted, text.words - text.exceptions).error, text.wrong});
  }
  return {};
}

// A bit array with a place for every element of the data: of array data, and of random cookies.
void measure_bit_array(const Context& context, Findings& findings) {
  constexpr std::uint64_t kElements = std::uint64_t{1} << 18;
  constexpr std::uint64_t kBitsOfCookie = 64;
  Random random(context.seed);
  std::unordered_set<std::uint64_t> numbers;
  std::vector<bool> bits(kElements);
  std::vector<std::uint64_t> cookies(kElements);
  for (std::uint64_t number = 0; number < kElements; ++number) {
    if (random.chance(0.5)) {
      numbers.insert(number);
      bits[number] = true;
    }
    cookies[number] = random.next();
  }
  findings.judged(
      "bit-array-is-exact", equals(0),
      exact(count_of(0, bits.size(), [&](std::uint64_t number) { return bits[number] != numbers.contains(number); })));
  // The fewest leading bits that tell all cookies apart; each value of them is a place of the array.
  std::ranges::sort(cookies);
  std::uint64_t alike = 0;
  for (std::size_t i = 1; i < cookies.size(); ++i) {
    alike = std::max<std::uint64_t>(alike, static_cast<std::uint64_t>(std::countl_zero(cookies[i] ^ cookies[i - 1])));
  }
  const double array_of_cookies = std::exp2(static_cast<double>(std::min(alike + 1, kBitsOfCookie)));
  findings.depends("bit-array-suits-arrays", {at_most(1), exact(static_cast<double>(bits.size()) / kElements)},
                   {at_most(1), exact(array_of_cookies / kElements)});
}

}  // namespace

Result<void> measure_words(const Context& context, Findings& findings) {
  measure_bit_array(context, findings);
  if (!word_rules::are_installed()) {
    skip_task("hyphenation", findings);
    skip_task("capitalization", findings);
    return {};
  }
  const Task hyphenation = word_rules::hyphenation();
  const Task capitalization = word_rules::capitalization();
  Figure figure = findings.figure("words");
  for (const auto& [name, task] :
       {std::pair{"hyphenation", &hyphenation}, std::pair{"capitalization", &capitalization}}) {
    judge_rule(*task, name, findings);
    MANKAI_TRY(judge_task(*task, name, context, findings));
    MANKAI_TRY(add_rows(figure, *task, name, context));
  }
  findings.add(std::move(figure));
  return {};
}

}  // namespace mankai::lab::basket
