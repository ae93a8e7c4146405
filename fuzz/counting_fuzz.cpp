// Sequences of operations on every layout of counters beside an exact multiset
// (tests/property/counting_operations.hpp), which throws where a promise is broken. Byte 0 chooses the filter, then
// three bytes are an operation.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/property/counting_operations.hpp"

namespace {

// Longer sequences find nothing that these cannot, and slow the search down.
constexpr std::size_t kOperationsMax = 200;

mankai::test::FilterRequest request_of(std::uint8_t choice) {
  constexpr std::uint64_t kKeys[] = {1, 10, 100, 1000};
  constexpr double kRates[] = {0.9, 0.3, 0.05, 1e-3};
  return {.keys = kKeys[choice & 3U],
          .fpr = kRates[(choice >> 2) & 3U],
          .hash = (choice & 16U) != 0 ? mankai::test::kSiphash : mankai::test::kXxh3};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  std::vector<mankai::test::CountingOperation> operations;
  for (std::size_t i = 1; i + 3 <= size && operations.size() < kOperationsMax; i += 3) {
    operations.push_back({.verb = static_cast<mankai::test::CountingVerb>(data[i] % mankai::test::kCountingVerbs),
                          .key = data[i + 1],
                          .count = data[i + 2]});
  }
  const mankai::test::FilterRequest request = request_of(data[0]);
  if ((data[0] & 64U) != 0) {
    mankai::test::run_counting_operations(mankai::CountingLayout::dablooms, request, operations);
  } else if ((data[0] & 32U) != 0) {
    mankai::test::run_counting_operations(mankai::CountingLayout::partitioned, request, operations);
  } else {
    mankai::test::run_counting_operations(mankai::CountingLayout::blocked, request, operations);
  }
  return 0;
}
