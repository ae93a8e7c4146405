#pragma once

/// RedisBloom's commands on our values, as far as the fixtures need them: what a server of 2.8.20 replies.

#include <cctype>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "mankai/takeover/count_min.hpp"
#include "mankai/takeover/cuckoo_chain.hpp"
#include "mankai/takeover/heavy_keeper.hpp"
#include "mankai/takeover/takeover_test_support.hpp"

namespace mankai::takeover::test {

using Words = std::vector<std::string>;

/// A word of a command, or a bulk string of a reply: text, or bytes in hex.
inline std::string text_of(const Json& word) {
  if (word.is_string()) {
    return word.get<std::string>();
  }
  return word.contains("hex") ? from_hex(word["hex"].get<std::string>()) : word["bulk"].get<std::string>();
}

class Replay {
 public:
  std::map<std::string, CuckooChain> cuckoos;
  std::map<std::string, CountMin> sketches;
  std::map<std::string, HeavyKeeper> tops;

  /// Whether the key's family is one of these.
  static bool has(const std::string& command) { return !command.starts_with("BF.") && !command.starts_with("bf."); }

  Json run(const Words& words) {
    const std::string& name = words[0];
    if (name.starts_with("CF.")) {
      return run_cuckoo(name.substr(3), words);
    }
    return name.starts_with("CMS.") ? run_sketch(name.substr(4), words) : run_top(name.substr(5), words);
  }

  /// Runs a step of the fixtures, and expects the answers that it has.
  void run_step(const Json& step) {
    if (step.contains("do")) {
      EXPECT_EQ(run(words_of(step["do"])), step["reply"]) << step["do"];
      return;
    }
    const bool is_each = step.contains("each");
    const Words command = words_of(step[is_each ? "each" : "many"]);
    const Items all(step["items"]);
    const std::span<const std::string_view> items = all.views();
    const std::size_t size = is_each ? 1 : step["size"].get<std::size_t>();
    std::string answers;
    for (std::size_t i = 0; i < items.size(); i += size) {
      Words words = command;
      words.insert(words.end(), items.begin() + static_cast<std::ptrdiff_t>(i),
                   items.begin() + static_cast<std::ptrdiff_t>(std::min(i + size, items.size())));
      const Json reply = run(words);
      for (const Json& answer : reply.is_array() ? reply : Json::array({reply})) {
        answers += letter(answer, step["errors"]);
      }
    }
    EXPECT_EQ(answers, step["answers"].get<std::string>()) << command[0] << " " << command[1];
  }

 private:
  static Words words_of(const Json& words) {
    Words all;
    for (const Json& word : words) {
      all.push_back(text_of(word));
    }
    return all;
  }

  static char letter(const Json& answer, const Json& errors) {
    if (answer.is_number()) {
      return answer == -1 ? 'n' : static_cast<char>('0' + answer.get<int>());
    }
    for (const auto& [letter, text] : errors.items()) {
      if (answer == text) {
        return letter[0];
      }
    }
    ADD_FAILURE() << "unexpected answer " << answer;
    return '?';
  }

  Json run_cuckoo(const std::string& name, const Words& words) {
    const std::string& key = words[1];
    if (name == "RESERVE") {
      return reserve_cuckoo(words);
    }
    if (name == "DEL") {
      return cuckoos.at(key).remove(words[2]) ? 1 : 0;
    }
    if (name == "COMPACT") {
      cuckoos.at(key).compact();
      return "+OK";
    }
    if (name.starts_with("INSERT")) {
      return insert(name, words);
    }
    Json reply = add(name, key, std::span(words).subspan(2), 1024);
    if (reply.is_array()) {
      return reply[0] == -1 ? Json("-Filter is full") : reply[0];
    }
    return reply;
  }

  Json reserve_cuckoo(const Words& words) {
    std::map<std::string, std::uint16_t> options = {{"BUCKETSIZE", 2}, {"MAXITERATIONS", 20}, {"EXPANSION", 1}};
    for (std::size_t i = 3; i + 1 < words.size(); i += 2) {
      options[words[i]] = static_cast<std::uint16_t>(std::stoi(words[i + 1]));
    }
    make_cuckoo(words[1], CuckooShape::of_capacity(std::stoull(words[2]), options["BUCKETSIZE"],
                                                   options["MAXITERATIONS"], options["EXPANSION"]));
    return "+OK";
  }

  /// Words count by their first letters, as RedisBloom parses them.
  Json insert(const std::string& name, const Words& words) {
    std::size_t first = 2;
    std::uint64_t capacity = 1024;
    for (; std::tolower(words[first][0]) != 'i'; ++first) {
      if (std::tolower(words[first][0]) == 'c') {
        capacity = std::stoull(words[++first]);
      }
    }
    return add(name, words[1], std::span(words).subspan(first + 1), capacity);
  }

  Json add(const std::string& name, const std::string& key, std::span<const std::string> items,
           std::uint64_t capacity) {
    if (!cuckoos.contains(key)) {
      make_cuckoo(key, CuckooShape::of_capacity(capacity));
    }
    CuckooChain& filter = cuckoos.at(key);
    if (filter.has_reached(32)) {
      return "-Maximum expansions reached";
    }
    Json replies = Json::array();
    for (const std::string& item : items) {
      const CuckooAdded added = (name.ends_with("NX") ? filter.add_nx(item) : filter.add(item)).value();
      replies.push_back(added == CuckooAdded::full ? -1 : added == CuckooAdded::added ? 1 : 0);
    }
    return replies;
  }

  void make_cuckoo(const std::string& key, const Result<CuckooShape>& shape) {
    cuckoos.insert_or_assign(key, *CuckooChain::create(*shape));
  }

  Json run_sketch(const std::string& name, const Words& words) {
    const std::string& key = words[1];
    if (name.starts_with("INIT")) {
      const CountMinShape shape = name == "INITBYDIM"
                                      ? CountMinShape{.width = std::stoull(words[2]), .depth = std::stoull(words[3])}
                                      : CountMinShape::of_error(std::stod(words[2]), std::stod(words[3]));
      sketches.insert_or_assign(key, *CountMin::create(shape));
      return "+OK";
    }
    CountMin& sketch = sketches.at(key);
    if (name == "INCRBY") {
      Json replies = Json::array();
      for (std::size_t i = 2; i + 1 < words.size(); i += 2) {
        const CountMin::Count count = sketch.increment(words[i], std::stoll(words[i + 1]));
        replies.push_back(count ? Json(*count) : Json("-CMS: INCRBY overflow"));
      }
      return replies;
    }
    const std::size_t count = std::stoull(words[2]);
    std::vector<const CountMin*> sources;
    std::vector<std::int64_t> weights;
    for (std::size_t i = 0; i < count; ++i) {
      sources.push_back(&sketches.at(words[3 + i]));
      weights.push_back(words.size() > 3 + count ? std::stoll(words[4 + count + i]) : 1);
    }
    return sketch.merge(sources, weights) ? "+OK" : "-CMS: MERGE overflow";
  }

  Json run_top(const std::string& name, const Words& words) {
    const std::string& key = words[1];
    if (name == "RESERVE") {
      HeavyKeeperShape shape{.most = static_cast<std::uint32_t>(std::stoul(words[2]))};
      if (words.size() == 6) {
        shape.width = static_cast<std::uint32_t>(std::stoul(words[3]));
        shape.depth = static_cast<std::uint32_t>(std::stoul(words[4]));
        shape.decay = std::stod(words[5]);
      }
      tops.insert_or_assign(key, *HeavyKeeper::create(shape));
      return "+OK";
    }
    Json replies = Json::array();
    const std::size_t step = name == "ADD" ? 1 : 2;
    for (std::size_t i = 2; i + step <= words.size(); i += step) {
      if (step == 2 && words[i + 1].find_first_not_of("0123456789") != std::string::npos) {
        replies.push_back("-TopK: increment must be an integer greater or equal to 0" + std::string(28, ' ') +
                          "and smaller or equal to 100,000");
        break;
      }
      const auto by = step == 1 ? 1U : static_cast<std::uint32_t>(std::stoul(words[i + 1]));
      const auto expelled = tops.at(key).add(words[i], by);
      replies.push_back(expelled ? Json{{"bulk", *expelled}} : Json());
    }
    return replies;
  }
};

}  // namespace mankai::takeover::test
