#include "modules/redis/engine/settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "modules/redis/engine/guard.hpp"

namespace mankai::redis {
namespace {

constexpr std::string_view kNameArgument = "NAME";
constexpr std::array kModuleNames = {"bf", "mankai"};

// While the engine loads the configuration, it sets each name that is not configured to its default. That must not undo
// what another name of the value has set.
bool is_loading = false;

using SetFromArgument = bool (*)(void* setting, String* value) noexcept;
struct Argument {
  std::string name;
  void* setting;
  SetFromArgument set;
};
std::vector<Argument> known_arguments;  // until the module is loaded

int add_argument(const char* name, void* setting, SetFromArgument set) {
  if (std::ranges::find(known_arguments, name, &Argument::name) == known_arguments.end()) {
    known_arguments.push_back({.name = name, .setting = setting, .set = set});
  }
  return kOk;
}

/// `done`: what the engine returned for the config.
int registered(int done, const char* name, void* setting, SetFromArgument set) noexcept {
  return done == kOk ? guarded([&] { return add_argument(name, setting, set); }, [] { return kError; }) : kError;
}

template <class Setting>
Setting& at(void* data) noexcept {
  return *static_cast<Setting*>(data);
}

std::array<char, 32> text_of(double rate) noexcept {
  std::array<char, 32> text{};
  std::to_chars(text.data(), text.data() + text.size() - 1, rate);
  return text;
}

String* get_rate(const char* /*name*/, void* data) noexcept {
  auto& setting = at<RateSetting>(data);
  if (setting.text == nullptr) {
    const auto text = text_of(setting.value);
    setting.text = engine.create_string(nullptr, text.data(), std::string_view(text.data()).size());
  }
  return setting.text;
}

bool set_rate_from(void* data, String* value) noexcept {
  double rate = 0;
  return engine.string_to_double(value, &rate) == kOk && at<RateSetting>(data).set(rate, value);
}

int set_rate(const char* /*name*/, String* value, void* data, String** error) noexcept {
  if (set_rate_from(data, value)) {
    return kOk;
  }
  constexpr std::string_view kText = "the rate must be above 0 and below 1";
  *error = engine.create_string(nullptr, kText.data(), kText.size());
  return kError;
}

// What RedisBloom 2 calls its settings, and the names since 8.
constexpr std::array<std::array<std::string_view, 2>, 3> kOldArguments = {
    {{"ERROR_RATE", "bf-error-rate"}, {"INITIAL_SIZE", "bf-initial-size"}, {"CF_MAX_EXPANSIONS", "cf-max-expansions"}}};

bool is_argument(std::string_view word, std::string_view name) noexcept {
  const auto* const old = std::ranges::find_if(kOldArguments, [&](const auto& row) { return row[1] == name; });
  return equal_words(word, name) || (old != kOldArguments.end() && equal_words(word, (*old)[0]));
}

bool is_module_name(std::string_view name) noexcept {
  return std::ranges::find(kModuleNames, name) != kModuleNames.end();
}

const char* problem_with(const Call& arguments, std::size_t index) noexcept {
  const std::string_view word = arguments.text(index);
  if (index + 1 == arguments.size()) {
    return "has no value";
  }
  if (arguments.is(index, kNameArgument)) {
    return is_module_name(arguments.text(index + 1)) ? nullptr : "must be bf or mankai";
  }
  const auto found =
      std::ranges::find_if(known_arguments, [&](const Argument& argument) { return is_argument(word, argument.name); });
  if (found == known_arguments.end()) {
    return "is unknown; give NAME or a setting without its prefix";
  }
  return found->set(found->setting, arguments.arguments()[index + 1]) ? nullptr : "has an invalid value";
}

}  // namespace

bool IntegerSetting::set(long long number) noexcept {
  if (number < least || number > most) {
    return false;
  }
  value = is_loading && number == initial ? value : number;
  return true;
}

bool RateSetting::set(double rate, String* as_text) noexcept {
  if (!(rate > 0 && rate < 1)) {
    return false;
  }
  if (is_loading && rate == initial) {
    return true;
  }
  value = std::min(rate, most);
  if (text != nullptr) {
    engine.free_string(nullptr, text);
    text = nullptr;
  }
  if (value == rate) {
    const std::string_view bytes = text_of(as_text);
    text = engine.create_string(nullptr, bytes.data(), bytes.size());
  }
  return true;
}

int register_setting(Context* context, const char* name, IntegerSetting& setting, unsigned flags) noexcept {
  const auto get = [](const char*, void* data) noexcept { return at<IntegerSetting>(data).value; };
  const auto set = [](const char*, long long number, void* data, String**) noexcept {
    return at<IntegerSetting>(data).set(number) ? kOk : kError;
  };
  const int done = engine.register_numeric_config(context, name, setting.initial, flags, setting.least, setting.most,
                                                  get, set, nullptr, &setting);
  return registered(done, name, &setting, [](void* data, String* text) noexcept {
    long long number = 0;
    return engine.string_to_long_long(text, &number) == kOk && at<IntegerSetting>(data).set(number);
  });
}

int register_setting(Context* context, const char* name, RateSetting& setting, unsigned flags) noexcept {
  const auto initial = text_of(setting.initial);
  const int done =
      engine.register_string_config(context, name, initial.data(), flags, get_rate, set_rate, nullptr, &setting);
  return registered(done, name, &setting, set_rate_from);
}

int register_setting(Context* context, const char* name, FlagSetting& setting, unsigned flags) noexcept {
  const auto get = [](const char*, void* data) noexcept { return static_cast<int>(at<FlagSetting>(data).value); };
  const auto set = [](const char*, int flag, void* data, String**) noexcept {
    auto& chosen = at<FlagSetting>(data);
    chosen.value = is_loading && (flag != 0) == chosen.initial ? chosen.value : flag != 0;
    return kOk;
  };
  const int done =
      engine.register_bool_config(context, name, static_cast<int>(setting.initial), flags, get, set, nullptr, &setting);
  return registered(done, name, &setting, [](void* data, String* text) noexcept {
    const bool is_yes = equal_words(text_of(text), "yes");
    at<FlagSetting>(data).value = is_yes;
    return is_yes || equal_words(text_of(text), "no");
  });
}

int register_setting(Context* context, const char* name, ChoiceSetting& setting) noexcept {
  const auto get = [](const char*, void* data) noexcept { return at<ChoiceSetting>(data).value; };
  const auto set = [](const char*, int choice, void* data, String**) noexcept {
    at<ChoiceSetting>(data).value = choice;
    return kOk;
  };
  const auto set_from = [](void* data, String* text) noexcept {
    auto& chosen = at<ChoiceSetting>(data);
    const auto found =
        std::ranges::find_if(chosen.names, [&](const char* choice) { return equal_words(text_of(text), choice); });
    const bool is_one = found != chosen.names.end();
    chosen.value = is_one ? static_cast<int>(found - chosen.names.begin()) : chosen.value;
    return is_one;
  };
  constexpr std::size_t kMost = 4;
  std::array<const char*, kMost> names{};
  std::array<int, kMost> values{};
  const std::size_t count = std::min(setting.names.size(), kMost);
  std::copy_n(setting.names.begin(), count, names.begin());
  std::iota(values.begin(), values.end(), 0);
  const int done = engine.register_enum_config(context, name, setting.initial, kConfigDefault, names.data(),
                                               values.data(), static_cast<int>(count), get, set, nullptr, &setting);
  return registered(done, name, &setting, set_from);
}

int load_settings(const Call& arguments) noexcept {
  is_loading = true;
  const int loaded = engine.load_configs(arguments.context());
  is_loading = false;
  const char* problem = nullptr;
  for (std::size_t i = 0; i < arguments.size() && problem == nullptr; i += 2) {
    problem = problem_with(arguments, i);
    if (problem != nullptr) {
      const std::string_view word = arguments.text(i);
      engine.log(arguments.context(), "warning", "argument \"%.*s\" of the module %s", static_cast<int>(word.size()),
                 word.data(), problem);
    }
  }
  known_arguments = {};
  return problem == nullptr ? loaded : kError;
}

const char* module_name(const Call& arguments) noexcept {
  const char* name = kModuleNames.front();
  for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) {
    const auto* const found = std::ranges::find(kModuleNames, arguments.text(i + 1));
    name = arguments.is(i, kNameArgument) && found != kModuleNames.end() ? *found : name;
  }
  return name;
}

}  // namespace mankai::redis
