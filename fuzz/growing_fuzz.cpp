// Sequences of operations on the growing kinds beside an exact multiset (tests/property/growing_operations.hpp), which
// throws where a promise is broken. Byte 0 chooses the filter, then five bytes are an operation.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/property/growing_operations.hpp"

namespace {

// Longer sequences find nothing that these cannot, and slow the search down.
constexpr std::size_t kOperationsMax = 60;
constexpr std::size_t kOperationBytes = 5;

mankai::test::FilterRequest request_of(std::uint8_t choice) {
  constexpr std::uint64_t kKeys[] = {2, 7, 40, 300};
  constexpr double kRates[] = {0.5, 0.05, 1e-3, 1e-9};
  return {.keys = kKeys[choice & 3U],
          .fpr = kRates[(choice >> 2) & 3U],
          .hash = (choice & 16U) != 0 ? mankai::test::kSiphash : mankai::test::kXxh3};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  std::vector<mankai::test::GrowingOperation> operations;
  for (std::size_t i = 1; i + kOperationBytes <= size && operations.size() < kOperationsMax; i += kOperationBytes) {
    operations.push_back({.verb = static_cast<mankai::test::GrowingVerb>(data[i] % mankai::test::kGrowingVerbs),
                          .key = data[i + 1],
                          .count = data[i + 2],
                          .id = static_cast<std::uint16_t>(data[i + 3] | data[i + 4] << 8)});
  }
  const mankai::test::FilterRequest request = request_of(data[0]);
  for (const mankai::test::GrowingMode& mode : mankai::test::kGrowingModes) {
    mankai::test::run_growing_operations(mode, request, operations);
  }
  return 0;
}
