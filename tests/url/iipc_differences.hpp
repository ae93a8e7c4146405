#pragma once

#include "tests/url/vectors.hpp"

// Where the answers of iipc's urlcanon are not ours: the vector, our answer, and why. Made by hand from a run; whoever
// changes a rule (and kCanonicalVersion with it) changes these lines.
namespace mankai::test::iipc {

constexpr std::string_view kNoHost = "a URL without a host is no key here: file:, data:, mailto: and their like";
constexpr std::string_view kDotsOnly = "a host of nothing but dots is no host in Safe Browsing, 0.0.0.0 there";
constexpr std::string_view kFewSlashes = "only http, https and ftp may lack their slashes";
constexpr std::string_view kManySlashes =
    "after \"//\" a third slash begins the path: there is no host (Safe Browsing)";
constexpr std::string_view kDefaultPort = "only http, https and ftp have a default port";
constexpr std::string_view kSchemesAlike = "every scheme with \"//\" follows the same rules: lower case, IDN, a path";
constexpr std::string_view kSymbol = "IDNA 2008 has no symbols in names: the host's bytes stay, escaped";
constexpr std::string_view kEmptyHex = "0x without a digit is no number";
constexpr std::string_view kQuery = "a query is neither sorted nor split at '&' (Safe Browsing)";
constexpr std::string_view kBackslash = "a backslash is a byte like others (Safe Browsing), not a slash (browsers)";
constexpr std::string_view kOneWord = "a word without a scheme is a host, not a path";

constexpr Difference kSemantic[] = {
    {"about:/../", "error", kNoHost},
    {"blob:d3958f5c-0777-0845-9dcf-2cb28783acaf", "error", kNoHost},
    {"blob:https://example.com:443/", "error", kNoHost},
    {"data:/../", "error", kNoHost},
    {"data:/example.com/", "error", kNoHost},
    {"data:example.com/", "error", kNoHost},
    {"data:test# \273", "error", kNoHost},
    {"file:", "error", kNoHost},
    {"file:#frag", "error", kNoHost},
    {"file:%", "error", kNoHost},
    {"file:%/a/b", "error", kNoHost},
    {"file:%2e%2e%2e/a/b", "error", kNoHost},
    {"file:%2e%2e/a/b", "error", kNoHost},
    {"file:%2e/a/b", "error", kNoHost},
    {"file:/%", "error", kNoHost},
    {"file:/%/a/b", "error", kNoHost},
    {"file:/%2e%2e%2e/a/b", "error", kNoHost},
    {"file:/%2e%2e/a/b", "error", kNoHost},
    {"file:/%2e/a/b", "error", kNoHost},
    {"file://%2e%2e%2e/a/b", "error", kDotsOnly},
    {"file://%2e%2e/a/b", "error", kDotsOnly},
    {"file://%2e/a/b", "error", kDotsOnly},
    {"file:///%", "error", kNoHost},
    {"file:///%2e%2e%2e/a/b", "error", kNoHost},
    {"file:///%2e%2e/a/b", "error", kNoHost},
    {"file:///%2e/a/b", "error", kNoHost},
    {"file:///C%3A/", "error", kNoHost},
    {"file:///C%7C/", "error", kNoHost},
    {"file:/example.com/", "error", kNoHost},
    {"file:?q=v", "error", kNoHost},
    {"file:a/b/c", "error", kNoHost},
    {"foo:%", "error", kNoHost},
    {"foo:%///", "error", kNoHost},
    {"foo:/%", "error", kNoHost},
    {"foo:/%///", "error", kNoHost},
    {"foo://%", "foo://%25/", kSchemesAlike},
    {"foo://%///", "foo://%25/", kSchemesAlike},
    {"foo:///%", "error", kNoHost},
    {"ftp://%e2%98%83", "ftp://%E2%98%83/", kSymbol},
    {"ftps:/example.com/", "error", kNoHost},
    {"ftps:example.com/", "error", kNoHost},
    {"gopher://foo:70/", "gopher://foo:70/", kDefaultPort},
    {"gopher:/example.com/", "error", kFewSlashes},
    {"gopher:example.com/", "error", kFewSlashes},
    {"http:%2e%2e%2e/a/b", "error", kDotsOnly},
    {"http:%2e%2e/a/b", "error", kDotsOnly},
    {"http:%2e/a/b", "error", kDotsOnly},
    {"http:/%2e%2e%2e/a/b", "error", kDotsOnly},
    {"http:/%2e%2e/a/b", "error", kDotsOnly},
    {"http:/%2e/a/b", "error", kDotsOnly},
    {"http://%2e%2e%2e/a/b", "error", kDotsOnly},
    {"http://%2e%2e/a/b", "error", kDotsOnly},
    {"http://%2e/a/b", "error", kDotsOnly},
    {"http://%e2%98%83.net", "http://%E2%98%83.net/", kSymbol},
    {"http:///%2e%2e%2e/a/b", "error", kDotsOnly},
    {"http:///%2e%2e/a/b", "error", kDotsOnly},
    {"http:///%2e/a/b", "error", kDotsOnly},
    {"http://\342\230\203.net/", "http://%E2%98%83.net/", kSymbol},
    {"http://example.com/?%26=%26&%26", "http://example.com/?&=&&&", kQuery},
    {"http://example.com/?%3d=%3d&%3d", "http://example.com/?===&=", kQuery},
    {"http://example.com/?c=d&a=b", "http://example.com/?c=d&a=b", kQuery},
    {"http://example.com\\\\foo\\\\bar", "http://example.com\\\\foo\\\\bar/", kBackslash},
    {"http:\\\\www.google.com\\foo", "http://\\\\www.google.com\\foo/", kBackslash},
    {"https://%e2%98%83", "https://%E2%98%83/", kSymbol},
    {"https://0x.0x.0", "https://0x.0x.0/", kEmptyHex},
    {"javascript:/../", "error", kNoHost},
    {"javascript:/example.com/", "error", kNoHost},
    {"javascript:example.com/", "error", kNoHost},
    {"lolscheme:/x x#x x", "error", kNoHost},
    {"lolscheme:x x#x x", "error", kNoHost},
    {"madeupscheme:/example.com/", "error", kNoHost},
    {"madeupscheme:example.com/", "error", kNoHost},
    {"mailto:/../", "error", kNoHost},
    {"mailto:/example.com/", "error", kNoHost},
    {"mailto:example.com/", "error", kNoHost},
    {"non-special://H%4fSt/path", "non-special://host/path", kSchemesAlike},
    {"nonspecial:%2e%2e%2e/a/b", "error", kNoHost},
    {"nonspecial:%2e%2e/a/b", "error", kNoHost},
    {"nonspecial:%2e/a/b", "error", kNoHost},
    {"nonspecial:/%2e%2e%2e/a/b", "error", kNoHost},
    {"nonspecial:/%2e%2e/a/b", "error", kNoHost},
    {"nonspecial:/%2e/a/b", "error", kNoHost},
    {"nonspecial://%2e%2e%2e/a/b", "error", kDotsOnly},
    {"nonspecial://%2e%2e/a/b", "error", kDotsOnly},
    {"nonspecial://%2e/a/b", "error", kDotsOnly},
    {"nonspecial:///%2e%2e%2e/a/b", "error", kNoHost},
    {"nonspecial:///%2e%2e/a/b", "error", kNoHost},
    {"nonspecial:///%2e/a/b", "error", kNoHost},
    {"sc://#", "error", kNoHost},
    {"sc://?", "error", kNoHost},
    {"sc://\303\261", "sc://xn--ida/", kSchemesAlike},
    {"sc://\303\261#x", "sc://xn--ida/", kSchemesAlike},
    {"sc://\303\261.test/", "sc://xn--ida.test/", kSchemesAlike},
    {"sc://\303\261?x", "sc://xn--ida/?x", kSchemesAlike},
    {"sc://fa\303\237.ExAmPlE/", "sc://xn--fa-hia.example/", kSchemesAlike},
    {"sc::a@example.net", "error", kNoHost},
    {"sc:\\../", "error", kBackslash},
    {"tag:joe@example.org,2001:foo/bar", "error", kNoHost},
    {"urn:ietf:rfc:2648", "error", kNoHost},
    {"wow:%1G", "error", kNoHost},
    {"wow:%NBD", "error", kNoHost},
    {"ws://foo:80/", "ws://foo:80/", kDefaultPort},
    {"ws:/example.com/", "error", kFewSlashes},
    {"ws:example.com/", "error", kFewSlashes},
    {"wss://foo:443/", "wss://foo:443/", kDefaultPort},
    {"wss:/example.com/", "error", kFewSlashes},
    {"wss:example.com/", "error", kFewSlashes},
};

constexpr Difference kParsing[] = {
    {"file:/\\a/b/c", "error", kBackslash},
    {"file:\\/a/b/c", "error", kBackslash},
    {"http:/\012///a/b/c", "error", kManySlashes},
    {"http:/\012//a/b/c", "error", kManySlashes},
    {"http:////a/b/c", "error", kManySlashes},
    {"http:///a/b/c", "error", kManySlashes},
    {"http:///x:y@a:8000/b/c", "error", kManySlashes},
    {"http:/\\//a/b/c", "http://\\/a/b/c", kBackslash},
    {"http:/\\/a/b/c", "http://\\/a/b/c", kBackslash},
    {"http:/\\/x:y@a:8000/b/c", "http://\\/x:y@a:8000/b/c", kBackslash},
    {"http:/\\a/b/c", "http://\\a/b/c", kBackslash},
    {"http:\\///a/b/c", "http://\\/a/b/c", kBackslash},
    {"http:\\//a/b/c", "http://\\/a/b/c", kBackslash},
    {"http:\\//x:y@a:8000/b/c", "http://\\/x:y@a:8000/b/c", kBackslash},
    {"http:\\/a/b/c", "http://\\/a/b/c", kBackslash},
    {"http:\\/x:y@a:8000/b/c", "http://\\/x:y@a:8000/b/c", kBackslash},
    {"http:\\a/b/c", "http://\\a/b/c", kBackslash},
    {"\001\002\003\004\005\006\007\010\011\012\013\014\015\016\017\020\021\022\023\024\025\026\027\030\031\032\033\034"
     "\035\036\037 "
     "!\"#$%&'()*+,-./"
     "0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"
     "\177\200\201\202\203\204\205\206\207\210\211\212\213\214\215\216\217\220\221\222\223\224\225\226\227\230\231\232"
     "\233\234\235\236\237\240\241\242\243\244\245\246\247\250\251\252\253\254\255\256\257\260\261\262\263\264\265\266"
     "\267\270\271\272\273\274\275\276\277\300\301\302\303\304\305\306\307\310\311\312\313\314\315\316\317\320\321\322"
     "\323\324\325\326\327\330\331\332\333\334\335\336\337\340\341\342\343\344\345\346\347\350\351\352\353\354\355\356"
     "\357\360\361\362\363\364\365\366\367\370\371\372\373\374\375\376\377",
     "http://!\"/", kOneWord},
};

constexpr Difference kSpecialDots[] = {
    {"http://h\\", "http://h\\/", kBackslash},          {"http://h\\.", "http://h\\/", kBackslash},
    {"http://h\\..", "http://h\\/", kBackslash},        {"http://h\\foo", "http://h\\foo/", kBackslash},
    {"http://h/.\\", "http://h/.\\", kBackslash},       {"http://h/..\\", "http://h/..\\", kBackslash},
    {"http://h\\\\", "http://h\\\\/", kBackslash},      {"http://h\\./", "http://h\\/", kBackslash},
    {"http://h\\.\\", "http://h\\.\\/", kBackslash},    {"http://h\\../", "http://h\\/", kBackslash},
    {"http://h\\..\\", "http://h\\.\\/", kBackslash},   {"http://h\\foo\\", "http://h\\foo\\/", kBackslash},
    {"http://h/\\.", "http://h/\\.", kBackslash},       {"http://h/\\..", "http://h/\\..", kBackslash},
    {"http://h/.\\.", "http://h/.\\.", kBackslash},     {"http://h/.\\..", "http://h/.\\..", kBackslash},
    {"http://h/.\\foo", "http://h/.\\foo", kBackslash}, {"http://h/..\\.", "http://h/..\\.", kBackslash},
    {"http://h/..\\..", "http://h/..\\..", kBackslash}, {"http://h/..\\foo", "http://h/..\\foo", kBackslash},
    {"http://h/foo\\.", "http://h/foo\\.", kBackslash}, {"http://h/foo\\..", "http://h/foo\\..", kBackslash},
};

constexpr Difference kNonspecialDots[] = {
    {"foo://h\\", "foo://h\\/", kBackslash},        {"foo://h\\.", "foo://h\\/", kBackslash},
    {"foo://h\\..", "foo://h\\/", kBackslash},      {"foo://h\\foo", "foo://h\\foo/", kBackslash},
    {"foo://h\\\\", "foo://h\\\\/", kBackslash},    {"foo://h\\./", "foo://h\\/", kBackslash},
    {"foo://h\\.\\", "foo://h\\.\\/", kBackslash},  {"foo://h\\../", "foo://h\\/", kBackslash},
    {"foo://h\\..\\", "foo://h\\.\\/", kBackslash}, {"foo://h\\foo\\", "foo://h\\foo\\/", kBackslash},
};

}  // namespace mankai::test::iipc
