#include "mankai/remote/remote_filter.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>
#include <utility>

#include "mankai/base/duration.hpp"
#include "mankai/base/number.hpp"
#include "mankai/remote/shards.hpp"
#include "mankai/url/canonical_url.hpp"

namespace mankai {
namespace {

/// Large enough that the cost of a command does not count, small enough not to keep other clients waiting.
constexpr std::size_t kMostItems = 1024;
constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
/// Enough for a round trip of 10 ms at a million URLs a second. After a lost connection so much is uncertain.
constexpr std::size_t kOutstandingBytes = std::size_t{1} << 20U;
/// Memory of the answer for one key: a number, or an error.
constexpr std::size_t kMostAnswerBytes = 1024;
/// What CF.ADD says, and CF.INSERT means by -1.
constexpr std::string_view kFull = "Filter is full";
/// The largest capacity that BF.RESERVE takes.
constexpr double kMostKeys = 1U << 30U;

struct Command {
  RemoteType type;
  RemoteWork work;
  std::string_view name;
  std::string_view options = {};  // two words after the key
  std::string_view timed = {};    // the name of the command with a time after the key
  bool has_numbers = false;       // a number follows each item
  bool takes_one = false;
};

constexpr auto kCommands = std::to_array<Command>({
    {.type = RemoteType::bloom, .work = RemoteWork::add, .name = "BF.INSERT", .options = "NOCREATE ITEMS"},
    {.type = RemoteType::bloom, .work = RemoteWork::observe, .name = "BF.INSERT", .options = "NOCREATE ITEMS"},
    {.type = RemoteType::bloom, .work = RemoteWork::contains, .name = "BF.MEXISTS"},
    {.type = RemoteType::bloom, .work = RemoteWork::remove, .name = "BF.REM"},
    {.type = RemoteType::cuckoo, .work = RemoteWork::add, .name = "CF.INSERT", .options = "NOCREATE ITEMS"},
    {.type = RemoteType::cuckoo, .work = RemoteWork::observe, .name = "CF.INSERTNX", .options = "NOCREATE ITEMS"},
    {.type = RemoteType::cuckoo, .work = RemoteWork::contains, .name = "CF.MEXISTS"},
    {.type = RemoteType::cuckoo, .work = RemoteWork::count, .name = "CF.COUNT", .takes_one = true},
    {.type = RemoteType::cuckoo, .work = RemoteWork::remove, .name = "CF.MDEL"},
    {.type = RemoteType::counting, .work = RemoteWork::add, .name = "CBF.ADD", .has_numbers = true},
    {.type = RemoteType::counting, .work = RemoteWork::observe, .name = "CBF.ADD", .has_numbers = true},
    {.type = RemoteType::counting, .work = RemoteWork::contains, .name = "CBF.EXISTS"},
    {.type = RemoteType::counting, .work = RemoteWork::count, .name = "CBF.COUNT"},
    {.type = RemoteType::counting, .work = RemoteWork::remove, .name = "CBF.REM", .has_numbers = true},
    {.type = RemoteType::url, .work = RemoteWork::add, .name = "URL.ADD"},
    {.type = RemoteType::url, .work = RemoteWork::observe, .name = "URL.ADD"},
    {.type = RemoteType::url, .work = RemoteWork::contains, .name = "URL.SEEN"},
    {.type = RemoteType::hot,
     .work = RemoteWork::add,
     .name = "HOT.INCRBY",
     .timed = "HOT.INCRBYAT",
     .has_numbers = true},
    {.type = RemoteType::hot, .work = RemoteWork::count, .name = "HOT.COUNT", .timed = "HOT.COUNTAT"},
    {.type = RemoteType::hot, .work = RemoteWork::rate, .name = "HOT.RATE", .timed = "HOT.RATEAT"},
});

struct TypeName {
  std::string_view name;
  RemoteType type;
};
// This module's types, RedisBloom's and valkey-bloom's.
constexpr auto kTypes = std::to_array<TypeName>({{"mankai-bf", RemoteType::bloom},
                                                 {"mankai-cv", RemoteType::bloom},
                                                 {"MBbloom--", RemoteType::bloom},
                                                 {"bloomfltr", RemoteType::bloom},
                                                 {"mankai-cf", RemoteType::cuckoo},
                                                 {"MBbloomCF", RemoteType::cuckoo},
                                                 {"mankai-cb", RemoteType::counting},
                                                 {"mankai-ur", RemoteType::url},
                                                 {"mankai-ht", RemoteType::hot}});

// By type.
constexpr std::array<std::string_view, 5> kInfo = {"BF.INFO", "CF.INFO", "CBF.INFO", "URL.INFO", "HOT.INFO"};
constexpr std::array<std::string_view, 4> kReserve = {"BF.RESERVE", "CF.RESERVE", "CBF.RESERVE", "URL.RESERVE"};

const Command* command_of(RemoteType type, RemoteWork work) {
  const auto* const found = std::ranges::find_if(
      kCommands, [&](const Command& command) { return command.type == type && command.work == work; });
  return found == kCommands.end() ? nullptr : found;
}

std::string_view name_of(RemoteWork work) {
  constexpr std::array<std::string_view, 6> kNames = {"add", "test-and-add", "check", "count", "remove", "rate"};
  return kNames.at(static_cast<std::size_t>(work));
}

// What a shard is computed from: of a URL its canonical form, so that all spellings are in one shard.
std::uint32_t shard_of_key(std::string_view key, RemoteType type, std::uint32_t shards, url::CanonicalUrl& url) {
  const bool is_canonical = type == RemoteType::url && canonicalize(key, url, url::UrlRules::keys);
  return shard_of(is_canonical ? url.text() : key, shards);
}

// The answer for one key: the commands of hot filters answer with text, the others with whole numbers.
std::optional<double> number_in(const RedisReply& value, RemoteType type, RemoteWork work) {
  if (type == RemoteType::hot) {
    const auto number = value.type == RedisReply::Type::text ? to_number<double>(value.text) : std::optional<double>();
    return number && std::isfinite(*number) && *number >= 0 ? number : std::nullopt;
  }
  const bool adds = work == RemoteWork::add || work == RemoteWork::observe;
  const bool may_refuse = work == RemoteWork::remove || (adds && type == RemoteType::cuckoo);
  const bool is_valid = value.type == RedisReply::Type::integer && value.integer >= (may_refuse ? -1 : 0) &&
                        (value.integer <= 1 || work == RemoteWork::count);
  return is_valid ? std::optional(static_cast<double>(value.integer)) : std::nullopt;
}

std::string milliseconds_of(Time time) {
  return std::to_string(std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch().count());
}

std::string text_of(double number) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

}  // namespace

RemoteFilter::RemoteFilter(const RemoteAddress& address, RedisClient client)
    : address_(address), client_(std::move(client)) {
  if (address.shards == 0) {
    names_ = {address.key};
  }
  for (std::uint32_t shard = 0; shard < address.shards; ++shard) {
    names_.push_back(shard_key(address.key, shard));
  }
}

Result<RemoteFilter> RemoteFilter::open(const RemoteAddress& address, const std::optional<RemoteCreation>& creation,
                                        std::function<bool()> should_stop) {
  MANKAI_ASSIGN(auto client, RedisClient::connect(address.server, address.timeout, std::move(should_stop)));
  RemoteFilter filter(address, std::move(client));
  MANKAI_TRY(filter.find(creation));
  return filter;
}

std::unexpected<Error> RemoteFilter::unexpected_reply(std::string_view command) const {
  return refuse(ErrorCode::corrupt, "unexpected reply to " + std::string(command) +
                                        "; the server must load mankai-redis.so, of this version or later");
}

std::unexpected<Error> RemoteFilter::refuse(ErrorCode code, const std::string& why) const {
  return fail(code, to_text(address_) + ": " + why);
}

void RemoteFilter::send_all(std::string_view command, std::span<const std::string_view> more, std::uint32_t replicas) {
  for (const std::string& name : names_) {
    std::vector<std::string_view> words{command, name};
    words.insert(words.end(), more.begin(), more.end());
    client_.send(request_of(words), name, {.replicas = replicas});
  }
}

// Runs a command for every shard; replies may be errors.
Result<std::vector<RedisReply>> RemoteFilter::call_all(std::string_view command,
                                                       std::span<const std::string_view> more) {
  send_all(command, more);
  std::vector<RedisReply> replies;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    MANKAI_ASSIGN(auto answer, client_.receive());
    replies.push_back(std::move(answer.reply));
  }
  return replies;
}

Result<void> RemoteFilter::set_type(std::string_view name) {
  const auto* const found = std::ranges::find(kTypes, name, &TypeName::name);
  if (found == kTypes.end()) {
    return refuse(ErrorCode::invalid_argument,
                  "the key is of type " + std::string(name) + ", not a filter; give another key");
  }
  if (address_.type && *address_.type != found->type) {
    return refuse(ErrorCode::invalid_argument,
                  "the key is of type " + std::string(name) + "; leave type= out, or give another key");
  }
  type_ = found->type;
  type_name_ = name;
  return {};
}

// The types of all shards and of the key after the last, which tells of a wrong number of shards.
Result<std::vector<RedisReply>> RemoteFilter::types() {
  names_.push_back(shard_key(address_.key, address_.shards));
  auto types = call_all("TYPE", {});
  names_.pop_back();
  if (types) {
    for (const RedisReply& type : *types) {
      if (!type.error().empty()) {
        return within(to_text(address_), Result<std::vector<RedisReply>>(refused_by_redis(type.error())));
      }
      if (type.type != RedisReply::Type::text) {
        return unexpected_reply("TYPE");
      }
    }
  }
  return types;
}

Result<void> RemoteFilter::find(const std::optional<RemoteCreation>& creation) {
  constexpr auto kPause = std::chrono::milliseconds(20);
  constexpr auto kPatience = std::chrono::seconds(1);
  const auto missing_of = [](const std::vector<RedisReply>& replies) {
    return static_cast<std::size_t>(std::ranges::count(replies.begin(), replies.end() - 1, "none", &RedisReply::text));
  };
  MANKAI_ASSIGN(auto types, this->types());
  std::size_t count = missing_of(types);
  // Another process may be creating the shards.
  for (const auto start = std::chrono::steady_clock::now();
       count > 0 && count < names_.size() && std::chrono::steady_clock::now() - start < kPatience;
       count = missing_of(types)) {
    std::this_thread::sleep_for(kPause);
    MANKAI_ASSIGN(types, this->types());
  }
  const bool has_more = types.back().text != "none";
  types.pop_back();
  if (has_more && (address_.shards > 0 || count > 0)) {
    return refuse(ErrorCode::invalid_argument, address_.shards == 0
                                                   ? "the filter has shards; give their number with shards=N"
                                                   : "the filter has more than " + std::to_string(address_.shards) +
                                                         " shards; give their number with shards=N");
  }
  if (count == types.size()) {
    if (!creation) {
      return refuse(ErrorCode::not_found,
                    "no such filter; create it with BF.RESERVE, or with mankai add and keys=N in the address");
    }
    return create(*creation);
  }
  if (count > 0) {
    const auto missing = std::ranges::find(types, "none", &RedisReply::text);
    const std::string& name = names_[static_cast<std::size_t>(missing - types.begin())];
    return refuse(
        ErrorCode::invalid_argument,
        "the shard " + name + " is missing, and others exist; give the right number with shards=N, or delete them");
  }
  for (const RedisReply& type : types) {
    if (type.text != types.front().text) {
      return refuse(ErrorCode::invalid_argument, "the shards are of different types; delete those that are wrong");
    }
  }
  MANKAI_TRY(set_type(types.front().text));
  return address_.ttl && !was_created_ ? check_ttl() : Result<void>();
}

// A cuckoo filter does not say its time to live.
Result<void> RemoteFilter::check_ttl() {
  if (type_ == RemoteType::cuckoo) {
    return {};
  }
  std::vector<RedisReply> replies(1);  // nil: keys of other types do not expire
  if (type_ == RemoteType::bloom) {
    MANKAI_ASSIGN(replies, call_all(kInfo.front(), std::array<std::string_view, 1>{"TTL"}));
  }
  for (const RedisReply& reply : replies) {
    if (!reply.error().empty()) {
      return within(to_text(address_), Result<void>(refused_by_redis(reply.error())));
    }
    const RedisReply& fact = reply.members.size() == 1 ? reply.members.front() : reply;
    const auto seconds = to_number<double>(fact.text);
    constexpr double kRounding = 0.001;  // to milliseconds
    if (!seconds || std::abs(*seconds - std::chrono::duration<double>(*address_.ttl).count()) > kRounding) {
      return refuse(ErrorCode::invalid_argument,
                    (seconds ? "the keys of this filter expire after " + fact.text + " seconds, not after"
                             : std::string("the keys of this filter do not expire, unlike those with")) +
                        " ttl=" + mankai::to_text(*address_.ttl) + "; leave ttl= out, or give another key");
    }
  }
  return {};
}

Result<void> RemoteFilter::create(const RemoteCreation& creation) {
  constexpr double kFewestKeys = 4;  // CF.RESERVE takes no less
  const RemoteType type = address_.type.value_or(RemoteType::bloom);
  // Shards get unequal numbers of keys: four standard deviations of room.
  const double keys = static_cast<double>(address_.keys.value_or(creation.keys)) / static_cast<double>(names_.size());
  const double room = address_.shards > 1 ? 4 * std::sqrt(keys) : 0;
  const std::string capacity =
      std::to_string(static_cast<std::uint64_t>(std::clamp(std::ceil(keys + room), kFewestKeys, kMostKeys)));
  const std::string fpr = text_of(address_.fpr.value_or(creation.fpr));
  const std::string ttl = address_.ttl ? text_of(std::chrono::duration<double>(*address_.ttl).count()) : "";
  std::vector<std::string_view> options{fpr, capacity};
  if (type == RemoteType::cuckoo) {
    options = {capacity, "ERROR", fpr};
  }
  if (!ttl.empty()) {
    options.insert(options.end(), {"TTL", ttl});
  }
  if (!creation.hot.empty()) {
    options.assign(creation.hot.begin(), creation.hot.end());
  }
  MANKAI_TRY(reserve(creation.hot.empty() ? kReserve.at(static_cast<std::size_t>(type)) : "HOT.RESERVE", options));
  was_created_ = true;
  return find(std::nullopt);
}

Result<void> RemoteFilter::reserve(std::string_view command, std::span<const std::string_view> options) {
  send_all(command, options, address_.wait);
  std::optional<Error> error;
  std::vector<std::string_view> created;
  for (const std::string& name : names_) {
    auto answer = client_.receive();
    if (!answer) {
      error = answer.error();
      client_.abandon();
      answer = client_.receive();
    }
    const std::string_view refusal = answer->reply.error();
    const bool exists = refusal.starts_with("ERR item exists");  // made by another process, or by the first attempt
    if (answer->is_lost || (refusal.empty() && !answer->is_unsent) || (exists && answer->is_repeated)) {
      created.emplace_back(name);
    } else if (!refusal.empty() && !exists && !error) {
      error = refused_by_redis(refusal).error().within(to_text(address_));
    }
  }
  if (!error) {
    return {};
  }
  for (const std::string_view name : created) {
    client_.send(request_of(std::array<std::string_view, 2>{"DEL", name}), name);
  }
  while (client_.outstanding() > 0) {
    if (const auto deleted = client_.receive(); !deleted) {
      return fail(error->code, error->detail + "; some shards may have been created; delete them", error->os_error);
    }
  }
  return std::unexpected(*error);
}

std::size_t RemoteFilter::best_batch() const noexcept {
  // Shards get unequal numbers of keys: four standard deviations of room, so that no shard needs a second request.
  constexpr std::size_t kDeviation = 32;
  constexpr std::size_t kPerShard = kMostItems - 4 * kDeviation;
  // Of 48 shards, batches for 16 and 32 at once cost the servers 1.3 and 1.1 times one key's CPU.
  constexpr std::size_t kMost = 32 * kMostItems;
  return names_.size() == 1 ? kMostItems : std::min(names_.size() * kPerShard, kMost);
}

bool RemoteFilter::is_full() const noexcept {
  return client_.bytes_outstanding() >= kOutstandingBytes && batches_.size() > 1;
}

Result<void> RemoteFilter::submit(RemoteWork work, std::span<const std::string_view> keys,
                                  std::span<const std::uint64_t> numbers, std::optional<Time> at) {
  if (command_of(type_, work) == nullptr) {
    return refuse(ErrorCode::invalid_argument,
                  "a filter of type " + type_name_ + " cannot " + std::string(name_of(work)) + " keys");
  }
  Batch& batch = batches_.emplace_back(Batch{.work = work, .at = at, .order = {}, .parts = {}, .result = {}});
  batch.result.answers.resize(keys.size());
  const auto size = static_cast<std::uint32_t>(keys.size());
  if (address_.shards <= 1) {
    batch.order.resize(size);
    std::iota(batch.order.begin(), batch.order.end(), 0U);
    send_shard(batch, keys, numbers, 0, {.begin = 0, .end = size});
    return {};
  }
  // A counting sort by shard, which keeps the order of keys within a shard.
  std::vector<std::uint32_t> shards(size);
  std::vector<std::uint32_t> ends(address_.shards);
  url::CanonicalUrl url;
  for (std::uint32_t i = 0; i < size; ++i) {
    shards[i] = shard_of_key(keys[i], type_, address_.shards, url);
    ++ends[shards[i]];
  }
  std::exclusive_scan(ends.begin(), ends.end(), ends.begin(), 0U);
  batch.order.resize(size);
  for (std::uint32_t i = 0; i < size; ++i) {
    batch.order[ends[shards[i]]++] = i;
  }
  for (std::uint32_t shard = 0, begin = 0; shard < address_.shards; begin = ends[shard++]) {
    send_shard(batch, keys, numbers, shard, {.begin = begin, .end = ends[shard]});
  }
  return {};
}

// Splits the keys of a shard into requests.
void RemoteFilter::send_shard(Batch& batch, std::span<const std::string_view> keys,
                              std::span<const std::uint64_t> numbers, std::uint32_t shard, Part part) {
  const std::size_t most = command_of(type_, batch.work)->takes_one ? 1 : kMostItems;
  while (part.begin < part.end) {
    std::size_t bytes = 0;
    std::uint32_t end = part.begin;
    while (end < part.end && end - part.begin < most && bytes < kMostBytes) {
      bytes += keys[batch.order[end++]].size();
    }
    send_part(batch, keys, numbers, shard, {.begin = part.begin, .end = end});
    part.begin = end;
  }
}

void RemoteFilter::send_part(Batch& batch, std::span<const std::string_view> keys,
                             std::span<const std::uint64_t> numbers, std::uint32_t shard, Part part) {
  constexpr std::size_t kBytesPerWord = 16;
  const Command& command = *command_of(type_, batch.work);
  const bool is_timed = batch.at && !command.timed.empty();
  const std::size_t options = (command.options.empty() ? 0U : 2U) + (is_timed ? 1U : 0U);
  const std::size_t items = part.end - part.begin;
  std::size_t bytes = 0;
  for (std::uint32_t i = part.begin; i < part.end; ++i) {
    bytes += keys[batch.order[i]].size() + kBytesPerWord * (command.has_numbers ? 3 : 1);
  }
  std::string request;
  request.reserve(bytes + 4 * kBytesPerWord + names_[shard].size());
  append_header(request, 2 + options + items * (command.has_numbers ? 2 : 1));
  append_word(request, is_timed ? command.timed : command.name);
  append_word(request, names_[shard]);
  if (is_timed) {
    append_word(request, milliseconds_of(*batch.at));
  }
  if (!command.options.empty()) {
    const std::size_t space = command.options.find(' ');
    append_word(request, command.options.substr(0, space));
    append_word(request, command.options.substr(space + 1));
  }
  const std::uint64_t number = type_ == RemoteType::hot ? 1 : 0;
  for (std::uint32_t i = part.begin; i < part.end; ++i) {
    append_word(request, keys[batch.order[i]]);
    if (command.has_numbers) {
      append_word(request, std::to_string(numbers.empty() ? number : numbers[batch.order[i]]));
    }
  }
  batch.parts.push_back(part);
  // Another removal could remove another key's occurrence; another addition is counted, which is never too low.
  const bool writes =
      batch.work == RemoteWork::add || batch.work == RemoteWork::observe || batch.work == RemoteWork::remove;
  client_.send(std::move(request), names_[shard],
               {.after_loss = batch.work == RemoteWork::remove ? AfterLoss::report : AfterLoss::repeat,
                .replicas = writes ? address_.wait : 0,
                .max_reply_bytes = kMostAnswerBytes * (items + 1)});
}

Result<bool> RemoteFilter::is_answered() {
  Batch& batch = batches_.front();
  while (batch.received < batch.parts.size()) {
    MANKAI_ASSIGN(const bool is_here, client_.is_answered());
    if (!is_here) {
      return false;
    }
    MANKAI_ASSIGN(const auto answer, client_.receive());
    take(batch, batch.parts[batch.received++], answer);
  }
  return true;
}

Result<RemoteBatch> RemoteFilter::receive() {
  Batch& batch = batches_.front();
  while (batch.received < batch.parts.size()) {
    MANKAI_ASSIGN(const auto answer, client_.receive());
    take(batch, batch.parts[batch.received++], answer);
  }
  RemoteBatch result = std::move(batch.result);
  batches_.pop_front();
  return result;
}

void RemoteFilter::take(Batch& batch, Part part, const RedisAnswer& answer) {
  const auto keys = std::span(batch.order).subspan(part.begin, part.end - part.begin);
  const auto set_all = [&](RemoteAnswer::State state) {
    for (const std::uint32_t key : keys) {
      batch.result.answers[key].state = state;
    }
  };
  // Of a request that was sent twice, the first one may have done what the second one has no answer for.
  if (answer.is_lost || answer.is_repeated) {
    set_all(RemoteAnswer::State::lost);
  }
  if (answer.is_lost || answer.is_unsent) {
    return;
  }
  const RedisReply& reply = answer.reply;
  if (reply.type == RedisReply::Type::error) {
    take_error(batch, reply.text);
    return;
  }
  const Command& command = *command_of(type_, batch.work);
  const bool has_form = command.takes_one == (reply.type != RedisReply::Type::array);
  const auto values = command.takes_one ? std::span(&reply, 1) : std::span(reply.members);
  // A shorter array ends with an error.
  const bool has_end = values.size() == keys.size() || (!values.empty() && values.size() < keys.size() &&
                                                        values.back().type == RedisReply::Type::error);
  const auto state = answer.is_repeated ? RemoteAnswer::State::repeated : RemoteAnswer::State::certain;
  bool is_valid = has_form && has_end;
  for (std::size_t i = 0; is_valid && i < values.size(); ++i) {
    is_valid = take_value(batch, keys[i], values[i], state);
  }
  if (!is_valid) {
    set_all(RemoteAnswer::State::lost);  // the server may have done something
    batch.result.error = unexpected_reply(command.name).error();
  }
}

bool RemoteFilter::take_value(Batch& batch, std::uint32_t key, const RedisReply& value, RemoteAnswer::State state) {
  RemoteAnswer& answer = batch.result.answers[key];
  if (value.type == RedisReply::Type::error) {
    if (value.text.starts_with("ERR not a URL")) {
      answer.state = RemoteAnswer::State::refused;
    } else {
      take_error(batch, value.text);
    }
    return true;
  }
  const auto number = number_in(value, type_, batch.work);
  if (!number) {
    return false;
  }
  if (*number < 0 && batch.work != RemoteWork::remove) {
    take_error(batch, kFull);
    return true;
  }
  answer = {.value = *number, .state = state};
  return true;
}

// The first error says why.
void RemoteFilter::take_error(Batch& batch, std::string_view text) const {
  if (batch.result.error) {
    return;
  }
  batch.result.error =
      text == "ERR not found"
          ? refuse(ErrorCode::io, "the filter is gone; it was deleted, or the server lost its data").error()
      : text == kFull ? refuse(ErrorCode::io, "the filter is full; reserve a larger one").error()
                      : refused_by_redis(text).error().within(to_text(address_));
}

namespace {

// Adds the facts of one of `shards` replies. Returns false for a reply of another form.
bool add_facts(const RedisReply& reply, std::size_t shards, RemoteFacts& facts) {
  const auto bytes = reply.number_of("Size");
  std::optional<std::uint64_t> keys;
  for (const std::string_view name : {"Number of items inserted", "Number of items", "Number of URLs", "Names"}) {
    keys = keys ? keys : reply.number_of(name);
  }
  if (!bytes || !keys) {
    return false;
  }
  facts.bytes += *bytes;
  facts.keys += *keys;
  if (const auto capacity = reply.number_of("Capacity")) {
    facts.capacity = facts.capacity.value_or(0) + *capacity;
  }
  if (const auto newest = reply.number_of("Newest event")) {
    constexpr auto kMost = std::chrono::floor<std::chrono::milliseconds>(Duration::max()).count();
    if (*newest > static_cast<std::uint64_t>(kMost)) {
      return false;
    }
    const Time time(std::chrono::milliseconds(static_cast<std::int64_t>(*newest)));
    facts.newest = std::max(facts.newest.value_or(time), time);
  }
  if (const auto filters = reply.number_of("Number of filters")) {
    facts.sub_filters = facts.sub_filters.value_or(0) + *filters;
  }
  if (const auto fpr = reply.text_of("Error rate")) {
    facts.fpr_target = facts.fpr_target.value_or(0) + to_number<double>(*fpr).value_or(0) / static_cast<double>(shards);
  }
  return true;
}

}  // namespace

Result<RemoteFacts> RemoteFilter::facts(bool with_fpr) {
  const std::string_view command = kInfo.at(static_cast<std::size_t>(type_));
  MANKAI_ASSIGN(const auto replies, call_all(command, {}));
  RemoteFacts facts;
  for (const RedisReply& reply : replies) {
    if (!reply.error().empty()) {
      return within(to_text(address_), Result<RemoteFacts>(refused_by_redis(reply.error())));
    }
    if (!add_facts(reply, replies.size(), facts)) {
      return unexpected_reply(command);
    }
  }
  if (!with_fpr || type_name_ != "mankai-bf") {
    return facts;
  }
  MANKAI_ASSIGN(const auto rates, call_all("BF.INFO", std::array<std::string_view, 1>{"FPR"}));
  double sum = 0;
  for (const RedisReply& rate : rates) {
    if (!rate.error().empty()) {
      return within(to_text(address_), Result<RemoteFacts>(refused_by_redis(rate.error())));
    }
    const auto number = rate.members.size() == 1 ? to_number<double>(rate.members.front().text) : std::nullopt;
    if (!number) {
      return unexpected_reply(command);
    }
    sum += *number;
  }
  facts.fpr = sum / static_cast<double>(rates.size());
  return facts;
}

Result<std::vector<RemoteHotKey>> RemoteFilter::top(std::size_t most, Time at) {
  constexpr std::size_t kMostOfServer = 10'000;
  const std::string count = std::to_string(std::min(most, kMostOfServer));
  const std::string time = milliseconds_of(at);
  MANKAI_ASSIGN(auto replies, call_all("HOT.TOP", std::array<std::string_view, 4>{count, "WITHCOUNTS", "AT", time}));
  std::vector<RemoteHotKey> hottest;
  for (RedisReply& reply : replies) {
    if (!reply.error().empty()) {
      return within(to_text(address_), Result<std::vector<RemoteHotKey>>(refused_by_redis(reply.error())));
    }
    if (reply.type != RedisReply::Type::array || reply.members.size() % 2 != 0) {
      return unexpected_reply("HOT.TOP");
    }
    for (std::size_t i = 0; i < reply.members.size(); i += 2) {
      const auto number = number_in(reply.members[i + 1], type_, RemoteWork::count);
      if (reply.members[i].type != RedisReply::Type::text || !number) {
        return unexpected_reply("HOT.TOP");
      }
      hottest.push_back({.key = std::move(reply.members[i].text), .count = *number});
    }
  }
  std::ranges::sort(hottest, [](const RemoteHotKey& a, const RemoteHotKey& b) {
    return a.count != b.count ? a.count > b.count : a.key < b.key;
  });
  hottest.resize(std::min({hottest.size(), most, kMostOfServer}));
  std::vector<std::string_view> keys;
  for (const RemoteHotKey& hot : hottest) {
    keys.emplace_back(hot.key);
  }
  MANKAI_TRY(submit(RemoteWork::rate, keys, {}, at));
  MANKAI_ASSIGN(const auto rates, receive());
  if (rates.error) {
    return std::unexpected(*rates.error);
  }
  for (std::size_t i = 0; i < hottest.size(); ++i) {
    hottest[i].rate = rates.answers[i].value;
  }
  return hottest;
}

}  // namespace mankai
