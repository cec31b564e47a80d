// Dumps features (exploration).
#include <cstdio>
#include <fstream>
#include <iostream>

#include "cost/gemm_work.h"
#include "cost/residual.h"
#include "estoc/discovery.hpp"
#include "providers/cuda/gemm_class.h"
#include "table.h"

using namespace estoc;

int main(int, char** argv) {
  std::ifstream in(argv[1]);
  const ranking::Table table = ranking::read_table(in);
  const cost::DeviceModel& device = *cost::find_device_model(table.device);
  std::FILE* out = std::fopen(argv[2], "wb");
  int row_index = 0;
  for (const auto& row : table.rows) {
    for (const auto& entry : row.entries) {
      float head[4] = {static_cast<float>(row_index), static_cast<float>(entry.seconds * 1e6), 0, 0};
      float facts[12] = {};
      cost::Features features{};
      if (entry.facts.empty()) {
        const Kernel kernel = kernel_by_name(entry.kernel);
        const auto* kernel_class = dynamic_cast<const cuda::GemmClass*>(&kernel.kernel_class());
        if (kernel_class == nullptr) continue;
        const cost::Plan plan = cost::with_knobs(kernel_class->cost_plan(
            kernel.point(), static_cast<const GemmArguments&>(*row.arguments), device), entry.knobs);
        const cost::Execution e = cost::execute(plan.work, plan.design, device);
        head[2] = static_cast<float>(e.seconds * 1e6);
        head[3] = static_cast<float>(plan.family);
        features = cost::features_of(plan.work, plan.design, e, device);
      } else {
        head[3] = 9;
        int i = 0;
        for (const auto& [name, value] : entry.facts) { if (i < 12) facts[i++] = static_cast<float>(value); }
        const cost::Work work = cost::work_of(static_cast<const GemmArguments&>(*row.arguments), false, {});
        features[0] = static_cast<float>(work.m); features[1] = static_cast<float>(work.n);
        features[2] = static_cast<float>(work.k); features[3] = static_cast<float>(work.l);
        features[4] = static_cast<float>(work.compulsory); features[5] = static_cast<float>(work.element_bytes);
        features[6] = static_cast<float>(work.out_bytes);
      }
      std::fwrite(head, sizeof head, 1, out);
      std::fwrite(facts, sizeof facts, 1, out);
      std::fwrite(features.data(), sizeof(float), features.size(), out);
    }
    ++row_index;
  }
  std::fclose(out);
  return 0;
}
