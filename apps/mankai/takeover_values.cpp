#include "apps/mankai/takeover_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

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

constexpr std::size_t kDumpFooterBytes = 10;  // version and checksum
constexpr std::size_t kProbesPerRequest = 1000;
constexpr std::size_t kMostKeys = 1000;
constexpr std::size_t kMostValueBytes = std::size_t{16} << 20U;  // a chunk of SCANDUMP has as many

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

ValueComparison different(std::string difference) {
  return {.outcome = Outcome::different, .difference = std::move(difference)};
}

bool is_same_dump(const RedisReply& older, const RedisReply& newer) {
  const auto is_dump = [](const RedisReply& reply) {
    return reply.type == Type::text && reply.text.size() > kDumpFooterBytes;
  };
  const auto value_of = [](const RedisReply& reply) {
    return std::string_view(reply.text).substr(0, reply.text.size() - kDumpFooterBytes);
  };
  return is_dump(older) && is_dump(newer) && value_of(older) == value_of(newer);
}

std::string_view size_command_of(std::string_view type) { return type == "string" ? "GET" : find(kSizes, type).family; }

// Not TOPK.COUNT, which RedisBloom 2 calls a write.
std::string answers_command_of(std::string_view family) {
  return std::string(family) + (family == "BF" || family == "CF" ? ".MEXISTS" : ".QUERY");
}

std::span<const std::string> probes_from(std::span<const std::string> probes, std::size_t begin) {
  return probes.subspan(begin, std::min(kProbesPerRequest, probes.size() - begin));
}

}  // namespace

ValueComparer::ValueComparer(RedisClient& old_server, RedisClient& new_server, const ValueCompareSettings& settings,
                             Scope scope)
    : old_(old_server), new_(new_server), settings_(settings), scope_(scope) {
  for (std::size_t begin = 0; begin < settings_.probes.size(); begin += kProbesPerRequest) {
    std::size_t bytes = 0;
    for (const std::string& probe : probes_from(settings_.probes, begin)) {
      bytes += probe.size();
    }
    probe_bytes_ = std::max(probe_bytes_, bytes);
  }
}

void ValueComparer::add(std::string name) { begin(keys_.emplace_back(std::move(name))); }

bool ValueComparer::has_room() const noexcept { return keys_.size() < kMostKeys && waiting_.empty(); }

Result<ComparedKey> ValueComparer::next() {
  while (!keys_.front().is_done) {
    const auto [key, step] = asked_.front();
    asked_.pop_front();
    MANKAI_ASSIGN(auto older, receive(old_, step));
    MANKAI_ASSIGN(auto newer, receive(new_, step));
    (this->*step)(*key, {.older = std::move(older), .newer = std::move(newer)});
    begin_waiting();
  }
  ComparedKey compared{.name = std::move(keys_.front().name), .found = std::move(keys_.front().found)};
  keys_.pop_front();
  return compared;
}

void ValueComparer::ask(Key& key, const Words& words, Step step) {
  const std::string request = request_of(words);
  // A DUMP is as large as its value.
  old_.send(request, key.name, {.max_reply_bytes = SIZE_MAX});
  new_.send(request, key.name, {.max_reply_bytes = SIZE_MAX});
  asked_.push_back({.key = &key, .step = step});
}

Result<RedisReply> ValueComparer::receive(RedisClient& client, Step step) {
  MANKAI_ASSIGN(auto answer, client.receive());
  const std::string_view error = answer.reply.error();
  const bool is_refused = error.starts_with("NOPERM") || error.starts_with("NOAUTH");
  // TYPE only fails if the server cannot answer now.
  if (step == &ValueComparer::take_types ? !error.empty() : is_refused && step != &ValueComparer::take_memory) {
    return std::unexpected(refused_by_redis(error).error().within(to_text(client.address())));
  }
  return std::move(answer.reply);
}

void ValueComparer::begin(Key& key) {
  ask(key, {"TYPE", key.name}, &ValueComparer::take_types);
  if (scope_ == Scope::values) {
    ask(key, {"PTTL", key.name}, &ValueComparer::take_ttl);
    ask(key, {"MEMORY", "USAGE", key.name}, &ValueComparer::take_memory);
  }
}

void ValueComparer::take_types(Key& key, const Replies& types) {
  const std::string& newer = types.newer.text;
  key.type = types.older.text;
  const TypeFamily filter = find(kFilters, key.type);
  key.family = filter.family;
  key.chunks = filter.chunks;
  key.is_same_type = key.type == newer;
  const bool is_same_family = key.is_same_type || (!key.family.empty() && key.family == find(kFilters, newer).family);
  if (key.type == newer && newer == "none") {
    key.found = {.outcome = Outcome::absent};
  } else if (key.type == "none" || newer == "none") {
    key.found = different(key.type == "none" ? "absent in the old server" : "absent in the new server");
  } else if (!is_same_family) {
    key.found = different(old_and_new("type", types.older, types.newer));
  }
  if (scope_ == Scope::only_new) {
    finish(key, key.type == "none" ? key.found : ValueComparison{.outcome = Outcome::absent});
  }
}

void ValueComparer::take_ttl(Key& key, const Replies& ttl) {
  const bool has_none = ttl.older.integer < 0 || ttl.newer.integer < 0;
  const Duration difference = std::chrono::milliseconds(std::abs(ttl.older.integer - ttl.newer.integer));
  const bool is_same = has_none ? ttl.older.integer == ttl.newer.integer : difference <= settings_.ttl_tolerance;
  if (key.found.outcome == Outcome::identical && !is_same) {
    key.found = different(old_and_new("time to live in ms, -1 for none", ttl.older, ttl.newer));
  }
}

void ValueComparer::take_memory(Key& key, const Replies& memory) {
  if (key.found.outcome != Outcome::identical) {
    finish(key, std::move(key.found));
    return;
  }
  const bool is_known = is_number(memory.older) && is_number(memory.newer);
  const auto bytes = static_cast<std::size_t>(std::max(memory.older.integer, memory.newer.integer));
  key.bytes = is_known ? std::min(bytes, kMostValueBytes) + probe_bytes_ : kMostValueBytes;
  waiting_.push_back(&key);
}

void ValueComparer::begin_waiting() {
  while (!waiting_.empty() && (bytes_ == 0 || bytes_ + waiting_.front()->bytes <= kMostValueBytes)) {
    Key& key = *waiting_.front();
    waiting_.pop_front();
    bytes_ += key.bytes;
    begin_value(key);
  }
}

void ValueComparer::begin_value(Key& key) {
  if (!key.is_same_type) {
    ask_facts(key);
  } else if (key.family == "TOPK") {
    ask(key, {"TOPK.LIST", key.name, "WITHCOUNT"}, &ValueComparer::take_lists);
  } else if (key.chunks.empty()) {
    ask(key, {"DUMP", key.name}, &ValueComparer::take_dumps);
  } else {
    ask(key, {key.chunks, key.name, key.chunk}, &ValueComparer::take_chunks);
  }
}

void ValueComparer::take_dumps(Key& key, const Replies& dumps) {
  key.is_identical = is_same_dump(dumps.older, dumps.newer);
  if (!key.family.empty()) {
    key.is_identical ? ask_answers(key) : ask_facts(key);
  } else if (key.is_identical) {
    finish(key, {});
  } else if (const std::string_view command = size_command_of(key.type); command.empty()) {
    finish(key, different("the bytes differ"));
  } else {
    // Engines of different versions encode equal values differently.
    ask(key, {command, key.name}, &ValueComparer::take_sizes);
  }
}

void ValueComparer::take_sizes(Key& key, const Replies& sizes) {
  if (key.type == "string") {
    finish(key, sizes.older.text == sizes.newer.text ? ValueComparison{} : different("the strings differ"));
  } else if (is_equal(sizes.older, sizes.newer)) {
    finish(key, {.outcome = Outcome::alike});
  } else {
    finish(key, different(old_and_new(size_command_of(key.type), sizes.older, sizes.newer)));
  }
}

void ValueComparer::take_chunks(Key& key, const Replies& chunks) {
  if (chunks.older.type != Type::array || chunks.older.members.size() != 2 || !is_equal(chunks.older, chunks.newer)) {
    ask_facts(key);
    return;
  }
  const bool is_first = key.chunk == "0";
  key.chunk = std::to_string(chunks.older.members[0].integer);
  if (key.chunk != "0") {
    ask(key, {key.chunks, key.name, key.chunk}, &ValueComparer::take_chunks);
  } else if (is_first) {
    // RedisBloom dumps no empty cuckoo filter.
    ask(key, {"DUMP", key.name}, &ValueComparer::take_dumps);
  } else {
    key.is_identical = true;
    ask_answers(key);
  }
}

void ValueComparer::take_lists(Key& key, const Replies& lists) {
  if (is_equal(lists.older, lists.newer)) {
    ask_facts(key);
    return;
  }
  if (!lists.older.error().empty() || !lists.newer.error().empty()) {
    finish(key, different(old_and_new("TOPK.LIST", lists.older, lists.newer)));
    return;
  }
  const auto& older = lists.older.members;
  const auto& newer = lists.newer.members;
  const auto [first, second] = std::ranges::mismatch(older, newer, is_equal);
  const RedisReply nothing;
  finish(key,
         different(old_and_new(fmt::format("TOPK.LIST, value {}", first - older.begin() + 1),
                               first == older.end() ? nothing : *first, second == newer.end() ? nothing : *second)));
}

// Of values that differ, the counts and answers say more than that they do.
void ValueComparer::ask_facts(Key& key) {
  const std::string command = std::string(key.family) + ".INFO";
  ask(key, {command, key.name}, &ValueComparer::take_facts);
}

void ValueComparer::take_facts(Key& key, const Replies& facts) {
  const std::string command = std::string(key.family) + ".INFO";
  if (facts.older.type != Type::array || facts.newer.type != Type::array) {
    finish(key, different(old_and_new(command, facts.older, facts.newer)));
    return;
  }
  for (std::size_t i = 0; i + 1 < facts.older.members.size(); i += 2) {
    const std::string& name = facts.older.members[i].text;
    const RedisReply* const newer = facts.newer.value_of(name);
    const bool is_count = name == "Number of items inserted" || name == "count";
    // The size is what the module's allocator says; a converted value has its own parameters.
    if (name == "Size" || newer == nullptr || (!key.is_same_type && !is_count)) {
      continue;
    }
    if (!is_equal(facts.older.members[i + 1], *newer)) {
      finish(key, different(old_and_new(fmt::format("{} {}", command, name), facts.older.members[i + 1], *newer)));
      return;
    }
  }
  ask_answers(key);
}

// Ends the comparison if all probes were asked.
void ValueComparer::ask_answers(Key& key) {
  const auto probes = probes_from(settings_.probes, key.probe);
  if (!probes.empty()) {
    const std::string command = answers_command_of(key.family);
    Words words = {command, key.name};
    words.insert(words.end(), probes.begin(), probes.end());
    ask(key, words, &ValueComparer::take_answers);
  } else if (key.is_same_type && !key.is_identical && key.family != "TOPK") {
    finish(key, different("the bytes differ; the counts and the answers to the probes are equal"));
  } else {
    finish(key, {.outcome = key.is_identical ? Outcome::identical : Outcome::alike});
  }
}

void ValueComparer::take_answers(Key& key, const Replies& answers) {
  const std::string command = answers_command_of(key.family);
  const auto probes = probes_from(settings_.probes, key.probe);
  const auto& older = answers.older.members;
  const auto& newer = answers.newer.members;
  if (older.size() != probes.size() || newer.size() != probes.size()) {
    finish(key, different(old_and_new(command, answers.older, answers.newer)));
    return;
  }
  for (std::size_t i = 0; i < probes.size(); ++i) {
    // A converted filter may have other false positives.
    const bool is_less = is_number(older[i]) && is_number(newer[i]) && newer[i].integer < older[i].integer;
    if (key.is_same_type ? !is_equal(older[i], newer[i]) : is_less) {
      finish(key, different(old_and_new(fmt::format("{} \"{}\"", command, printable(probes[i])), older[i], newer[i])));
      return;
    }
  }
  key.probe += probes.size();
  ask_answers(key);
}

void ValueComparer::finish(Key& key, ValueComparison found) {
  bytes_ -= std::exchange(key.bytes, 0);
  if (found.outcome == Outcome::different && !key.is_second_look) {
    key = Key(std::move(key.name));
    key.is_second_look = true;
    begin(key);
  } else {
    key.found = std::move(found);
    key.is_done = true;
  }
}

}  // namespace mankai::command
