#pragma once

/// What the engine moves of a key when it works against fragmentation.

#include <cstddef>

#include "modules/redis/engine/memory.hpp"
#include "modules/redis/engine/redis_abi.hpp"

namespace mankai::redis {

/// The callback of a type. First the object, whose pointers do not point into it, so that its bytes may be moved; then
/// the cells of its filter, if the filter lets them be moved, piece by piece as far as there is time. What is not
/// complete waits for its pieces where it is. Returns 1 to be called again.
template <class KeyValue>
int defragment(DefragState* state, void** value) noexcept {
  // A cursor of 0 means to the engine that nothing is left: it is the piece to go on with, plus one.
  unsigned long cursor = 0;
  if (engine.defrag_cursor_get(state, &cursor) != kOk || cursor == 0) {
    cursor = 1;
    if (void* moved = engine.defrag_alloc(state, *value); moved != nullptr) {
      *value = moved;
    }
  }
  auto* filter = static_cast<KeyValue*>(*value)->value();
  if constexpr (requires { filter->memory_pieces(); }) {
    for (; filter != nullptr && cursor <= filter->memory_pieces(); ++cursor) {
      if (engine.defrag_should_stop(state) != 0 && engine.defrag_cursor_set(state, cursor) == kOk) {
        return 1;
      }
      filter->relocate(cursor - 1, engine_mover(state));
    }
  }
  return 0;
}

}  // namespace mankai::redis
