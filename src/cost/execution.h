// How a kernel carries out a GEMM: tiles, waves, and the time that each resource needs by itself.
#pragma once

#include <cstdint>

#include "cost/device_model.h"

namespace estoc::cost {

/// Of what rows in memory are whole numbers: lines of 128 bytes, sectors of 32, or neither.
enum class RowUnit : std::uint8_t { line, sector, less };

/// A GEMM in the orientation of a kernel's code (rows and columns exchanged where it computes the
/// transposed product), and what moves.
struct Work {
  double m = 1, n = 1, k = 1, l = 1;
  double element_bytes = 2;
  double out_bytes = 2;        ///< of an element that is stored
  double compulsory = 0;       ///< bytes that must move between memory and device
  double extra_bytes = 0;      ///< of those, what the epilogue adds
  double epilogue_clocks = 0;  ///< of a multiprocessor for an element
  RowUnit a_rows = RowUnit::line, b_rows = RowUnit::line;
  bool out_split = false;  ///< rows of out are no whole number of lines
  bool fused = false;      ///< there is an epilogue
  bool reduces = false;    ///< it has reductions
};

enum class Overlap : std::uint8_t {
  none,      ///< a CTA has one consumer, which computes and then stores
  halves,    ///< two consumers share a tile and store it together
  pingpong,  ///< one consumer stores while the other computes
  beside     ///< a tile is stored beside the products of the next, which begin a little later
};

/// A kernel's design, as far as its time depends on it.
struct Design {
  double tile_m = 64, tile_n = 64, tile_k = 64;
  int cluster_m = 1, cluster_n = 1;
  int stages = 2;
  bool along_m = true;  ///< tiles are taken in columns of `group`, else in rows of as many
  int group = 8;
  int ctas_per_multiprocessor = 1;
  double stage_clocks = 1;  ///< of a multiprocessor's arithmetic for one tile of K
  double start_clocks = 1500;
  double store_clocks = 0;   ///< of one tile's output and its epilogue
  double change_clocks = 0;  ///< between the products of two tiles, where the store is beside them
  /// In a stage: that CTAs of a cluster wait for each other, where that is known.
  double cluster_clocks = -1;
  /// Likewise those that sum up parts of a tile; fitted.
  double parts_clocks = 125;
  double refill_clocks = 0;  ///< from a stage's last product to the load that fills it again
  double extra_bytes = 0;    ///< of a stage, that a CTA loads itself beside A and B
  bool whole_parts = false;  ///< sums of parts have all rows of a tile, beyond the problem's too
  bool sharp = false;        ///< the slowest resource hides the others nearly whole
  Overlap overlap = Overlap::none;
  bool promoted = false;  ///< sums of 8-bit floats are added to registers tile by tile
  bool integers = false;
  bool a_m_major = false;
  bool b_n_major = false;
  int copy_bytes = 16;  ///< that one instruction moves from global memory
  bool boxes = false;   ///< TMA loads operands of a kernel of ours
  /// A kernel that is the same but moves more bytes at once carries out the problem too; or one
  /// with the device's own matrix instructions.
  bool narrower = false, older_instructions = false;
  bool untried = false;  ///< no table has such kernels, and they were predicted too fast
  bool copies_by_threads =
      false;                 ///< products of f32 whose threads copy operands through registers
  int split = 1;             ///< parts of K that are computed at once
  double gather_clocks = 0;  ///< of one more part in a cluster, or of a round; fitted
  bool gathers_in_rounds = false;  ///< each of which adds every second part to the one before it
  double split_tiles = 0;  ///< the last tiles, whose parts' sums pass through memory; 0: all
  double sum_bytes = sizeof(float);  ///< of such a sum
  bool of_library = false;           ///< a library's kernel, not one of ours
  int choice = 0;                    ///< likewise: its place in the library's own order
  /// The product is transposed: a library's, stated with out row-major, or that of a kernel of ours
  /// whose out has its contiguous mode in columns of a tile and is stored by TMA.
  bool restated = false;
  bool older = false;         ///< likewise: not of its code for Hopper and later
  int own_stages = 0;         ///< likewise: its number for stages and their size
  double own_waves = 1;       ///< likewise: the waves that it says it takes
  double workspace = 0;       ///< bytes
  bool plain_stores = false;  ///< threads store their elements, for rows that are not aligned
};

/// Seconds of each resource and what they were worked out from.
struct Execution {
  double across_m = 1, across_n = 1;  ///< clusters along M and N
  double clusters = 1;
  double slots = 1;  ///< clusters that live at once
  double exact_waves = 1;
  double waves = 1;  ///< whole ones
  double k_tiles = 1;
  double live_ctas = 1;
  double bytes_in_flight = 0;
  double loaded_bytes = 0;  ///< from the L2 cache, by all CTAs
  /// Bytes of a tile of K that a CTA has for itself among those next to it, and in a wave.
  double neighbour_bytes = 0, wave_bytes = 0;
  double arithmetic = 0, l2 = 0, memory = 0, store = 0, fill = 0, launch = 0;  ///< seconds
  double latency = 0;  ///< seconds of waiting for loads, were they all there is
  double sync = 0;     ///< seconds in which a cluster's CTAs wait for each other
  double sums = 0;     ///< seconds in which a second kernel adds up the sums of parts
  double seconds = 0;  ///< of all, before the residual
};

/// The clusters' tiles that cover the output, and what their CTAs load, whatever the parts of K.
struct Footprint {
  double across_m = 1, across_n = 1;  ///< clusters along M and N
  double own_bytes = 0;               ///< of a tile of K, of what a CTA loads itself
  double line_bytes = 0;              ///< likewise, those of a row that splits lines twice
  double neighbour_bytes = 0, wave_bytes = 0;
};

Footprint footprint_of(const Work& work, const Design& design, const DeviceModel& device);

/// Bytes of a tile of K that a CTA does not share with the others of a window of so many CTAs whose
/// tiles follow each other.
double distinct_bytes(const Work& work, const Design& design, double window);

/// How K is divided, in the place of what a design says.
struct Division {
  int split = 1;
  double split_tiles = 0;

  static Division of(const Design& design) { return {design.split, design.split_tiles}; }
};

/// Resources that overlap are added in a 2-norm: arithmetic, L2 cache and latency in each tile of
/// K, and the loop over these with the memory. What nothing overlaps is added. Terms and constants
/// were fitted to the tables of an H200 and an H100 (docs/performance.md).
Execution execute(const Work& work, const Design& design, const DeviceModel& device,
                  const Footprint& footprint, const Division& division);

inline Execution execute(const Work& work, const Design& design, const DeviceModel& device) {
  return execute(work, design, device, footprint_of(work, design, device), Division::of(design));
}

}  // namespace estoc::cost
