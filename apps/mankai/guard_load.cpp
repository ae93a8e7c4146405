#include "apps/mankai/guard_load.hpp"

#include "apps/mankai/gate_mirror.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/gate/database/redis_guard.hpp"

namespace mankai::command {
namespace {

struct GuardLoadRequest {
  std::string address;
  std::string key;
  std::string file;
  bool quiet = false;
  bool json = false;
};

Report load_report(const GuardLoadRequest& request, const RedisAddress& address, const GuardFacts& facts,
                   std::uint64_t bytes) {
  Report report;
  report.add("file", request.file, "file", request.file);
  report.add("redis", to_text(address), "redis", to_text(address));
  report.add("key", request.key, "key", request.key);
  report.add("rules", facts.rules_in_force(), "rules", human_count(facts.rules_in_force()));
  report.add("exceptions", facts.exceptions, "exceptions", human_count(facts.exceptions));
  report.add("bytes", bytes, "sent", human_bytes(bytes));
  return report;
}

Result<int> tell(const GuardLoadRequest& request, const Report& report) {
  return write_output(request.json ? report.json() : request.quiet ? std::string() : report.text());
}

Result<int> run(const GuardLoadRequest& request) {
  MANKAI_ASSIGN(const auto server, redis_address(request.address, "SERVER"));
  MANKAI_ASSIGN(const auto file, GuardFile::open(request.file));
  MANKAI_ASSIGN(const auto bytes, load_into_server(file.guard(), server, request.key));
  return tell(request, load_report(request, server, file.guard().facts(), bytes));
}

}  // namespace

Result<std::uint64_t> load_into_server(const Guard& guard, const RedisAddress& server, const std::string& key) {
  const auto bytes = guard.to_bytes();
  Progress progress(bytes.size(), false);
  const auto loaded = load_guard_into_redis({.address = server, .key = key}, bytes,
                                            [&](std::uint64_t sent) { progress.advance(sent); });
  progress.clear();
  MANKAI_TRY(loaded);
  return bytes.size();
}

Subcommand guard_load_subcommand() {
  auto request = std::make_shared<GuardLoadRequest>();
  return {
      .name = "guard load",
      .summary = "load a guard into Redis or Valkey",
      .description =
          "Loads a guard's file into one key of a Redis or Valkey server with Mankai's module, for GUARD.CHECK. The "
          "file is sent in pieces to another key, which is renamed when it is complete: until then, GUARD.CHECK "
          "answers from the guard that the key had before. After an error the key is as it was.\n\nThe new guard "
          "replaces everything in the key, also what GUARD.BLOCK and GUARD.ALLOW added to it. Keep such rules in a key "
          "of their own and check both. A key that holds another type is not replaced.\n\nThe user needs GUARD.INFO, "
          "GUARD.LOADCHUNK, MULTI, EXEC, PEXPIRE, PERSIST, RENAME and DEL on KEY and on {KEY}:load-*.",
      .examples = {{"mankai guard load redis://10.0.0.5 lists blocked.mkg", "the server's default port"},
                   {"mankai guard load unix:/run/redis.sock lists blocked.mkg --json", "for programs"},
                   {"MANKAI_REDIS_PASSWORD=secret mankai guard load redis://writer@10.0.0.5 lists blocked.mkg",
                    "as a user with a password"}},
      .options = {positional("SERVER", std::string(kRedisAddressHelp), ValueKind::text, request->address),
                  positional("KEY", "Key to load the guard into.", ValueKind::text, request->key),
                  positional("FILE", "The guard's file.", ValueKind::file, request->file),
                  flag("--quiet", "Print nothing.", request->quiet),
                  flag("--json", "Print what was loaded as JSON.", request->json)},
      .run = [request] { return run(*request); }};
}

}  // namespace mankai::command
