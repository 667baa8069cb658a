// Standard C++ in a shape that compilers vectorise: independent sums, added up in one fixed order.
#include "dot.hpp"

namespace navi {
namespace {

constexpr std::int64_t kLanes = 16;

float dot(const float* row, const float* query, std::int64_t dims) {
  float sums[kLanes] = {};
  const std::int64_t whole = dims - dims % kLanes;
  for (std::int64_t at = 0; at < whole; at += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += row[at + lane] * query[at + lane];
  }
  float tail = 0.0F;
  for (std::int64_t at = whole; at < dims; ++at) tail += row[at] * query[at];
  for (std::int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::int64_t lane = 0; lane < width; ++lane) sums[lane] += sums[lane + width];
  }
  return sums[0] + tail;
}

}  // namespace

void dot_rows_plain(const float* const rows[kDotRows], const float* query, std::int64_t dims, float out[kDotRows]) {
  for (std::int64_t i = 0; i < kDotRows; ++i) out[i] = dot(rows[i], query, dims);
}

}  // namespace navi
