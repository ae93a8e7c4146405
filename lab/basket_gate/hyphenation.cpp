#include <cmath>
#include <numbers>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lab/basket_gate/gate.hpp"
#include "lab/parts.hpp"

namespace mankai::lab::basket {
namespace {

constexpr double kExceptionShare = 0.1;
constexpr std::uint32_t kWordPhase = 6;

using Breaks = std::vector<std::size_t>;

bool is_vowel(char letter) { return std::string_view("aeiou").contains(letter); }

// The simple rule: a break between two consonants that are between vowels.
Breaks breaks_by_rule(std::string_view word) {
  Breaks breaks;
  for (std::size_t i = 1; i + 2 < word.size(); ++i) {
    if (is_vowel(word[i - 1]) && !is_vowel(word[i]) && !is_vowel(word[i + 1]) && is_vowel(word[i + 2])) {
      breaks.push_back(i + 1);
    }
  }
  return breaks;
}

std::string random_word(Random& random) {
  constexpr std::string_view kConsonants = "bcdfghjklmnprstvwz";
  constexpr std::string_view kVowels = "aeiou";
  std::string word;
  const auto add = [&](std::string_view letters) { word += letters[random.below(letters.size())]; };
  const std::uint64_t syllables = 3 + random.below(3);
  for (std::uint64_t i = 0; i < syllables; ++i) {
    add(kConsonants);
    add(kVowels);
    if (i + 1 < syllables && (i == 0 || random.chance(0.5))) {
      add(kConsonants);  // closes the syllable, so that the rule finds a break
    }
  }
  return word;
}

struct Language {
  std::vector<std::string> words;
  std::unordered_map<std::string, Breaks> dictionary{};  // of exceptions, on slow storage
};

// Every tenth word is an exception: the dictionary lacks its first break by the rule.
Language make_language(std::size_t count, Random& random) {
  Language language;
  std::unordered_set<std::string> known;
  while (language.words.size() < count) {
    std::string word = random_word(random);
    if (!known.insert(word).second) {
      continue;
    }
    if (language.words.size() % static_cast<std::size_t>(1 / kExceptionShare) == 0) {
      Breaks breaks = breaks_by_rule(word);
      breaks.erase(breaks.begin());
      language.dictionary[word] = std::move(breaks);
    }
    language.words.push_back(std::move(word));
  }
  return language;
}

struct Text {
  std::uint64_t words = 0;
  std::uint64_t accesses = 0;
  std::uint64_t wasted = 0;
  std::uint64_t wrong = 0;
};

// Hyphenates every word by the rule, or by the dictionary if the gate says maybe.
Text hyphenate(const Language& language, const Gate& gate) {
  Text text;
  const Hasher hasher = gate.filter().hasher();
  for (const std::string& word : language.words) {
    const auto entry = language.dictionary.find(word);
    const bool is_exception = entry != language.dictionary.end();
    const bool asks = gate.may_contain(hasher(std::string_view(word)));
    const Breaks truth = is_exception ? entry->second : breaks_by_rule(word);
    const Breaks answer = asks && is_exception ? entry->second : breaks_by_rule(word);
    ++text.words;
    text.accesses += static_cast<std::uint64_t>(asks);
    text.wasted += static_cast<std::uint64_t>(asks && !is_exception);
    text.wrong += static_cast<std::uint64_t>(answer != truth);
  }
  return text;
}

Result<Gate> gate_of(const Language& language, std::uint32_t phase, const Context& context) {
  MANKAI_ASSIGN(
      auto gate,
      make_under_test<Bloom>(
          {.keys = language.dictionary.size(), .fpr = std::exp2(-static_cast<double>(phase)), .k = phase}, context));
  for (const auto& [word, breaks] : language.dictionary) {
    gate.insert(gate.filter().hasher()(std::string_view(word)));
  }
  return gate;
}

double list_bytes(const Language& language) {
  std::size_t bytes = 0;
  for (const auto& [word, breaks] : language.dictionary) {
    bytes += word.size() + breaks.size() + 1;  // the hyphenated word and its end
  }
  return static_cast<double>(bytes);
}

void judge_text(const Text& text, const Gate& gate, const Language& language, Findings& findings) {
  const double rate = gate.filter().fpr_estimate();
  const double asked = kExceptionShare + (1 - kExceptionShare) * rate;
  const auto regular = text.words - language.dictionary.size();
  const Estimate wasted = share(text.wasted, regular);
  const Estimate accesses{.value = static_cast<double>(text.accesses) / static_cast<double>(text.words),
                          .error = (1 - kExceptionShare) * wasted.error};
  findings.judged({"never-a-wrong-hyphen", text.words, language.dictionary.size()}, equals(0), exact(text.wrong));
  findings.judged("simple-words-that-ask", equals(rate), wasted);
  findings.judged("dictionary-accesses", equals(asked), accesses);
  findings.judged("faster-than-slow-storage", equals(1 / asked), quotient({.value = 1}, accesses));
}

Result<void> measure_words(const Context& context, Findings& findings) {
  Random random(context.seed);
  const Language language = make_language(context.trials(60'000, 400'000), random);
  Figure figure = findings.figure("hyphenation");
  for (std::uint32_t phase = 1; phase <= 10; ++phase) {
    MANKAI_ASSIGN(const auto gate, gate_of(language, phase, context));
    const Text text = hyphenate(language, gate);
    const double bits =
        static_cast<double>(gate.filter().cell_count()) / static_cast<double>(language.dictionary.size());
    figure.rows.push_back({phase, bits, kExceptionShare + (1 - kExceptionShare) * gate.filter().fpr_estimate(),
                           static_cast<double>(text.accesses) / static_cast<double>(text.words),
                           (1 - kExceptionShare) * share(text.wasted, text.words - language.dictionary.size()).error,
                           text.wrong});
    if (phase == kWordPhase) {
      judge_text(text, gate, language, findings);
      findings.judged("less-space", at_most(1),
                      exact(static_cast<double>(gate.filter().cell_count()) / (8 * list_bytes(language))));
    }
  }
  findings.add(std::move(figure));
  return {};
}

void measure_bit_array(const Context& context, Findings& findings) {
  constexpr std::size_t kShoppers = std::size_t{1} << 20;
  Random random(context.seed);
  std::vector<bool> bits(kShoppers);
  std::unordered_set<std::size_t> filled;
  for (std::size_t i = 0; i < static_cast<std::size_t>(kFilled * kShoppers); ++i) {
    const auto shopper = static_cast<std::size_t>(random.below(kShoppers));
    filled.insert(shopper);
    bits[shopper] = true;
  }
  const auto is_wrong = [&](std::size_t shopper) { return bits[shopper] != filled.contains(shopper); };
  findings.judged("bit-array-is-exact", equals(0), exact(count_of(0, kShoppers, is_wrong)));
  const double bits_per_basket = static_cast<double>(kShoppers) / static_cast<double>(filled.size());
  const double filter_bits = -std::log2(0.01) / std::numbers::ln2;
  findings.undecided("bit-array-needs-an-index", at_least(filter_bits), exact(bits_per_basket));
}

}  // namespace

Result<void> measure_hyphenation(const Context& context, Findings& findings) {
  measure_bit_array(context, findings);
  return measure_words(context, findings);
}

}  // namespace mankai::lab::basket
