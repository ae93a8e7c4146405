#include "mankai/durable/filter_pool.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/hash/checksum.hpp"

namespace mankai {
namespace {

// Each checksum has a seed of its own, so that none fits another's place.
constexpr std::uint64_t kStateSeed = 1;
constexpr std::uint64_t kPlaceSeed = 2;
constexpr std::uint64_t kTagSeed = 3;
/// A pool grows by an eighth, and by so many slots at least.
constexpr std::uint64_t kGrowthShare = 8;
constexpr std::uint64_t kLeastGrowth = 64;

template <class T>
std::uint64_t checksum_of(const T& block, std::uint64_t seed) noexcept {
  return checksum(std::as_bytes(std::span(&block, 1)).first(offsetof(T, checksum)), seed);
}

std::uint64_t checksum_of_words(std::span<const std::uint64_t> words, std::uint64_t seed) noexcept {
  return checksum(std::as_bytes(words), seed);
}

std::uint64_t place_of(std::uint64_t id, std::uint64_t sequence, std::uint32_t number) noexcept {
  const std::uint64_t words[] = {id, sequence, number};
  return checksum_of_words(words, kPlaceSeed);
}

// An image's header and its trailer each end with a checksum, which stand for all of it.
std::uint64_t tag_of(std::uint64_t place, std::span<const std::byte> image) noexcept {
  std::uint64_t words[] = {place, 0, 0};
  std::memcpy(&words[1], image.data() + offsetof(ImageHeader, checksum), sizeof(words[1]));
  std::memcpy(&words[2], image.data() + image.size() - sizeof(words[2]), sizeof(words[2]));
  const std::uint64_t tag = checksum_of_words(words, kTagSeed);
  return tag != 0 ? tag : 1;
}

std::uint64_t load_tag(const PoolTail& tail) noexcept {
  return std::atomic_ref<std::uint64_t>(const_cast<PoolTail&>(tail).tag).load(std::memory_order_acquire);
}

// The last store of a put: what was written before is there when the tag is.
void store_tag(PoolTail& tail, std::uint64_t tag) noexcept {
  std::atomic_ref<std::uint64_t>(tail.tag).store(tag, std::memory_order_release);
}

PoolHeader header_for(std::uint64_t image_bytes) noexcept {
  PoolHeader header{.magic = kPoolMagic,
                    .version = kPoolVersion,
                    .zero = 0,
                    .image_bytes = image_bytes,
                    .slot_bytes = pool_slot_bytes(image_bytes),
                    .first_slot = pool_first_slot(image_bytes),
                    .reserved = {},
                    .checksum = 0};
  header.checksum = checksum_of(header, 0);
  return header;
}

Result<void> check_header(const PoolHeader& header, std::uint64_t file_bytes) {
  if (header.magic != kPoolMagic) {
    return fail(ErrorCode::corrupt, "not a pool of filters: no magic at offset 0");
  }
  if (header.version > kPoolVersion) {
    return fail(ErrorCode::unsupported_version, "pool format version " + std::to_string(header.version) +
                                                    " at offset 8; this library reads version " +
                                                    std::to_string(kPoolVersion) + ": use a newer one");
  }
  if (header.checksum != checksum_of(header, 0)) {
    return fail(ErrorCode::corrupt, "checksum of the header at offset 56 does not match; restore the file from a copy");
  }
  if (header.image_bytes > kMaxPoolImageBytes || header != header_for(header.image_bytes)) {
    return fail(ErrorCode::corrupt, "impossible sizes at offset 16");
  }
  if (file_bytes < header.first_slot) {
    return fail(ErrorCode::corrupt, std::to_string(file_bytes) + " bytes: truncated before the first slot at offset " +
                                        std::to_string(header.first_slot));
  }
  return {};
}

Result<PoolHeader> read_pool_header(std::span<const std::byte> file) {
  PoolHeader header{};
  if (file.size() < kPoolPrototype) {
    return fail(ErrorCode::corrupt, "only " + std::to_string(file.size()) + " bytes: shorter than a pool's header");
  }
  std::memcpy(&header, file.data(), sizeof(header));
  if (auto valid = check_header(header, file.size()); !valid) {
    return std::unexpected(valid.error());
  }
  const auto prototype = file.subspan(kPoolPrototype, static_cast<std::size_t>(header.image_bytes));
  if (auto valid = check_image(prototype, Trust::checked); !valid) {
    return std::unexpected(valid.error().within("the prototype at offset " + std::to_string(kPoolPrototype)));
  }
  return header;
}

ImageHeader header_in(std::span<const std::byte> image) noexcept {
  ImageHeader header;
  std::memcpy(&header, image.data(), sizeof(header));
  return header;
}

std::unexpected<Error> not_like_prototype() {
  return fail(ErrorCode::invalid_argument,
              "the filter is not like the pool's: make it from the prototype, with its seed, shape and size");
}

}  // namespace

FilterPool::FilterPool(MappedFile file, std::vector<FileLock> lock, const PoolHeader& header) noexcept
    : file_(std::move(file)), lock_(std::move(lock)), header_(header) {}

FilterPool& FilterPool::operator=(FilterPool&& other) noexcept {
  if (this != &other) {
    finish_writing();
    file_ = std::move(other.file_);
    lock_ = std::exchange(other.lock_, {});
    header_ = other.header_;
    index_ = std::move(other.index_);
    free_slots_ = std::move(other.free_slots_);
    damaged_slots_ = std::move(other.damaged_slots_);
    missing_ = other.missing_;
    next_sequence_ = other.next_sequence_;
    fresh_ = other.fresh_;
  }
  return *this;
}

FilterPool::~FilterPool() { finish_writing(); }

Result<FilterPool> FilterPool::create(const std::string& path, std::span<const std::byte> prototype, FileCalls& calls) {
  if (prototype.size() > kMaxPoolImageBytes) {
    return fail(ErrorCode::invalid_argument, "filters of " + std::to_string(prototype.size()) +
                                                 " bytes: a pool is for those of up to 16 MiB; give each its own file");
  }
  if (auto valid = check_image(prototype, Trust::checked); !valid) {
    return std::unexpected(valid.error().within("prototype"));
  }
  const PoolHeader header = header_for(prototype.size());
  std::vector<std::byte> start(static_cast<std::size_t>(header.first_slot));
  std::memcpy(start.data(), &header, sizeof(header));
  std::ranges::copy(prototype, start.begin() + kPoolPrototype);
  if (auto written = write_file(path, start, Existing::refuse, nullptr, calls); !written) {
    return std::unexpected(written.error());
  }
  return open(path, Mode::write, calls);
}

Result<FilterPool> FilterPool::open(const std::string& path, Mode mode, FileCalls& calls) {
  std::vector<FileLock> lock;
  if (mode == Mode::write) {
    auto held = FileLock::acquire(path, calls);
    if (!held) {
      return std::unexpected(held.error());
    }
    lock.push_back(std::move(*held));
  }
  auto file = MappedFile::open(path, mode, calls);
  if (!file) {
    return std::unexpected(file.error());
  }
  const auto header = read_pool_header(file->bytes());
  if (!header) {
    return std::unexpected(header.error().within(path));
  }
  FilterPool pool(std::move(*file), std::move(lock), *header);
  if (pool.slot_count() > kMaxPoolSlots) {
    return fail(ErrorCode::corrupt,
                path + ": " + std::to_string(pool.slot_count()) + " slots are more than there can be");
  }
  pool.read_slots();
  if (auto started = pool.start_writing(); !started) {
    return std::unexpected(started.error().within(path));
  }
  return pool;
}

std::size_t FilterPool::slot_count() const noexcept {
  return static_cast<std::size_t>((file_.bytes().size() - header_.first_slot) / header_.slot_bytes);
}

std::span<std::byte> FilterPool::slot(std::uint32_t number) const noexcept {
  // What is const here is which filters there are; the bytes are the file's.
  auto bytes = const_cast<MappedFile&>(file_).bytes();
  return bytes.subspan(static_cast<std::size_t>(header_.first_slot + number * header_.slot_bytes),
                       static_cast<std::size_t>(header_.slot_bytes));
}

std::span<std::byte> FilterPool::image_at(std::uint32_t number) const noexcept {
  return slot(number).first(image_bytes());
}

PoolTail& FilterPool::tail_at(std::uint32_t number) const noexcept {
  return *reinterpret_cast<PoolTail*>(slot(number).last(sizeof(PoolTail)).data());
}

std::span<const std::byte> FilterPool::prototype() const noexcept {
  return file_.bytes().subspan(kPoolPrototype, image_bytes());
}

// Only which slots are whose; the filters themselves are checked when they are read.
void FilterPool::read_slots() {
  PoolState state{};
  std::memcpy(&state, file_.bytes().data() + sizeof(PoolHeader), sizeof(state));
  for (std::uint32_t number = 0; number < slot_count(); ++number) {
    read_slot(number);
  }
  // Bounded, so that a forged count does not wrap where it is added to.
  const bool is_closed =
      state.is_closed == 1 && state.filters <= kMaxPoolSlots && state.checksum == checksum_of(state, kStateSeed);
  const std::uint64_t found = index_.size() + damaged_slots_.size();
  missing_ = is_closed && state.filters > found ? state.filters - found : 0;
}

void FilterPool::read_slot(std::uint32_t number) {
  PoolTail& tail = tail_at(number);
  if (load_tag(tail) == 0) {
    return;
  }
  // Slots are taken in order, so all below the last one that is used and are not are free.
  for (; fresh_ < number; ++fresh_) {
    free_slots_.push_back(fresh_);
  }
  fresh_ = number + 1;
  if (tail.place != place_of(tail.id, tail.sequence, number)) {
    damaged_slots_.push_back(number);
    return;
  }
  next_sequence_ = std::max(next_sequence_, tail.sequence + 1);
  // Two slots of one id: the machine ended before the earlier one's end had reached the disk.
  const auto other = index_.find(tail.id);
  const bool is_older = other && tail_at(*other).sequence > tail.sequence;
  if (other) {
    free_slots_.push_back(is_older ? number : *other);
  }
  if (!is_older) {
    index_.set(tail.id, number);
  }
}

Result<void> FilterPool::start_writing() {
  if (lock_.empty()) {
    return {};
  }
  // On the disk before any filter is: a pool that says that it was closed, and how many filters it had, must not be
  // found beside filters that came or went since.
  std::memset(file_.bytes().data() + sizeof(PoolHeader), 0, sizeof(PoolState));
  if (auto synced = file_.sync(0, sizeof(PoolHeader) + sizeof(PoolState)); !synced) {
    return synced;
  }
  for (const std::uint32_t number : free_slots_) {
    if (load_tag(tail_at(number)) != 0) {
      store_tag(tail_at(number), 0);
    }
  }
  return {};
}

void FilterPool::finish_writing() noexcept {
  if (lock_.empty() || file_.bytes().empty()) {
    return;
  }
  PoolState state{.is_closed = 1, .filters = index_.size() + damaged(), .reserved = {}, .checksum = 0};
  state.checksum = checksum_of(state, kStateSeed);
  std::memcpy(file_.bytes().data() + sizeof(PoolHeader), &state, sizeof(state));
}

std::unexpected<Error> FilterPool::no_filter(std::uint64_t id) const {
  if (damaged() != 0) {
    return fail(ErrorCode::corrupt, "filter " + std::to_string(id) + " is not there, but " + std::to_string(damaged()) +
                                        " filters of this pool are damaged so that nobody can say whose they were; "
                                        "restore the pool from a copy, or give them up with forget_damaged");
  }
  return fail(ErrorCode::not_found, "filter " + std::to_string(id) + " is not in the pool");
}

Result<void> FilterPool::check_copy(std::uint64_t id, std::uint32_t number, std::span<const std::byte> image,
                                    Trust trust) const {
  const PoolTail& tail = tail_at(number);
  const std::uint64_t offset = header_.first_slot + number * header_.slot_bytes;
  if (tail.id != id || load_tag(tail) != tag_of(place_of(id, tail.sequence, number), image)) {
    return fail(ErrorCode::corrupt, "filter " + std::to_string(id) + " in the slot at offset " +
                                        std::to_string(offset) +
                                        " was not written to its end, is damaged, or is just being changed; put it "
                                        "anew, erase it, or try again");
  }
  // Also a version of later libraries is damage here: the pool has taken this image in.
  if (auto valid = trust == Trust::checked ? check_image(image, trust) : Result<void>{}; !valid) {
    return fail(ErrorCode::corrupt, "filter " + std::to_string(id) + " in the slot at offset " +
                                        std::to_string(offset) + ": " + valid.error().detail);
  }
  return {};
}

Result<void> FilterPool::get(std::uint64_t id, std::span<std::byte> into, Trust trust) const {
  MANKAI_ASSERT(into.size() == image_bytes());
  const auto number = index_.find(id);
  if (!number) {
    return no_filter(id);
  }
  // Copied before it is checked: what is checked is what the caller has.
  std::memcpy(into.data(), image_at(*number).data(), into.size());
  return check_copy(id, *number, into, trust);
}

Result<std::span<std::byte>> FilterPool::view(std::uint64_t id, Trust trust) {
  const auto number = index_.find(id);
  if (!number) {
    return no_filter(id);
  }
  const std::span<std::byte> image = image_at(*number);
  if (auto valid = check_copy(id, *number, image, trust); !valid) {
    return std::unexpected(valid.error());
  }
  return image;
}

Result<void> FilterPool::check_like_prototype(std::span<const std::byte> image) const {
  if (image.size() != image_bytes() || !is_made_alike(header_in(image), header_in(prototype()))) {
    return not_like_prototype();
  }
  return {};
}

Result<void> FilterPool::reseal(std::uint64_t id) {
  MANKAI_ASSERT(!lock_.empty());
  const auto number = index_.find(id);
  if (!number) {
    return no_filter(id);
  }
  const std::span<std::byte> image = image_at(*number);
  if (auto alike = check_like_prototype(image); !alike) {
    return alike;
  }
  if (auto valid = check_image(image, Trust::checked); !valid) {
    return valid;
  }
  publish(*number);
  return {};
}

Result<void> FilterPool::put(std::uint64_t id, const FilterBase& filter) {
  MANKAI_ASSERT(!lock_.empty());
  if (!filter.is_made_like(header_in(prototype()))) {
    return not_like_prototype();
  }
  const auto number = slot_for(id);
  if (!number) {
    return std::unexpected(number.error());
  }
  filter.to_bytes(image_at(*number));
  publish(*number);
  return {};
}

Result<void> FilterPool::put(std::uint64_t id, std::span<const std::byte> image, Trust trust) {
  MANKAI_ASSERT(!lock_.empty());
  if (auto alike = check_like_prototype(image); !alike) {
    return alike;
  }
  if (auto valid = trust == Trust::checked ? check_image(image, trust) : Result<void>{}; !valid) {
    return valid;
  }
  const auto number = slot_for(id);
  if (!number) {
    return std::unexpected(number.error());
  }
  std::memcpy(image_at(*number).data(), image.data(), image.size());
  publish(*number);
  return {};
}

// The slot of the id, or one that gets it now: with everything but the tag, without which it is still free.
Result<std::uint32_t> FilterPool::slot_for(std::uint64_t id) {
  if (const auto number = index_.find(id)) {
    return *number;
  }
  if (free_slots_.empty() && fresh_ == slot_count()) {
    if (auto larger = enlarge(); !larger) {
      return std::unexpected(larger.error());
    }
  }
  std::uint32_t number = fresh_;
  if (free_slots_.empty()) {
    ++fresh_;
  } else {
    number = free_slots_.back();
    free_slots_.pop_back();
  }
  PoolTail& tail = tail_at(number);
  tail.id = id;
  tail.sequence = next_sequence_++;
  tail.place = place_of(id, tail.sequence, number);
  index_.set(id, number);
  return number;
}

Result<void> FilterPool::enlarge() {
  const std::uint64_t slots = slot_count() + std::max<std::uint64_t>(kLeastGrowth, slot_count() / kGrowthShare);
  if (slots > kMaxPoolSlots) {
    return fail(ErrorCode::out_of_space, "a pool has at most 2^31 filters; begin a second one");
  }
  const std::uint64_t bytes = align_up(header_.first_slot + slots * header_.slot_bytes, kPoolPageBytes);
  return file_.grow(static_cast<std::size_t>(bytes));
}

void FilterPool::publish(std::uint32_t number) noexcept {
  PoolTail& tail = tail_at(number);
  store_tag(tail, tag_of(tail.place, image_at(number)));
}

bool FilterPool::erase(std::uint64_t id) noexcept {
  MANKAI_ASSERT(!lock_.empty());
  const auto number = index_.find(id);
  if (!number) {
    return false;
  }
  store_tag(tail_at(*number), 0);
  index_.erase(id);
  free_slots_.push_back(*number);
  return true;
}

void FilterPool::forget_damaged() noexcept {
  MANKAI_ASSERT(!lock_.empty());
  for (const std::uint32_t number : damaged_slots_) {
    store_tag(tail_at(number), 0);
    free_slots_.push_back(number);
  }
  damaged_slots_.clear();
  missing_ = 0;
}

Result<void> FilterPool::sync() { return file_.sync(0, file_.bytes().size()); }

}  // namespace mankai
