// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss, and their gradients. Scores are
// (N, C, d…), targets (N, d…): a block computes the loss of one target.
#include <fmt/core.h>

#include <cmath>

#include "base/checked.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/operands.h"
#include "execute/cuda/row_kernel.h"
#include "execute/cuda/walk.h"

namespace assay::cuda {

namespace {

class LossWriter {
 public:
  LossWriter(Lowering& lowering, NodeId id)
      : lowering_(lowering),
        id_(id),
        node_(lowering.node(id)),
        scores_(lowering.native(node_.inputs[0])),
        targets_(lowering.native(node_.inputs[1])),
        operands_(lowering) {
    if (scores_.dims.size() < 2 || !is_floating(scores_.type)) return;
    rows_ = rows_over(scores_.dims, {1});
    type_ = computed_type(scores_.type);
    reduction_ = node_.string_or("reduction", "mean");
  }

  bool is_supported() const { return !type_.empty() && is_reasonable(rows_); }
  const Rows& rows() const { return rows_; }
  const std::string& type() const { return type_; }
  Operands& operands() { return operands_; }
  bool averages() const { return reduction_ == "mean"; }
  bool reduces() const { return reduction_ != "none"; }
  bool has_equal_weights() const {
    return !node_.has_input(2) && node_.find("ignore_index") == nullptr;
  }
  std::vector<std::string> at() const { return index_names(scores_.dims); }
  std::string score() { return operands_.element(scores_, at()); }
  std::string score_of_target() {
    auto where = at();
    where[1] = "target";
    return operands_.element(scores_, where);
  }

  // Statements that declare `given`, the target as it is, `target`, a class, and `weight`.
  std::string target_text() {
    auto where = at();
    where.erase(where.begin() + 1);
    const auto* ignored = node_.get<std::int64_t>("ignore_index");
    const std::string text =
        fmt::format("  const long long given = {};\n  const int target = {}(int){};\n",
                    operands_.element(targets_, where),
                    ignored == nullptr ? "" : fmt::format("given == {}ll ? 0 : ", *ignored),
                    operands_.label(id_, "given", scores_.dims[1]));
    std::string weight = "1";
    if (node_.has_input(2))
      weight =
          operands_.element(lowering_.native(node_.inputs[2]), std::vector<std::string>{"target"});
    if (ignored != nullptr) weight = fmt::format("(given == {}ll ? 0 : {})", *ignored, weight);
    return text + fmt::format("  const {0} weight = {1};\n", type_, weight);
  }

  // Statements that declare `log_sum`, the logarithm of the sum of exponentials of a row.
  std::string log_sum_text() {
    return fmt::format("  {} largest = {};\n", type_, number_text(-INFINITY, type_)) +
           each_text(rows_, fmt::format("    largest = larger(largest, {});\n", score())) +
           fmt::format("  largest = together<Larger, THREADS>(largest);\n  {} sum = 0;\n", type_) +
           each_text(rows_, fmt::format("    sum += exp({} - largest);\n", score())) +
           fmt::format("  const {} log_sum = largest + log(together<Plus, THREADS>(sum));\n",
                       type_);
  }

  Placement in_new_buffer(Dims dims) {
    const DataType kept = scores_.type == DataType::Float64 ? DataType::Float64 : DataType::Float32;
    return lowering_.in_new_buffer(row_major_placement(kept, std::move(dims)));
  }

 private:
  Lowering& lowering_;
  NodeId id_;
  const Node& node_;
  Placement scores_;
  Placement targets_;
  Rows rows_;
  std::string type_;
  std::string reduction_;
  Operands operands_;
};

// One block adds up pairs of a number and its weight.
KernelText sum_kernel(const std::string& type, std::int64_t count, const std::string& store) {
  return {fmt::format(R"(
extern "C" __global__ void KERNEL(const {type}* __restrict__ pairs, {store}) {{
  {type} sum = 0, total = 0;
  for (int i = threadIdx.x; i < {count}; i += 256) {{ sum += pairs[2 * i]; total += pairs[2 * i + 1]; }}
  sum = together<Plus, 256>(sum);
  total = together<Plus, 256>(total);
)",
                      fmt::arg("type", type), fmt::arg("count", count), fmt::arg("store", store)),
          {.threads = kBlockThreads}};
}

bool lower_loss(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  LossWriter loss(lowering, id);
  if (!loss.is_supported()) return false;
  const bool softens = node.is("SoftmaxCrossEntropyLoss");
  const bool shows = softens && node.has_output(1) && lowering.is_read(node.outputs[1]);
  const Placement pairs = loss.in_new_buffer({loss.rows().count, 2});
  const Placement result = lowering.new_row_major(node.outputs[0]);
  lowering.set_placement(node.outputs[0], result);
  std::vector<Placement> written = {loss.reduces() ? pairs : result};
  std::string body = softens ? loss.log_sum_text() : "";
  body += loss.target_text();
  const std::string logarithm = loss.score_of_target() + (softens ? " - log_sum" : "");
  const std::string number = fmt::format("(weight == 0 ? 0 : -weight * ({}))", logarithm);
  std::string store =
      fmt::format("    out[2 * blockIdx.x] = {};\n    out[2 * blockIdx.x + 1] = weight;\n", number);
  if (!loss.reduces())
    store = fmt::format("    out[blockIdx.x] = {};\n", stored(result.type, number));
  std::string parameters = stored_type(written[0].type) + "* __restrict__ out";
  if (shows) {
    const Placement logarithms = lowering.new_row_major(node.outputs[1]);
    lowering.set_placement(node.outputs[1], logarithms);
    written.push_back(logarithms);
    parameters += fmt::format(", {}* __restrict__ logarithms", stored_type(logarithms.type));
    body += each_text(loss.rows(),
                      fmt::format("    logarithms[{}] = {};\n", offset_text(logarithms, loss.at()),
                                  stored(logarithms.type, loss.score() + " - log_sum")));
  }
  body += "  if (threadIdx.x == 0) {\n" + store + "  }\n";
  const KernelText kernel =
      row_kernel(loss.rows(), loss.operands().parameters() + parameters, body);
  std::vector<KernelCall> calls = {
      {lowering.kernels().add(kernel.text, true), kernel.shape, loss.operands().reads()}};
  calls[0].arguments.insert(calls[0].arguments.end(), written.begin(), written.end());
  if (loss.reduces()) {
    KernelText sum =
        sum_kernel(loss.type(), loss.rows().count, stored_type(result.type) + "* __restrict__ out");
    sum.text += fmt::format("  if (threadIdx.x == 0) *out = {};\n}}\n",
                            stored(result.type, loss.averages() ? "sum / total" : "sum"));
    calls.push_back({lowering.kernels().add(sum.text, true), sum.shape, {pairs, result}});
  }
  StepDraft draft{.nodes = {id},
                  .algorithm = "own rows",
                  .executed_flops = 4 * loss.rows().count * loss.rows().width,
                  .reads = loss.operands().reads(),
                  .writes = {result},
                  .workspace = {pairs.buffer}};
  if (shows) draft.writes.push_back(written.back());
  lowering.add_step(draft, binder_of(calls));
  return true;
}

// Inputs: scores, targets, weights, the gradient of the loss.
bool lower_loss_gradient(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  LossWriter loss(lowering, id);
  if (!loss.is_supported()) return false;
  const bool softens = node.op == "SoftmaxCrossEntropyGradient";
  const bool needs_total = loss.averages() && !loss.has_equal_weights();
  const Placement result = lowering.new_row_major(node.outputs[0]);
  lowering.set_placement(node.outputs[0], result);
  std::vector<KernelCall> calls;
  StepDraft draft{.nodes = {id},
                  .algorithm = "own rows",
                  .executed_flops = 4 * loss.rows().count * loss.rows().width};
  Placement total;
  if (needs_total) {
    LossWriter weights(lowering, id);
    const Placement pairs = loss.in_new_buffer({loss.rows().count, 2});
    total = loss.in_new_buffer({1});
    const std::string store =
        "  if (threadIdx.x == 0) { out[2 * blockIdx.x] = 0; out[2 * blockIdx.x + 1] = weight; }\n";
    const std::string body = weights.target_text() + store;
    const KernelText each = row_kernel(
        loss.rows(), weights.operands().parameters() + loss.type() + "* __restrict__ out", body);
    calls.push_back(
        {lowering.kernels().add(each.text, true), each.shape, weights.operands().reads()});
    calls.back().arguments.push_back(pairs);
    KernelText sum = sum_kernel(loss.type(), loss.rows().count, loss.type() + "* __restrict__ out");
    sum.text += "  if (threadIdx.x == 0) *out = total;\n}\n";
    calls.push_back({lowering.kernels().add(sum.text, true), sum.shape, {pairs, total}});
    draft.workspace = {pairs.buffer, total.buffer};
  }
  const Placement given = lowering.native(node.inputs[3]);
  auto at_target = loss.at();
  at_target.erase(at_target.begin() + 1);
  std::string share = loss.operands().element(
      given, loss.reduces() ? std::vector<std::string>(given.dims.size(), "0") : at_target);
  share += " * weight";
  if (needs_total) {
    share += fmt::format(" / {}[0]", loss.operands().pointer(total));
  } else if (loss.averages()) {
    share += fmt::format(" / {}", loss.rows().count);
  }
  const std::string number =
      softens ? fmt::format("share * exp({} - log_sum) - (i1 == target ? share : 0)", loss.score())
              : std::string("(i1 == target && weight != 0 ? -share : 0)");
  const std::string body =
      (softens ? loss.log_sum_text() : "") + loss.target_text() +
      fmt::format("  const {} share = {};\n", loss.type(), share) +
      each_text(loss.rows(), fmt::format("    out[{}] = {};\n", offset_text(result, loss.at()),
                                         stored(result.type, number)));
  const KernelText kernel = row_kernel(
      loss.rows(), loss.operands().parameters() + stored_type(result.type) + "* __restrict__ out",
      body);
  calls.push_back(
      {lowering.kernels().add(kernel.text, true), kernel.shape, loss.operands().reads()});
  calls.back().arguments.push_back(result);
  draft.reads = loss.operands().reads();
  draft.writes = {result};
  lowering.add_step(draft, binder_of(calls));
  return true;
}

}  // namespace

void add_loss_lowering(LowerTable& table) {
  table["NegativeLogLikelihoodLoss"] = lower_loss;
  table["SoftmaxCrossEntropyLoss"] = lower_loss;
  table["assay.LikelihoodGradient"] = lower_loss_gradient;
  table["assay.SoftmaxCrossEntropyGradient"] = lower_loss_gradient;
}

}  // namespace assay::cuda
