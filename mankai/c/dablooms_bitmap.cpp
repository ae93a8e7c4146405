#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <limits>

#include "mankai/c/dablooms.h"
#include "mankai/c/detail/bloom_handles.hpp"
#include "mankai/file/file_calls.hpp"

namespace mankai::c {
namespace {

constexpr unsigned kCounterBits = 4;
constexpr unsigned kMaxCount = 15;

std::unexpected<Error> refused(int os_error, const char* why) {
  return fail(os_error == EPERM || os_error == EINVAL ? ErrorCode::invalid_argument : ErrorCode::io, why, os_error);
}

// Maps the first bytes of a file, which is extended if it is shorter. An error changes nothing.
Result<char*> map(int file, std::size_t bytes) {
  if (bytes == 0 || bytes > static_cast<std::size_t>(std::numeric_limits<off_t>::max())) {
    return refused(EINVAL, "a bitmap of an impossible size");
  }
  FileCalls& calls = system_calls();
  struct stat status{};
  if (calls.fstat(file, &status) != 0) {
    return refused(errno, "cannot inspect the bitmap's file");
  }
  // Space on the disk is allocated here, so that no write to the mapping raises SIGBUS.
  if (static_cast<std::size_t>(status.st_size) < bytes &&
      calls.fallocate(file, status.st_size, static_cast<off_t>(bytes) - status.st_size) != 0) {
    return refused(errno, "cannot extend the bitmap's file");
  }
  void* array = calls.mmap(bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return array == MAP_FAILED ? Result<char*>(refused(errno, "cannot map the bitmap's file"))
                             : static_cast<char*>(array);
}

/// One counter of a bitmap.
class Counter {
 public:
  Counter(char& byte, bool is_upper) noexcept : byte_(byte), shift_(is_upper ? kCounterBits : 0U) {}

  [[nodiscard]] unsigned get() const noexcept { return (static_cast<unsigned char>(byte_) >> shift_) & kMaxCount; }
  void set(unsigned count) noexcept {
    const unsigned others = static_cast<unsigned char>(byte_) & ~(kMaxCount << shift_);
    byte_ = static_cast<char>(others | (count << shift_));
  }

 private:
  char& byte_;
  unsigned shift_;
};

// Calls `use(counter)`; returns -1 and sets errno if there is no such counter.
template <class Use>
int with_counter(bitmap_t* bitmap, unsigned int index, long offset, const Use& use) noexcept {
  if (bitmap->array == nullptr) {
    errno = EPERM;
    return -1;
  }
  if (offset < 0 || static_cast<std::size_t>(offset) >= bitmap->bytes ||
      index / 2 >= bitmap->bytes - static_cast<std::size_t>(offset)) {
    errno = EINVAL;
    return -1;
  }
  return use(Counter(bitmap->array[static_cast<std::size_t>(offset) + index / 2], index % 2 == 0));
}

int out_of_range() noexcept {
  errno = ERANGE;
  return -1;
}

Store* store_of(bitmap_t* bitmap) noexcept { return static_cast<BitmapHandle*>(bitmap)->store; }

}  // namespace
}  // namespace mankai::c

using namespace mankai;
using namespace mankai::c;

bitmap_t* new_bitmap(int fd, size_t bytes) {
  const auto made = caught([&]() -> Result<BitmapHandle*> {
    auto handle = std::make_unique<BitmapHandle>(BitmapHandle{{.bytes = bytes, .fd = fd, .array = nullptr}, nullptr});
    MANKAI_ASSIGN(const auto array, map(fd, bytes));
    handle->array = array;
    return handle.release();
  });
  return is_fine(made) ? *made : nullptr;
}

bitmap_t* bitmap_resize(bitmap_t* bitmap, size_t /*old_size*/, size_t new_size) {
  const auto mapped = caught([&]() -> Result<char*> {
    return store_of(bitmap) == nullptr ? map(bitmap->fd, new_size)
                                       : refused(EPERM, "the bitmap of a bloom cannot be changed");
  });
  if (!is_fine(mapped)) {
    return nullptr;
  }
  system_calls().munmap(bitmap->array, bitmap->bytes);
  bitmap->array = *mapped;
  bitmap->bytes = new_size;
  return bitmap;
}

int bitmap_increment(bitmap_t* bitmap, unsigned int index, long offset) {
  return with_counter(bitmap, index, offset, [](Counter counter) {
    if (counter.get() == kMaxCount) {
      return out_of_range();
    }
    counter.set(counter.get() + 1);
    return 0;
  });
}

int bitmap_decrement(bitmap_t* bitmap, unsigned int index, long offset) {
  return with_counter(bitmap, index, offset, [](Counter counter) {
    if (counter.get() == 0) {
      return out_of_range();
    }
    counter.set(counter.get() - 1);
    return 0;
  });
}

int bitmap_check(bitmap_t* bitmap, unsigned int index, long offset) {
  return with_counter(bitmap, index, offset, [](Counter counter) { return static_cast<int>(counter.get()); });
}

int bitmap_flush(bitmap_t* bitmap) {
  if (const Owner* owner = static_cast<BitmapHandle*>(bitmap)->owner; owner != nullptr && !owner->may_sync()) {
    return -1;
  }
  const auto flushed = caught([&]() -> Result<void> {
    if (Store* store = store_of(bitmap); store != nullptr) {
      return store->sync();
    }
    if (system_calls().msync(bitmap->array, bitmap->bytes, MS_SYNC) != 0) {
      return refused(errno, "cannot write the bitmap to the disk");
    }
    return {};
  });
  return is_fine(flushed) ? 0 : -1;
}

void free_bitmap(bitmap_t* bitmap) {
  if (bitmap == nullptr || store_of(bitmap) != nullptr) {
    return;
  }
  const std::unique_ptr<BitmapHandle> gone(static_cast<BitmapHandle*>(bitmap));
  system_calls().munmap(gone->array, gone->bytes);
  system_calls().close(gone->fd);
}
