// Sequences of operations on every kind beside an exact set (tests/support/checked.hpp), which throws where a promise
// is broken. Byte 0 chooses the filter, then four bytes are an operation.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/property/operations.hpp"
#include "tests/support/every_kind.hpp"

namespace {

// Longer sequences find nothing that these cannot, and slow the search down.
constexpr std::size_t kOperationsMax = 300;

mankai::test::FilterRequest request_of(std::uint8_t choice) {
  constexpr std::uint64_t kKeys[] = {1, 30, 300, 3000};
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
  std::vector<mankai::test::Operation> operations;
  for (std::size_t i = 1; i + 4 <= size && operations.size() < kOperationsMax; i += 4) {
    operations.push_back({.verb = static_cast<mankai::test::Verb>(data[i] % mankai::test::kVerbs),
                          .key = static_cast<std::uint16_t>(data[i + 1] | (data[i + 2] & 3U) << 8),
                          .count = data[i + 3]});
  }
  const mankai::test::FilterRequest request = request_of(data[0]);
  static const std::vector<mankai::test::Example> kShapes =
      mankai::test::shapes([](const mankai::test::Example& example) {
        return mankai::test::keeps_keys(example) && mankai::test::calls_of(*example.kind).insert_integers != nullptr;
      });
  for (const mankai::test::Example& shape : kShapes) {
    // Some kinds do not reach the lowest rate.
    if (mankai::test::create(shape, request)) {
      mankai::test::run_operations(shape, request, operations);
    }
  }
  return 0;
}
