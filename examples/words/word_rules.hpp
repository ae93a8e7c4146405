#pragma once

/// Two tasks of Bloom's example of 1970 on real words: a simple rule solves most words, and a dictionary of exceptions
/// has the others. Hyphenation: TeX's patterns, and the exceptions that its users reported (Debian's groff-base has
/// both). Capitalization: words are written in lower case, and names are the exceptions (Debian's wamerican).

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace word_rules {

inline constexpr const char* kWords = "/usr/share/dict/words";
inline constexpr const char* kPatterns = "/usr/share/groff/current/tmac/hyphen.us";
inline constexpr const char* kExceptions = "/usr/share/groff/current/tmac/hyphenex.us";

inline bool are_installed() {
  return std::ranges::all_of(std::vector{kWords, kPatterns, kExceptions},
                             [](const char* file) { return std::filesystem::exists(file); });
}

/// What a program needs to write words: as `exceptions` has them, and else by the rule.
struct Task {
  std::vector<std::string> words;  ///< in lower case, each once
  std::function<std::string(std::string_view)> rule;
  std::unordered_map<std::string, std::string> exceptions{};
};

inline char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}
inline bool is_letter(char sign) { return lower(sign) >= 'a' && lower(sign) <= 'z'; }

inline std::string lower(std::string word) {
  for (char& letter : word) {
    letter = lower(letter);
  }
  return word;
}

/// Returns the words of the system's list that are letters only: no possessives.
inline std::vector<std::string> word_list() {
  std::ifstream file(kWords);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word);) {
    if (std::ranges::all_of(word, is_letter)) {
      words.push_back(word);
    }
  }
  return words;
}

/// Returns what a file of TeX has in `\name{…}`.
inline std::vector<std::string> tex_list(const char* path, std::string_view name) {
  std::ifstream file(path);
  std::vector<std::string> entries;
  bool is_inside = false;
  for (std::string line; std::getline(file, line);) {
    line.erase(std::min(line.find('%'), line.size()));
    line.erase(std::remove(line.begin(), line.end(), ' '), line.end());
    if (line.starts_with('\\')) {
      is_inside = line == '\\' + std::string(name) + '{';
    } else if (line == "}") {
      is_inside = false;
    } else if (is_inside && !line.empty()) {
      entries.push_back(line);
    }
  }
  return entries;
}

/// Liang's algorithm: each pattern weighs the places between its letters, the highest weight counts, and an odd one is
/// a hyphen; none before the third letter or after the third to last.
class Patterns {
 public:
  explicit Patterns(const std::vector<std::string>& patterns) {
    for (const std::string& pattern : patterns) {
      std::string letters;
      std::vector<int> weights(1);
      for (const char sign : pattern) {
        if (sign >= '0' && sign <= '9') {
          weights.back() = sign - '0';
        } else {
          letters += sign;
          weights.push_back(0);
        }
      }
      longest_ = std::max(longest_, letters.size());
      weights_[letters] = weights;
    }
  }

  [[nodiscard]] std::string hyphenate(std::string_view word) const {
    const std::string framed = "." + std::string(word) + ".";
    std::vector<int> highest(framed.size() + 1);
    for (std::size_t from = 0; from < framed.size(); ++from) {
      for (std::size_t length = 1; length <= std::min(longest_, framed.size() - from); ++length) {
        const auto found = weights_.find(framed.substr(from, length));
        for (std::size_t i = 0; found != weights_.end() && i < found->second.size(); ++i) {
          highest[from + i] = std::max(highest[from + i], found->second[i]);
        }
      }
    }
    std::string hyphenated;
    for (std::size_t i = 0; i < word.size(); ++i) {
      if (i >= 2 && i + 3 <= word.size() && highest[i + 1] % 2 == 1) {
        hyphenated += '-';
      }
      hyphenated += word[i];
    }
    return hyphenated;
  }

 private:
  std::unordered_map<std::string, std::vector<int>> weights_{};
  std::size_t longest_ = 0;
};

/// Returns the task of hyphenating the words that the list has in lower case.
inline Task hyphenation() {
  Task task{.words = word_list(),
            .rule = [patterns = Patterns(tex_list(kPatterns, "patterns"))](std::string_view word) {
              return patterns.hyphenate(word);
            }};
  std::erase_if(task.words, [](const std::string& word) { return word != lower(word); });
  for (const char* const file : {kPatterns, kExceptions}) {
    for (const std::string& hyphenated : tex_list(file, "hyphenation")) {
      std::string word = lower(hyphenated);
      std::erase(word, '-');
      if (task.rule(word) != lower(hyphenated)) {
        task.exceptions[word] = lower(hyphenated);
      }
    }
  }
  return task;
}

/// Returns the task of writing a word as the list does. Its lower case form is right if the list has it.
inline Task capitalization() {
  Task task{.words = {}, .rule = [](std::string_view word) { return std::string(word); }};
  const std::vector<std::string> list = word_list();
  const std::unordered_set<std::string> written(list.begin(), list.end());
  std::unordered_set<std::string> known;
  for (const std::string& word : list) {
    if (known.insert(lower(word)).second) {
      task.words.push_back(lower(word));
    }
    if (!written.contains(lower(word))) {
      task.exceptions.try_emplace(lower(word), word);
    }
  }
  return task;
}

}  // namespace word_rules
