#include "lab/parts.hpp"

namespace mankai::lab {

// The parts of each source are in the order of its text.
std::vector<Source> all_sources() {
  return {source_of("basket_gate", {{"hyphenation", basket::measure_hyphenation},
                                    {"sessions", basket::measure_sessions},
                                    {"database", basket::measure_database},
                                    {"addressing", basket::measure_addressing},
                                    {"saturation and phase", basket::measure_grid},
                                    {"tuning", basket::measure_tuning},
                                    {"emptied baskets", basket::measure_drift}}),
          source_of("url_dedup", {{"exact searches", dedup::measure_exact},
                                  {"one Bloom filter", dedup::measure_bloom},
                                  {"classes of absent keys", dedup::measure_classes},
                                  {"certain errors", dedup::measure_certain},
                                  {"number of URLs", dedup::measure_growth},
                                  {"the repository's figures", dedup::measure_repository},
                                  {"real URLs", dedup::measure_real},
                                  {"times", dedup::measure_times}}),
          source_of("dablooms", {{"domains and paths", spam::measure_roll_up},
                                 {"one filter", spam::measure_basics},
                                 {"many filters together", spam::measure_compounding},
                                 {"growth", spam::measure_growth},
                                 {"removal", spam::measure_removal},
                                 {"ids", spam::measure_ids},
                                 {"old filters", spam::measure_old_filters},
                                 {"four-bit counters", spam::measure_counters},
                                 {"restart and damaged files", spam::measure_restart},
                                 {"memory and the hash table", spam::measure_memory}}),
          source_of("web_profiling", {{"skew", profiling::measure_skew},
                                      {"decayed counts", profiling::measure_counts},
                                      {"undercounts", profiling::measure_undercounts},
                                      {"false positives", profiling::measure_false_positives},
                                      {"digits", profiling::measure_digits},
                                      {"tiers", profiling::measure_tiers},
                                      {"space formula", profiling::measure_space},
                                      {"memory", profiling::measure_memory},
                                      {"goals", profiling::measure_goals},
                                      {"accuracy", profiling::measure_accuracy}}),
          source_of("fading", {{"survival", forgetting::measure_survival},
                               {"fingerprints", forgetting::measure_fingerprints},
                               {"plateau", forgetting::measure_plateau},
                               {"threads", forgetting::measure_threads},
                               {"recurring events", forgetting::measure_trace},
                               {"least matches", forgetting::measure_min_matches},
                               {"addressing", forgetting::measure_addressing},
                               {"shapes in use", forgetting::measure_production},
                               {"recent values", forgetting::measure_values}})};
}

}  // namespace mankai::lab
