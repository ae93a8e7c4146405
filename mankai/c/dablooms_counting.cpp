#include <cerrno>

#include "mankai/c/dablooms.h"
#include "mankai/c/detail/bloom_handles.hpp"

namespace mankai::c {

CountingHandle::CountingHandle(Store opened)
    : counting_bloom_t{},
      store(std::move(opened)),
      whole(&*store),
      filter(store->filter().as<CountingBloom>()),
      hash(filter->hash()),
      owner(*store),
      shown_bitmap(bitmap_of(*store, *owner)) {
  bitmap = &shown_bitmap;
  show_shape();
}

CountingHandle::CountingHandle(const CountingBloom& part, ScalingHandle& scaling, std::uint64_t first_id)
    : counting_bloom_t{}, whole(&scaling.store), filter(&part), hash(filter->hash()) {
  bitmap = &scaling.shown_bitmap;
  shown_header.id = first_id;
  show_shape();
}

void CountingHandle::show_shape() noexcept {
  header = &shown_header;
  capacity = static_cast<unsigned int>(filter->capacity_keys());
  nfuncs = filter->probes_per_key();
  size = filter->cell_count();
  counts_per_func = static_cast<unsigned int>(size / nfuncs);
  num_bytes = filter->image_bytes();
  error_rate = filter->fpr_target();
  shown_bitmap.bytes = num_bytes;
  show_count();
}

void note_not_erased(EraseResult result) noexcept {
  switch (result) {
    case EraseResult::erased: break;
    case EraseResult::absent:
    case EraseResult::below_ids: errno = ENOENT; break;
    case EraseResult::ambiguous: errno = ENOTUNIQ; break;
    case EraseResult::stuck: errno = EOVERFLOW; break;
  }
}

namespace {

CountingHandle& handle_of(counting_bloom_t* bloom) noexcept { return *static_cast<CountingHandle*>(bloom); }

// A part of a scaling bloom cannot be changed alone.
bool is_whole(const CountingHandle& bloom) noexcept {
  if (!bloom.store) [[unlikely]] {
    errno = EPERM;
    return false;
  }
  return true;
}

}  // namespace
}  // namespace mankai::c

using namespace mankai;
using namespace mankai::c;

counting_bloom_t* new_counting_bloom(unsigned int capacity, double error_rate, const char* filename) {
  return make_handle<CountingHandle>({Kind{CountingBloom::kKind}, capacity, error_rate, filename}, create_bloom);
}

counting_bloom_t* new_counting_bloom_from_file(unsigned int capacity, double error_rate, const char* filename) {
  return make_handle<CountingHandle>({Kind{CountingBloom::kKind}, capacity, error_rate, filename}, open_bloom);
}

int free_counting_bloom(counting_bloom_t* bloom) {
  if (bloom == nullptr || !is_whole(handle_of(bloom))) {
    return bloom == nullptr ? 0 : -1;
  }
  if (handle_of(bloom).owner->is_another_process()) {
    return 0;
  }
  const std::unique_ptr<CountingHandle> gone(&handle_of(bloom));
  return is_fine(caught([&] { return gone->store->close(); })) ? 0 : -1;
}

int counting_bloom_add(counting_bloom_t* bloom, const char* s, size_t len) {
  CountingHandle& self = handle_of(bloom);
  if (!is_whole(self) || !self.owner->may_change()) {
    return -1;
  }
  const Digest digest = self.digest_of({s, len});
  const Change change = change_of(Operation::insert, digest);
  const bool may_wait = is_touched(*self.filter);
  if (!self.complaints.is_fine(
          caught([&] { return may_wait ? self.store->change_later(change) : self.store->change(change); }))) {
    return -1;
  }
  ++self.shown_header.count;
  return 0;
}

int counting_bloom_remove(counting_bloom_t* bloom, const char* s, size_t len) {
  CountingHandle& self = handle_of(bloom);
  if (!is_whole(self) || !self.owner->may_change()) {
    return -1;
  }
  const Digest digest = self.digest_of({s, len});
  EraseResult result{};
  if (!self.complaints.is_fine(caught([&] {
        return self.store->change_by(change_of(Operation::erase, digest),
                                     [&]() noexcept { result = changeable(self.filter).erase(digest); });
      }))) {
    return -1;
  }
  self.show_count();
  return is_erased(result) ? 0 : -1;
}

int counting_bloom_check(counting_bloom_t* bloom, const char* s, size_t len) {
  return handle_of(bloom).may_contain({s, len}) ? 1 : 0;
}
