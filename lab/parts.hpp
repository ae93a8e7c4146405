#pragma once

/// The sources, and the parts of each. Most parts have a file of their own in their source's folder.

#include <vector>

#include "lab/lab.hpp"

namespace mankai::lab {

/// In the order of the report.
[[nodiscard]] std::vector<Source> all_sources();

namespace basket {
Measure measure_words;       ///< "The Scenario", "Bloom's way": bit arrays; hyphenation and capitalization.
Measure measure_sessions;    ///< "What we want to do": shoppers' sessions behind the gate.
Measure measure_database;    ///< "What we want to do": queries and times of SQLite and PostgreSQL.
Measure measure_addressing;  ///< "How it works": what is certain, what fills up, and how many hash bits it needs.
Measure measure_grid;        ///< "Tuning the Bloom filter": saturation to the power of the phase.
Measure measure_tuning;      ///< "Tuning the Bloom filter": the optimum, and the effects of array and phase.
Measure measure_drift;       ///< What the paper leaves out: baskets get emptied.
}  // namespace basket

namespace dedup {
Measure measure_exact;       ///< "Introduction": comparisons and moves in exact searches.
Measure measure_bloom;       ///< "Bloom filter & analysis": fill, rate and optimum of one filter; Algorithms 1 and 2.
Measure measure_classes;     ///< "Analysis" and "Conclusion": rates per class of absent keys.
Measure measure_certain;     ///< What XOR and shared hash functions make certain.
Measure measure_growth;      ///< Figure 3, and the conference paper's: false positives over the number of URLs.
Measure measure_repository;  ///< The figures of the program's repository.
Measure measure_real;        ///< Real URLs, with --data.
Measure measure_times;       ///< Figures 4 and 5: time and memory of every structure.
}  // namespace dedup

namespace spam {
Measure measure_roll_up;  ///< The introduction: a listed domain or path covers everything below it.
Measure measure_basics;   ///< "Bloom Filter Basics" and "Counting Bloom Filters": one filter of bits, one of counters.
Measure measure_compounding;  ///< "Scalable Bloom Filters": compounded rates, and the tightening ratio.
Measure measure_growth;       ///< "Scalable Bloom Filters", last paragraph: the cost of constant and geometric growth.
Measure measure_removal;      ///< "Problems with Mixing": removal from the wrong filter, by id, and of absent keys.
Measure measure_ids;          ///< "Enter dablooms": when a new filter opens, and equal ids.
Measure measure_old_filters;  ///< "Enter dablooms": adding to old filters, and removing from them.
Measure measure_counters;     ///< "Enter dablooms": counters of four bits.
Measure measure_restart;      ///< "Enter dablooms": a restart from a file and from a database; corrupt files.
Measure measure_crashes;      ///< "Enter dablooms": failed writes, replay, and what a flush writes.
Measure measure_requests;     ///< "Introduction": thousands of decode requests per second.
Measure measure_memory;       ///< The 98.8 %: a filter compared with a hash table.
}  // namespace spam

namespace profiling {
Measure measure_skew;             ///< Figure 1: the skew of visits.
Measure measure_counts;           ///< Equations (1) to (4): what is counted.
Measure measure_undercounts;      ///< Claim 1, that no estimate is too low.
Measure measure_false_positives;  ///< Equation (5), false positives, and the Bloom filter in front.
Measure measure_digits;           ///< Section 4.1: digits, the worked example, the two overflow rules.
Measure measure_tiers;     ///< Section 1: the exponential filter, a series of filters for digits, as reconstructed.
Measure measure_space;     ///< Equations (6) and (7): the space of counters under Zipf's law.
Measure measure_memory;    ///< Figure 3: memory over λ; and the time of creation.
Measure measure_goals;     ///< Section 2: error bound, space and time over the length of the stream.
Measure measure_accuracy;  ///< Accuracy of every kind and policy at equal bytes, on drawn visits and on logs.
Measure measure_sizing;    ///< Ours: how decayed-top divides its memory.
Measure measure_decay_functions;  ///< Section 3.2: sliding windows and polynomial decay beside the exponential one.
Measure measure_baselines;        ///< Section 1: the rules of the spectral Bloom filter, with decay.
Measure measure_epochs;           ///< Section 3.2: what the length of an epoch changes.
}  // namespace profiling

namespace forgetting {
Measure measure_survival;      ///< The first two graphs: exact integers, s fixed and s proportional to log2 n.
Measure measure_fingerprints;  ///< The third graph: survival with fingerprints of 8 bits, and of 16.
Measure measure_plateau;      ///< The curves' limits: false positives, the advice about parameters, and an empty array.
Measure measure_min_matches;  ///< The code's minHits: several matches for a yes.
Measure measure_addressing;   ///< The code's addressing, on ids in order and at random.
Measure measure_production;   ///< The code's own test; the shapes it used, their bytes, write and read times.
Measure measure_threads;      ///< "Highly concurrent".
Measure measure_trace;        ///< Recurring events of a real trace, compared with an LRU and a rotating Bloom filter.
Measure measure_many_filters;  ///< "A large number of filters": one per user, in SQLite and in Redis.
Measure measure_values;        ///< The code's ProbablisticLRU: recent values of a key.
}  // namespace forgetting

}  // namespace mankai::lab
