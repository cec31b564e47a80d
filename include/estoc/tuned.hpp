// What tuning found: which kernel was measured to be the fastest for a problem on a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estoc/arguments.hpp"
#include "estoc/kernel.hpp"

namespace estoc {

/// One record: the kernel to use first for a problem, and the measurement that says so. Device, cc,
/// driver, library and signature identify it.
struct TunedKernel {
  std::string device;     ///< "NVIDIA H200"; of a CPU its model and number of threads
  int cc = 0;             ///< ten times the compute capability; 0 for a CPU
  std::string driver;     ///< CUDA version of the driver, "13.0"; empty for a CPU
  std::string library;    ///< version of Estoc
  std::string signature;  ///< everything about the problem that its answer depends on
  std::string problem;    ///< problem text, for people and for tuning again
  std::string kernel;     ///< its name
  Knobs knobs;
  double seconds = 0;                         ///< measured, of one launch
  std::optional<double> predicted_seconds{};  ///< what the ranking expected
  std::string runner_up;                      ///< the fastest other kernel; empty: there was none
  double runner_up_seconds = 0;
  double noise = 0;       ///< what two timings of one kernel differed by, as a part of the first
  int candidates = 0;     ///< kernels that were timed, other knobs of one counted as others
  int rounds = 0;         ///< time slices that `seconds` is the median of
  std::int64_t time = 0;  ///< when it was measured, in seconds since 1970

  bool operator==(const TunedKernel&) const = default;
};

/// Knobs as JSON, as files of kernels and of records have them: {"raster":"m","swizzle":8,...}.
std::string knobs_text(const Knobs& knobs);
/// Reads such a text. Throws Error{value} that says what was expected.
Knobs parse_knobs(std::string_view text);

/// The file of the records: ESTOC_TUNED, else `tuned.db` in the folder of the kernel cache. Empty
/// where that variable is `off`, and where no folder is known: nothing is read or kept then.
std::string tuned_path();

/// Every record in the file, by device, problem, then the newest first. Throws Error{io} for a file
/// that is damaged, locked for long, no database of Estoc's, or of a later version of it.
std::vector<TunedKernel> tuned_kernels();

/// The record that get_kernels() goes by for the arguments, on the device of their operands: one of
/// this driver and version of Estoc if there is one, else the newest. nullopt when there is none.
/// What keeps the file from being read goes to the log.
std::optional<TunedKernel> find_tuned(const RuntimeArguments& arguments);

/// A record that says, as of now, that the kernel takes so many seconds for the arguments on the
/// device of their operands. What else is known of the measurement is left to fill in. Throws Error
/// {unsupported} for arguments that problem text cannot describe, Error{driver} where there is no
/// such device.
TunedKernel tuned_record(const RuntimeArguments& arguments, const Kernel& kernel, double seconds);

/// What merging records came to.
struct TunedMerge {
  std::size_t added = 0;     ///< of problems that had no record
  std::size_t replaced = 0;  ///< took the place of another
  std::size_t kept = 0;      ///< gave way to the one there is, or equal it
};

/// Stores records in one transaction. Of two for the same problem, device, driver and version, the
/// one of more rounds stays, of equal ones the newer; `overwrite` takes the new one in any case.
/// Lists of kernels and plans that this process remembers are forgotten. Throws Error{value} for a
/// record without name, signature or time, Error{io} when the file cannot be written.
TunedMerge store_tuned(std::span<const TunedKernel> records, bool overwrite = false);

/// Removes the records for the problem on the device of the operands, whatever driver and version
/// they are of; returns how many. Throws Error{io}.
std::size_t forget_tuned(const RuntimeArguments& arguments);
/// Removes all.
std::size_t forget_all_tuned();

/// Writes every record to a JSON file. Throws Error{io, not_found}.
void export_tuned(const std::string& path);

/// Merges the records of such a file as store_tuned() does. Throws Error{value} that names the
/// record for a file of other contents, Error{io, not_found}.
TunedMerge import_tuned(const std::string& path);

}  // namespace estoc
