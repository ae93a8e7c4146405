#pragma once

#include <string>

#include "apps/mankai/report.hpp"
#include "mankai/guard/guard.hpp"

namespace mankai::command {

/// Returns all facts about a guard except its seed, which is secret.
[[nodiscard]] Report report_on(const GuardFacts& facts, const std::string& file);

/// Adds the same facts as metrics named `mankai_guard_…`.
void add_metrics(const GuardFacts& facts, PrometheusText& text);

}  // namespace mankai::command
