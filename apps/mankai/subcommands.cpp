#include "apps/mankai/subcommands.hpp"

#include "apps/mankai/lab_summaries.hpp"

namespace mankai::command {
namespace {

Subcommand of_lab(std::string_view name, std::string_view summary) {
  return {.name = std::string(name), .summary = std::string(summary), .program = "mankai-lab"};
}

}  // namespace

Program mankai_program() {
  return {
      .name = "mankai",
      .tagline = "remembers millions of keys in little memory",
      .description =
          "Mankai answers questions about keys, such as URLs, from probabilistic filters of one or two bytes per key. "
          "A "
          "filter has no false negatives: every key that was added is found. Absent keys are reported as present at a "
          "false-positive rate that is chosen when the filter is created.",
      .subcommands = {create_subcommand(),        add_subcommand(),
                      check_subcommand(),         remove_subcommand(),
                      count_subcommand(),         recall_subcommand(),
                      advance_subcommand(),       info_subcommand(),
                      plan_subcommand(),          merge_subcommand(),
                      import_subcommand(),        clear_subcommand(),
                      verify_subcommand(),        recover_subcommand(),
                      journal_subcommand(),       guard_subcommand(),
                      gate_subcommand(),          dedup_subcommand(),
                      hot_subcommand(),           of_lab("gen", kGenSummary),
                      of_lab("lab", kLabSummary), of_lab("demo", kDemoSummary)}};
}

}  // namespace mankai::command
