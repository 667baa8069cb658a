#include "id_index.hpp"

#include <algorithm>
#include <cstring>

namespace navi {
namespace {

// Ids that are in flight at once: enough to hide memory latency, few enough for the caches.
constexpr std::int64_t kBlock = 32;

// Calls visit(begin, end) for consecutive blocks of [0, count) until it returns false.
template <class Visit>
void for_blocks(std::int64_t count, Visit visit) {
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    if (!visit(begin, std::min(begin + kBlock, count))) return;
  }
}

// `mix` is a bijection: equal hashes are equal integers.
constexpr auto kSameHash = [](std::int64_t) { return true; };

std::uint64_t hash_of(std::int64_t id) { return mix(static_cast<std::uint64_t>(id)); }

std::uint64_t hash_of(const Texts& texts, std::int64_t at) {
  const std::uint8_t* text = texts.data + texts.offsets[at];
  auto left = static_cast<std::size_t>(texts.offsets[at + 1] - texts.offsets[at]);
  std::uint64_t hash = mix(left);
  for (; left > 0; text += 8) {
    const std::size_t taken = std::min<std::size_t>(left, 8);
    std::uint64_t word = 0;
    std::memcpy(&word, text, taken);
    hash = mix(hash ^ word) + 0x9e3779b97f4a7c15ULL;
    left -= taken;
  }
  return hash;
}

bool same_text(const Texts& a, std::int64_t i, const Texts& b, std::int64_t j) {
  const std::int64_t length = a.offsets[i + 1] - a.offsets[i];
  if (length != b.offsets[j + 1] - b.offsets[j]) return false;
  return length == 0 ||
         std::memcmp(a.data + a.offsets[i], b.data + b.offsets[j], static_cast<std::size_t>(length)) == 0;
}

// Hashes ids [begin, end) and starts fetching their slots.
template <class HashAt>
void hash_block(const HashTable& table, std::int64_t begin, std::int64_t end, std::uint64_t* hashes, HashAt hash_at) {
  for (std::int64_t i = begin; i < end; ++i) {
    hashes[i - begin] = hash_at(i);
    table.prefetch_slot(hashes[i - begin]);
  }
}

// Inserts rows 0 .. count - 1 in order; stops at the first that is there already.
template <class HashAt, class SameRows>
std::optional<Repeat> fill(HashTable& table, std::int64_t count, HashAt hash_at, SameRows same) {
  std::optional<Repeat> repeat;
  for_blocks(count, [&](std::int64_t begin, std::int64_t end) {
    std::uint64_t hashes[kBlock];
    hash_block(table, begin, end, hashes, hash_at);
    for (std::int64_t row = begin; row < end && !repeat; ++row) {
      const auto same_row = [&](std::int64_t other) { return same(other, row); };
      const std::int64_t earlier = table.insert(hashes[row - begin], row, same_row);
      if (earlier >= 0) repeat = Repeat{earlier, row};
    }
    return !repeat;
  });
  return repeat;
}

}  // namespace

IntegerIndex::IntegerIndex(const std::int64_t* ids, std::int64_t count) : table_(count) {
  const auto same = [](std::int64_t, std::int64_t) { return true; };
  repeat_ = fill(table_, count, [ids](std::int64_t i) { return hash_of(ids[i]); }, same);
}

void IntegerIndex::lookup(const std::int64_t* ids, std::int64_t count, std::int64_t* rows) const {
  for_blocks(count, [&](std::int64_t begin, std::int64_t end) {
    std::uint64_t hashes[kBlock];
    hash_block(table_, begin, end, hashes, [ids](std::int64_t i) { return hash_of(ids[i]); });
    for (std::int64_t i = begin; i < end; ++i) rows[i] = table_.find(hashes[i - begin], kSameHash);
    return true;
  });
}

TextIndex::TextIndex(const Texts& ids) : ids_(ids), table_(ids.count) {
  const auto same = [this](std::int64_t i, std::int64_t j) { return same_text(ids_, i, ids_, j); };
  repeat_ = fill(table_, ids.count, [this](std::int64_t i) { return hash_of(ids_, i); }, same);
}

void TextIndex::lookup(const Texts& ids, std::int64_t* rows) const {
  for_blocks(ids.count, [&](std::int64_t begin, std::int64_t end) {
    lookup_block(ids, begin, end, rows);
    return true;
  });
}

// Slot, offsets and bytes are three dependent cache misses: each pass fetches what the next one reads.
void TextIndex::lookup_block(const Texts& ids, std::int64_t begin, std::int64_t end, std::int64_t* rows) const {
  std::uint64_t hashes[kBlock];
  hash_block(table_, begin, end, hashes, [&ids](std::int64_t i) { return hash_of(ids, i); });
  for (std::int64_t i = begin; i < end; ++i) {
    rows[i] = table_.find(hashes[i - begin], kSameHash);
    if (rows[i] >= 0) prefetch(&ids_.offsets[rows[i]]);
  }
  for (std::int64_t i = begin; i < end; ++i) {
    if (rows[i] >= 0) prefetch(&ids_.data[ids_.offsets[rows[i]]]);
  }
  for (std::int64_t i = begin; i < end; ++i) {
    if (rows[i] < 0 || same_text(ids_, rows[i], ids, i)) continue;
    // Two texts with one hash: look on behind the first.
    rows[i] = table_.find(hashes[i - begin], [&](std::int64_t row) { return same_text(ids_, row, ids, i); });
  }
}

}  // namespace navi
