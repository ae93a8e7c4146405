#include <algorithm>

#include "mankai/c/detail/arguments.hpp"
#include "mankai/c/detail/handle.hpp"
#include "mankai/c/mankai.h"

namespace mankai::c {
namespace {

// Runs `use(store)`. Errors: invalid_argument for a filter that has none.
template <class Filter, class Use>
int with_store(Filter* filter, const Use& use) noexcept {
  return guarded([&]() -> Result<void> {
    if (filter == nullptr) {
      return missing("filter");
    }
    auto* store = std::get_if<Store>(&filter->body);
    if (store == nullptr) {
      return fail(ErrorCode::invalid_argument,
                  "the filter is not in a file that is open for changes; use mankai_create_file or mankai_open_file");
    }
    return use(*store);
  });
}

}  // namespace
}  // namespace mankai::c

// The functions below are C's.
using namespace mankai;
using namespace mankai::c;

int mankai_recovery(const mankai_filter* filter, mankai_recovery_report* report) {
  return with_store(filter, [&](const Store& store) -> Result<void> {
    if (report == nullptr) {
      return missing("report");
    }
    const RecoveryReport& found = store.recovery();
    return write_sized(mankai_recovery_report{.size = sizeof(mankai_recovery_report),
                                              .records_replayed = found.records_replayed,
                                              .changes_replayed = found.changes_replayed,
                                              .bytes_dropped = found.bytes_dropped,
                                              .dropped_at = found.dropped_at,
                                              .sequence = found.sequence,
                                              .reason = found.reason.c_str(),
                                              .was_closed = found.was_closed},
                       report);
  });
}

int mankai_sequence(const mankai_filter* filter, uint64_t* sequence) {
  return with_store(filter, [&](const Store& store) -> Result<void> {
    if (sequence == nullptr) {
      return missing("sequence");
    }
    *sequence = store.sequence();
    return {};
  });
}

int mankai_durable_sequence(const mankai_filter* filter, uint64_t* sequence) {
  return with_store(filter, [&](const Store& store) -> Result<void> {
    if (sequence == nullptr) {
      return missing("sequence");
    }
    *sequence = store.durable_sequence();
    return {};
  });
}

int mankai_begin(mankai_filter* filter) {
  return with_store(filter, [](Store& store) -> Result<void> {
    store.begin();
    return {};
  });
}

int mankai_commit(mankai_filter* filter, const void* position, size_t bytes) {
  return with_store(filter, [&](Store& store) -> Result<void> {
    auto valid = check_array(position, bytes, "position");
    return valid ? store.commit({static_cast<const char*>(position), bytes}) : valid;
  });
}

int mankai_position(const mankai_filter* filter, void* position, size_t* bytes) {
  return with_store(filter, [&](const Store& store) -> Result<void> {
    if (position == nullptr || bytes == nullptr) {
      return missing(position == nullptr ? "position" : "bytes");
    }
    const SourcePosition stands = store.position();
    std::ranges::copy(stands.view(), static_cast<char*>(position));
    *bytes = stands.view().size();
    return {};
  });
}

int mankai_sync(mankai_filter* filter) {
  return with_store(filter, [](Store& store) { return store.sync(); });
}

int mankai_checkpoint(mankai_filter* filter) {
  return with_store(filter, [](Store& store) { return store.checkpoint(); });
}
