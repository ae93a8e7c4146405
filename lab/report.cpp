#include "lab/report.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <span>

#include "lab/text.hpp"
#include "mankai/file/file.hpp"

namespace mankai::lab {
namespace {

Result<void> write_text(const std::string& folder, const std::string& name, const std::string& text) {
  const std::string path = folder + "/" + name;
  const mode_t mask = umask(0);
  umask(mask);
  constexpr mode_t kEveryone = 0666;
  return write_file(path, std::as_bytes(std::span(text)), Existing::replace, nullptr, system_calls(),
                    mode_of(path).value_or(kEveryone & ~mask));
}

}  // namespace

Result<void> prepare_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return fail(ErrorCode::io, folder + ": cannot make this folder; choose another one with --out", error.value());
  }
  std::string probe = folder + "/.mankai-lab-XXXXXX";
  const int descriptor = mkstemp(probe.data());
  if (descriptor < 0) {
    return fail(ErrorCode::io, folder + ": cannot write into this folder; choose another one with --out", errno);
  }
  close(descriptor);
  unlink(probe.c_str());
  return {};
}

Result<void> write_report(const std::string& folder, const std::vector<Outcome>& outcomes, const Context& context) {
  for (const Outcome& outcome : outcomes) {
    for (const Figure& figure : outcome.findings.figures()) {
      MANKAI_TRY(write_text(folder, outcome.source.name + "-" + figure.name + ".csv", csv(figure)));
    }
  }
  MANKAI_TRY(write_text(folder, "claims.json", claims_json(outcomes, context)));
  return write_text(folder, "index.html", page(outcomes, context, plot_svg));
}

}  // namespace mankai::lab
