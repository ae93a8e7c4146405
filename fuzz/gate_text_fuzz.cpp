// Any bytes as the small text files beside a gate and the position in its file: what is accepted is written back as it
// was read.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "mankai/base/assert.hpp"
#include "mankai/gate/database/source_settings.hpp"
#include "mankai/gate/gate_counts_file.hpp"
#include "mankai/gate/gate_position.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto settings = mankai::parse_source_settings(text)) {
    MANKAI_ASSERT(mankai::to_text(*settings) == text);
  }
  if (const auto list = mankai::parse_source_list(text)) {
    std::string again;
    for (const mankai::RowSourceSettings& settings : *list) {
      again += *mankai::to_text(settings);
    }
    MANKAI_ASSERT(again == text);
  }
  if (const auto counts = mankai::parse_gate_counts(text)) {
    MANKAI_ASSERT(mankai::parse_gate_counts(mankai::to_text(*counts)) == *counts);
  }
  if (const auto position = mankai::parse_gate_position(text)) {
    MANKAI_ASSERT(mankai::parse_gate_position(mankai::to_text(*position)) == *position);
  }
  return 0;
}
