#include "modules/redis/guard/guard.hpp"

#include <array>

#include "modules/redis/engine/commands.hpp"
#include "modules/redis/engine/docs.hpp"
#include "modules/redis/guard/commands.hpp"
#include "modules/redis/guard/type.hpp"

namespace mankai::redis {
namespace {

constexpr CommandArgument kRules = argument("rule", ArgumentKind::string, kArgumentMultiple);
constexpr std::array kKeyRules = {kKeyArgument, kRules, kEnd};
constexpr std::array kKeyRulesId = {kKeyArgument, kRules,
                                    argument("id", ArgumentKind::integer, kArgumentOptional, "ID"), kEnd};
constexpr std::array kKeyUrls = {kKeyArgument, argument("url", ArgumentKind::string, kArgumentMultiple), kEnd};
constexpr std::array kLoadRules = {kKeyArgument, argument("offset", ArgumentKind::integer),
                                   argument("total", ArgumentKind::integer), argument("data", ArgumentKind::string),
                                   kEnd};

constexpr const char* kBatch = "O(N), N rules";

constexpr CommandInfo kBlock = info("Blocks hosts or paths and everything below them, and tells which rules are new",
                                    kBatch, -3, kInserts.data(), kKeyRulesId.data());
constexpr CommandInfo kUnblock = info("Takes rules out, of one id or of all, and tells which are in force no more",
                                      kBatch, -3, kUpdates.data(), kKeyRulesId.data());
constexpr CommandInfo kAllow = info("Makes exceptions, which win over every rule, and tells which are new", kBatch, -3,
                                    kInserts.data(), kKeyRules.data());
constexpr CommandInfo kDisallow =
    info("Takes exceptions out, and tells which were there", kBatch, -3, kUpdates.data(), kKeyRules.data());
constexpr CommandInfo kCheck = info("Returns, for each URL, the rule that blocks it, or nothing",
                                    "O(N * D), N URLs with D depths at which there are rules below their domain", -3,
                                    kReads.data(), kKeyUrls.data());
constexpr CommandInfo kFacts =
    info("Returns facts about the rules of a key", "O(1)", 2, kReads.data(), kKeyOnly.data());
constexpr CommandInfo kLoad = info("Restores rules piece by piece, such as a file of mankai guard build",
                                   "O(N), N bytes", 5, kCreates.data(), kLoadRules.data());

constexpr std::array kCommands = {
    Command{"guard.block", run<guard_block>, "write deny-oom fast", "guard write fast", 1, &kBlock},
    Command{"guard.unblock", run<guard_unblock>, "write fast", "guard write fast", 1, &kUnblock},
    Command{"guard.allow", run<guard_allow>, "write deny-oom fast", "guard write fast", 1, &kAllow},
    Command{"guard.disallow", run<guard_disallow>, "write fast", "guard write fast", 1, &kDisallow},
    Command{"guard.check", run<guard_check>, "readonly fast", "guard read fast", 1, &kCheck},
    Command{"guard.info", run<guard_info>, "readonly fast", "guard read fast", 1, &kFacts},
    Command{"guard.loadchunk", run<guard_loadchunk>, "write deny-oom", "guard write slow", 1, &kLoad},
};

}  // namespace

int register_guard(Context* context) noexcept {
  add_category(context, "guard");
  return register_guard_type(context) == kOk && register_commands(context, kCommands) == kOk ? kOk : kError;
}

void add_guard_info(InfoState* info) noexcept {
  engine.info_add_section(info, "guard");
  engine.info_add_field_u_long_long(info, "keys", GuardValue::alive());
}

}  // namespace mankai::redis
