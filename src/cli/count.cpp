// assay count: what a model costs, without running it.
#include <algorithm>
#include <memory>

#include "assay/count.h"
#include "assay/count_report.h"
#include "base/fail.h"
#include "base/sha256.h"
#include "base/text.h"
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
  std::vector<std::string> models;
  ModelArguments model;  // with several models, one after the other
  std::string precision;
  std::string sort;
  std::string top;
  std::string columns;
  std::string depth;
  bool ops = false;
  bool strict = false;
  OutputFormat format;
  bool hash = false;
  std::string html;
};

constexpr const char* kCountExamples = R"(Examples:
  assay count model.onnx                      the table, totals and peak memory
  assay count a.onnx b.onnx zoo:resnet18      one table, a row for each
  assay count model.onnx --depth 2            by module; --ops: by kind of op
  assay count zoo:resnet50 --batch 8          a built-in network, 8 samples at once
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
  if (!arguments.columns.empty()) options.columns = split(arguments.columns, ',');
  if (arguments.ops) options.rows = CountRows::Ops;
  if (!arguments.depth.empty()) {
    options.rows = CountRows::Modules;
    options.depth = static_cast<std::size_t>(parse_count("--depth", arguments.depth, 1));
  }
  check_count_columns(options);
  return options;
}

std::string rendered(const CountArguments& arguments, CountTableOptions options,
                     const CountResult& result) {
  return formatted(
      arguments.format,
      [&](const Layout& layout) {
        options.layout = layout;
        return count_table(result, options);
      },
      [&] { return count_json(result, options); }, [&] { return count_csv(result, options); });
}

std::string rendered(const CountArguments& arguments, const std::vector<CountResult>& results) {
  return formatted(
      arguments.format, [&](const Layout& layout) { return counts_table(results, layout); },
      [&] { return counts_json(results); }, [&] { return counts_csv(results); });
}

CountResult counted(const CountArguments& arguments, const std::string& model) {
  ModelArguments one = arguments.model;
  one.model = model;
  RequestedModel request = requested_model(one);
  CountOptions options;
  options.bindings = std::move(request.run.bindings);
  options.input_values = std::move(request.run.known_values);
  if (!arguments.precision.empty()) options.stored_as = parse_precision(arguments.precision);
  CountResult result =
      naming_model(model, [&] { return count_model(std::move(request.graph), model, options); });
  if (arguments.hash) result.model.sha256 = sha256_of_file(model);
  use_flags(result.warnings);
  return result;
}

Exit exit_after(const CountArguments& arguments, const CountResult& result) {
  if (!arguments.strict || result.cost.uncounted.empty()) return Exit::Fine;
  const auto& first = result.cost.uncounted.front();
  print_error(fmt::format("--strict: {} nodes were not counted, the first is {} '{}': {}",
                          result.cost.uncounted.size(), first.op, first.node, first.reason));
  return Exit::GateFailed;
}

// Options about the rows of one model.
void check_is_one_model(const CountArguments& arguments) {
  const std::pair<const char*, bool> not_for_several[] = {{"--sort", !arguments.sort.empty()},
                                                          {"--top", !arguments.top.empty()},
                                                          {"--columns", !arguments.columns.empty()},
                                                          {"--depth", !arguments.depth.empty()},
                                                          {"--ops", arguments.ops},
                                                          {"--html", !arguments.html.empty()}};
  for (const auto& [flag, is_given] : not_for_several) {
    if (is_given) fail_usage("{} needs one model", flag);
  }
}

Exit run_several(const CountArguments& arguments, bool quiet) {
  check_is_one_model(arguments);
  std::vector<CountResult> results;
  for (const std::string& model : arguments.models) results.push_back(counted(arguments, model));
  print_data(rendered(arguments, results));
  Exit code = Exit::Fine;
  for (CountResult& result : results) {
    for (std::string& warning : result.warnings) warning = result.model.name + ": " + warning;
    print_warnings(result.warnings, quiet);
    if (code == Exit::Fine) code = exit_after(arguments, result);
  }
  return code;
}

Exit run_count(const CountArguments& arguments, bool quiet) {
  const CountTableOptions table = table_options(arguments);
  if (arguments.hash && std::ranges::any_of(arguments.models, is_zoo_name))
    fail_usage("--hash needs a file, not a zoo model");
  if (arguments.models.size() > 1) return run_several(arguments, quiet);
  PageFile page(arguments.html);
  const CountResult result = counted(arguments, arguments.models.front());
  page.write("count.json", [&] { return count_json(result); });
  print_data(rendered(arguments, table, result));
  print_warnings(result.warnings, quiet);
  return exit_after(arguments, result);
}

void add_row_options(Command& command, CountArguments& arguments) {
  command.heading("Rows");
  auto* depth = command.add_option("--depth N", arguments.depth,
                                   "add up the layers of modules: 1 is the outermost level");
  auto* ops = command.add_flag("--ops", arguments.ops, "add up the layers of each kind of op");
  ops->excludes(depth);
  command.add_option("--sort COLUMN", arguments.sort,
                     "sort rows by a column of the table, largest first");
  command.add_option("--top N", arguments.top, "show only the N most expensive rows; 0 shows all");
}

}  // namespace

void add_count(CommandLine& program) {
  auto arguments = std::make_shared<CountArguments>();
  Command* count = program.app.add_subcommand(
      "count", "Parameters, MACs, FLOPs, bytes and peak memory, without running the model");
  count
      ->add_option("MODEL", arguments->models,
                   "an .onnx file, or zoo:NAME; several give one table, a row each")
      ->required();
  add_shape_options(*count, arguments->model);
  count->add_option("--precision TYPE", arguments->precision,
                    "count bytes as if stored in fp64, fp32, fp16, bf16, fp8, int8 or int4");
  add_row_options(*count, *arguments);
  const FormatOptions format =
      add_output_format(*count, arguments->format, "print the rows as CSV");
  count
      ->add_option("--columns LIST", arguments->columns,
                   "columns of the table by their headings: layer,output,FLOPs")
      ->excludes(format.json)
      ->excludes(format.csv);
  add_page_option(*count, arguments->html);
  count->add_flag("--hash", arguments->hash, "also print the file's SHA-256")->excludes(format.csv);
  count->add_flag("--strict", arguments->strict, "exit code 1 if any op could not be counted");
  count->footer(kCountExamples);
  count->callback([&program, arguments] {
    program.chosen = [&program, arguments] { return run_count(*arguments, program.quiet); };
  });
}

}  // namespace assay::cli
