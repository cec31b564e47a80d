// `estoc compile`: compiles kernels into files that run where there is no compiler.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "commands.h"
#include "compile_choice.h"
#include "disassembler.h"
#include "estoc/compile_all.hpp"
#include "estoc/text_file.hpp"
#include "json.h"
#include "kernel_columns.h"
#include "progress.h"
#include "table.h"
#include "target_choice.h"
#include "text.h"

namespace estoc::cli {
namespace {

constexpr const char* kCompileFooter =
    "Needs no GPU, but --target where there is none. What was compiled before comes from the "
    "cache\n"
    "('estoc cache'). The file holds every kernel and a table of which to use for what:\n"
    "'estoc run PROBLEM --artifact FILE' and estoc::Bundle read it, and every program does that "
    "finds\n"
    "it as a pack: estoc_kernels/TARGET.estoc beside the library, or ESTOC_KERNEL_PACK=FILE.\n"
    "\n"
    "Examples:\n"
    "  estoc compile 'gemm m=512 n=512 k=512 a=bf16:t b=bf16:n' --target sm_90a -o gemm.estoc\n"
    "  estoc compile 'gemm n=4096 k=4096 a=bf16:t b=bf16:n' --m 1:8192 -o layer.estoc\n"
    "  estoc compile @problems.txt --target sm_90a -o estoc_kernels/sm_90a.estoc\n"
    "  estoc compile simt_gemm-f64-f64-f64-f64-ttt-alignA16-alignB16-alignOut16-tile32x32x16 \\\n"
    "    --target sm_80 --emit cu,ptx,sass --lineinfo\n"
    "  estoc compile 'gemm m=64 n=64 k=64 a=f32' --target sm_90a --top 0 --no-file";

struct CompileCommandOptions {
  CompileChoice choice;
  std::string target;
  std::string file;
  std::vector<std::string> emit;
  bool no_file = false;
  bool lineinfo = false;
  bool json = false;
};

Target target_to_compile_for(const std::string& name) {
  const Target target = choose_target(name);
  if (!name.empty() || target.is_cuda()) return target;
  throw Failure(Exit::usage, "--target: there is no GPU here to compile for",
                "name an architecture, such as --target sm_90a");
}

std::string default_file(const Chosen& chosen, Target target) {
  const std::string stem = chosen.kernels.size() == 1 ? chosen.kernels.front().name() : "kernels";
  return fmt::format("{}.{}.estoc", stem, target.name());
}

std::vector<Artifact> compile(const Chosen& chosen, Target target, bool lineinfo,
                              Progress& progress) {
  CompileAllOptions options;
  options.compile.lineinfo = lineinfo;
  options.progress = [&](std::size_t done, std::size_t total) {
    progress.update(static_cast<double>(done) / static_cast<double>(total));
    return true;
  };
  progress.stage("compiling");
  std::vector<CompileOutcome> outcomes = compile_all(chosen.kernels, target, options);
  progress.clear();
  std::vector<Artifact> artifacts;
  for (CompileOutcome& outcome : outcomes) {
    if (!outcome.artifact) {
      throw Failure(outcome.kind ? exit_for(*outcome.kind) : Exit::execution, outcome.error,
                    "'estoc devices' lists the compiler; --emit cu shows the text");
    }
    artifacts.push_back(*std::move(outcome.artifact));
  }
  return artifacts;
}

/// Writes the requested texts beside `file`; returns their paths.
std::vector<std::string> emit_texts(const CompileCommandOptions& options,
                                    const std::vector<Artifact>& artifacts,
                                    const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  CompileOptions compile_options;
  compile_options.lineinfo = options.lineinfo;
  std::vector<std::string> paths;
  for (const Artifact& artifact : artifacts) {
    const Kernel& kernel = artifact.kernel();
    for (const std::string& kind : options.emit) {
      const std::string path =
          (folder / fmt::format("{}.{}.{}", kernel.name(), artifact.target().name(), kind))
              .string();
      std::string text;
      if (kind == "sass") {
        text = disassemble(artifact, folder.string());
      } else {
        text = kernel.emit(kind == "cu" ? Emission::source : Emission::ptx, artifact.target(),
                           compile_options);
      }
      about_file("", [&] { save_text(path, text); });
      paths.push_back(path);
    }
  }
  return paths;
}

std::size_t code_bytes(const Artifact& artifact) {
  return artifact.code() != nullptr ? artifact.code()->bytes.size() : 0;
}

void print_table(Output& output, const std::vector<Artifact>& artifacts,
                 const std::vector<std::string>& files) {
  using enum Table::Align;
  Table table(output, {{"kernel"},
                       {"target"},
                       {"registers", right},
                       {"spills", right},
                       {"code", right},
                       {"compiler"}});
  for (const Artifact& artifact : artifacts) {
    const CompiledCode* code = artifact.code();
    if (code == nullptr) {
      table.add_row({artifact.kernel().name(), artifact.target().name(), "-", "-", "-", "-"});
      continue;
    }
    const KernelResources& r = code->resources;
    table.add_row({artifact.kernel().name(), artifact.target().name(), std::to_string(r.registers),
                   format_bytes(r.spill_store_bytes + r.spill_load_bytes),
                   format_bytes(static_cast<std::int64_t>(code_bytes(artifact))),
                   code->compiler.empty() ? "-" : code->compiler});
  }
  output.print(table.take());
  std::string epilogue;
  for (const Artifact& artifact : artifacts) {
    if (artifact.kernel().metadata().epilogue == epilogue) continue;
    print_epilogue(output, artifact.kernel());
    epilogue = artifact.kernel().metadata().epilogue;
  }
  for (const std::string& file : files)
    output.print(labelled_line(output, "file", printable(file)));
}

void print_json(Output& output, const std::vector<Artifact>& artifacts, const Chosen& chosen,
                const std::vector<std::string>& files) {
  Json kernels = Json::array();
  for (const Artifact& artifact : artifacts) {
    Json json{{"kernel", artifact.kernel().name()}, {"target", artifact.target().name()}};
    json["epilogue"] = artifact.kernel().metadata().epilogue;
    json["code_bytes"] = code_bytes(artifact);
    if (const CompiledCode* code = artifact.code()) {
      json["format"] = code->format;
      json["compiler"] = code->compiler;
      json["registers"] = code->resources.registers;
      json["shared_bytes"] = code->resources.shared_bytes;
      json["spill_bytes"] = code->resources.spill_store_bytes + code->resources.spill_load_bytes;
    }
    kernels.push_back(std::move(json));
  }
  Json rules = Json::array();
  for (const DispatchRule& rule : chosen.rules) {
    rules.push_back({{"problem", rule.problem.to_string()},
                     {"m", {rule.m_low, rule.m_high}},
                     {"kernel", chosen.kernels[rule.artifact].name()}});
  }
  output.print(dump(Json{{"kernels", std::move(kernels)},
                         {"rules", std::move(rules)},
                         {"skipped", chosen.skipped},
                         {"files", files}}));
}

Exit run_compile(const CompileCommandOptions& options, Context& context) {
  const Target target = target_to_compile_for(options.target);
  if (std::ranges::find(options.emit, "sass") != options.emit.end()) require_disassembler();
  const Chosen chosen = choose_to_compile(options.choice, target);
  const std::string file = options.file.empty() ? default_file(chosen, target) : options.file;
  Progress progress;
  const std::vector<Artifact> artifacts = compile(chosen, target, options.lineinfo, progress);
  std::vector<std::string> files;
  if (!options.no_file) {
    about_file("-o takes a file in a folder that can be written",
               [&] { save_bundle(file, artifacts, chosen.rules); });
    files.push_back(file);
  }
  const std::vector<std::string> texts = emit_texts(options, artifacts, file);
  files.insert(files.end(), texts.begin(), texts.end());
  options.json ? print_json(context.output, artifacts, chosen, files)
               : print_table(context.output, artifacts, files);
  if (!options.json) {
    for (const std::string& problem : chosen.skipped)
      context.output.print(labelled_line(context.output, "skipped", problem));
  }
  return Exit::ok;
}

}  // namespace

void add_compile(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("compile", "compile kernels into a file");
  auto options = std::make_shared<CompileCommandOptions>();
  command
      ->add_option("what", options->choice.what,
                   "problem texts, in quotes, files of them, or kernel names")
      ->type_name("TEXT|@FILE|NAME")
      ->required();
  command
      ->add_option("--top", options->choice.top,
                   "the first N kernels for each problem, 0 for all (default: 1)")
      ->type_name("N")
      ->check(whole_number());
  command
      ->add_option("--m", options->choice.m_range,
                   "the best kernel for every M in this range, with a table of which for which")
      ->type_name("LOW:HIGH");
  command->add_flag("--skip", options->choice.skip,
                    "pass over problems of a file that no kernel carries out");
  add_target_option(*command, options->target);
  command->add_option("--filter", options->choice.filter, "only kernels for which all terms hold")
      ->type_name("TERMS");
  command
      ->add_option("-o,--output", options->file, "the file to write (default: NAME.TARGET.estoc)")
      ->type_name("FILE");
  command->add_flag("--no-file", options->no_file, "write no file, only fill the cache");
  command->add_option("--emit", options->emit, "also write texts beside the file: cu, ptx, sass")
      ->type_name("KIND[,KIND...]")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"cu", "ptx", "sass"}));
  command->add_flag("--lineinfo", options->lineinfo,
                    "relate instructions to lines of the source, for profilers");
  add_json_option(*command, options->json);
  command->footer(kCompileFooter);
  command->callback([&invocation, options] {
    invocation.run = [options](Context& context) { return run_compile(*options, context); };
  });
}

}  // namespace estoc::cli
