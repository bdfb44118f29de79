// What a model costs, without running it: example_count [MODEL.onnx]
#include <exception>
#include <iostream>

#include "assay/count.h"
#include "assay/onnx.h"
#include "assay/zoo.h"

int main(int count, char** words) {
  try {
    const std::string name = count > 1 ? words[1] : "lenet5";
    assay::Graph model = count > 1 ? assay::read_onnx(name) : assay::zoo_model(name);
    const assay::CountResult result = assay::count_model(std::move(model), name);
    for (const assay::LayerCost& layer : result.cost.layers) {
      std::cout << layer.name << "  " << layer.op << "  " << layer.flops << " FLOPs\n";
    }
    const assay::CostTotals& totals = result.cost.totals;
    std::cout << totals.parameters << " parameters, " << totals.macs << " MACs\n";
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
