#include "mankai/c/detail/filter_handle.hpp"

namespace mankai::c {

Result<ReadFilter> FilterSource::read() const {
  // Identified first: if the file is replaced in between, the next refresh reads it again.
  MANKAI_ASSIGN(const auto identity, identify(path));
  RecoveryReport report;
  MANKAI_ASSIGN(auto filter, open_filter(path, Access::query, trust, system_memory(), &report));
  return ReadFilter{.filter = std::move(filter), .identity = identity, .sequence = report.sequence};
}

Result<bool> MemoryFilter::refresh() {
  const std::scoped_lock turn(changing_);
  if (!source_) {
    return fail(ErrorCode::invalid_argument, "only a filter whose file is open for queries is read from it again");
  }
  MANKAI_ASSIGN(auto fresh, source_->read());
  if (fresh.identity == identity_ && fresh.sequence == sequence_) {
    return false;
  }
  const std::unique_lock alone(reading_);
  filter_ = std::move(fresh.filter);
  identity_ = fresh.identity;
  sequence_ = fresh.sequence;
  return true;
}

}  // namespace mankai::c
