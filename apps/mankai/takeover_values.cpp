#include "apps/mankai/takeover_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "apps/mankai/report.hpp"
#include "mankai/base/number.hpp"

namespace mankai::command {
namespace {

using Outcome = ValueComparison::Outcome;
using Type = RedisReply::Type;

struct TypeFamily {
  std::string_view type;
  std::string_view family;
  std::string_view chunks = {};  // the command that returns all bytes in pieces; none: DUMP does
};
constexpr std::array kFilters = {
    TypeFamily{.type = "MBbloom--", .family = "BF", .chunks = "BF.SCANDUMP"},
    TypeFamily{.type = "mankai-bf", .family = "BF", .chunks = "BF.SCANDUMP"},
    TypeFamily{.type = "bloomfltr", .family = "BF"},
    TypeFamily{.type = "mankai-cv", .family = "BF"},
    TypeFamily{.type = "MBbloomCF", .family = "CF", .chunks = "CF.SCANDUMP"},
    TypeFamily{.type = "mankai-cf", .family = "CF", .chunks = "CF.SCANDUMP"},
    TypeFamily{.type = "CMSk-TYPE", .family = "CMS"},
    TypeFamily{.type = "mankai-cm", .family = "CMS"},
    TypeFamily{.type = "mankai-cs", .family = "CMS"},
    TypeFamily{.type = "TopK-TYPE", .family = "TOPK"},
    TypeFamily{.type = "mankai-tk", .family = "TOPK"},
};

// Commands that return a size.
constexpr std::array kSizes = {
    TypeFamily{.type = "list", .family = "LLEN"},   TypeFamily{.type = "set", .family = "SCARD"},
    TypeFamily{.type = "zset", .family = "ZCARD"},  TypeFamily{.type = "hash", .family = "HLEN"},
    TypeFamily{.type = "stream", .family = "XLEN"},
};

TypeFamily find(std::span<const TypeFamily> table, std::string_view type) {
  const auto found = std::ranges::find(table, type, &TypeFamily::type);
  return found == table.end() ? TypeFamily{} : *found;
}

constexpr std::size_t kDumpFooterBytes = 10;
constexpr std::size_t kProbesPerRequest = 1000;

std::string text_of(const RedisReply& reply) {
  switch (reply.type) {
    case Type::nil: return "nothing";
    case Type::integer: return std::to_string(reply.integer);
    case Type::array: return counted(reply.members.size(), "value");
    case Type::text:
    case Type::error: return printable(reply.text);
  }
  return {};
}

std::string old_and_new(std::string_view what, const RedisReply& older, const RedisReply& newer) {
  return fmt::format("{}: {} in the old server, {} in the new one", what, text_of(older), text_of(newer));
}

bool is_number(const RedisReply& reply) { return reply.type == Type::integer; }

// Servers write doubles with different numbers of digits.
bool is_equal(const RedisReply& a, const RedisReply& b) {
  if (a.type != b.type) {
    return false;
  }
  if (a.type == Type::text && a.text != b.text) {
    const auto first = to_number<double>(a.text);
    const auto second = to_number<double>(b.text);
    return first && second && *first == *second;
  }
  return a.integer == b.integer && std::ranges::equal(a.members, b.members, is_equal);
}

Result<RedisReply> receive(RedisClient& client) {
  MANKAI_ASSIGN(auto answer, client.receive());
  const std::string_view error = answer.reply.error();
  if (error.starts_with("NOPERM") || error.starts_with("NOAUTH")) {
    return std::unexpected(refused_by_redis(error).error().within(to_text(client.address())));
  }
  return std::move(answer.reply);
}

ValueComparison different(std::string difference) {
  return {.outcome = Outcome::different, .difference = std::move(difference)};
}

}  // namespace

Result<std::vector<ValueComparison>> ValueComparer::compare(std::span<const std::string_view> keys) {
  MANKAI_ASSIGN(const auto heads, ask_heads(keys));
  std::vector<ValueComparison> found;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    MANKAI_ASSIGN(auto each, compare_once(keys[i], heads[2 * i], heads[2 * i + 1]));
    if (each.outcome == Outcome::different) {
      MANKAI_ASSIGN(const auto again, ask_heads(keys.subspan(i, 1)));
      MANKAI_ASSIGN(each, compare_once(keys[i], again[0], again[1]));
    }
    found.push_back(std::move(each));
  }
  return found;
}

Result<std::vector<ValueComparer::Replies>> ValueComparer::ask_all(std::span<const Words> requests) {
  for (const Words& words : requests) {
    const std::string request = request_of(words);
    const std::string_view key = words.at(1);
    // A DUMP is as large as its value.
    old_.send(request, key, {.max_reply_bytes = SIZE_MAX});
    new_.send(request, key, {.max_reply_bytes = SIZE_MAX});
  }
  std::vector<Replies> replies;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    MANKAI_ASSIGN(auto older, receive(old_));
    MANKAI_ASSIGN(auto newer, receive(new_));
    replies.push_back({.older = std::move(older), .newer = std::move(newer)});
  }
  return replies;
}

Result<ValueComparer::Replies> ValueComparer::ask(const Words& words) {
  MANKAI_ASSIGN(auto replies, ask_all(std::span(&words, 1)));
  return std::move(replies.front());
}

Result<std::vector<ValueComparer::Replies>> ValueComparer::ask_heads(std::span<const std::string_view> keys) {
  std::vector<Words> requests;
  for (const std::string_view key : keys) {
    requests.push_back({"TYPE", key});
    requests.push_back({"PTTL", key});
  }
  return ask_all(requests);
}

Result<ValueComparison> ValueComparer::compare_once(std::string_view key, const Replies& types, const Replies& ttl) {
  const std::string_view type = types.older.text;
  const std::string_view new_type = types.newer.text;
  if (type == "none" && new_type == "none") {
    return ValueComparison{.outcome = Outcome::absent};
  }
  if (type == "none" || new_type == "none") {
    return different(type == "none" ? "absent in the old server" : "absent in the new server");
  }
  const std::string_view family = find(kFilters, type).family;
  if (type != new_type && (family.empty() || family != find(kFilters, new_type).family)) {
    return different(old_and_new("type", types.older, types.newer));
  }
  std::string difference = ttl_difference(ttl);
  if (!difference.empty()) {
    return different(std::move(difference));
  }
  if (type == new_type) {
    return compare_values(key, type);
  }
  MANKAI_ASSIGN(difference, facts_difference(key, family, false));
  if (difference.empty()) {
    MANKAI_ASSIGN(difference, answers_difference(key, family, false));
  }
  return difference.empty() ? ValueComparison{.outcome = Outcome::alike} : different(std::move(difference));
}

std::string ValueComparer::ttl_difference(const Replies& ttl) const {
  const bool has_none = ttl.older.integer < 0 || ttl.newer.integer < 0;
  const Duration difference = std::chrono::milliseconds(std::abs(ttl.older.integer - ttl.newer.integer));
  const bool is_same = has_none ? ttl.older.integer == ttl.newer.integer : difference <= settings_.ttl_tolerance;
  return is_same ? std::string() : old_and_new("time to live in ms, -1 for none", ttl.older, ttl.newer);
}

Result<ValueComparison> ValueComparer::compare_values(std::string_view key, std::string_view type) {
  const auto [name, family, chunks] = find(kFilters, type);
  if (family.empty()) {
    return compare_engine_values(key, type);
  }
  bool is_identical = false;
  std::string difference;
  if (family == "TOPK") {
    MANKAI_ASSIGN(difference, list_difference(key));
  } else {
    MANKAI_ASSIGN(is_identical, chunks.empty() ? has_same_dump(key) : has_same_chunks(key, chunks));
  }
  // Of values that differ, the counts and answers say more than that they do.
  if (difference.empty() && !is_identical) {
    MANKAI_ASSIGN(difference, facts_difference(key, family, true));
  }
  if (difference.empty()) {
    MANKAI_ASSIGN(difference, answers_difference(key, family, true));
  }
  if (difference.empty() && !is_identical && family != "TOPK") {
    difference = "the bytes differ; the counts and the answers to the probes are equal";
  }
  if (!difference.empty()) {
    return different(std::move(difference));
  }
  return ValueComparison{.outcome = is_identical ? Outcome::identical : Outcome::alike};
}

Result<ValueComparison> ValueComparer::compare_engine_values(std::string_view key, std::string_view type) {
  MANKAI_ASSIGN(const bool is_identical, has_same_dump(key));
  if (is_identical) {
    return ValueComparison{.outcome = Outcome::identical};
  }
  // Engines of different versions encode equal values differently.
  const std::string_view size = type == "string" ? "GET" : find(kSizes, type).family;
  if (size.empty()) {
    return different("the bytes differ");
  }
  MANKAI_ASSIGN(const auto sizes, ask({size, key}));
  if (type == "string") {
    return sizes.older.text == sizes.newer.text ? ValueComparison{} : different("the strings differ");
  }
  return is_equal(sizes.older, sizes.newer) ? ValueComparison{.outcome = Outcome::alike}
                                            : different(old_and_new(size, sizes.older, sizes.newer));
}

Result<bool> ValueComparer::has_same_dump(std::string_view key) {
  MANKAI_ASSIGN(auto dumps, ask({"DUMP", key}));
  for (RedisReply* const dump : {&dumps.older, &dumps.newer}) {
    if (dump->type != Type::text || dump->text.size() <= kDumpFooterBytes) {
      return false;
    }
    dump->text.resize(dump->text.size() - kDumpFooterBytes);  // version and checksum
  }
  return dumps.older.text == dumps.newer.text;
}

Result<bool> ValueComparer::has_same_chunks(std::string_view key, std::string_view command) {
  for (std::string iterator = "0";;) {
    MANKAI_ASSIGN(const auto chunks, ask({command, key, iterator}));
    if (chunks.older.type != Type::array || chunks.older.members.size() != 2 || !is_equal(chunks.older, chunks.newer)) {
      return false;
    }
    const std::string next = std::to_string(chunks.older.members[0].integer);
    if (next == "0") {
      return iterator != "0" || has_same_dump(key);  // RedisBloom dumps no empty cuckoo filter
    }
    iterator = next;
  }
}

Result<std::string> ValueComparer::list_difference(std::string_view key) {
  MANKAI_ASSIGN(const auto lists, ask({"TOPK.LIST", key, "WITHCOUNT"}));
  if (is_equal(lists.older, lists.newer)) {
    return std::string();
  }
  if (!lists.older.error().empty() || !lists.newer.error().empty()) {
    return old_and_new("TOPK.LIST", lists.older, lists.newer);
  }
  const auto& older = lists.older.members;
  const auto& newer = lists.newer.members;
  const auto [first, second] = std::ranges::mismatch(older, newer, is_equal);
  const RedisReply nothing;
  return old_and_new(fmt::format("TOPK.LIST, value {}", first - older.begin() + 1),
                     first == older.end() ? nothing : *first, second == newer.end() ? nothing : *second);
}

Result<std::string> ValueComparer::facts_difference(std::string_view key, std::string_view family, bool is_same_type) {
  const std::string command = std::string(family) + ".INFO";
  MANKAI_ASSIGN(const auto facts, ask({command, key}));
  if (facts.older.type != Type::array || facts.newer.type != Type::array) {
    return old_and_new(command, facts.older, facts.newer);
  }
  for (std::size_t i = 0; i + 1 < facts.older.members.size(); i += 2) {
    const std::string& name = facts.older.members[i].text;
    const RedisReply* const newer = facts.newer.value_of(name);
    const bool is_count = name == "Number of items inserted" || name == "count";
    // The size is what the module's allocator says; a converted value has its own parameters.
    if (name == "Size" || newer == nullptr || (!is_same_type && !is_count)) {
      continue;
    }
    if (!is_equal(facts.older.members[i + 1], *newer)) {
      return old_and_new(fmt::format("{} {}", command, name), facts.older.members[i + 1], *newer);
    }
  }
  return std::string();
}

Result<std::string> ValueComparer::answers_difference(std::string_view key, std::string_view family,
                                                      bool is_same_type) {
  // Not TOPK.COUNT, which RedisBloom 2 calls a write.
  const std::string_view verb = family == "BF" || family == "CF" ? ".MEXISTS" : ".QUERY";
  const std::string command = std::string(family) + std::string(verb);
  for (std::size_t begin = 0; begin < settings_.probes.size(); begin += kProbesPerRequest) {
    const std::size_t end = std::min(begin + kProbesPerRequest, settings_.probes.size());
    Words words = {command, key};
    for (std::size_t i = begin; i < end; ++i) {
      words.emplace_back(settings_.probes[i]);
    }
    MANKAI_ASSIGN(const auto answers, ask(words));
    const auto& older = answers.older.members;
    const auto& newer = answers.newer.members;
    if (older.size() != end - begin || newer.size() != end - begin) {
      return old_and_new(command, answers.older, answers.newer);
    }
    for (std::size_t i = 0; i < older.size(); ++i) {
      // A converted filter may have other false positives.
      const bool is_less = is_number(older[i]) && is_number(newer[i]) && newer[i].integer < older[i].integer;
      if (is_same_type ? !is_equal(older[i], newer[i]) : is_less) {
        return old_and_new(fmt::format("{} \"{}\"", command, printable(settings_.probes[begin + i])), older[i],
                           newer[i]);
      }
    }
  }
  return std::string();
}

}  // namespace mankai::command
