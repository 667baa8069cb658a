// Software prefetch, where the compiler has it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace navi {

constexpr std::size_t kCacheLine = 64;

inline void prefetch(const void* address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#else
  (void)address;
#endif
}

// Every cache line of [address, address + bytes).
inline void prefetch_range(const void* address, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address) & ~(kCacheLine - 1);
  const auto end = reinterpret_cast<std::uintptr_t>(address) + bytes;
  for (auto line = begin; line < end; line += kCacheLine) prefetch(reinterpret_cast<const void*>(line));
}

}  // namespace navi
