// Any bytes as an HTTP request's head, as a query and as a URL to be followed: no crash; what is behind a head does not
// change how it is read; nothing that could end a header gets through; and a link leads to what was checked.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "apps/mankai/serve/request_head.hpp"
#include "mankai/base/assert.hpp"
#include "mankai/url/readings.hpp"

namespace {

namespace serve = mankai::command::serve;

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](char byte) { return byte >= 0 && byte < ' ' && byte != '\t'; });
}

void check_location(std::string_view url) {
  const auto location = serve::redirect_location(url);
  if (!location) {
    MANKAI_ASSERT(!location.error().detail.empty());
    return;
  }
  MANKAI_ASSERT(location->starts_with("http://") || location->starts_with("https://"));
  MANKAI_ASSERT(std::ranges::all_of(*location, [](char byte) { return byte > ' ' && byte <= '~'; }));
  // Not always the canonical form of `url`, in which a backslash in the path is no slash.
  mankai::url::UrlReadings checked;
  mankai::url::UrlReadings followed;
  checked.read(url);
  followed.read(*location);
  for (const mankai::url::CanonicalUrl& reading : followed.all()) {
    MANKAI_ASSERT(std::ranges::find(checked.all(), reading) != checked.all().end());
  }
}

void check_head(std::string_view bytes) {
  const auto head = serve::read_head(bytes);
  const auto with_more = serve::read_head(std::string(bytes) + "GET / HTTP/1.1\r\n\r\n");
  if (!head) {
    MANKAI_ASSERT(head.error().status >= 400 && !with_more && with_more.error().status == head.error().status);
    return;
  }
  if (!*head) {
    MANKAI_ASSERT(bytes.size() < serve::kHeadBytesMax);
    return;
  }
  const serve::RequestHead& found = **head;
  MANKAI_ASSERT(with_more && *with_more && (*with_more)->request_line == found.request_line &&
                (*with_more)->bytes == found.bytes);
  MANKAI_ASSERT(found.bytes <= bytes.size() && found.body_bytes <= serve::kBodyBytesMax);
  MANKAI_ASSERT(!has_control(found.accept) && !has_control(found.content_type) && !has_control(found.content_encoding));
  MANKAI_ASSERT(found.target().starts_with(found.path()) && !found.method().empty());
  MANKAI_ASSERT(!has_control(found.request_line) && !has_control(found.target()));
  const auto url = serve::query_value(found.target(), "url", serve::OtherParameters::ignored);
  if (url) {
    MANKAI_ASSERT(!url->empty());
    check_location(*url);
  }
  const auto alone = serve::query_value(found.target(), "url", serve::OtherParameters::refused);
  MANKAI_ASSERT(!alone || *alone == *url);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_head(text);
  check_location(text);
  const double wanted = serve::wanted(text, "application/json");
  MANKAI_ASSERT(wanted >= 0 && wanted <= 1);
  return 0;
}
