// A bug that the search must find, or the search is blind: an input that begins with these bytes crashes. Coverage of
// one branch after the other leads there within seconds; chance alone would take 2^40 tries.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::string_view kPlanted = "crash";
  std::size_t alike = 0;
  while (alike < kPlanted.size() && alike < size && data[alike] == static_cast<std::uint8_t>(kPlanted[alike])) {
    ++alike;
  }
  if (alike == kPlanted.size()) {
    std::abort();
  }
  return 0;
}
