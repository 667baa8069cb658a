// Scores of chosen rows of a resident matrix: the coarse ranker's inner loop.
#pragma once

#include <cstdint>

#include "dot.hpp"

namespace navi {

struct GatherDot {
  const float* matrix;       // [*, dims], one row after the other
  std::int64_t dims;
  const std::int64_t* rows;  // [count] row numbers in range, or null: rows 0 .. count - 1
  std::int64_t count;
  const float* query;        // [dims]
  DotRows dot;
};

// The position of the first row number outside [0, limit), or -1.
std::int64_t first_outside(const std::int64_t* rows, std::int64_t count, std::int64_t limit);

// scores: [count].
void gather_dot(const GatherDot& task, float* scores);

// The best min(k, count) positions and their scores, best first. ties: [count], or null for the row numbers.
void gather_dot_top_k(const GatherDot& task, std::int64_t k, const std::int64_t* ties, std::int64_t* positions,
                      float* scores);

}  // namespace navi
