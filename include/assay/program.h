// A model made ready to run: compiled once for fixed input shapes, run any number of times.
//
// A Program observes itself: it is a list of steps, each of which tells the layers it computes, the
// algorithm it uses and the work it really does, and it can time every step while it runs. Steps
// and the time between them sum to the time of the run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/engine.h"
#include "assay/infer.h"
#include "assay/progress.h"

namespace assay {

// Latency may enlarge weights (Winograd); memory keeps to what the model needs.
enum class OptimizeFor { Latency, Memory };
std::string_view name(OptimizeFor goal);  // "latency", "memory"

// Of engines that run on the processor.
struct CpuOptions {
  int threads = 0;  // 0: as many as this process may run on
  // If `threads` is 0: a small model that is clearly faster on fewer runs on fewer, which is found
  // by running it on random inputs. Program::threads() tells on how many.
  bool fewer_where_faster = false;
  // Keeps each thread on a processor of its own while the program lives, the calling thread too.
  bool pin_threads = false;
};

// Of engines that run on a GPU.
struct CudaOptions {
  // Products and convolutions of float32 round the numbers they multiply to tf32, which has the
  // exponent of float32 and 11 significant bits. False: real float32.
  bool tf32 = false;
};

struct ProgramOptions {
  std::string engine = default_engine();  // a name or an alias: find_engine
  OptimizeFor optimize_for = OptimizeFor::Latency;
  CpuOptions cpu = {};
  CudaOptions cuda = {};
  // Algorithms that were chosen by measurement are kept in this file and taken from it next time;
  // empty: they are measured once a process.
  std::string tuning_file = "";
  // Likewise, if `tuning_file` is empty: a file of a cache. One that is damaged or cannot be
  // written does no harm, and its size is limited.
  std::string tuning_cache = "";
  // Weights and activations are stored in this floating type (assay/precision.h); nothing: as the
  // model stores them. Int8 requires a model that is already quantised.
  std::optional<DataType> precision = {};
  // Numbers of 16 bits, asked for or stored in the model, that make it slower than float32 are kept
  // for weights alone or, at last, as float32 (rounded once). This is found by running the model on
  // random inputs, unless the goal is Memory; StepInfo tells what each step computes in and stores.
  bool only_where_faster = false;
  // False: outputs are shown to the listener of `on_output` where they lie, their memory is used
  // again once nothing reads them, and there are no `results()`.
  bool keep_outputs = true;
};

// By its name, once the engine is chosen: fp32, fp16, bf16, int8; with an engine that runs on a GPU
// also tf32, float32 whose products are computed in fewer bits.
void set_precision(ProgramOptions& options, std::string_view name);
// What was asked for: "tf32", or the name of the type that numbers are stored in; empty: nothing.
std::string asked_precision(const ProgramOptions& options);

// An output of a running program where it lies, good until the listener returns.
struct OutputView {
  std::size_t output = 0;  // its position among the program's outputs
  DataType type = DataType::Float32;
  std::vector<std::int64_t> dims = {};
  std::span<const std::byte> bytes = {};
  // 0: row by row. Otherwise channels, which are axis 1, lie in blocks of so many: [batch, blocks,
  // pixels, channels of a block]. If the last block is not full, anything may lie in the rest of
  // it.
  std::int64_t channel_block = 0;
};

struct StepInfo {
  std::string name;                 // the main layer's, or what the step is for
  std::string op;                   // the main layer's op; "Reorder" for a change of layout
  std::vector<NodeId> layers = {};  // nodes of the compiled graph that the step computes, in order
  std::string algorithm = "";       // "winograd 4x4", "direct", "gemm", "reference", …
  std::string precision = "fp32";   // it computes in: a name as in Peak, or another type ("int64")
  // The precision of the numbers it writes ("fp16"), if it differs from the one it computes in;
  // otherwise empty.
  std::string storage = "";
  // The instruction set of its arithmetic: "amx", "avx512_vnni", "avx512_bf16", "avx512", "avx2",
  // …; empty where it is not known.
  std::string isa = "";
  std::string device = "cpu";  // it runs on
  std::int64_t executed_flops = 0;
  std::int64_t bytes_read = 0;    // operands and weights, as stored
  std::int64_t weight_bytes = 0;  // of those read, weights
  std::int64_t bytes_written = 0;
  std::string fell_back = "";  // why the reference kernel runs instead; empty where it is fast
};

// Bytes really taken, and what the model would need if every tensor were stored once.
struct ProgramMemory {
  std::int64_t weight_bytes = 0;          // weights as the engine stores them
  std::int64_t arena_bytes = 0;           // activations, allocated once
  std::int64_t workspace_bytes = 0;       // of arena_bytes: the most that algorithms use at once
  std::int64_t planned_weight_bytes = 0;  // stored tensors of the model
  std::int64_t planned_arena_bytes = 0;   // what plan_memory says of the model
  // Of a GPU: how much less of its memory has been free since before compiling. Code and what
  // libraries take for themselves are in it, and what other processes took at the same time.
  std::optional<std::int64_t> device_growth_bytes = {};
};

// A block of the arena, in use from the first step that accesses it to the last.
struct ProgramBuffer {
  ValueId value;  // of the compiled graph, the first that lives there; invalid: workspace
  std::int64_t bytes = 0;
  std::int64_t offset = 0;
  std::size_t first_step = 0;
  std::size_t last_step = 0;
};

class Program {
 public:
  virtual ~Program() = default;

  virtual const std::string& engine() const = 0;  // the name of the one that runs it
  // Types and shapes it was compiled for; neither list includes state.
  virtual const std::vector<Value>& inputs() const = 0;
  virtual const std::vector<Value>& outputs() const = 0;
  virtual const std::vector<Value>& state() const = 0;  // in the order of the graph's `carried`
  virtual const std::vector<StepInfo>& steps() const = 0;
  virtual ProgramMemory memory() const = 0;
  virtual std::vector<ProgramBuffer> buffers() const = 0;  // of the arena; empty without one
  virtual int threads() const = 0;  // of the processor; 0 if it runs on another device

  // One tensor for each input, in order; throws an Error naming the input whose type or shape is
  // not what the program was compiled for.
  virtual void set_inputs(std::span<const Tensor> inputs) = 0;
  // State stays in the program from run to run: it is set once, and read on demand.
  virtual void set_state(std::span<const Tensor> state) = 0;
  virtual std::vector<Tensor> state_values() const = 0;  // copies
  virtual void run() = 0;
  virtual std::vector<Tensor> results() const = 0;  // copies of the outputs of the last run
  // Called in every run once for each output, between the step that completes it and the end.
  virtual void on_output(std::function<void(const OutputView&)> listener) = 0;

  // Whether steps are timed, and what has been summed up since the last reset.
  virtual void observe_steps(bool on) = 0;
  // Whether a run takes longer while its steps are timed, as on a GPU: its time is then that of
  // other runs, whose steps are not.
  virtual bool is_observed_apart() const { return false; }
  // Called after every step of an observed run with its position; what it takes belongs to no step.
  virtual void on_step(std::function<void(std::size_t step)> listener) = 0;
  virtual void reset_step_times() = 0;
  virtual std::span<const std::int64_t> step_nanoseconds() const = 0;  // by step
  virtual std::int64_t run_nanoseconds() const = 0;                    // whole runs
};

// `model` must have known input shapes. Throws an Error that names an op that no engine can run, an
// engine that does not exist, or the amount of memory that is missing.
std::unique_ptr<Program> compile(Inferred model, const ProgramOptions& options = {},
                                 Progress* progress = nullptr);

// Tensors for every input of the model: normally distributed floats, small non-negative integers,
// the same for the same seed and name.
std::vector<Tensor> random_inputs(const std::vector<Value>& inputs, std::uint64_t seed = 0);

}  // namespace assay
