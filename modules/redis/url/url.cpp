#include "modules/redis/url/url.hpp"

#include <array>

#include "modules/redis/engine/commands.hpp"
#include "modules/redis/engine/docs.hpp"
#include "modules/redis/image/move.hpp"
#include "modules/redis/url/commands.hpp"
#include "modules/redis/url/value.hpp"

namespace mankai::redis {
namespace {

constexpr std::array kKeyUrls = {kKeyArgument, argument("url", ArgumentKind::string, kArgumentMultiple), kEnd};

constexpr std::array kReserveArguments = {kKeyArgument,
                                          kErrorRate,
                                          kCapacity,
                                          kExpansion,
                                          kHash,
                                          kSeed,
                                          argument("rules", ArgumentKind::integer, kArgumentOptional, "RULES"),
                                          kEnd};

constexpr const char* kBatch = "O(N * F), N URLs in F sub-filters";
constexpr const char* kChunk = "O(N), N bytes of chunk";

constexpr CommandInfo kReserve = info("Makes an empty filter for so many URLs at such a rate of false positives",
                                      "O(1)", -4, kCreates.data(), kReserveArguments.data());
constexpr CommandInfo kAdd =
    info("Adds URLs, in whatever spelling, to a filter, which is made if there is none, and tells which are new",
         kBatch, -3, kInserts.data(), kKeyUrls.data());
constexpr CommandInfo kSeen = info("Tells which URLs, in whatever spelling, may have been added to a filter", kBatch,
                                   -3, kReads.data(), kKeyUrls.data());
constexpr CommandInfo kInfo =
    info("Returns facts about a filter of URLs", "O(F), F sub-filters", 2, kReads.data(), kKeyOnly.data());
constexpr CommandInfo kScandump =
    info("Returns the next chunk of a filter of URLs", kChunk, 3, kReadsSeed.data(), kDumpArguments.data());
constexpr CommandInfo kLoadchunk =
    info("Restores a filter of URLs chunk by chunk", kChunk, 4, kCreates.data(), kLoadArguments.data());

constexpr std::array kCommands = {
    Command{"url.reserve", run<url_reserve>, "write deny-oom fast", "url write fast", 1, &kReserve},
    Command{"url.add", run<url_add>, "write deny-oom fast", "url write fast", 1, &kAdd},
    Command{"url.seen", run<url_seen>, "readonly fast", "url read fast", 1, &kSeen},
    Command{"url.info", run<url_info>, "readonly fast", "url read fast", 1, &kInfo},
    Command{"url.scandump", run<image_scandump<UrlValue>>, "readonly", "url slow dangerous", 1, &kScandump},
    Command{"url.loadchunk", run<image_loadchunk<UrlValue>>, "write deny-oom", "url write slow", 1, &kLoadchunk},
};

}  // namespace

int register_url(Context* context) noexcept {
  add_category(context, "url");
  const bool is_done = UrlType::register_type(context) == kOk &&
                       register_growing_configs(context, url_defaults()) == kOk &&
                       register_commands(context, kCommands) == kOk;
  return is_done ? kOk : kError;
}

void add_url_info(InfoState* info) noexcept { UrlType::add_info(info); }

}  // namespace mankai::redis
