#include "apps/mankai/remote.hpp"

#include <cstdlib>

namespace mankai::command {

void add_password(RedisAddress& address) {
  if (const char* const password = std::getenv("MANKAI_REDIS_PASSWORD");
      password != nullptr && address.password.empty()) {
    address.password = password;
  }
}

Result<RemoteFilter> open_remote(const std::string& text, const std::optional<RemoteCreation>& creation) {
  MANKAI_ASSIGN(auto address, parse_remote_address(text));
  add_password(address.server);
  return RemoteFilter::open(address, creation);
}

void add_facts(const RemoteFilter& filter, const RemoteFacts& facts, Report& report) {
  report.add("type", filter.type_name(), "type", filter.type_name());
  report.add("shards", std::uint64_t{filter.address().shards}, filter.address().shards > 0 ? "shards" : "",
             human_count(filter.address().shards));
  report.add("keys_inserted", facts.keys, "keys", human_count(facts.keys));
  if (facts.capacity) {
    report.add("capacity_keys", *facts.capacity, "capacity", human_count(*facts.capacity));
  }
  if (facts.sub_filters) {
    report.add("sub_filters", *facts.sub_filters, "sub-filters", human_count(*facts.sub_filters));
  }
  report.add("memory_bytes", facts.bytes, "memory", human_bytes(facts.bytes));
  if (facts.fpr) {
    report.add("fpr_estimate", *facts.fpr, "rate now", human_share(*facts.fpr));
  }
}

}  // namespace mankai::command
