#pragma once

/// A file system in memory that remembers what it was asked to do, and can tell what may be left of it when the machine
/// or the process ends at any moment.
///
/// The fault model, for a power loss:
///   - Contents. Each sector of 512 bytes of a file holds, each by itself, any of the contents that it had since the
///     file's last sync: writes may be dropped, reordered and torn between sectors, and within one only of a file
///     that tear_sectors() named: a sector that is written there may have lines of 64 bytes that are old, and others
///     that are noise.
///   - Mapped memory reaches the disk at any time: the contents that a sector had are those at every call and at every
///     `observe()`, which tests call between operations; of one that changed in between any lines of 64 bytes may be
///     old.
///   - Sizes. A file has any of the sizes that it had since its last sync. What is behind the end is zeros.
///   - Names. Each change to a folder since the folder's last sync may have happened or not, each by itself; one whose
///     source is not there has not. A rename is one change. Nothing but a sync of the folder makes a name last.
///   - A sync that failed makes nothing last, and later ones take what it should have written for written.
/// For a process crash: everything is there, but of the memory that it was just changing any lines. A machine
/// that ends later can still lose it.
///
/// A disk after a power loss is one of another boot (/proc/sys/kernel/random/boot_id), and after a process crash of the
/// same one.
///
/// Not modeled: owners and permissions are as they were given at once; no symbolic links; folders are there already.

#include <sys/stat.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "mankai/file/file_calls.hpp"
#include "tests/support/disk_state.hpp"

namespace mankai::test {

/// A call that makes something last.
struct SyncCall {
  enum class Kind : std::uint8_t { fsync, fdatasync, msync, folder };

  Kind kind{};
  std::string path;               ///< a name of the file; empty when it has none
  std::vector<NameChange> names;  ///< what has changed in the folder since its last sync
};

/// See the top of this file. Threads: safe, as a system's calls are; what runs at the same time may be remembered in
/// any order.
class SimulatedDisk final : public FileCalls {
 public:
  /// What becomes of a call that makes something last.
  enum class Fate : std::uint8_t {
    done,
    ignored,  ///< says that it is done: a call that the code forgot
    failed,   ///< EIO
  };

  /// An empty disk with one folder.
  explicit SimulatedDisk(std::string folder = "/disk");
  /// A disk that holds this.
  SimulatedDisk(std::string folder, DiskState base);
  /// The same, of this boot.
  SimulatedDisk(std::string folder, DiskState base, std::uint64_t boot);
  SimulatedDisk(const SimulatedDisk&) = delete;
  SimulatedDisk(SimulatedDisk&&) = delete;
  SimulatedDisk& operator=(const SimulatedDisk&) = delete;
  SimulatedDisk& operator=(SimulatedDisk&&) = delete;
  ~SimulatedDisk() override;

  /// Looks what has changed in shared mappings.
  void observe();
  /// What happened until now, after a look: the first so many events of the trace.
  [[nodiscard]] std::size_t moment();
  [[nodiscard]] const std::vector<DiskEvent>& trace() const noexcept { return events_; }
  [[nodiscard]] const DiskState& base() const noexcept { return base_; }
  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  [[nodiscard]] std::uint64_t boot() const noexcept { return boot_; }

  /// From now on what a process writes to the file of this name by calls, not through a mapping, is torn within
  /// sectors, too.
  void tear_sectors(std::string path) { torn_ = std::move(path); }
  /// Asked for every call that makes something last. Set while nothing runs.
  void decide_syncs(std::function<Fate(const SyncCall&)> decide) { decide_ = std::move(decide); }
  /// How many calls made something last, or should have.
  [[nodiscard]] std::size_t syncs() const noexcept { return syncs_; }
  /// A sync of the file failed elsewhere.
  void lose_sync(int file);

  /// Open files and mappings: 0 when nothing leaks.
  [[nodiscard]] std::size_t in_use() const noexcept { return open_.size() + mappings_.size(); }
  /// All names, sorted.
  [[nodiscard]] std::vector<std::string> names() const;

  int open(const char* path, int flags, mode_t mode) override;
  int close(int file) noexcept override;
  int duplicate(int file) override;
  ssize_t pread(int file, void* into, std::size_t bytes, off_t offset) override;
  ssize_t pwrite(int file, const void* from, std::size_t bytes, off_t offset) override;
  int fsync(int file) override { return sync(file, SyncCall::Kind::fsync); }
  int fdatasync(int file) override { return sync(file, SyncCall::Kind::fdatasync); }
  int ftruncate(int file, off_t bytes) override;
  int fallocate(int file, off_t offset, off_t bytes) override;
  int punch_hole(int file, off_t offset, off_t bytes) noexcept override;
  int flock(int file, int operation) override;
  int fstat(int file, struct stat* status) override;
  int fchown(int file, uid_t owner, gid_t group) override;
  int fchmod(int file, mode_t mode) override;
  void* mmap(std::size_t bytes, int protection, int flags, int file, off_t offset) override;
  int munmap(void* data, std::size_t bytes) noexcept override;
  void* mremap(void* data, std::size_t old_bytes, std::size_t bytes, int flags) override;
  int msync(void* data, std::size_t bytes, int flags) override;
  int stat(const char* path, struct stat* status) override;
  int access(const char* path, int mode) override;
  char* realpath(const char* path) override;
  int rename(const char* from, const char* to) override;
  int rename_no_replace(const char* from, const char* to) override;
  int link(const char* from, const char* to) override;
  int unlink(const char* path) override;

 private:
  struct File;
  /// What an open file is, however many numbers it has.
  struct Opened {
    std::shared_ptr<File> file;  ///< nullptr: the folder
    int flags;
  };
  struct Mapping {
    std::shared_ptr<File> file;  ///< nullptr: private
    std::size_t bytes;
  };

  void look();
  void add(DiskEvent event);
  [[nodiscard]] std::shared_ptr<Opened> opened(int file) const;
  [[nodiscard]] std::shared_ptr<File> file_of(int file) const;
  [[nodiscard]] std::shared_ptr<File> file_at(const std::string& path) const;
  [[nodiscard]] std::string name_of(const File& file) const;
  [[nodiscard]] bool is_folder(const std::string& path) const { return path == folder_; }
  [[nodiscard]] std::shared_ptr<File> create(const std::string& path, mode_t mode);
  [[nodiscard]] std::shared_ptr<File> boot_file() const;
  int number(std::shared_ptr<Opened> opened);
  void record(File& file, std::uint64_t first, std::uint64_t last, DiskEvent::Kind kind);
  static void take_sector(File& file, std::uint64_t number, DiskEvent& event);
  static void record_differences(File& file, std::uint64_t first, std::uint64_t last, DiskEvent& event);
  [[nodiscard]] bool is_within_end(const File& file, std::uint64_t size) const;
  int resize(File& file, std::uint64_t bytes);
  int change_name(NameChange change);
  int sync(int file, SyncCall::Kind kind);
  int sync_sectors(const SyncCall& call, File& file, std::uint64_t first, std::uint64_t last);
  int sync_names();
  int status_of(const std::shared_ptr<File>& file, struct stat* status) const;

  std::string folder_;
  DiskState base_;
  std::uint64_t boot_;
  std::vector<DiskEvent> events_;
  std::vector<NameChange> unsynced_names_;
  std::map<std::string, std::shared_ptr<File>, std::less<>> names_;
  std::map<int, std::shared_ptr<Opened>> open_;
  std::multimap<const std::byte*, Mapping> mappings_;
  std::function<Fate(const SyncCall&)> decide_;
  std::size_t syncs_ = 0;
  std::string torn_;
  std::uint64_t next_file_;
  int next_number_;
  mutable std::mutex mutex_;
};

/// Walks through a trace and tells what may be found at each moment.
class DiskWalk {
 public:
  explicit DiskWalk(const SimulatedDisk& disk) : disk_(disk), state_(disk.base()) {}

  [[nodiscard]] std::size_t moment() const noexcept { return moment_; }
  [[nodiscard]] bool is_at_end() const noexcept { return moment_ == disk_.trace().size(); }
  void step() { state_.apply(disk_.trace()[moment_++]); }

  /// A disk on which the machine ended now.
  [[nodiscard]] std::unique_ptr<SimulatedDisk> machine_ends(Loss loss, std::uint64_t seed) const;
  /// The disk when the process ended now, or within the next event.
  [[nodiscard]] std::unique_ptr<SimulatedDisk> process_ends(std::uint64_t seed) const;

 private:
  const SimulatedDisk& disk_;
  DiskState state_;
  std::size_t moment_ = 0;
};

}  // namespace mankai::test
