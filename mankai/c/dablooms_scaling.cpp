#include <algorithm>
#include <atomic>

#include "mankai/c/dablooms.h"
#include "mankai/c/detail/bloom_handles.hpp"

namespace mankai::c {

ScalingHandle::ScalingHandle(Store opened)
    : scaling_bloom_t{},
      store(std::move(opened)),
      filter(store.filter().as<ScalableCountingBloom>()),
      hash(filter->hash()),
      owner(store),
      shown_bitmap(bitmap_of(store, owner)) {
  header = &shown_header;
  bitmap = &shown_bitmap;
  shown_parts.reserve(kMaxSlices);  // other threads may be reading it when a part is added
  blooms = shown_parts.data();
  const FilterSpec spec = store.filter().spec();
  capacity = static_cast<unsigned int>(spec.keys);
  error_rate = spec.fpr;
  fd = -1;
  shown_header.max_id = filter->max_id();
  show_change();
}

bool ScalingHandle::may_wait(std::uint64_t id) const noexcept {
  return id >= parts.back()->shown_header.id && is_touched(*parts.back()->filter);
}

void ScalingHandle::show_sequence() noexcept {
  shown_header.mem_seqnum = store.sequence() + 1;
  shown_header.disk_seqnum = 0;
}

void ScalingHandle::show_pending_add() noexcept {
  show_sequence();
  ++parts.back()->shown_header.count;
}

void ScalingHandle::show_change() {
  show_sequence();
  if (filter->slice_count() != parts.size()) [[unlikely]] {
    show_parts();
  }
  for (const auto& part : parts) {
    part->show_count();
  }
}

void ScalingHandle::show_parts() {
  while (parts.size() < filter->slice_count()) {
    parts.push_back(
        std::make_unique<CountingHandle>(filter->slice(parts.size()), *this, filter->slice_first_id(parts.size())));
    shown_parts.push_back(parts.back().get());
  }
  std::atomic_ref(num_blooms).store(static_cast<unsigned int>(parts.size()), std::memory_order_release);
  num_bytes = filter->image_bytes();
  shown_bitmap.bytes = num_bytes;
}

namespace {

ScalingHandle& handle_of(scaling_bloom_t* bloom) noexcept { return *static_cast<ScalingHandle*>(bloom); }

}  // namespace
}  // namespace mankai::c

using namespace mankai;
using namespace mankai::c;

const char* dablooms_version() { return "0.9.1"; }

scaling_bloom_t* new_scaling_bloom(unsigned int capacity, double error_rate, const char* filename) {
  return make_handle<ScalingHandle>({Kind{ScalableCountingBloom::kKind}, capacity, error_rate, filename}, create_bloom);
}

scaling_bloom_t* new_scaling_bloom_from_file(unsigned int capacity, double error_rate, const char* filename) {
  scaling_bloom_t* bloom =
      make_handle<ScalingHandle>({Kind{ScalableCountingBloom::kKind}, capacity, error_rate, filename}, open_bloom);
  if (bloom != nullptr) {
    handle_of(bloom).show_flush();  // after opening, everything is on the disk
  }
  return bloom;
}

int free_scaling_bloom(scaling_bloom_t* bloom) {
  if (bloom == nullptr || handle_of(bloom).owner.is_another_process()) {
    return 0;
  }
  const std::unique_ptr<ScalingHandle> gone(&handle_of(bloom));
  return is_fine(caught([&] { return gone->store.close(); })) ? 0 : -1;
}

int scaling_bloom_add(scaling_bloom_t* bloom, const char* s, size_t len, uint64_t id) {
  ScalingHandle& self = handle_of(bloom);
  if (!self.owner.may_change()) {
    return 0;
  }
  const auto added = caught([&]() -> Result<void> {
    MANKAI_TRY(self.filter->check_id(id));
    const NumberedKey key = self.numbered({s, len}, id);
    const Change change = change_of(Operation::insert_with_ids, key);
    if (self.may_wait(id)) [[likely]] {
      MANKAI_TRY(self.store.change_later(change));
      self.filter->slice_count() == self.parts.size() ? self.show_pending_add() : self.show_change();
    } else {
      MANKAI_TRY(self.store.change(change));
      self.show_change();
    }
    self.shown_header.max_id = std::max(self.shown_header.max_id, id);
    return {};
  });
  return self.complaints.is_fine(added) ? 1 : 0;
}

int scaling_bloom_remove(scaling_bloom_t* bloom, const char* s, size_t len, uint64_t id) {
  ScalingHandle& self = handle_of(bloom);
  if (!self.owner.may_change()) {
    return 0;
  }
  EraseResult result{};
  const auto removed = caught([&]() -> Result<void> {
    const NumberedKey key = self.numbered({s, len}, id);
    MANKAI_TRY(self.store.change_by(change_of(Operation::erase_with_ids, key),
                                    [&]() noexcept { result = changeable(self.filter).erase(key.digest, key.id); }));
    self.show_change();
    return {};
  });
  if (!self.complaints.is_fine(removed)) {
    return 0;
  }
  return is_erased(result) ? 1 : 0;
}

int scaling_bloom_check(scaling_bloom_t* bloom, const char* s, size_t len) {
  const ScalingHandle& self = handle_of(bloom);
  const Digest digest = self.hash(std::string_view(s, len));
  apply_pending(self.store);
  return self.filter->may_contain(digest) ? 1 : 0;
}

int scaling_bloom_flush(scaling_bloom_t* bloom) {
  ScalingHandle& self = handle_of(bloom);
  if (!self.owner.may_sync() || !self.complaints.is_fine(caught([&] { return self.store.sync(); }))) {
    return -1;
  }
  self.show_flush();
  return 0;
}

uint64_t scaling_bloom_mem_seqnum(scaling_bloom_t* bloom) { return bloom->header->mem_seqnum; }

uint64_t scaling_bloom_disk_seqnum(scaling_bloom_t* bloom) { return bloom->header->disk_seqnum; }
