#include "lab/fading/lru.hpp"

#include "mankai/base/assert.hpp"

namespace mankai::lab::forgetting {

Lru::Lru(std::size_t capacity, std::size_t numbers)
    : capacity_(capacity), ends_(static_cast<std::uint32_t>(numbers)), links_(numbers + 1) {
  MANKAI_ASSERT(capacity > 0);
  links_[ends_] = {.newer = ends_, .older = ends_};
}

bool Lru::observe(std::uint32_t event) {
  MANKAI_ASSERT(event < ends_);
  const bool was_known = links_[event].is_known;
  if (was_known) {
    take_out(event);
  } else if (size_ == capacity_) {
    take_out(links_[ends_].newer);
  }
  put_first(event);
  return was_known;
}

void Lru::take_out(std::uint32_t event) noexcept {
  Links& links = links_[event];
  links_[links.newer].older = links.older;
  links_[links.older].newer = links.newer;
  links.is_known = false;
  --size_;
}

void Lru::put_first(std::uint32_t event) noexcept {
  Links& ends = links_[ends_];
  links_[event] = {.newer = ends_, .older = ends.older, .is_known = true};
  links_[ends.older].newer = event;
  ends.older = event;
  ++size_;
}

}  // namespace mankai::lab::forgetting
