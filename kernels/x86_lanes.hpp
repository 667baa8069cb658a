// What the x86 dot products share: the end of a row that fills no vector, and the sum over a vector's lanes.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstdint>

namespace navi {

// The last floats of a row as a masked vector: `count` lanes from lane `first`, of the vector that starts at `begin`.
struct Tail {
  std::int64_t begin;
  int first;
  int count;
};

// It reaches back into the row where it can: the memory behind the row was not fetched.
inline Tail tail_of(std::int64_t at, std::int64_t dims, std::int64_t lanes) {
  const std::int64_t count = dims - at;
  const std::int64_t back = std::min(at, lanes - count);
  return {at - back, static_cast<int>(back), static_cast<int>(count)};
}

// The sums of four vectors, each in the same order of additions.
__attribute__((target("avx2,fma"), always_inline)) inline __m128 reduce4(__m256 a, __m256 b, __m256 c, __m256 d) {
  const __m256 pairs = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
  return _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1));
}

}  // namespace navi
