#include "tests/support/disk_state.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace mankai::test {
namespace {

/// Processors and disks move memory in lines.
constexpr std::size_t kLineBytes = 64;
/// How often a drawn sector was being changed in memory just when it was written.
constexpr std::uint64_t kOneInMixed = 4;
constexpr std::uint64_t kOneInRare = 8;
/// How many of a torn sector's lines are noise.
constexpr std::uint64_t kOneInNoise = 8;
constexpr std::uint64_t kByteValues = 256;
/// Ways to draw a sector's version; see drawn().
constexpr std::uint64_t kStyles = 3;

// Lines of both: memory that was written to the disk while it was being changed.
SectorBytes mixed(const SectorBytes& before, const SectorBytes& after, Random& random) {
  auto bytes = std::make_shared<Sector>(before == nullptr ? Sector{} : *before);
  const Sector& later = after == nullptr ? Sector{} : *after;
  for (std::size_t at = 0; at < kSectorBytes; at += kLineBytes) {
    if (random.below(2) != 0) {
      std::memcpy(bytes->data() + at, later.data() + at, kLineBytes);
    }
  }
  return bytes;
}

// Lines of both, and some that are neither: a write that lost its power.
SectorBytes torn(const SectorBytes& before, const SectorBytes& after, Random& random) {
  auto bytes = std::make_shared<Sector>(*mixed(before, after, random));
  for (std::size_t at = 0; at < kSectorBytes; at += kLineBytes) {
    if (random.below(kOneInNoise) == 0) {
      std::memset(bytes->data() + at, static_cast<int>(random.below(kByteValues)), kLineBytes);
    }
  }
  return bytes;
}

}  // namespace

std::string folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1)));
}

void FileState::write(const DiskEvent& event) {
  for (const auto& [number, bytes] : event.sectors) {
    Versions& sector = sectors_[number];
    sector.versions.push_back({.bytes = bytes, .written_by = event.kind});
    sector.is_given_up = false;
    pending_.insert(number);
  }
  if (event.size != sizes_.back()) {
    sizes_.push_back(event.size);
    size_is_given_up_ = false;
  }
}

void FileState::sync(std::uint64_t first, std::uint64_t last) {
  for (auto each = pending_.lower_bound(first); each != pending_.end() && *each < last;) {
    Versions& sector = sectors_.at(*each);
    if (sector.is_given_up) {
      ++each;
      continue;
    }
    sector.versions.erase(sector.versions.begin(), std::prev(sector.versions.end()));
    each = pending_.erase(each);
  }
  if (!size_is_given_up_) {
    sizes_.erase(sizes_.begin(), std::prev(sizes_.end()));
  }
}

void FileState::fail_sync() {
  for (const std::uint64_t number : pending_) {
    sectors_.at(number).is_given_up = true;
  }
  size_is_given_up_ = sizes_.size() > 1;
}

FileState::Version FileState::drawn(const Versions& sector, std::uint64_t style, Random& random) {
  const std::size_t newest = sector.versions.size() - 1;
  std::size_t chosen = random.below(newest + 1);
  if (style != 0 && random.below(kOneInRare) != 0) {
    chosen = style == 1 ? newest : 0;
  }
  if (chosen < newest && sector.versions[chosen + 1].written_by != DiskEvent::Kind::write &&
      random.below(kOneInMixed) == 0) {
    const auto& [next, written_by] = sector.versions[chosen + 1];
    const bool is_mapped = written_by == DiskEvent::Kind::mapped_write;
    return {.bytes = is_mapped ? mixed(sector.versions[chosen].bytes, next, random)
                               : torn(sector.versions[chosen].bytes, next, random)};
  }
  return {.bytes = sector.versions[chosen].bytes};
}

FileState FileState::after(Loss loss, Random& random) const {
  FileState found = *this;
  found.pending_.clear();
  const std::uint64_t style = random.below(kStyles);
  const bool keeps = loss == Loss::none || loss == Loss::names;
  for (const std::uint64_t number : pending_) {
    const Versions& sector = sectors_.at(number);
    const Version version = loss == Loss::some ? drawn(sector, style, random)
                            : keeps            ? sector.versions.back()
                                               : sector.versions.front();
    found.sectors_[number] = {.versions = {{.bytes = version.bytes}}};
  }
  const std::uint64_t size = loss == Loss::some ? sizes_[random.below(sizes_.size())]
                             : keeps            ? sizes_.back()
                                                : sizes_.front();
  found.sizes_ = {size};
  found.size_is_given_up_ = false;
  found.cut_at_size();
  return found;
}

// What lies behind the end of a file is zeros when the file becomes longer again.
void FileState::cut_at_size() {
  const std::uint64_t whole = sizes_.back() / kSectorBytes;
  const std::size_t rest = sizes_.back() % kSectorBytes;
  const auto last = sectors_.find(whole);
  if (rest != 0 && last != sectors_.end() && last->second.versions.back().bytes != nullptr) {
    auto bytes = std::make_shared<Sector>(*last->second.versions.back().bytes);
    std::ranges::fill(bytes->begin() + static_cast<std::ptrdiff_t>(rest), bytes->end(), std::byte{0});
    last->second.versions.back().bytes = bytes;
  }
  sectors_.erase(sectors_.lower_bound(whole + (rest != 0 ? 1 : 0)), sectors_.end());
}

void FileState::write_some(const DiskEvent& event, Random& random) {
  DiskEvent part = event;
  part.sectors.clear();
  for (const auto& [number, bytes] : event.sectors) {
    const auto before = sectors_.find(number);
    if (random.below(2) != 0) {
      part.sectors.push_back(
          {number, mixed(before == sectors_.end() ? nullptr : before->second.versions.back().bytes, bytes, random)});
    }
  }
  write(part);
}

void DiskState::apply(const DiskEvent& event) {
  switch (event.kind) {
    case DiskEvent::Kind::write:
    case DiskEvent::Kind::tearing_write:
    case DiskEvent::Kind::mapped_write: files_[event.file].write(event); break;
    case DiskEvent::Kind::sync: files_[event.file].sync(event.first, event.last); break;
    case DiskEvent::Kind::failed_sync: files_[event.file].fail_sync(); break;
    case DiskEvent::Kind::name:
      files_.try_emplace(event.name.file);
      pending_names_.push_back(event.name);
      break;
    case DiskEvent::Kind::sync_names:
      std::erase_if(pending_names_, [&](const NameChange& change) {
        const bool is_here = folder_of(change.name) == event.folder;
        if (is_here) {
          apply_name(names_, change);
        }
        return is_here;
      });
      break;
  }
}

void DiskState::apply_some(const DiskEvent& event, Random& random) {
  if (event.kind == DiskEvent::Kind::mapped_write) {
    files_[event.file].write_some(event, random);
  }
}

// A change whose source is not there, because what made it was lost, is lost as well.
void DiskState::apply_name(Names& names, const NameChange& change) {
  if (!change.source.empty()) {
    const auto source = names.find(change.source);
    if (source == names.end() || source->second != change.file) {
      return;
    }
    if (change.kind == NameChange::Kind::rename) {
      names.erase(source);
    }
  }
  if (change.kind == NameChange::Kind::remove) {
    names.erase(change.name);
  } else {
    names[change.name] = change.file;
  }
}

DiskState::Names DiskState::names() const {
  Names names = names_;
  for (const NameChange& change : pending_names_) {
    apply_name(names, change);
  }
  return names;
}

DiskState::Names DiskState::names_after(Loss loss, Random& random) const {
  if (loss != Loss::some) {
    return loss == Loss::all || loss == Loss::names ? names_ : names();
  }
  // Half of the time the first ones, as a journal of the file system's would keep them; else any.
  const bool in_order = random.below(2) == 0;
  const std::size_t count = random.below(pending_names_.size() + 1);
  Names names = names_;
  for (std::size_t i = 0; i < pending_names_.size(); ++i) {
    if (in_order ? i < count : random.below(2) != 0) {
      apply_name(names, pending_names_[i]);
    }
  }
  return names;
}

DiskState DiskState::after(Loss loss, std::uint64_t seed) const {
  Random random(seed);
  DiskState found;
  found.names_ = names_after(loss, random);
  for (const auto& [name, file] : found.names_) {
    found.files_.try_emplace(file, files_.at(file).after(loss, random));
  }
  return found;
}

}  // namespace mankai::test
