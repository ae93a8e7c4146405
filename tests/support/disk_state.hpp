#pragma once

/// What a simulated disk may hold when the machine ends. The fault model is stated at the top of simulated_disk.hpp.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/random.hpp"

namespace mankai::test {

inline constexpr std::size_t kSectorBytes = 512;
using Sector = std::array<std::byte, kSectorBytes>;
/// A sector's bytes; nullptr is zeros.
using SectorBytes = std::shared_ptr<const Sector>;

/// A change to a folder. All have a file; a rename and a link have a source.
struct NameChange {
  enum class Kind : std::uint8_t { create, link, rename, remove };

  Kind kind{};
  std::string name;
  std::string source;
  std::uint64_t file = 0;
};

/// One thing that a disk was asked to do.
struct DiskEvent {
  enum class Kind : std::uint8_t {
    write,          ///< sectors and size of a file
    tearing_write,  ///< the same of a file that is torn within sectors
    mapped_write,   ///< sectors that were found changed in a shared mapping
    sync,           ///< of a file's sectors from `first` to before `last`, and of its size
    failed_sync,    ///< the same, which failed: what was to be written counts as written from now on, but is not
    name,           ///< in a folder
    sync_names,     ///< of a folder
  };

  struct Change {
    std::uint64_t number;
    SectorBytes bytes;
  };

  Kind kind{};
  std::uint64_t file = 0;
  std::uint64_t size = 0;
  std::vector<Change> sectors = {};
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  NameChange name = {};
  std::string folder = {};
};

/// What of the changes that were not synchronized is gone when the machine has ended.
enum class Loss : std::uint8_t {
  all,
  none,
  names,     ///< and no contents
  contents,  ///< and no names
  some,      ///< any of them, drawn
};
inline constexpr std::array kLosses = {Loss::all, Loss::none, Loss::names, Loss::contents, Loss::some};

/// A file as a disk may hold it.
class FileState {
 public:
  void write(const DiskEvent& event);
  void sync(std::uint64_t first, std::uint64_t last);
  void fail_sync();

  [[nodiscard]] std::uint64_t size() const noexcept { return sizes_.back(); }
  [[nodiscard]] FileState after(Loss loss, Random& random) const;
  /// As `after` a process crash, in the middle of this write through a mapping.
  void write_some(const DiskEvent& event, Random& random);

  /// Calls use(number, bytes) for each sector that is not zeros, as the process sees it.
  template <class Use>
  void for_each_sector(const Use& use) const {
    for (const auto& [number, sector] : sectors_) {
      if (sector.versions.back().bytes != nullptr) {
        use(number, *sector.versions.back().bytes);
      }
    }
  }

 private:
  struct Version {
    SectorBytes bytes;
    DiskEvent::Kind written_by = DiskEvent::Kind::write;
  };
  struct Versions {
    /// The first is on the disk for certain, the last is what the process sees.
    std::vector<Version> versions = {{}};
    /// A synchronization failed since the last write: the next one has nothing to do.
    bool is_given_up = false;
  };

  static Version drawn(const Versions& sector, std::uint64_t style, Random& random);
  void cut_at_size();

  std::map<std::uint64_t, Versions> sectors_;
  /// The numbers of those with several versions.
  std::set<std::uint64_t> pending_;
  std::vector<std::uint64_t> sizes_ = {0};
  bool size_is_given_up_ = false;
};

/// All files and names of a disk, and what of them may be lost.
class DiskState {
 public:
  using Names = std::map<std::string, std::uint64_t, std::less<>>;

  void apply(const DiskEvent& event);
  /// The process ended in the middle of this event: of a write through a mapping any part may have happened.
  void apply_some(const DiskEvent& event, Random& random);

  /// As the process sees them.
  [[nodiscard]] Names names() const;
  [[nodiscard]] const FileState& file(std::uint64_t number) const { return files_.at(number); }
  /// A number that no file has or had.
  [[nodiscard]] std::uint64_t unused_number() const { return files_.empty() ? 1 : files_.rbegin()->first + 1; }
  /// One disk that may be found after a power loss.
  [[nodiscard]] DiskState after(Loss loss, std::uint64_t seed) const;

 private:
  static void apply_name(Names& names, const NameChange& change);
  [[nodiscard]] Names names_after(Loss loss, Random& random) const;

  std::map<std::uint64_t, FileState> files_;
  Names names_;
  std::vector<NameChange> pending_names_;
};

[[nodiscard]] std::string folder_of(std::string_view path);

}  // namespace mankai::test
