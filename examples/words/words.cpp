// Hyphenates or capitalizes text as in Bloom's example of 1970: a simple rule for most words, and a dictionary of
// exceptions that is asked only if a small Bloom filter in memory says that it may have the word.
//
//     echo "the academy of paris" | words capitalize     ->  the academy of Paris
//     echo "the academy of paris" | words hyphenate      ->  the acad-e-my of paris
//
// Needs Debian's wamerican and groff-base. Prints to standard error how often the dictionary was asked. It ends with 1
// if a word was written otherwise than by the dictionary, which a filter without false negatives rules out.

#include <cstdint>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

#include "examples/words/word_rules.hpp"
#include "mankai/filter/bloom/bloom.hpp"

namespace {

struct Counts {
  std::uint64_t words = 0;
  std::uint64_t lookups = 0;
  std::uint64_t exceptions = 0;
  std::uint64_t wrong = 0;
};

std::string write(const std::string& word, const word_rules::Task& task, const mankai::Bloom& filter, Counts& counts) {
  std::string written = task.rule(word);
  const auto entry = task.exceptions.find(word);
  const bool is_exception = entry != task.exceptions.end();
  ++counts.words;
  counts.exceptions += is_exception ? 1U : 0U;
  if (filter.may_contain(filter.hasher()(std::string_view(word)))) {
    ++counts.lookups;  // here a program would read the dictionary from its disk
    written = is_exception ? entry->second : written;
  }
  counts.wrong += is_exception && written != entry->second ? 1U : 0U;
  return written;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc == 2 ? argv[1] : "";
  if (name != "hyphenate" && name != "capitalize") {
    std::cerr << "usage: words hyphenate|capitalize < TEXT\n";
    return 2;
  }
  if (!word_rules::are_installed()) {
    std::cerr << "words: no word list or no hyphenation patterns; install the packages wamerican and groff-base\n";
    return 3;
  }
  const word_rules::Task task = name == "hyphenate" ? word_rules::hyphenation() : word_rules::capitalization();
  auto filter = mankai::Bloom::create({.keys = task.exceptions.size(), .fpr = 0.01});
  if (!filter) {
    std::cerr << "words: " << filter.error().message() << '\n';
    return 1;
  }
  for (const auto& [word, written] : task.exceptions) {
    filter->insert(filter->hasher()(std::string_view(word)));
  }
  Counts counts;
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  std::string word;
  for (const char sign : text) {
    if (word_rules::is_letter(sign)) {
      word += word_rules::lower(sign);
      continue;
    }
    std::cout << (word.empty() ? word : write(word, task, *filter, counts)) << sign;
    word.clear();
  }
  std::cout << (word.empty() ? word : write(word, task, *filter, counts));
  std::cerr << counts.words << " words, " << counts.exceptions << " of them exceptions; " << counts.lookups
            << " dictionary lookups\n";
  return counts.wrong == 0 ? 0 : 1;
}
