// Keeps the timeline of a launch, and writes it for trace viewers.
#include "emulator/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

#include "machine.h"

namespace estoc::emulator {

u64 Machine::trace_begin(TraceKind kind, Thread& thread, Site site, const char* what, u64 object,
                         u64 bytes) const {
  if (options_.trace == nullptr) return 0;
  thread.burst = 0;
  Trace& trace = *options_.trace;
  ++trace.end;
  if (trace.events.size() >= Trace::kMaxEvents) {
    ++trace.left_out;
    return 0;
  }
  trace.events.push_back({kind, thread.cta->index, thread.place.tid / kWarpLanes, trace.end, 0,
                          what, site.file, site.line, object, bytes});
  return trace.events.size();
}

void Machine::trace_end(u64 event) const {
  if (event == 0 || options_.trace == nullptr) return;
  Trace& trace = *options_.trace;
  trace.events[event - 1].end = ++trace.end;
}

void Machine::trace_burst(TraceKind kind, Thread& thread, Site site, const char* what) const {
  if (options_.trace == nullptr || thread.lane != 0) return;
  Trace& trace = *options_.trace;
  if (thread.burst != 0) {
    TraceEvent& event = trace.events[thread.burst - 1];
    if (event.kind == kind) {
      event.end = ++trace.end;
      return;
    }
  }
  const u64 event = trace_begin(kind, thread, site, what, 0, 0);
  trace_end(event);
  thread.burst = event;
}

namespace {

// Rows of a CTA in a viewer, below those of its warps.
constexpr unsigned kLoadRows = 1000;
constexpr unsigned kStoreRows = 2000;
constexpr unsigned kProductTracks = 3000;

std::string_view category(TraceKind kind) {
  switch (kind) {
    case TraceKind::wait:
      return "wait";
    case TraceKind::tma_load:
      return "tma_load";
    case TraceKind::tma_store:
      return "tma_store";
    case TraceKind::cp_async:
      return "cp_async";
    case TraceKind::wgmma:
      return "wgmma";
    case TraceKind::mma:
      return "mma";
    case TraceKind::loads:
      return "loads";
    case TraceKind::stores:
      break;
  }
  return "stores";
}

// Whether it goes on beside what its warp does.
bool is_asynchronous(TraceKind kind) {
  return kind == TraceKind::tma_load || kind == TraceKind::tma_store ||
         kind == TraceKind::cp_async || kind == TraceKind::wgmma;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

class Writer {
 public:
  explicit Writer(const Trace& trace) : trace_(trace) {}

  std::string write(const std::string& kernel) {
    text_ = "{\"displayTimeUnit\": \"ns\",\n\"otherData\": {";
    append("\"kernel\": {}, \"time\": {}, \"left_out\": {}}},\n", quoted(kernel),
           quoted(trace_.unit), trace_.left_out);
    text_ += "\"traceEvents\": [";
    for (const TraceEvent& event : trace_.events)
      add(event);
    return text_ + "\n]}\n";
  }

 private:
  template <typename... Arguments>
  void append(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
  }

  void begin_entry() {
    text_ += first_ ? "\n" : ",\n";
    first_ = false;
  }

  void name(const char* what, std::size_t process, unsigned thread, const std::string& name) {
    begin_entry();
    append(R"({{"ph": "M", "name": "{}", "pid": {}, "tid": {}, "args": {{"name": {}}}}})", what,
           process, thread, quoted(name));
    if (std::string_view(what) != "thread_name") return;
    begin_entry();
    append(R"({{"ph": "M", "name": "thread_sort_index", "pid": {}, "tid": {}, )"
           R"("args": {{"sort_index": {}}}}})",
           process, thread, thread);
  }

  std::size_t process_of(const TraceEvent& event) {
    const auto [found, added] = processes_.try_emplace(event.cta, processes_.size() + 1);
    if (added) {
      name("process_name", found->second, 0,
           fmt::format("CTA ({}, {}, {})", event.cta[0], event.cta[1], event.cta[2]));
    }
    return found->second;
  }

  void know_row(std::size_t process, unsigned row, const std::string& title) {
    if (rows_.try_emplace({process, row}, 0).second) name("thread_name", process, row, title);
  }

  // The first row of a kind that is free at the event's beginning.
  unsigned free_row(std::size_t process, const TraceEvent& event, u64 end) {
    unsigned row = event.kind == TraceKind::wgmma       ? kProductTracks + event.warp / 4 * 100
                   : event.kind == TraceKind::tma_store ? kStoreRows
                                                        : kLoadRows;
    const std::string title =
        event.kind == TraceKind::wgmma
            ? fmt::format("wgmma of warps {}-{}", event.warp / 4 * 4, event.warp / 4 * 4 + 3)
        : event.kind == TraceKind::tma_store ? "TMA stores"
        : event.kind == TraceKind::tma_load  ? "TMA loads"
                                             : "cp.async groups";
    while (rows_.contains({process, row}) && rows_[{process, row}] > event.begin)
      ++row;
    know_row(process, row, title);
    rows_[{process, row}] = end;
    return row;
  }

  void slice(std::size_t process, unsigned row, const TraceEvent& event, u64 end) {
    begin_entry();
    append(R"({{"ph": "X", "name": {}, "cat": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, )",
           quoted(event.what), category(event.kind), process, row, event.begin, end - event.begin);
    append(R"("args": {{"warp": {}, "source": {}, "object": "{:#x}", "bytes": {}}}}})", event.warp,
           quoted(event.file == nullptr ? "" : fmt::format("{}:{}", event.file, event.line)),
           event.object, event.bytes);
  }

  void add(const TraceEvent& event) {
    const std::size_t process = process_of(event);
    // What never ended was still going on when the launch did.
    const u64 end = event.end != 0 ? std::max(event.end, event.begin + 1) : trace_.end + 1;
    know_row(process, event.warp, fmt::format("warp {}", event.warp));
    if (!is_asynchronous(event.kind)) {
      slice(process, event.warp, event, end);
      return;
    }
    slice(process, event.warp, event, event.begin + 1);
    slice(process, free_row(process, event, end), event, end);
  }

  const Trace& trace_;
  std::string text_;
  bool first_ = true;
  std::map<std::array<unsigned, 3>, std::size_t> processes_;
  std::map<std::pair<std::size_t, unsigned>, u64> rows_;  // and until when they are taken
};

}  // namespace

std::string Trace::chrome_json(const std::string& kernel) const {
  return Writer(*this).write(kernel);
}

}  // namespace estoc::emulator
