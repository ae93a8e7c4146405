// Any lines as an index of captures: a batch says what its lines say one by one, and a URL that is found has bytes.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/input/cdx_parser.hpp"
#include "mankai/input/test_support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::string> lines =
      mankai::test::split_model(std::string_view(reinterpret_cast<const char*>(data), size));
  const std::vector<std::string_view> views(lines.begin(), lines.end());
  std::vector<mankai::CdxCapture> captures(lines.size());
  mankai::CdxParser together;
  together.parse(views, captures);
  mankai::CdxParser one_by_one;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    mankai::CdxCapture alone;
    one_by_one.parse({&views[i], 1}, {&alone, 1});
    MANKAI_ASSERT(alone.what == captures[i].what && alone.url == captures[i].url && alone.time == captures[i].time);
    MANKAI_ASSERT(alone.url.empty() == (alone.what != mankai::CdxLine::capture));
    static_cast<void>(mankai::looks_like_cdx(lines[i]));
  }
  return 0;
}
