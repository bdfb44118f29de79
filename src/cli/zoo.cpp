// assay zoo: the built-in networks, listed and exported.
#include <memory>

#include "assay/count.h"
#include "assay/onnx.h"
#include "assay/zoo.h"
#include "assay/zoo_report.h"
#include "base/fail.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/output_format.h"

namespace assay::cli {

namespace {

struct ZooArguments {
  OutputFormat format;
  std::string spec;
  std::string output;
  bool external = false;
};

constexpr const char* kListExamples = R"(Examples:
  assay zoo                                     what there is
  assay zoo --json                              the same for programs
  assay zoo export resnet18 -o resnet18.onnx    write one as an ONNX file
  assay count zoo:encoder:layers=6,width=512    parameters after the name)";

constexpr const char* kExportExamples = R"(Examples:
  assay zoo export resnet18 -o resnet18.onnx
  assay zoo export gpt2_small:length=64 -o gpt2.onnx
  assay zoo export vgg16 -o vgg16.onnx --external-data)";

std::vector<ZooRow> rows() {
  std::vector<ZooRow> list;
  for (const ZooEntry& entry : zoo_entries()) {
    list.push_back({entry, count_model(zoo_model(entry.name), entry.name).cost.totals});
  }
  return list;
}

Exit run_list(const ZooArguments& arguments) {
  const auto list = rows();
  print_data(formatted(
      arguments.format, [&](const Layout& layout) { return zoo_table(list, layout); },
      [&] { return zoo_json(list); }));
  return Exit::Fine;
}

std::string standard_file_name(const std::string& spec) {
  return spec.substr(0, spec.find(':')) + ".onnx";
}

Exit run_export(const ZooArguments& arguments, bool quiet) {
  // With inferred types and shapes: checkers need those of the outputs, readers those of all
  // values.
  const Graph graph = infer_shapes(zoo_model(arguments.spec)).graph;
  const std::string path =
      arguments.output.empty() ? standard_file_name(arguments.spec) : arguments.output;
  ProgressBar progress(quiet);
  catch_interrupts();
  WriteOptions options;
  if (arguments.external) options.largest_file = 0;
  write_onnx(graph, path, options, &progress);
  if (!quiet)
    fmt::print(stderr, "wrote {}{}\n", path, arguments.external ? " and " + path + ".data" : "");
  return Exit::Fine;
}

}  // namespace

void add_zoo(CommandLine& program) {
  auto arguments = std::make_shared<ZooArguments>();
  Command* zoo = program.app.add_subcommand("zoo", "List the built-in networks, or export one");
  add_output_format(*zoo, arguments->format);
  zoo->footer(kListExamples);
  Command* exporting = zoo->add_subcommand("export", "Write a network as an ONNX file");
  exporting->add_option("NAME", arguments->spec, "a network, with parameters: encoder:layers=6")
      ->required();
  exporting->add_option("-o,--output FILE", arguments->output,
                        "the file to write; default NAME.onnx");
  exporting->add_flag("--external-data", arguments->external,
                      "write the weights to a separate file next to it");
  exporting->footer(kExportExamples);
  zoo->callback([&program, arguments, exporting] {
    if (exporting->was_chosen()) return;
    program.chosen = [arguments] { return run_list(*arguments); };
  });
  exporting->callback([&program, arguments] {
    program.chosen = [&program, arguments] { return run_export(*arguments, program.quiet); };
  });
}

}  // namespace assay::cli
