// A pool of filters from outside. Byte 0 says whether the rest is a whole file, or byte 1 the number of changes to a
// good one, three bytes each, and which of its checksums are made right afterwards. Then two bytes are an operation on
// what was opened.
//
// A file whose checksums were left alone gives, for each id, the filter that was put, or an error; one whose checksums
// were forged gives something that behaves. What is put is there afterwards in any case, also when opened again.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/durable/filter_pool.hpp"
#include "mankai/hash/checksum.hpp"
#include "tests/support/fading_filters.hpp"
#include "tests/support/image_edit.hpp"

namespace {

using namespace mankai;
using Bytes = std::vector<std::byte>;
using Input = std::span<const std::uint8_t>;

constexpr FadingShape kShape{.slots = 64, .k = 2, .bits = 8};
constexpr std::uint64_t kIds = 4;
/// Slots of the good file, the last of them free.
constexpr std::size_t kSlots = 6;
constexpr std::size_t kOperationsMax = 60;

enum Mode : std::uint8_t {
  whole_file = 1,  ///< the input is the file
  fix_header = 2,  ///< the pool's header
  fix_state = 4,   ///< its state
  fix_images = 8,  ///< the prototype's and the filters' own
  fix_tails = 16,  ///< places, and tags that are not 0
  as_reader = 32,
};

/// A file in memory, opened by name like any other.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::byte> bytes) : descriptor_(::memfd_create("pool", MFD_CLOEXEC)) {
    MANKAI_ASSERT(descriptor_ >= 0);
    MANKAI_ASSERT(::write(descriptor_, bytes.data(), bytes.size()) == static_cast<::ssize_t>(bytes.size()));
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(descriptor_); }

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  [[nodiscard]] Bytes bytes() const {
    Bytes all(static_cast<std::size_t>(::lseek(descriptor_, 0, SEEK_END)));
    MANKAI_ASSERT(::pread(descriptor_, all.data(), all.size(), 0) == static_cast<::ssize_t>(all.size()));
    return all;
  }

 private:
  int descriptor_;
};

Bytes image_of(std::uint64_t number) {
  FadingFingerprints filter = test::filled_fading(kShape).create_like().value();
  for (std::uint64_t i = 0; i < number; ++i) {
    filter.insert(filter.hasher()(number * 1000 + i));
  }
  return filter.to_bytes();
}

/// What each id's filter is in the good file; others are put later.
const Bytes& image(std::uint64_t number) {
  static const std::vector<Bytes> kImages = [] {
    std::vector<Bytes> made;
    for (std::uint64_t i = 0; i < 2 * kIds; ++i) {
      made.push_back(image_of(i));
    }
    return made;
  }();
  return kImages[number % kImages.size()];
}

std::size_t slot_bytes() { return static_cast<std::size_t>(pool_slot_bytes(image(0).size())); }
std::size_t first_slot() { return static_cast<std::size_t>(pool_first_slot(image(0).size())); }

/// Cut where the slots end that are used: the less there is, the more of the changes hit something.
Bytes make_file() {
  PoolHeader header{.magic = kPoolMagic,
                    .version = kPoolVersion,
                    .zero = 0,
                    .image_bytes = image(0).size(),
                    .slot_bytes = slot_bytes(),
                    .first_slot = first_slot(),
                    .reserved = {},
                    .checksum = 0};
  header.checksum = checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(PoolHeader, checksum)));
  Bytes start(first_slot());
  std::memcpy(start.data(), &header, sizeof(header));
  std::ranges::copy(image(0), start.begin() + kPoolPrototype);
  const MemoryFile file(start);
  {
    FilterPool pool = FilterPool::open(file.path(), FilterPool::Mode::write).value();
    for (std::uint64_t id = 0; id <= kIds; ++id) {
      MANKAI_ASSERT(pool.put(id, image(id)).has_value());
    }
    MANKAI_ASSERT(pool.erase(kIds));
  }
  Bytes bytes = file.bytes();
  bytes.resize(first_slot() + kSlots * slot_bytes());
  return bytes;
}

const Bytes& good_file() {
  static const Bytes kFile = make_file();
  return kFile;
}

// Changes skip the zeros before the first slot.
std::size_t place_of(std::size_t number) {
  const std::size_t start = kPoolPrototype + image(0).size();
  const std::size_t place = number % (start + kSlots * slot_bytes());
  return place < start ? place : place - start + first_slot();
}

template <class T>
void seal_block(std::byte* at, std::uint64_t seed) {
  const std::uint64_t sum = checksum({at, offsetof(T, checksum)}, seed);
  std::memcpy(at + offsetof(T, checksum), &sum, sizeof(sum));
}

// As the format says; a tag of 0 stays one.
void seal_tail(std::span<std::byte> slot, std::uint64_t number, std::size_t image_bytes) {
  constexpr std::uint64_t kPlaceSeed = 2;
  constexpr std::uint64_t kTagSeed = 3;
  PoolTail tail{};
  std::byte* at = slot.last(sizeof(tail)).data();
  std::memcpy(&tail, at, sizeof(tail));
  if (tail.tag == 0) {
    return;
  }
  const std::uint64_t place[] = {tail.id, tail.sequence, number};
  tail.place = checksum(std::as_bytes(std::span(place)), kPlaceSeed);
  std::uint64_t tag[] = {tail.place, 0, 0};
  std::memcpy(&tag[1], slot.data() + offsetof(ImageHeader, checksum), sizeof(tag[1]));
  std::memcpy(&tag[2], slot.data() + image_bytes - sizeof(tag[2]), sizeof(tag[2]));
  tail.tag = checksum(std::as_bytes(std::span(tag)), kTagSeed);
  std::memcpy(at, &tail, sizeof(tail));
}

void make_right(Bytes& file, std::uint8_t mode) {
  const std::size_t image_bytes = image(0).size();
  if ((mode & fix_header) != 0) {
    seal_block<PoolHeader>(file.data(), 0);
  }
  if ((mode & fix_state) != 0) {
    seal_block<PoolState>(file.data() + sizeof(PoolHeader), 1);
  }
  const auto seal_image = [&](std::size_t at) {
    const auto bytes = std::span(file).subspan(at, image_bytes);
    test::fix_header_checksum(bytes);
    test::fix_trailer(bytes);
  };
  if ((mode & fix_images) != 0) {
    seal_image(kPoolPrototype);
  }
  for (std::size_t number = 0; number < kSlots; ++number) {
    const std::size_t at = first_slot() + number * slot_bytes();
    if ((mode & fix_images) != 0) {
      seal_image(at);
    }
    if ((mode & fix_tails) != 0) {
      seal_tail(std::span(file).subspan(at, slot_bytes()), number, image_bytes);
    }
  }
}

bool is_forged(std::uint8_t mode) {
  return (mode & (whole_file | fix_header | fix_state | fix_images | fix_tails)) != 0;
}

/// What an id has according to the pool, or nothing; an error must be one of those that are promised.
std::optional<Bytes> get(const FilterPool& pool, std::uint64_t id) {
  Bytes bytes(pool.image_bytes());
  const auto got = pool.get(id, bytes);
  MANKAI_ASSERT(got || got.error().code == ErrorCode::corrupt || got.error().code == ErrorCode::not_found);
  MANKAI_ASSERT(got || got.error().code == ErrorCode::corrupt || (!pool.contains(id) && pool.damaged() == 0));
  MANKAI_ASSERT(!got || (pool.contains(id) && check_image(bytes, Trust::checked).has_value()));
  return got ? std::optional(std::move(bytes)) : std::nullopt;
}

void check_answers(FilterPool& pool, std::uint8_t mode) {
  for (std::uint64_t id = 0; id <= kIds; ++id) {
    const auto bytes = get(pool, id);
    MANKAI_ASSERT(is_forged(mode) || !bytes || (id != kIds && *bytes == image(id)));
    const auto standing = pool.view(id);
    MANKAI_ASSERT(standing.has_value() == bytes.has_value());
    MANKAI_ASSERT(!standing || std::ranges::equal(*standing, *bytes));
  }
  std::size_t count = 0;
  pool.for_each_id([&](std::uint64_t id) {
    static_cast<void>(get(pool, id));
    ++count;
  });
  MANKAI_ASSERT(count == pool.size());
}

void check_model(const FilterPool& pool, const std::map<std::uint64_t, std::optional<Bytes>>& model) {
  for (const auto& [id, bytes] : model) {
    MANKAI_ASSERT(pool.contains(id) == bytes.has_value());
    MANKAI_ASSERT(get(pool, id) == bytes);
  }
}

// Changes a filter where it stands, and says so.
void change_in_place(FilterPool& pool, std::uint64_t id, std::map<std::uint64_t, std::optional<Bytes>>& model) {
  const auto bytes = pool.view(id);
  auto filter = bytes ? FadingFingerprints::attach(*bytes) : std::unexpected(bytes.error());
  if (filter) {
    filter->insert(Digest{id});
    const auto sealed = filter->seal();
    if (pool.reseal(id)) {
      model[id] = Bytes(sealed.begin(), sealed.end());
    } else {
      // A forged filter that is not like the prototype.
      model.erase(id);
      static_cast<void>(pool.erase(id));
      model[id] = std::nullopt;
    }
  }
}

void write(const MemoryFile& file, FilterPool pool, Input input) {
  std::map<std::uint64_t, std::optional<Bytes>> model;
  for (std::size_t i = 0; i + 2 <= input.size() && i < 2 * kOperationsMax; i += 2) {
    const std::uint64_t id = input[i + 1] % 8U;
    const Bytes& bytes = image(input[i + 1] >> 4U);
    switch (input[i] % 6) {
      case 0:
      case 1:
        // Not when the prototype was forged, to which these filters are not alike.
        if (pool.put(id, bytes, (input[i] & 64U) != 0 ? Trust::fast : Trust::checked)) {
          model[id] = bytes;
        }
        break;
      case 2: {
        const bool was_there = pool.contains(id);
        MANKAI_ASSERT(pool.erase(id) == was_there);
        model[id] = std::nullopt;
        break;
      }
      case 3: change_in_place(pool, id, model); break;
      case 4: pool.forget_damaged(); break;
      default: {
        FilterPool closed = std::move(pool);
        pool = std::move(closed);
      }
    }
    check_model(pool, model);
  }
  const std::size_t filters = pool.size();
  const std::uint64_t damaged = pool.damaged();
  {
    const FilterPool closed = std::move(pool);
  }
  const FilterPool again = FilterPool::open(file.path(), FilterPool::Mode::write).value();
  check_model(again, model);
  MANKAI_ASSERT(again.size() == filters && again.damaged() == damaged);
}

Bytes changed_file(std::uint8_t mode, Input changes) {
  Bytes bytes = good_file();
  for (std::size_t i = 0; i + 3 <= changes.size(); i += 3) {
    bytes[place_of(changes[i] | std::size_t{changes[i + 1]} << 8)] = static_cast<std::byte>(changes[i + 2]);
  }
  make_right(bytes, mode);
  return bytes;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer looks for this name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) {
    return 0;
  }
  const std::uint8_t mode = data[0];
  const Input input = Input(data, size).subspan(2);
  const bool is_whole = (mode & whole_file) != 0;
  const std::size_t changes = is_whole ? input.size() : std::min(input.size(), std::size_t{data[1]} * 3);
  const auto raw = std::as_bytes(input);
  const MemoryFile file(is_whole ? Bytes(raw.begin(), raw.end()) : changed_file(mode, input.first(changes)));
  const bool is_reader = (mode & as_reader) != 0;
  auto pool = FilterPool::open(file.path(), is_reader ? FilterPool::Mode::read : FilterPool::Mode::write);
  if (!pool) {
    MANKAI_ASSERT(pool.error().code == ErrorCode::corrupt || pool.error().code == ErrorCode::unsupported_version);
    return 0;
  }
  check_answers(*pool, mode);
  if (!is_reader) {
    write(file, std::move(*pool), input.subspan(changes));
  }
  return 0;
}
