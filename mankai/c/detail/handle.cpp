#include "mankai/c/detail/handle.hpp"

#include <string>

namespace mankai::c {
namespace {

const char* name_of_type(HandleType type) noexcept {
  switch (type) {
    case HandleType::filter: return "filter";
    case HandleType::seen: return "seen";
    case HandleType::confirmed: return "confirmed";
    case HandleType::hot: return "hot";
    case HandleType::guard: return "guard";
    case HandleType::guard_builder: return "builder";
    case HandleType::gate: return "gate";
    case HandleType::gate_hold: return "hold";
    case HandleType::gate_follower: return "follower";
  }
  return "handle";
}

}  // namespace

int refuse_handle(const AnyHandle* handle, HandleType type) noexcept {
  if (handle != nullptr && handle->is_of(type)) {
    return note_forked();
  }
  return guarded([&]() -> Result<void> {
    const std::string name = name_of_type(type);
    return fail(ErrorCode::invalid_argument,
                handle == nullptr ? name + " is NULL" : name + " is a handle of another type");
  });
}

}  // namespace mankai::c
