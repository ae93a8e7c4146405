#include "apps/mankai/guard_sources.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "apps/mankai/gate_mirror.hpp"
#include "apps/mankai/report.hpp"
#include "mankai/base/duration.hpp"
#include "mankai/file/file.hpp"

namespace mankai::command {
namespace {

constexpr std::size_t kSourcesBytesMax = std::size_t{1} << 20;
constexpr std::size_t kNameBytesMax = 64;

std::unexpected<Error> wrong_at(const toml::node& node, std::string_view why) {
  return fail(ErrorCode::invalid_argument, fmt::format("line {}: {}", node.source().begin.line, why));
}

/// Reads the keys of one table; those that are absent leave their target unchanged. Errors name the line.
class TableReader {
 public:
  explicit TableReader(const toml::table& table) : table_(table) {}

  Result<void> text(std::string_view key, std::string& target) const {
    return read(key, "a text", target, [](const toml::node& node) {
      auto value = node.value_exact<std::string>();
      const bool is_text = value && !value->empty() && value->find('\0') == std::string::npos;
      return is_text ? std::move(value) : std::nullopt;
    });
  }

  Result<void> truth(std::string_view key, bool& target) const {
    return read(key, "true or false", target, [](const toml::node& node) { return node.value_exact<bool>(); });
  }

  Result<void> share(std::string_view key, double& target) const {
    return read(key, "a number from 0 to 1", target, [](const toml::node& node) {
      const auto value = node.value<double>();
      return value && *value >= 0 && *value <= 1 ? value : std::nullopt;
    });
  }

  Result<void> words(std::string_view key, std::vector<std::string>& target) const {
    return read(key, "a program and its arguments, such as [\"curl\", \"-fsS\", \"https://lists.example/hosts\"]",
                target, [](const toml::node& node) -> std::optional<std::vector<std::string>> {
                  const toml::array* const array = node.as_array();
                  std::vector<std::string> words;
                  for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
                    const auto word = array->get(i)->value_exact<std::string>();
                    if (!word || word->find('\0') != std::string::npos || (words.empty() && word->empty())) {
                      return std::nullopt;
                    }
                    words.push_back(*word);
                  }
                  return words.empty() ? std::nullopt : std::optional(std::move(words));
                });
  }

  // Other keys are misspelled.
  Result<void> check_keys(std::initializer_list<std::string_view> known) const {
    for (const auto& [key, node] : table_) {
      if (std::ranges::find(known, key.str()) == known.end()) {
        return fail(ErrorCode::invalid_argument,
                    fmt::format("line {}: '{}' is not a key here; there are {}", key.source().begin.line,
                                printable(key.str()), fmt::join(known, ", ")));
      }
    }
    return {};
  }

  [[nodiscard]] const toml::node* get(std::string_view key) const { return table_.get(key); }
  [[nodiscard]] std::unexpected<Error> wrong(std::string_view why) const { return wrong_at(table_, why); }

 private:
  // `get` returns the node's value if it is what the key must be.
  template <class T, class Get>
  Result<void> read(std::string_view key, std::string_view what, T& target, const Get& get) const {
    const toml::node* const node = table_.get(key);
    if (node == nullptr) {
      return {};
    }
    auto value = get(*node);
    if (!value) {
      return wrong_at(*node, fmt::format("'{}' must be {}", key, what));
    }
    target = std::move(*value);
    return {};
  }

  const toml::table& table_;
};

// A name is part of the names of files.
bool is_list_name(std::string_view name) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= kNameBytesMax && std::ranges::all_of(name, is_allowed);
}

Result<void> read_format(const TableReader& table, ListSource& list) {
  std::string text;
  MANKAI_TRY(table.text("format", text));
  if (!text.empty()) {
    const auto format = rule_list_format(text);
    if (!format) {
      return wrong_at(*table.get("format"), format.error().detail);
    }
    list.format.format = *format;
  }
  text = "block";
  MANKAI_TRY(table.text("action", text));
  if (text != "block" && text != "allow") {
    return wrong_at(*table.get("action"), "'action' must be \"block\" or \"allow\"");
  }
  list.format.is_allow_list = text == "allow";
  return table.text("column", list.format.column);
}

Result<void> read_timeout(const TableReader& table, ListSource& list) {
  std::string text;
  MANKAI_TRY(table.text("timeout", text));
  if (!text.empty()) {
    const auto duration = parse_duration(text);
    if (!duration) {
      return wrong_at(*table.get("timeout"), "'timeout': " + duration.error().detail);
    }
    list.timeout = *duration;
  }
  return {};
}

Result<ListSource> read_list_source(const toml::table& entry) {
  const TableReader table(entry);
  ListSource list;
  MANKAI_TRY(table.check_keys({"name", "path", "command", "action", "format", "column", "allow_skipped", "allow_empty",
                               "max_loss", "timeout"}));
  MANKAI_TRY(table.text("name", list.name));
  if (!is_list_name(list.name)) {
    return table.wrong(fmt::format("a list needs a 'name' of at most {} letters, digits, '-' and '_'", kNameBytesMax));
  }
  MANKAI_TRY(table.text("path", list.path));
  MANKAI_TRY(table.words("command", list.command));
  if (list.path.empty() == list.command.empty()) {
    return table.wrong(fmt::format("the list {} needs either 'path' or 'command'", list.name));
  }
  MANKAI_TRY(read_format(table, list));
  MANKAI_TRY(table.share("allow_skipped", list.allow_skipped));
  MANKAI_TRY(table.truth("allow_empty", list.allow_empty));
  MANKAI_TRY(table.share("max_loss", list.max_loss));
  MANKAI_TRY(read_timeout(table, list));
  return list;
}

Result<RedisTarget> read_target(const toml::table& entry) {
  const TableReader table(entry);
  MANKAI_TRY(table.check_keys({"server", "key"}));
  std::string server;
  RedisTarget target;
  MANKAI_TRY(table.text("server", server));
  MANKAI_TRY(table.text("key", target.key));
  if (server.empty() || target.key.empty()) {
    return table.wrong("a server needs both 'server' and 'key'");
  }
  auto address = redis_address(server, "server");
  if (!address) {
    return wrong_at(*table.get("server"), address.error().detail);
  }
  target.server = *std::move(address);
  return target;
}

// Reads [[KEY]] tables.
template <class Read, class Item>
Result<void> read_tables(const TableReader& root, std::string_view key, const Read& read, std::vector<Item>& items) {
  const toml::node* const node = root.get(key);
  if (node == nullptr) {
    return {};
  }
  const toml::array* const array = node->as_array();
  if (array == nullptr) {
    return wrong_at(*node, fmt::format("'{0}' must be tables, each under [[{0}]]", key));
  }
  for (const toml::node& each : *array) {
    const toml::table* const table = each.as_table();
    if (table == nullptr) {
      return wrong_at(each, fmt::format("'{0}' must be tables, each under [[{0}]]", key));
    }
    MANKAI_ASSIGN(auto item, read(*table));
    items.push_back(std::move(item));
  }
  return {};
}

Result<GuardSources> sources_of(const toml::table& document) {
  const TableReader root(document);
  GuardSources sources;
  MANKAI_TRY(root.check_keys({"fpr", "exact", "list", "redis"}));
  MANKAI_TRY(root.share("fpr", sources.fpr));
  if (sources.fpr <= 0 || sources.fpr >= 1) {
    return wrong_at(*root.get("fpr"), "'fpr' must be between 0 and 1");
  }
  MANKAI_TRY(root.truth("exact", sources.is_exact));
  MANKAI_TRY(read_tables(root, "list", read_list_source, sources.lists));
  MANKAI_TRY(read_tables(root, "redis", read_target, sources.targets));
  if (sources.lists.empty()) {
    return fail(ErrorCode::invalid_argument, "names no lists; add a table [[list]]");
  }
  for (auto list = sources.lists.begin(); list != sources.lists.end(); ++list) {
    if (std::ranges::find(sources.lists.begin(), list, list->name, &ListSource::name) != list) {
      return fail(ErrorCode::invalid_argument, fmt::format("has two lists with the name {}", list->name));
    }
  }
  return sources;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

}  // namespace

Result<GuardSources> read_guard_sources(const std::string& path) {
  MANKAI_ASSIGN(const auto bytes, read_file(path));
  if (bytes.size() > kSourcesBytesMax) {
    return fail(ErrorCode::invalid_argument, path + ": is larger than " + human_bytes(kSourcesBytesMax));
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.bytes().data()), bytes.size());
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: line {}: {}", path, error.source().begin.line, printable(error.description())));
  }
  MANKAI_ASSIGN(auto sources, within(path, sources_of(parsed.table())));
  sources.folder = folder_of(path);
  return sources;
}

}  // namespace mankai::command
