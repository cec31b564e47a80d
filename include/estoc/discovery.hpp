// Finding kernels: get_kernels, kernel_by_name, explain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estoc/kernel.hpp"
#include "estoc/metadata.hpp"

namespace estoc {

/// What to look for, besides the arguments.
struct KernelQuery {
  MetadataFilter filter{};
  /// With arguments, defaults to the device of the operands (`cpu` for host tensors); without, to
  /// every target. A query for an sm_ target never returns a cpu kernel.
  std::optional<Target> target{};
  /// Leave out kernels that exist only beside their device (a library of the machine's), which
  /// cannot be saved; no such library is then opened. Of use with arguments; without, it is so.
  bool portable = false;
  /// Names of providers; empty means all. Throws Error{not_found} for a name that does not exist.
  std::vector<std::string> providers{};
};

/// A class that threw during the search; the other classes' kernels are in the list all the same.
struct DiscoveryFailure {
  std::string provider;
  std::string kernel_class;
  std::string message;
};

/// The kernels that support some arguments, the one to use first. Copies share them. A list that
/// get_kernels() gave and that is empty knows the query.
class KernelList {
 public:
  using const_iterator = std::vector<Kernel>::const_iterator;

  KernelList() = default;
  KernelList(std::vector<Kernel> kernels, std::vector<DiscoveryFailure> failures)
      : KernelList(std::make_shared<const std::vector<Kernel>>(std::move(kernels)),
                   std::move(failures)) {}
  /// The kernels may be null: none.
  explicit KernelList(std::shared_ptr<const std::vector<Kernel>> kernels,
                      std::vector<DiscoveryFailure> failures = {})
      : kernels_(std::move(kernels)), failures_(std::move(failures)) {}

  std::size_t size() const { return kernels().size(); }
  bool empty() const { return kernels().empty(); }
  /// Throws Error{unsupported} with why_empty() when the list is empty, else Error{value} past the
  /// end.
  const Kernel& operator[](std::size_t index) const {
    if (index >= size()) refuse(index);
    return kernels()[index];
  }
  /// Throws Error{unsupported} with why_empty() when the list is empty.
  const Kernel& front() const { return (*this)[0]; }
  const_iterator begin() const { return kernels().begin(); }
  const_iterator end() const { return kernels().end(); }
  const std::vector<DiscoveryFailure>& failures() const { return failures_; }

  /// "no kernel supports the arguments; cpu_gemm: out.dtype: expected f32, got f64; ...": for each
  /// class of the operation and the target the reason that explain() gives. Empty when there are
  /// kernels.
  std::string why_empty() const;

 private:
  friend KernelList get_kernels(const RuntimeArguments& arguments, const KernelQuery& query);
  struct EmptyQuery;

  const std::vector<Kernel>& kernels() const {
    static const std::vector<Kernel> none;
    return kernels_ != nullptr ? *kernels_ : none;
  }
  [[noreturn]] void refuse(std::size_t index) const;

  std::shared_ptr<const std::vector<Kernel>> kernels_;
  std::vector<DiscoveryFailure> failures_;
  std::shared_ptr<const EmptyQuery> empty_query_;  ///< only where get_kernels() found none
};

/// Every kernel that carries out `arguments` on the target and passes the filter, the fastest
/// first: by predicted time, then by predicted energy, then by name; behind them those without a
/// prediction, in the order of the classes. One of them that tuning found to be the fastest for
/// the arguments (tuned.hpp) is put before all. Empty when there is none; `why_empty()` then tells
/// why. Thread-safe.
///
/// Answers to problems met lately are remembered where all that answer are the library's own
/// classes and no filter is given: for equal shapes, strides, alignments, types, controls and
/// devices the same kernels come back, and no class is queried.
KernelList get_kernels(const RuntimeArguments& arguments, const KernelQuery& query = {});

/// All kernels of the described spaces that pass a query: a sequence made as it is read.
///
/// Without a filter, size() and operator[] take time independent of the number of kernels; with
/// one, the first call of size() or operator[] goes through the space once and takes less than
/// a microsecond for each kernel of it.
class KernelSequence {
 public:
  std::uint64_t size() const;
  bool empty() const { return size() == 0; }
  /// Throws Error{value} past the end.
  Kernel operator[](std::uint64_t index) const;
  const std::vector<DiscoveryFailure>& failures() const;

  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Kernel;
    using difference_type = std::ptrdiff_t;
    using pointer = const Kernel*;
    using reference = Kernel;

    iterator() = default;
    Kernel operator*() const { return (*sequence_)[index_]; }
    iterator& operator++() {
      ++index_;
      return *this;
    }
    void operator++(int) { ++index_; }
    bool operator==(const iterator& other) const { return index_ == other.index_; }

   private:
    friend class KernelSequence;
    iterator(const KernelSequence* sequence, std::uint64_t index)
        : sequence_(sequence), index_(index) {}
    const KernelSequence* sequence_ = nullptr;
    std::uint64_t index_ = 0;
  };
  iterator begin() const { return iterator(this, 0); }
  iterator end() const { return iterator(this, size()); }

 private:
  friend KernelSequence get_kernels(const KernelQuery& query);
  struct State;
  std::shared_ptr<const State> state_;
};

/// Every kernel there is, for every target unless the query names one.
KernelSequence get_kernels(const KernelQuery& query = {});

/// The kernel of that name, rebuilt from it without enumerating. Throws Error{not_found} with the
/// nearest name.
Kernel kernel_by_name(std::string_view name);

/// Why one kernel class does or does not apply to some arguments.
struct Explanation {
  std::string provider;
  std::string kernel_class;
  std::uint64_t described = 0;        ///< kernels the class describes
  std::uint64_t supported = 0;        ///< of those, how many carry out the arguments
  Status status = Status::success();  ///< success when supported > 0
  std::optional<Kernel> first{};      ///< the one of them to use first
};

/// One explanation for each class of the query's providers, in order. Where the class's values do
/// not fit, all mismatches are named; else the reason of the kernel that came furthest.
std::vector<Explanation> explain(const RuntimeArguments& arguments, const KernelQuery& query = {});

/// Forgets the answers to problems already met, and the candidates for their signatures.
void clear_discovery_cache();

}  // namespace estoc
