#include "mankai/c/detail/arguments.hpp"
#include "mankai/c/detail/filter_handle.hpp"
#include "mankai/c/detail/stored.hpp"
#include "mankai/c/mankai.h"

namespace mankai::c {
namespace {

// Runs `use(store)`. Errors: invalid_argument for a filter that is not in a file.
template <class Filter, class Use>
int with_store(Filter* filter, const Use& use) noexcept {
  return with_handle(filter, [&](Filter& handle) -> Result<void> {
    auto* store = std::get_if<Store>(&handle.body);
    if (store == nullptr) {
      return fail(ErrorCode::invalid_argument,
                  "the filter is not in a file that is open for changes; create one, or open one for changes");
    }
    return use(*store);
  });
}

int write_sequence(const mankai_filter* filter, std::uint64_t* sequence,
                   std::uint64_t (Store::*read)() const noexcept) noexcept {
  return with_store(filter, [&](const Store& store) -> Result<void> {
    MANKAI_TRY(check_given(sequence, "sequence"));
    *sequence = (store.*read)();
    return {};
  });
}

}  // namespace
}  // namespace mankai::c

using namespace mankai;
using namespace mankai::c;

int mankai_recovery(const mankai_filter* filter, mankai_recovery_report* report) {
  return with_store(filter, [&](const Store& store) -> Result<void> {
    const RecoveryReport& found = store.recovery();
    return write_sized(mankai_recovery_report{.size = sizeof(mankai_recovery_report),
                                              .records_replayed = found.records_replayed,
                                              .changes_replayed = found.changes_replayed,
                                              .bytes_dropped = found.bytes_dropped,
                                              .dropped_at = found.dropped_at,
                                              .sequence = found.sequence,
                                              .reason = found.reason.c_str(),
                                              .was_closed = found.was_closed},
                       report, "report");
  });
}

int mankai_sequence(const mankai_filter* filter, uint64_t* sequence) {
  return write_sequence(filter, sequence, &Store::sequence);
}

int mankai_durable_sequence(const mankai_filter* filter, uint64_t* sequence) {
  return write_sequence(filter, sequence, &Store::durable_sequence);
}

int mankai_begin(mankai_filter* filter) {
  return with_store(filter, [](Store& store) -> Result<void> {
    store.begin();
    return {};
  });
}

int mankai_commit(mankai_filter* filter, const void* position, size_t bytes) {
  return with_store(filter, [&](Store& store) -> Result<void> {
    MANKAI_TRY(check_array(position, bytes, "position"));
    return store.commit({static_cast<const char*>(position), bytes});
  });
}

int mankai_position(const mankai_filter* filter, void* position, size_t* bytes) {
  return with_store(filter, [&](const Store& store) { return write_position(&store, position, bytes); });
}

int mankai_sync(mankai_filter* filter) {
  return with_store(filter, [](Store& store) { return store.sync(); });
}

int mankai_checkpoint(mankai_filter* filter) {
  return with_store(filter, [](Store& store) { return store.checkpoint(); });
}
