#pragma once

#include <cstdint>

#include "apps/mankai/dedup_input.hpp"
#include "apps/mankai/dedup_memory.hpp"

namespace mankai::command {

struct DedupRequest {
  DedupInputRequest input;
  DedupMemoryRequest memory;
  bool repeats = false;  ///< prints the repeats
  bool label = false;    ///< prints all, behind what they are
  bool count = false;
  bool json = false;
};

/// Reads the inputs and prints what is new. Errors: theirs; io, out_of_space where it cannot be printed or kept.
[[nodiscard]] Result<int> run_dedup(const DedupRequest& request, DedupMemory memory);

}  // namespace mankai::command
