// assay count: what a model costs, without running it.
#include <memory>

#include "assay/count.h"
#include "assay/count_report.h"
#include "base/fail.h"
#include "base/sha256.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/flags.h"
#include "cli/model_argument.h"
#include "cli/model_options.h"
#include "cli/output_format.h"
#include "cli/page.h"

namespace assay::cli {

namespace {

struct CountArguments {
  ModelArguments model;
  std::string precision;
  std::string sort;
  std::string top;
  bool strict = false;
  OutputFormat format;
  bool hash = false;
  std::string html;
};

constexpr const char* kCountExamples = R"(Examples:
  assay count model.onnx                      the table, totals and peak memory
  assay count zoo:resnet50 --batch 8          a built-in network, eight samples at once
  assay count bert.onnx --dim sequence=128    bind a symbolic dimension
  assay count ocr.onnx --input x=1x3x48x320   give an input its whole shape
  assay count model.onnx --precision int8     bytes as if stored in 8 bits
  assay count model.onnx --json | jq .totals  for programs
  assay count model.onnx --html count.html    a page with charts
  assay count model.onnx --strict             exit code 1 if any op was not counted)";

CountTableOptions table_options(const CountArguments& arguments) {
  CountTableOptions options;
  if (!arguments.top.empty()) {
    options.top = static_cast<std::size_t>(parse_count("--top", arguments.top, 0));
  }
  if (!arguments.sort.empty()) options.sort = arguments.sort;
  return options;
}

std::string rendered(const CountArguments& arguments, const CountTableOptions& options,
                     const CountResult& result) {
  return formatted(
      arguments.format, [&] { return count_table(result, options); },
      [&] { return count_json(result, options); }, [&] { return count_csv(result, options); });
}

CountResult counted(const CountArguments& arguments) {
  RequestedModel request = requested_model(arguments.model);
  CountOptions options;
  options.bindings = std::move(request.run.bindings);
  options.input_values = std::move(request.run.known_values);
  if (!arguments.precision.empty()) options.stored_as = parse_precision(arguments.precision);
  return naming_model(arguments.model.model, [&] {
    return count_model(std::move(request.graph), arguments.model.model, options);
  });
}

Exit run_count(const CountArguments& arguments, bool quiet) {
  const CountTableOptions table = table_options(arguments);
  if (arguments.hash && is_zoo(arguments.model.model))
    fail_usage("--hash needs a file, not a zoo model");
  PageFile page(arguments.html);
  CountResult result = counted(arguments);
  if (arguments.hash) result.model.sha256 = sha256_of_file(arguments.model.model);
  use_flags(result.warnings);
  page.write("count.json", [&] { return count_json(result); });
  print_data(rendered(arguments, table, result));
  print_warnings(result.warnings, quiet);
  if (!arguments.strict || result.cost.uncounted.empty()) return Exit::Fine;
  const auto& first = result.cost.uncounted.front();
  print_error(fmt::format("--strict: {} nodes were not counted, the first is {} '{}': {}",
                          result.cost.uncounted.size(), first.op, first.node, first.reason));
  return Exit::GateFailed;
}

}  // namespace

void add_count(CommandLine& program) {
  auto arguments = std::make_shared<CountArguments>();
  Command* count = program.app.add_subcommand(
      "count", "Parameters, MACs, FLOPs, bytes and peak memory, without running the model");
  add_model_options(*count, arguments->model);
  count->add_option("--precision", arguments->precision,
                    "count bytes as if stored in fp64, fp32, fp16, bf16, fp8, int8 or int4");
  count->add_option("--sort", arguments->sort, "order layers by a column, largest first");
  count->add_option("--top", arguments->top, "show only the N most expensive layers; 0 shows all");
  count->add_flag("--strict", arguments->strict, "exit code 1 if any op could not be counted");
  auto* csv = add_output_format(*count, arguments->format, "print the layers as CSV");
  count->add_flag("--hash", arguments->hash, "also print the file's SHA-256")->excludes(csv);
  add_page_option(*count, arguments->html);
  count->footer(kCountExamples);
  count->callback([&program, arguments] {
    program.chosen = [&program, arguments] { return run_count(*arguments, program.quiet); };
  });
}

}  // namespace assay::cli
