#include "dot.hpp"

#ifdef NAVI_X86
#include "x86_lanes.hpp"

namespace navi {
namespace {

constexpr std::int64_t kLanes = 16;

__attribute__((target("avx2,fma,avx512f"), always_inline)) inline __m256 halves(__m512 sum) {
  const __m256 upper = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(sum), 1));
  return _mm256_add_ps(_mm512_castps512_ps256(sum), upper);
}

}  // namespace

__attribute__((target("avx2,fma,avx512f"))) void dot_rows_avx512(const float* const rows[kDotRows], const float* query,
                                                                 std::int64_t dims, float out[kDotRows]) {
  __m512 sums[kDotRows];
  for (auto& sum : sums) sum = _mm512_setzero_ps();
  std::int64_t at = 0;
  for (; at + kLanes <= dims; at += kLanes) {
    const __m512 q = _mm512_loadu_ps(query + at);
    for (std::int64_t i = 0; i < kDotRows; ++i) sums[i] = _mm512_fmadd_ps(_mm512_loadu_ps(rows[i] + at), q, sums[i]);
  }
  if (at < dims) {
    const Tail tail = tail_of(at, dims, kLanes);
    const auto mask = static_cast<__mmask16>(((1U << tail.count) - 1) << tail.first);
    const __m512 q = _mm512_maskz_loadu_ps(mask, query + tail.begin);
    for (std::int64_t i = 0; i < kDotRows; ++i) {
      sums[i] = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(mask, rows[i] + tail.begin), q, sums[i]);
    }
  }
  _mm_storeu_ps(out, reduce4(halves(sums[0]), halves(sums[1]), halves(sums[2]), halves(sums[3])));
}

}  // namespace navi
#endif
