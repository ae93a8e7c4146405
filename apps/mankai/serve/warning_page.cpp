#include "apps/mankai/serve/warning_page.hpp"

#include <fmt/format.h>

#include "apps/mankai/report.hpp"

namespace mankai::command::serve {
namespace {

// kPolicy contains its SHA-256; tests/guard_serve checks that they match.
constexpr std::string_view kStyle =
    R"(:root{color-scheme:light dark;--paper:#fff;--ink:#1b1b1f;--soft:#5a5a66;--line:#d9d9e0;--field:#f4f4f7;--sign:#b3261e}
@media(prefers-color-scheme:dark){:root{--paper:#17171b;--ink:#ececf1;--soft:#a6a6b3;--line:#3a3a44;--field:#222229;--sign:#ff8a80}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.55 system-ui,sans-serif}
main{max-width:38rem;margin:0 auto;padding:2.5rem 1.25rem}
.sign{width:3rem;height:3rem;fill:var(--sign)}
h1{font-size:1.6rem;line-height:1.25;margin:.75rem 0}
dl{margin:1.5rem 0;padding:1rem;background:var(--field);border:1px solid var(--line);border-radius:.5rem}
dt{color:var(--soft);font-size:.875rem}
dd{margin:.15rem 0 1rem;font-family:ui-monospace,monospace;overflow-wrap:anywhere}
dd:last-child{margin-bottom:0}
.small{color:var(--soft);font-size:.875rem}
)";

constexpr std::string_view kPolicy =
    "default-src 'none'; style-src 'sha256-se8bev5pKMdD01ik4WdupPURMqCq4/wfwtx/AXj9efw='; img-src data:; base-uri "
    "'none'; form-action 'none'; "
    "frame-ancestors 'none'";

constexpr std::string_view kPage = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<main>
<svg class="sign" viewBox="0 0 24 24" role="img" aria-label="Warning"><path fill-rule="evenodd" d="M12 2 1 21h22L12 2zm-1 7h2v6h-2V9zm0 8h2v2h-2v-2z"/></svg>
<h1>{title}</h1>
{body}
</main>
</body>
</html>
)";

std::string page(std::string_view title, std::string_view body) {
  return fmt::format(fmt::runtime(kPage), fmt::arg("title", title), fmt::arg("style", kStyle), fmt::arg("body", body));
}

}  // namespace

std::string html_text(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) {
    switch (byte) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default:
        out += byte >= ' ' && byte <= '~' ? std::string(1, byte)
                                          : fmt::format("%{:02X}", static_cast<unsigned char>(byte));
    }
  }
  return out;
}

std::string_view page_policy() noexcept { return kPolicy; }

std::string warning_page(const Warning& warning) {
  const std::string doubt =
      warning.false_positive_rate > 0
          ? fmt::format(
                "<p class=\"small\">The list is stored in a compact form, so up to {} of the addresses that are not on "
                "it are blocked by mistake. If you are sure that this address is safe, tell the operator of this "
                "service.</p>",
                human_share(warning.false_positive_rate))
          : std::string(
                "<p class=\"small\">If you think that this is a mistake, tell the operator of this service.</p>");
  return page("This link is blocked",
              fmt::format("<p>Its address is on a block list of dangerous or unwanted sites. It was not opened.</p>\n"
                          "<dl>\n<dt>Address</dt>\n<dd>{}</dd>\n<dt>Listed as</dt>\n<dd>{}</dd>\n"
                          "</dl>\n<p><strong>To go back,</strong> use your browser\u2019s back button, or close this "
                          "page.</p>\n{}",
                          html_text(warning.url), html_text(warning.rule), doubt));
}

std::string refusal_page(std::string_view url, std::string_view why) {
  const std::string address =
      url.empty() ? "" : fmt::format("<dl>\n<dt>Address</dt>\n<dd>{}</dd>\n</dl>\n", html_text(url));
  return page("This link cannot be followed",
              fmt::format("<p>{}</p>\n{}<p><strong>To go back,</strong> use your browser\u2019s back button, or close "
                          "this page.</p>",
                          html_text(why), address));
}

}  // namespace mankai::command::serve
