#include "apps/mankai/subcommand.hpp"

namespace mankai::command {

Options::Options(Option option) { push_back(std::move(option)); }

Options::Options(std::initializer_list<Options> parts) {
  for (const Options& part : parts) {
    insert(end(), part.begin(), part.end());
  }
}

Option flag(std::string name, std::string help, bool& target) {
  return {.name = std::move(name), .help = std::move(help), .take = [&target](const std::string& /*none*/) {
            target = true;
            return Result<void>{};
          }};
}

Option positional(std::string name, std::string help, ValueKind kind, std::string& target) {
  return required(text_option(std::move(name), "", std::move(help), kind, target));
}

Option positionals(std::string name, std::string help, ValueKind kind, std::vector<std::string>& targets) {
  return list_option(std::move(name), "", std::move(help), kind, targets);
}

Option text_option(std::string name, std::string value, std::string help, ValueKind kind, std::string& target) {
  return {.name = std::move(name),
          .value = std::move(value),
          .help = std::move(help),
          .kind = kind,
          .take = [&target](const std::string& text) {
            target = text;
            return Result<void>{};
          }};
}

Option list_option(std::string name, std::string value, std::string help, ValueKind kind,
                   std::vector<std::string>& targets) {
  return {.name = std::move(name),
          .value = std::move(value),
          .help = std::move(help),
          .kind = kind,
          .is_repeatable = true,
          .take = [&targets](const std::string& text) {
            targets.push_back(text);
            return Result<void>{};
          }};
}

Option choice_option(Option option, std::span<const std::string_view> choices) {
  option.kind = ValueKind::choice;
  option.choices.assign(choices.begin(), choices.end());
  return option;
}

Option with_letter(char letter, Option option) {
  option.letter = letter;
  return option;
}

Option required(Option option) {
  option.is_required = true;
  return option;
}

}  // namespace mankai::command
