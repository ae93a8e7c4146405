#include "tests/support/simulated_disk.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"

namespace mankai::test {
namespace {

/// A file's memory never moves, so this is how long one can become.
constexpr std::size_t kReservedBytes = std::size_t{1} << 26;
constexpr std::size_t kPageBytes = 4096;
constexpr dev_t kDevice = 7;
constexpr ino_t kFolderInode = 1'000'000;
constexpr ino_t kBootFile = 1'000'001;
/// Far from the system's own numbers, and none is ever given twice.
constexpr int kFirstNumber = 1'000'000;

int refused(int error) noexcept {
  errno = error;
  return -1;
}

// Zeros for which no memory is taken until they are touched.
std::byte* reserve() {
  void* data =
      ::mmap(nullptr, kReservedBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  MANKAI_ASSERT(data != MAP_FAILED);
  return static_cast<std::byte*>(data);
}

// What one file is done with, the next one gets: tests make a disk for every moment, and the first touch of each page
// would cost more than all that they do with it.
class ReservedPool {
 public:
  ReservedPool() = default;
  ReservedPool(const ReservedPool&) = delete;
  ReservedPool(ReservedPool&&) = delete;
  ReservedPool& operator=(const ReservedPool&) = delete;
  ReservedPool& operator=(ReservedPool&&) = delete;
  ~ReservedPool() {
    for (std::byte* data : free_) {
      ::munmap(data, kReservedBytes);
    }
  }

  std::byte* take() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) {
      return reserve();
    }
    std::byte* data = free_.back();
    free_.pop_back();
    return data;
  }
  // Pre: behind the used bytes it is zeros.
  void give_back(std::byte* data, std::size_t used) {
    constexpr std::size_t kMostToClear = std::size_t{1} << 20;
    if (used > kMostToClear) {
      ::munmap(data, kReservedBytes);
      return;
    }
    std::memset(data, 0, used);
    const std::scoped_lock lock(mutex_);
    free_.push_back(data);
  }

 private:
  std::mutex mutex_;
  std::vector<std::byte*> free_;
};

ReservedPool& reserved_pool() {
  static ReservedPool pool;
  return pool;
}

class Reserved {
 public:
  Reserved() : data_(reserved_pool().take()) {}
  Reserved(const Reserved&) = delete;
  Reserved(Reserved&&) = delete;
  Reserved& operator=(const Reserved&) = delete;
  Reserved& operator=(Reserved&&) = delete;
  ~Reserved() { reserved_pool().give_back(data_, used_); }

  // So much of it may be other than zeros.
  void use(std::size_t bytes) noexcept { used_ = std::max(used_, bytes); }
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::byte* sector(std::uint64_t number) const noexcept { return data_ + number * kSectorBytes; }

 private:
  std::byte* data_;
  std::size_t used_ = 0;
};

std::uint64_t next_boot() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

std::uint64_t sectors_of(std::uint64_t bytes) noexcept { return divide_up(bytes, std::uint64_t{kSectorBytes}); }

SectorBytes copy_sector(const std::byte* data) {
  static constexpr Sector kZeros{};
  if (std::memcmp(data, kZeros.data(), kSectorBytes) == 0) {
    return nullptr;
  }
  auto bytes = std::make_shared<Sector>();
  std::memcpy(bytes->data(), data, kSectorBytes);
  return bytes;
}

}  // namespace

struct SimulatedDisk::File {
  explicit File(std::uint64_t id) : number(id) {}

  void set_size(std::uint64_t bytes) noexcept {
    size = bytes;
    // What is mapped may be written up to the end of a page.
    live.use(align_up(bytes, std::uint64_t{kPageBytes}));
    recorded.use(align_up(bytes, std::uint64_t{kPageBytes}));
  }

  std::uint64_t number;
  Reserved live;
  /// As the trace has it.
  Reserved recorded;
  std::uint64_t size = 0;
  mode_t mode = 0;
  uid_t owner = 0;
  gid_t group = 0;
  std::set<const Opened*> lock_holders;
  bool is_locked_alone = false;
};

SimulatedDisk::SimulatedDisk(std::string folder) : SimulatedDisk(std::move(folder), DiskState()) {}

SimulatedDisk::SimulatedDisk(std::string folder, DiskState base)
    : SimulatedDisk(std::move(folder), std::move(base), next_boot()) {}

SimulatedDisk::SimulatedDisk(std::string folder, DiskState base, std::uint64_t boot)
    : folder_(std::move(folder)),
      base_(std::move(base)),
      boot_(boot),
      next_file_(base_.unused_number()),
      next_number_(kFirstNumber) {
  std::map<std::uint64_t, std::shared_ptr<File>> files;
  for (const auto& [name, number] : base_.names()) {
    auto& file = files[number];
    if (file == nullptr) {
      const FileState& state = base_.file(number);
      file = std::make_shared<File>(number);
      file->mode = S_IRUSR | S_IWUSR;
      file->set_size(state.size());
      state.for_each_sector([&](std::uint64_t sector, const Sector& bytes) {
        std::memcpy(file->live.sector(sector), bytes.data(), kSectorBytes);
        std::memcpy(file->recorded.sector(sector), bytes.data(), kSectorBytes);
      });
    }
    names_[name] = file;
  }
}

SimulatedDisk::~SimulatedDisk() = default;

void SimulatedDisk::observe() {
  const std::scoped_lock guard(mutex_);
  look();
}

std::size_t SimulatedDisk::moment() {
  const std::scoped_lock guard(mutex_);
  look();
  return events_.size();
}

void SimulatedDisk::lose_sync(int file) {
  const std::scoped_lock guard(mutex_);
  look();
  if (const auto lost = file_of(file)) {
    add({.kind = DiskEvent::Kind::failed_sync, .file = lost->number});
  }
}

std::vector<std::string> SimulatedDisk::names() const {
  const std::scoped_lock guard(mutex_);
  std::vector<std::string> all;
  for (const auto& [name, file] : names_) {
    all.push_back(name);
  }
  return all;
}

void SimulatedDisk::add(DiskEvent event) { events_.push_back(std::move(event)); }

void SimulatedDisk::look() {
  std::set<File*> mapped;
  for (const auto& [data, mapping] : mappings_) {
    if (mapping.file == nullptr || !mapped.insert(mapping.file.get()).second) {
      continue;
    }
    File& file = *mapping.file;
    DiskEvent event{.kind = DiskEvent::Kind::mapped_write, .file = file.number, .size = file.size};
    record_differences(file, 0, sectors_of(file.size), event);
    if (!event.sectors.empty()) {
      add(std::move(event));
    }
  }
}

// Copied once: another thread may be writing to it.
void SimulatedDisk::take_sector(File& file, std::uint64_t number, DiskEvent& event) {
  std::memcpy(file.recorded.sector(number), file.live.sector(number), kSectorBytes);
  event.sectors.push_back({.number = number, .bytes = copy_sector(file.recorded.sector(number))});
}

// Takes those of the sectors that are not as the trace has them.
void SimulatedDisk::record_differences(File& file, std::uint64_t first, std::uint64_t last, DiskEvent& event) {
  constexpr std::uint64_t kSectorsAtOnce = kPageBytes / kSectorBytes;
  const auto differs = [&](std::uint64_t sector, std::size_t bytes) {
    return std::memcmp(file.live.sector(sector), file.recorded.sector(sector), bytes) != 0;
  };
  for (std::uint64_t start = first; start < last; start += kSectorsAtOnce) {
    const std::uint64_t end = std::min(start + kSectorsAtOnce, last);
    if (!differs(start, (end - start) * kSectorBytes)) {
      continue;
    }
    for (std::uint64_t sector = start; sector < end; ++sector) {
      if (differs(sector, kSectorBytes)) {
        take_sector(file, sector, event);
      }
    }
  }
}

// Takes the sectors and the size into the trace: also those that a write left as they were, as it makes them anew.
void SimulatedDisk::record(File& file, std::uint64_t first, std::uint64_t last, DiskEvent::Kind kind) {
  DiskEvent event{.kind = kind, .file = file.number, .size = file.size};
  for (std::uint64_t sector = first; sector < last; ++sector) {
    take_sector(file, sector, event);
  }
  add(std::move(event));
}

std::shared_ptr<SimulatedDisk::Opened> SimulatedDisk::opened(int file) const {
  const auto found = open_.find(file);
  return found == open_.end() ? nullptr : found->second;
}

std::shared_ptr<SimulatedDisk::File> SimulatedDisk::file_of(int file) const {
  const auto found = opened(file);
  return found == nullptr ? nullptr : found->file;
}

std::shared_ptr<SimulatedDisk::File> SimulatedDisk::file_at(const std::string& path) const {
  const auto found = names_.find(path);
  return found == names_.end() ? nullptr : found->second;
}

std::string SimulatedDisk::name_of(const File& file) const {
  for (const auto& [name, named] : names_) {
    if (named.get() == &file) {
      return name;
    }
  }
  return {};
}

int SimulatedDisk::number(std::shared_ptr<Opened> opened) {
  open_[next_number_] = std::move(opened);
  return next_number_++;
}

std::shared_ptr<SimulatedDisk::File> SimulatedDisk::create(const std::string& path, mode_t mode) {
  auto file = std::make_shared<File>(next_file_++);
  file->mode = mode;
  change_name({.kind = NameChange::Kind::create, .name = path, .source = {}, .file = file->number});
  names_[path] = file;
  return file;
}

// Not of the disk: nothing of it is in the trace.
std::shared_ptr<SimulatedDisk::File> SimulatedDisk::boot_file() const {
  constexpr std::size_t kUuidBytes = 36;
  auto file = std::make_shared<File>(kBootFile);
  file->set_size(kUuidBytes + 1);
  std::snprintf(reinterpret_cast<char*>(file->live.data()), kUuidBytes + 1, "00000000-0000-0000-0000-%012llx",
                static_cast<unsigned long long>(boot_));
  return file;
}

int SimulatedDisk::open(const char* path, int flags, mode_t mode) {
  const std::scoped_lock guard(mutex_);
  look();
  if (std::strcmp(path, "/proc/sys/kernel/random/boot_id") == 0) {
    return number(std::make_shared<Opened>(Opened{boot_file(), flags}));
  }
  if (is_folder(path)) {
    return (flags & O_ACCMODE) == O_RDONLY ? number(std::make_shared<Opened>(Opened{nullptr, flags})) : refused(EISDIR);
  }
  auto file = file_at(path);
  if (file != nullptr && (flags & O_DIRECTORY) != 0) {
    return refused(ENOTDIR);
  }
  if (file != nullptr && (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) {
    return refused(EEXIST);
  }
  if (file == nullptr && ((flags & O_CREAT) == 0 || !is_folder(folder_of(path)))) {
    return refused(ENOENT);
  }
  if (file == nullptr) {
    file = create(path, mode);
  }
  return number(std::make_shared<Opened>(Opened{std::move(file), flags}));
}

int SimulatedDisk::close(int file) noexcept {
  const std::scoped_lock guard(mutex_);
  look();
  const auto found = open_.find(file);
  // A number that is not open any more is one of another file's, in a program with threads.
  MANKAI_ASSERT(found != open_.end());
  const std::shared_ptr<Opened> closed = found->second;
  open_.erase(found);
  if (closed.use_count() == 1 && closed->file != nullptr) {
    closed->file->lock_holders.erase(closed.get());
  }
  return 0;
}

int SimulatedDisk::duplicate(int file) {
  const std::scoped_lock guard(mutex_);
  auto found = opened(file);
  return found == nullptr ? refused(EBADF) : number(std::move(found));
}

ssize_t SimulatedDisk::pread(int file, void* into, std::size_t bytes, off_t offset) {
  const std::scoped_lock guard(mutex_);
  look();
  const auto read = file_of(file);
  if (read == nullptr || (opened(file)->flags & O_ACCMODE) == O_WRONLY) {
    return refused(EBADF);
  }
  const std::uint64_t from = std::min(static_cast<std::uint64_t>(offset), read->size);
  const std::size_t count = std::min<std::uint64_t>(bytes, read->size - from);
  std::memcpy(into, read->live.data() + from, count);
  return static_cast<ssize_t>(count);
}

ssize_t SimulatedDisk::pwrite(int file, const void* from, std::size_t bytes, off_t offset) {
  const std::scoped_lock guard(mutex_);
  look();
  const auto written = file_of(file);
  if (written == nullptr || (opened(file)->flags & O_ACCMODE) == O_RDONLY) {
    return refused(EBADF);
  }
  const auto start = static_cast<std::uint64_t>(offset);
  if (start > kReservedBytes || bytes > kReservedBytes - start) {
    return refused(ENOSPC);
  }
  std::memcpy(written->live.data() + start, from, bytes);
  written->set_size(std::max(written->size, start + bytes));
  record(*written, start / kSectorBytes, sectors_of(start + bytes),
         !torn_.empty() && name_of(*written) == torn_ ? DiskEvent::Kind::tearing_write : DiskEvent::Kind::write);
  return static_cast<ssize_t>(bytes);
}

int SimulatedDisk::resize(File& file, std::uint64_t bytes) {
  if (bytes > kReservedBytes) {
    return refused(EFBIG);
  }
  // Touching what is mapped behind the end would end the process.
  MANKAI_ASSERT(is_within_end(file, bytes));
  const std::uint64_t before = file.size;
  file.set_size(bytes);
  DiskEvent event{.kind = DiskEvent::Kind::write, .file = file.number, .size = bytes};
  if (bytes < before) {
    std::memset(file.live.data() + bytes, 0, align_up(before, std::uint64_t{kPageBytes}) - bytes);
    record_differences(file, bytes / kSectorBytes, sectors_of(before), event);
  }
  add(std::move(event));
  return 0;
}

bool SimulatedDisk::is_within_end(const File& file, std::uint64_t size) const {
  return std::ranges::all_of(mappings_, [&](const auto& each) {
    return each.second.file.get() != &file || each.second.bytes <= align_up(size, std::uint64_t{kPageBytes});
  });
}

int SimulatedDisk::ftruncate(int file, off_t bytes) {
  const std::scoped_lock guard(mutex_);
  look();
  const auto cut = file_of(file);
  return cut == nullptr ? refused(EBADF) : resize(*cut, static_cast<std::uint64_t>(bytes));
}

int SimulatedDisk::fallocate(int file, off_t offset, off_t bytes) {
  const std::scoped_lock guard(mutex_);
  look();
  const auto grown = file_of(file);
  if (grown == nullptr || bytes <= 0) {
    return refused(grown == nullptr ? EBADF : EINVAL);
  }
  return resize(*grown, std::max(grown->size, static_cast<std::uint64_t>(offset + bytes)));
}

// The sectors of a hole may be zeros on the disk, each by itself, as if they had been written.
int SimulatedDisk::punch_hole(int file, off_t offset, off_t bytes) noexcept {
  const std::scoped_lock guard(mutex_);
  look();
  const auto punched = file_of(file);
  if (punched == nullptr) {
    return refused(EBADF);
  }
  const auto from = std::min(static_cast<std::uint64_t>(offset), punched->size);
  const auto until = std::min(static_cast<std::uint64_t>(offset + bytes), punched->size);
  std::memset(punched->live.data() + from, 0, until - from);
  DiskEvent event{.kind = DiskEvent::Kind::write, .file = punched->number, .size = punched->size};
  record_differences(*punched, from / kSectorBytes, sectors_of(until), event);
  add(std::move(event));
  return 0;
}

int SimulatedDisk::flock(int file, int operation) {
  const std::scoped_lock guard(mutex_);
  const auto asker = opened(file);
  if (asker == nullptr || asker->file == nullptr) {
    return refused(EBADF);
  }
  File& locked = *asker->file;
  if ((operation & LOCK_UN) != 0) {
    locked.lock_holders.erase(asker.get());
    return 0;
  }
  const bool is_alone = (operation & LOCK_EX) != 0;
  const std::size_t others = locked.lock_holders.size() - locked.lock_holders.count(asker.get());
  if (others != 0 && (is_alone || locked.is_locked_alone)) {
    return refused(EWOULDBLOCK);
  }
  locked.lock_holders.insert(asker.get());
  locked.is_locked_alone = is_alone;
  return 0;
}

int SimulatedDisk::status_of(const std::shared_ptr<File>& file, struct stat* status) const {
  *status = {};
  status->st_dev = kDevice;
  status->st_nlink = 1;
  if (file == nullptr) {
    status->st_ino = kFolderInode;
    status->st_mode = S_IFDIR | S_IRWXU;
    return 0;
  }
  status->st_ino = file->number;
  status->st_mode = S_IFREG | file->mode;
  status->st_uid = file->owner;
  status->st_gid = file->group;
  status->st_size = static_cast<off_t>(file->size);
  return 0;
}

int SimulatedDisk::fstat(int file, struct stat* status) {
  const std::scoped_lock guard(mutex_);
  const auto found = opened(file);
  return found == nullptr ? refused(EBADF) : status_of(found->file, status);
}

int SimulatedDisk::stat(const char* path, struct stat* status) {
  const std::scoped_lock guard(mutex_);
  const auto file = file_at(path);
  return file == nullptr && !is_folder(path) ? refused(ENOENT) : status_of(file, status);
}

int SimulatedDisk::fchown(int file, uid_t owner, gid_t group) {
  const std::scoped_lock guard(mutex_);
  const auto changed = file_of(file);
  if (changed == nullptr) {
    return refused(EBADF);
  }
  changed->owner = owner;
  changed->group = group;
  return 0;
}

int SimulatedDisk::fchmod(int file, mode_t mode) {
  const std::scoped_lock guard(mutex_);
  const auto changed = file_of(file);
  if (changed == nullptr) {
    return refused(EBADF);
  }
  changed->mode = mode;
  return 0;
}

int SimulatedDisk::access(const char* path, int mode) {
  const std::scoped_lock guard(mutex_);
  const auto file = file_at(path);
  if (file == nullptr) {
    return refused(ENOENT);
  }
  return (mode & W_OK) != 0 && (file->mode & S_IWUSR) == 0 ? refused(EACCES) : 0;
}

char* SimulatedDisk::realpath(const char* path) {
  const std::scoped_lock guard(mutex_);
  if (file_at(path) == nullptr) {
    errno = ENOENT;
    return nullptr;
  }
  return ::strdup(path);
}

void* SimulatedDisk::mmap(std::size_t bytes, int /*protection*/, int flags, int file, off_t offset) {
  const std::scoped_lock guard(mutex_);
  look();
  const auto mapped = file_of(file);
  if (mapped == nullptr || bytes == 0 || offset != 0) {
    errno = mapped == nullptr ? EBADF : EINVAL;
    return MAP_FAILED;
  }
  if ((flags & MAP_SHARED) != 0) {
    mappings_.emplace(mapped->live.data(), Mapping{mapped, bytes});
    MANKAI_ASSERT(is_within_end(*mapped, mapped->size));
    return mapped->live.data();
  }
  void* copy = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy != MAP_FAILED) {
    std::memcpy(copy, mapped->live.data(), std::min<std::uint64_t>(bytes, mapped->size));
    mappings_.emplace(static_cast<const std::byte*>(copy), Mapping{nullptr, bytes});
  }
  return copy;
}

int SimulatedDisk::munmap(void* data, std::size_t bytes) noexcept {
  const std::scoped_lock guard(mutex_);
  look();
  const auto [first, last] = mappings_.equal_range(static_cast<const std::byte*>(data));
  const auto found = std::find_if(first, last, [&](const auto& each) { return each.second.bytes == bytes; });
  MANKAI_ASSERT(found != last);
  if (found->second.file == nullptr) {
    ::munmap(data, bytes);
  }
  mappings_.erase(found);
  return 0;
}

void* SimulatedDisk::mremap(void* data, std::size_t old_bytes, std::size_t bytes, int /*flags*/) {
  const std::scoped_lock guard(mutex_);
  look();
  const auto [first, last] = mappings_.equal_range(static_cast<const std::byte*>(data));
  const auto found = std::find_if(
      first, last, [&](const auto& each) { return each.second.file != nullptr && each.second.bytes == old_bytes; });
  if (found == last || bytes == 0 || bytes > kReservedBytes) {
    errno = EINVAL;
    return MAP_FAILED;
  }
  found->second.bytes = bytes;
  MANKAI_ASSERT(is_within_end(*found->second.file, found->second.file->size));
  return data;
}

int SimulatedDisk::sync_sectors(const SyncCall& call, File& file, std::uint64_t first, std::uint64_t last) {
  ++syncs_;
  const Fate fate = decide_ ? decide_(call) : Fate::done;
  if (fate == Fate::ignored) {
    return 0;
  }
  const bool is_done = fate == Fate::done;
  add({.kind = is_done ? DiskEvent::Kind::sync : DiskEvent::Kind::failed_sync,
       .file = file.number,
       .first = first,
       .last = last});
  return is_done ? 0 : refused(EIO);
}

int SimulatedDisk::sync(int file, SyncCall::Kind kind) {
  const std::scoped_lock guard(mutex_);
  look();
  const auto found = opened(file);
  if (found == nullptr) {
    return refused(EBADF);
  }
  if (found->file == nullptr) {
    return sync_names();
  }
  // Also of what lies behind the end: it is gone for good then.
  return sync_sectors({.kind = kind, .path = name_of(*found->file), .names = unsynced_names_}, *found->file, 0,
                      sectors_of(kReservedBytes));
}

int SimulatedDisk::msync(void* data, std::size_t bytes, int /*flags*/) {
  const std::scoped_lock guard(mutex_);
  look();
  const auto* start = static_cast<const std::byte*>(data);
  for (const auto& [mapped, mapping] : mappings_) {
    if (mapping.file != nullptr && start >= mapped && start + bytes <= mapped + mapping.bytes) {
      const auto from = static_cast<std::uint64_t>(start - mapped);
      return sync_sectors({.kind = SyncCall::Kind::msync, .path = name_of(*mapping.file), .names = unsynced_names_},
                          *mapping.file, from / kSectorBytes,
                          align_up(from + bytes, std::uint64_t{kPageBytes}) / kSectorBytes);
    }
  }
  return refused(ENOMEM);
}

int SimulatedDisk::sync_names() {
  ++syncs_;
  const Fate fate =
      decide_ ? decide_({.kind = SyncCall::Kind::folder, .path = folder_, .names = unsynced_names_}) : Fate::done;
  if (fate == Fate::failed) {
    return refused(EIO);
  }
  if (fate == Fate::done) {
    add({.kind = DiskEvent::Kind::sync_names, .folder = folder_});
    unsynced_names_.clear();
  }
  return 0;
}

int SimulatedDisk::change_name(NameChange change) {
  unsynced_names_.push_back(change);
  add({.kind = DiskEvent::Kind::name, .name = std::move(change)});
  return 0;
}

int SimulatedDisk::rename(const char* from, const char* to) {
  const std::scoped_lock guard(mutex_);
  look();
  const auto file = file_at(from);
  if (file == nullptr || !is_folder(folder_of(to))) {
    return refused(ENOENT);
  }
  names_.erase(from);
  names_[to] = file;
  return change_name({.kind = NameChange::Kind::rename, .name = to, .source = from, .file = file->number});
}

int SimulatedDisk::rename_no_replace(const char* from, const char* to) {
  {
    const std::scoped_lock guard(mutex_);
    if (file_at(to) != nullptr) {
      return refused(EEXIST);
    }
  }
  return rename(from, to);
}

int SimulatedDisk::link(const char* from, const char* to) {
  const std::scoped_lock guard(mutex_);
  look();
  const auto file = file_at(from);
  if (file == nullptr || file_at(to) != nullptr) {
    return refused(file == nullptr ? ENOENT : EEXIST);
  }
  names_[to] = file;
  return change_name({.kind = NameChange::Kind::link, .name = to, .source = from, .file = file->number});
}

int SimulatedDisk::unlink(const char* path) {
  const std::scoped_lock guard(mutex_);
  look();
  const auto file = file_at(path);
  if (file == nullptr) {
    return refused(ENOENT);
  }
  names_.erase(path);
  return change_name({.kind = NameChange::Kind::remove, .name = path, .source = {}, .file = file->number});
}

std::unique_ptr<SimulatedDisk> DiskWalk::machine_ends(Loss loss, std::uint64_t seed) const {
  return std::make_unique<SimulatedDisk>(disk_.folder(), state_.after(loss, seed));
}

std::unique_ptr<SimulatedDisk> DiskWalk::process_ends(std::uint64_t seed) const {
  DiskState state = state_;
  if (!is_at_end()) {
    Random random(seed);
    state.apply_some(disk_.trace()[moment_], random);
  }
  return std::make_unique<SimulatedDisk>(disk_.folder(), std::move(state), disk_.boot());
}

}  // namespace mankai::test
