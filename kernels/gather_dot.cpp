#include "gather_dot.hpp"

#include <algorithm>
#include <memory>

#include "prefetch.hpp"
#include "top_k.hpp"

namespace navi {
namespace {

constexpr std::int64_t kPiece = 1024;         // scores that stay in the first cache until the top k has seen them
constexpr std::int64_t kBytesAhead = 8192;    // of rows under way from memory
constexpr std::int64_t kMostRowsAhead = 64;

NAVI_ALWAYS_INLINE const float* row_at(const GatherDot& task, std::int64_t position) {
  return task.matrix + (task.rows == nullptr ? position : task.rows[position]) * task.dims;
}

NAVI_ALWAYS_INLINE void fetch(const GatherDot& task, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < std::min(end, task.count); ++i) {
    prefetch_range(row_at(task, i), static_cast<std::size_t>(task.dims) * sizeof(float));
  }
}

std::int64_t rows_ahead(const GatherDot& task) {
  const std::int64_t row_bytes = std::max<std::int64_t>(task.dims, 1) * static_cast<std::int64_t>(sizeof(float));
  return std::clamp(kBytesAhead / row_bytes, kDotRows, kMostRowsAhead);
}

// Scores of positions [begin, end). Every row goes through one code path: a short last group repeats its last row.
void score(const GatherDot& task, std::int64_t begin, std::int64_t end, float* scores) {
  const std::int64_t ahead = rows_ahead(task);
  for (std::int64_t at = begin; at < end; at += kDotRows) {
    // Rows in order are fetched by the processor on its own.
    if (task.rows != nullptr) fetch(task, at + ahead, at + ahead + kDotRows);
    const float* rows[kDotRows];
    for (std::int64_t i = 0; i < kDotRows; ++i) rows[i] = row_at(task, std::min(at + i, end - 1));
    float out[kDotRows];
    task.dot(rows, task.query, task.dims, out);
    std::copy_n(out, std::min(kDotRows, end - at), scores + (at - begin));
  }
}

}  // namespace

std::int64_t first_outside(const std::int64_t* rows, std::int64_t count, std::int64_t limit) {
  // Unsigned, a negative row is a huge one.
  const auto outside = [limit](std::int64_t row) {
    return static_cast<std::uint64_t>(row) >= static_cast<std::uint64_t>(limit);
  };
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) found += outside(rows[i]);
  return found == 0 ? -1 : std::find_if(rows, rows + count, outside) - rows;
}

void gather_dot(const GatherDot& task, float* scores) { score(task, 0, task.count, scores); }

void gather_dot_top_k(const GatherDot& task, std::int64_t k, const std::int64_t* ties, std::int64_t* positions,
                      float* scores) {
  TopK best(k, task.count);
  const std::unique_ptr<float[]> all(new float[static_cast<std::size_t>(task.count)]);
  const std::int64_t* order = ties == nullptr ? task.rows : ties;
  for (std::int64_t begin = 0; begin < task.count; begin += kPiece) {
    const std::int64_t end = std::min(begin + kPiece, task.count);
    score(task, begin, end, all.get() + begin);
    best.offer(all.get() + begin, order, begin, end - begin);
  }
  best.finish(positions);
  std::transform(positions, positions + std::min(k, task.count), scores, [&all](std::int64_t at) { return all[at]; });
}

}  // namespace navi
