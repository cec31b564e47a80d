// Which bytes of global memory have been written, from one launch to the next.
#include <algorithm>

#include "machine.h"

namespace estoc::emulator {
namespace {

// Calls action(cell, mask) for the cells of 16 bytes that the bytes lie in.
template <typename Action>
void for_cells(u64 first, u64 bytes, const Action& action) {
  const u64 end = first + bytes;
  for (u64 cell = first / 16; cell * 16 < end; ++cell) {
    const u64 from = std::max(first, cell * 16) - cell * 16;
    const u64 to = std::min(end - cell * 16, u64{16});
    action(cell, static_cast<u16>((1u << to) - (1u << from)));
  }
}

}  // namespace

void WrittenBytes::add(const void* first, std::size_t bytes) {
  for_cells(reinterpret_cast<u64>(first), bytes, [&](u64 cell, u16 mask) {
    u16& known = pages_[cell / kCells][cell % kCells];
    known = static_cast<u16>(known | mask);
  });
}

bool WrittenBytes::has(const void* first, std::size_t bytes) const {
  bool all = true;
  for_cells(reinterpret_cast<u64>(first), bytes, [&](u64 cell, u16 mask) {
    const auto page = pages_.find(cell / kCells);
    all = all && page != pages_.end() && (mask & ~page->second[cell % kCells]) == 0;
  });
  return all;
}

CellPage& Machine::page_of(GlobalAllocation& allocation, u64 number) {
  static_assert(CellPage::kCells == WrittenBytes::kCells);
  if (allocation.pages.empty()) allocation.pages.resize(allocation.bytes / CellPage::kBytes + 2);
  std::unique_ptr<CellPage>& page = allocation.pages[number - allocation.first_page()];
  if (page != nullptr) return *page;
  page = std::make_unique_for_overwrite<CellPage>();
  if (allocation.what->written == nullptr) return *page;
  const auto& written = allocation.what->written->pages_;
  const auto found = written.find(number);
  if (found == written.end()) return *page;
  for (u64 i = 0; i < CellPage::kCells; ++i)
    page->cells[i].initialised = found->second[i];
  return *page;
}

void Machine::mark_written(u64 address, u64 bytes) {
  GlobalAllocation* allocation = find_allocation(address, bytes);
  if (!checks() || allocation == nullptr || !allocation->what->writable) return;
  for_cells(address, bytes, [&](u64 cell, u16 mask) {
    u16& known =
        page_of(*allocation, cell / CellPage::kCells).cells[cell % CellPage::kCells].initialised;
    known = static_cast<u16>(known | mask);
  });
}

void Machine::keep_written() const {
  for (const GlobalAllocation& allocation : allocations_) {
    if (allocation.what->written == nullptr) continue;
    for (std::size_t i = 0; i < allocation.pages.size(); ++i) {
      if (allocation.pages[i] == nullptr) continue;
      WrittenBytes::Page& masks = allocation.what->written->pages_[allocation.first_page() + i];
      for (u64 cell = 0; cell < CellPage::kCells; ++cell)
        masks[cell] = static_cast<u16>(masks[cell] | allocation.pages[i]->cells[cell].initialised);
    }
  }
}

}  // namespace estoc::emulator
