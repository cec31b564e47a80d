// What `estoc bench` found out about one problem, and its JSON form, which result files hold.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "estoc/check.hpp"
#include "estoc/measure.hpp"
#include "estoc/target.hpp"
#include "json.h"
#include "timing.h"

namespace estoc::cli {

/// Where and with what figures were taken. Empty or 0 is what is not known.
struct Surroundings {
  std::string date;     ///< UTC, "2026-11-21T14:47:35Z"
  std::string version;  ///< of Estoc
  std::string
      commit;  ///< of the repository it was built from; "-dirty" follows when it was changed
  std::string device;  ///< name of the GPU or the processor
  std::string driver;
  std::string nvrtc;
  std::string cublaslt;
  int multiprocessors = 0;
  double clock_hz = 0;            ///< the highest
  double memory_bytes_per_s = 0;  ///< at the highest clock
};

/// Those of this machine, now.
Surroundings surroundings_of(Target target);

/// One kernel on one problem.
struct KernelRecord {
  std::string kernel;
  std::string provider;
  CheckResult check;
  std::optional<Times> times;  ///< absent when it is wrong or could not be timed
  std::string failure;         ///< why it could not be timed
};

/// One problem.
struct BenchRecord {
  std::string problem;
  std::string target;
  int rounds = 0;
  bool sustained = false;
  Surroundings surroundings;
  GpuState gpu;
  std::optional<double> noise;  ///< difference of two timings of one kernel, relative
  double check_seconds = 0;     ///< spent judging all kernels, the reference included
  std::vector<KernelRecord> kernels;
};

Json to_json(const BenchRecord& record);

/// Reads what to_json wrote, members that older versions did not write being left out. Throws
/// std::exception when it is no record.
BenchRecord record_from_json(const Json& json);

/// What the record's problem does.
Work work_of(const BenchRecord& record);

/// The fastest kernel that was timed and passes; null when there is none.
const KernelRecord* fastest(const BenchRecord& record,
                            const std::function<bool(const KernelRecord&)>& passes);

/// The fastest kernel against the baseline: the fastest of the provider `against`, or where that
/// is empty the kernel that was ranked first.
struct Comparison {
  const KernelRecord* ours = nullptr;
  const KernelRecord* baseline = nullptr;

  /// How often the fastest is as fast as the baseline; nullopt where one is missing.
  std::optional<double> ratio() const;
};
Comparison compare(const BenchRecord& record, const std::string& against);

}  // namespace estoc::cli
