#include "mankai/c/detail/arguments.hpp"

namespace mankai::c {
namespace {

std::unexpected<Error> refused_packed(const std::string& why) {
  return fail(ErrorCode::invalid_argument, "packed keys: " + why);
}

template <class Offset>
Result<void> check_offsets(const mankai_packed& packed) {
  if (reinterpret_cast<std::uintptr_t>(packed.offsets) % alignof(Offset) != 0) {
    return refused_packed("offsets are not aligned to their size");
  }
  const auto* offsets = static_cast<const Offset*>(packed.offsets) + packed.first;
  bool falls = offsets[0] < 0;
  for (std::size_t i = 0; i < packed.count; ++i) {
    falls |= offsets[i + 1] < offsets[i];
  }
  if (falls) {
    return refused_packed("an offset is below 0 or below the one before it");
  }
  const auto end = static_cast<std::uint64_t>(offsets[packed.count]);
  return end <= packed.data_bytes ? Result<void>()
                                  : refused_packed("the last offset is " + std::to_string(end) + ", beyond data of " +
                                                   std::to_string(packed.data_bytes) + " bytes");
}

Result<void> check_packed(const mankai_packed& packed) {
  MANKAI_TRY(check_array(packed.data, packed.data_bytes, "data"));
  if (packed.data_bytes > kMostBytes || packed.first > kMostBytes / sizeof(std::int64_t) ||
      packed.count > kMostBytes / sizeof(std::int64_t)) {
    return refused_packed("more bytes or keys than memory has");
  }
  if (packed.offsets == nullptr) {
    const std::size_t last = packed.first + packed.count;
    if (packed.offset_bytes != 0) {
      return fail(ErrorCode::invalid_argument, "offsets is NULL and has offset_bytes");
    }
    if (packed.count != 0 && (packed.width == 0 || last > packed.data_bytes / packed.width)) {
      return refused_packed(std::to_string(last) + " keys of " + std::to_string(packed.width) +
                            " bytes are not in data of " + std::to_string(packed.data_bytes));
    }
    return {};
  }
  if (packed.width != 0) {
    return refused_packed("either offsets or a width, not both");
  }
  switch (packed.offset_bytes) {
    case sizeof(std::int32_t): return check_offsets<std::int32_t>(packed);
    case sizeof(std::int64_t): return check_offsets<std::int64_t>(packed);
    default: return refused_packed("offset_bytes is " + std::to_string(packed.offset_bytes) + "; it must be 4 or 8");
  }
}

template <class Offset>
std::string_view view_between(const mankai_packed& packed, std::size_t index) noexcept {
  const auto* offsets = static_cast<const Offset*>(packed.offsets) + packed.first + index;
  return {static_cast<const char*>(packed.data) + offsets[0], static_cast<std::size_t>(offsets[1] - offsets[0])};
}

std::string_view view_of_width(const mankai_packed& packed, std::size_t index) noexcept {
  return {static_cast<const char*>(packed.data) + (packed.first + index) * packed.width, packed.width};
}

}  // namespace

std::unexpected<Error> refused_key(const mankai_key& key, std::size_t index) {
  const std::string name = "key " + std::to_string(index);
  return fail(ErrorCode::invalid_argument,
              key.data == nullptr ? name + " is NULL and has bytes"
                                  : name + " has " + std::to_string(key.bytes) + " bytes, more than memory has");
}

Result<CheckedKeys> KeySource::checked() const {
  if (is_packed_) {
    MANKAI_TRY(check_given(packed_, "keys"));
    MANKAI_ASSIGN(const auto packed, read_sized(packed_));
    MANKAI_TRY(check_packed(packed));
    return CheckedKeys(packed);
  }
  MANKAI_TRY(check_array(keys_, count_, "keys"));
  if (count_ > kMostBytes / sizeof(mankai_key)) {
    return fail(ErrorCode::invalid_argument, std::to_string(count_) + " keys are more than any array has");
  }
  const mankai_key* wrong =
      std::find_if(keys_, keys_ + count_, [](const mankai_key& key) { return !is_key(key.data, key.bytes); });
  if (wrong != keys_ + count_) {
    return refused_key(*wrong, static_cast<std::size_t>(wrong - keys_));
  }
  return CheckedKeys(keys_, count_);
}

std::size_t CheckedKeys::read(std::size_t begin, std::size_t count, std::string_view* views) const noexcept {
  const auto read_with = [&](const auto& view) {
    if (packed_.validity == nullptr) {
      for (std::size_t i = 0; i < count; ++i) {
        views[i] = view(begin + i);
      }
      return count;
    }
    std::size_t filled = 0;
    for (std::size_t i = begin; i < begin + count; ++i) {
      if (!is_skipped(i)) {
        views[filled++] = view(i);
      }
    }
    return filled;
  };
  if (keys_ != nullptr) {
    return read_with(
        [this](std::size_t i) { return std::string_view(static_cast<const char*>(keys_[i].data), keys_[i].bytes); });
  }
  switch (packed_.offset_bytes) {
    case 0: return read_with([this](std::size_t i) { return view_of_width(packed_, i); });
    case sizeof(std::int32_t):
      return read_with([this](std::size_t i) { return view_between<std::int32_t>(packed_, i); });
    default: return read_with([this](std::size_t i) { return view_between<std::int64_t>(packed_, i); });
  }
}

mankai_texts* texts_for_caller(std::string_view data, std::span<const std::size_t> ends) {
  const std::size_t offsets_bytes = (ends.size() + 1) * sizeof(std::int64_t);
  auto* memory = static_cast<char*>(allocate_for_caller(sizeof(mankai_texts) + offsets_bytes + data.size()));
  auto* offsets = reinterpret_cast<std::int64_t*>(memory + sizeof(mankai_texts));
  char* copy = memory + sizeof(mankai_texts) + offsets_bytes;
  offsets[0] = 0;
  std::ranges::transform(ends, offsets + 1, [](std::size_t end) { return static_cast<std::int64_t>(end); });
  std::ranges::copy(data, copy);
  return new (memory) mankai_texts{.data = copy, .offsets = offsets, .count = ends.size()};
}

}  // namespace mankai::c
