// Open addressing from 64-bit hashes to rows: the part that integer and text ids share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "prefetch.hpp"

namespace navi {

// A bijection of 64 bits that spreads them (the finaliser of MurmurHash3, by Austin Appleby, public domain).
inline std::uint64_t mix(std::uint64_t bits) {
  bits ^= bits >> 33;
  bits *= 0xff51afd7ed558ccdULL;
  bits ^= bits >> 33;
  bits *= 0xc4ceb9fe1a85ec53ULL;
  return bits ^ (bits >> 33);
}

class HashTable {
 public:
  explicit HashTable(std::int64_t entries) : slots_(capacity(entries)), mask_(slots_.size() - 1) {}

  NAVI_ALWAYS_INLINE void prefetch_slot(std::uint64_t hash) const { prefetch(&slots_[hash & mask_]); }

  // The row under `hash` for which `same(row)` holds, or -1.
  template <class Same>
  std::int64_t find(std::uint64_t hash, Same same) const {
    return slots_[probe(hash, same)].row;
  }

  // Adds a row; the row that was there already and is the same, or -1.
  template <class Same>
  std::int64_t insert(std::uint64_t hash, std::int64_t row, Same same) {
    Slot& slot = slots_[probe(hash, same)];
    if (slot.row >= 0) return slot.row;
    slot = {hash, row};
    return -1;
  }

 private:
  // 16 bytes, so that no slot straddles two cache lines.
  struct Slot {
    std::uint64_t hash = 0;
    std::int64_t row = -1;  // -1: free
  };

  // The least power of two that stays under 70 % full, so that a probe always meets a free slot.
  static std::size_t capacity(std::int64_t entries) {
    std::size_t slots = 8;
    while (static_cast<std::size_t>(entries) > slots / 10 * 7) slots *= 2;
    return slots;
  }

  template <class Same>
  std::size_t probe(std::uint64_t hash, Same same) const {
    std::size_t at = hash & mask_;
    while (slots_[at].row >= 0 && !(slots_[at].hash == hash && same(slots_[at].row))) at = (at + 1) & mask_;
    return at;
  }

  std::vector<Slot> slots_;
  std::size_t mask_;
};

}  // namespace navi
