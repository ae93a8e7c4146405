#include "mankai/remote/redis_address.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>
#include <vector>

#include "mankai/base/duration.hpp"
#include "mankai/base/number.hpp"

namespace mankai {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr std::string_view kRedis = "redis://";
constexpr std::string_view kRediss = "rediss://";

constexpr std::string_view kServerForm =
    "redis://[USER@]HOST[:PORT][/DATABASE], rediss://…[?cacert=FILE&cert=FILE&certkey=FILE] or unix:/PATH";
constexpr std::string_view kFilterForm =
    "redis://[USER@]HOST[:PORT]/KEY[?shards=N&ttl=TIME], rediss://… or unix:/PATH?key=KEY";

/// Parses an address; its errors never repeat a password.
class AddressParser {
 public:
  AddressParser(std::string_view text, std::string_view form) : text_(text), form_(form) {}

  [[nodiscard]] std::unexpected<Error> refuse(std::string_view why) const {
    // The part before the last @ may contain a password, and so may an option that does not exist. Errors go to logs.
    const std::size_t at = text_.rfind('@');
    const std::size_t start = at == std::string_view::npos ? 0 : at;
    const std::size_t options = text_.find('?');
    const std::string shown = (at == std::string_view::npos ? "" : "…") +
                              std::string(options < start ? "" : text_.substr(start, options - start));
    return fail(ErrorCode::invalid_argument, "'" + shown + "': " + std::string(why) + "; give " + std::string(form_));
  }

  // Removes the scheme from `rest`.
  Result<void> read_scheme(std::string_view& rest, RedisAddress& address) const {
    for (const std::string_view scheme : {kRedis, kRediss, kUnix}) {
      if (rest.starts_with(scheme)) {
        rest.remove_prefix(scheme.size());
        address.has_tls = scheme == kRediss;
        if (scheme == kUnix && !rest.starts_with('/')) {
          return refuse("the path of a socket begins with /");
        }
        return {};
      }
    }
    return refuse("invalid address of a Redis server");
  }

  Result<std::string> decoded(std::string_view text) const {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '%') {
        plain += text[i];
        continue;
      }
      const auto byte = i + 2 < text.size() ? to_number<unsigned char>(text.substr(i + 1, 2), 16) : std::nullopt;
      if (!byte) {
        return refuse("% must be followed by two hexadecimal digits");
      }
      plain += static_cast<char>(*byte);
      i += 2;
    }
    return plain;
  }

  // Parses [USER[:PASSWORD]@]HOST[:PORT].
  Result<void> read_server(std::string_view text, RedisAddress& address) const {
    if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
      std::string_view user = text.substr(0, at);
      const std::string_view password = cut(user, ':');
      MANKAI_ASSIGN(address.user, decoded(user));
      MANKAI_ASSIGN(address.password, decoded(password));
      text.remove_prefix(at + 1);
      if (address.user.empty() && address.password.empty()) {
        return refuse("no user before the @");
      }
    }
    return read_host(text, address) ? Result<void>() : refuse("no host and port");
  }

  // Truncates the text at a letter, and returns what follows the letter.
  static std::string_view cut(std::string_view& text, char letter) {
    const std::size_t at = text.find(letter);
    if (at == std::string_view::npos) {
      return {};
    }
    const std::string_view rest = text.substr(at + 1);
    text = text.substr(0, at);
    return rest;
  }

 private:
  // Parses HOST, HOST:PORT, [ADDRESS] or [ADDRESS]:PORT.
  static bool read_host(std::string_view text, RedisAddress& address) {
    std::string_view host = text;
    std::string_view port;
    if (text.starts_with('[')) {
      const std::string_view rest = cut(host, ']');
      host.remove_prefix(1);
      port = rest.starts_with(':') ? rest.substr(1) : std::string_view();
      if (text.size() == host.size() + 1 || (!rest.empty() && port.empty())) {
        return false;
      }
    } else {
      port = cut(host, ':');
    }
    address.host = host;
    if (host.empty() || text.ends_with(':')) {
      return false;
    }
    if (!port.empty()) {
      address.port = to_number<std::uint16_t>(port).value_or(0);
    }
    return address.port != 0;
  }

  std::string_view text_;
  std::string_view form_;
};

Result<void> set_number(const AddressParser& parser, std::string_view name, std::string_view text, std::uint64_t most,
                        auto& target) {
  const auto number = to_number<std::uint64_t>(text);
  if (!number || *number > most) {
    return parser.refuse(std::string(name) + " must be a whole number up to " + std::to_string(most));
  }
  target = static_cast<std::remove_reference_t<decltype(target)>>(*number);
  return {};
}

Result<void> set_count(const AddressParser& parser, std::string_view text, std::optional<std::uint64_t>& target) {
  constexpr double kMost = 1e15;
  double factor = 1;
  if (!text.empty()) {
    const std::size_t unit = std::string_view("kMG").find(text.back());
    if (unit != std::string_view::npos) {
      factor = std::array{1e3, 1e6, 1e9}.at(unit);
      text.remove_suffix(1);
    }
  }
  const double count = to_number<double>(text).value_or(0) * factor;
  if (!(count >= 1 && count <= kMost)) {
    return parser.refuse("keys must be a count such as 1e6 or 10M");
  }
  target = static_cast<std::uint64_t>(count);
  return {};
}

Result<void> set_duration(const AddressParser& parser, std::string_view name, std::string_view text, auto& target) {
  const auto duration = parse_duration(text);
  if (!duration) {
    return parser.refuse(std::string(name) + ": " + duration.error().detail);
  }
  target = *duration;
  return {};
}

Result<void> set_type(const AddressParser& parser, std::string_view text, std::optional<RemoteType>& target) {
  constexpr std::array<std::string_view, 4> kNames = {"bf", "cf", "cbf", "url"};
  const auto* const found = std::ranges::find(kNames, text);
  if (found == kNames.end()) {
    return parser.refuse("type must be bf, cf, cbf or url");
  }
  target = static_cast<RemoteType>(found - kNames.begin());
  return {};
}

// Returns false if this is not one of the options of TLS.
bool set_certificate(std::string_view name, const std::string& value, RedisAddress& server) {
  for (const auto& [option, target] :
       {std::pair("cacert", &server.ca_certificates), std::pair("cert", &server.certificate),
        std::pair("certkey", &server.certificate_key)}) {
    if (name == option && server.has_tls) {
      *target = value;
      return true;
    }
  }
  return false;
}

Result<void> set_option(const AddressParser& parser, std::string_view name, const std::string& value,
                        RemoteAddress& address) {
  RedisAddress& server = address.server;
  const bool is_unix = !server.socket.empty();
  if (name == "shards") {
    MANKAI_TRY(set_number(parser, name, value, RemoteAddress::kMaxShards, address.shards));
    return address.shards > 0 ? Result<void>() : parser.refuse("shards must be at least 1");
  }
  if (name == "wait") {
    return set_number(parser, name, value, RemoteAddress::kMaxReplicas, address.wait);
  }
  if (name == "type") {
    return set_type(parser, value, address.type);
  }
  if (name == "keys") {
    return set_count(parser, value, address.keys);
  }
  if (name == "fpr") {
    address.fpr = to_number<double>(value);
    return address.fpr && *address.fpr > 0 && *address.fpr < 1 ? Result<void>()
                                                               : parser.refuse("fpr must be between 0 and 1");
  }
  if (name == "ttl") {
    return set_duration(parser, name, value, address.ttl);
  }
  if (name == "timeout") {
    return set_duration(parser, name, value, address.timeout);
  }
  if (name == "db") {
    return set_number(parser, name, value, UINT32_MAX, server.database);
  }
  for (const auto& [option, target] : {std::pair("key", &address.key), std::pair("user", &server.user)}) {
    if (name == option && is_unix) {
      *target = value;
      return {};
    }
  }
  if (set_certificate(name, value, server)) {
    return {};
  }
  return parser.refuse("'" + std::string(name) +
                       "' is not an option here: options are shards, wait, type, keys, fpr, ttl, timeout and db; with "
                       "unix: also key and user, with rediss:// cacert, cert and certkey");
}

Result<void> check_certificates(const AddressParser& parser, const RedisAddress& server) {
  return server.certificate.empty() == server.certificate_key.empty()
             ? Result<void>()
             : parser.refuse("cert and certkey must be given together");
}

// Parses NAME=VALUE&…; `set` takes a name and its decoded value.
Result<void> read_options(const AddressParser& parser, std::string_view options, const auto& set) {
  std::vector<std::string_view> given;
  while (!options.empty()) {
    std::string_view option = options;
    options = AddressParser::cut(option, '&');
    const std::string_view value = AddressParser::cut(option, '=');
    MANKAI_ASSIGN(const std::string plain, parser.decoded(value));
    MANKAI_TRY(set(option, plain));
    if (std::ranges::find(given, option) != given.end()) {
      return parser.refuse("option '" + std::string(option) + "' is given twice");
    }
    given.push_back(option);
  }
  return {};
}

Result<void> check(const AddressParser& parser, const RemoteAddress& address) {
  if (address.key.empty()) {
    return parser.refuse("no key");
  }
  if (address.shards > 0 && address.key.find('{') != std::string::npos) {
    return parser.refuse("the key of a filter with shards must not contain {");
  }
  if (address.ttl && address.type && *address.type != RemoteType::bloom && *address.type != RemoteType::cuckoo) {
    return parser.refuse("ttl is valid for type=bf and type=cf only");
  }
  return check_certificates(parser, address.server);
}

}  // namespace

Result<RedisAddress> parse_redis_address(std::string_view text) {
  const AddressParser parser(text, kServerForm);
  RedisAddress address;
  std::string_view rest = text;
  MANKAI_TRY(parser.read_scheme(rest, address));
  if (rest.starts_with('/')) {
    address.socket = rest;
    return address;
  }
  std::size_t at = rest.rfind('@');
  if (at != std::string_view::npos && rest.substr(0, at).find(':') != std::string_view::npos) {
    return fail(ErrorCode::invalid_argument, "an address must not contain a password, which others would see");
  }
  const std::string_view options = AddressParser::cut(rest, '?');
  at = rest.rfind('@');
  const std::size_t start = at == std::string_view::npos ? 0 : at;
  const std::size_t slash = rest.find('/', start);
  if (slash != std::string_view::npos) {
    const std::string_view database = rest.substr(slash + 1);
    if (!database.empty()) {
      MANKAI_TRY(set_number(parser, "a database", database, UINT32_MAX, address.database));
    }
    rest = rest.substr(0, slash);
  }
  MANKAI_TRY(parser.read_server(rest, address));
  MANKAI_TRY(read_options(parser, options, [&](std::string_view name, const std::string& value) {
    return set_certificate(name, value, address)
               ? Result<void>()
               : parser.refuse("'" + std::string(name) + "' is not an option of a server" +
                               (address.has_tls ? "" : "; cacert, cert and certkey are valid with rediss://"));
  }));
  MANKAI_TRY(check_certificates(parser, address));
  return address;
}

std::string to_text(const RedisAddress& address) {
  if (!address.socket.empty()) {
    return std::string(kUnix) + address.socket;
  }
  const bool has_colon = address.host.find(':') != std::string::npos;
  std::string text(address.has_tls ? kRediss : kRedis);
  text += address.user.empty() ? std::string() : address.user + "@";
  text += (has_colon ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
  return address.database == 0 ? text : text + "/" + std::to_string(address.database);
}

Result<RemoteAddress> parse_remote_address(std::string_view text) {
  const AddressParser parser(text, kFilterForm);
  RemoteAddress address;
  std::string_view rest = text;
  MANKAI_TRY(parser.read_scheme(rest, address.server));
  std::string_view options = AddressParser::cut(rest, '?');
  if (rest.starts_with('/')) {
    MANKAI_ASSIGN(address.server.socket, parser.decoded(rest));
  } else {
    const std::string_view key = AddressParser::cut(rest, '/');
    MANKAI_TRY(parser.read_server(rest, address.server));
    MANKAI_ASSIGN(address.key, parser.decoded(key));
  }
  MANKAI_TRY(read_options(parser, options, [&](std::string_view name, const std::string& value) {
    return set_option(parser, name, value, address);
  }));
  MANKAI_TRY(check(parser, address));
  return address;
}

std::string to_text(const RemoteAddress& address) {
  RedisAddress server = address.server;
  server.user.clear();
  server.database = 0;
  return to_text(server) + (server.socket.empty() ? "/" : "?key=") + address.key;
}

}  // namespace mankai
