// What the parts of the fake GPU share: work is done at once, or kept while a stream is captured.
#pragma once

#include <cstddef>
#include <functional>

namespace fake {

// `kernel` is the name that a graph tells of it.
int run_or_record(std::function<void()> work, const char* kernel = nullptr);
// A number of the environment.
std::size_t setting(const char* variable, std::size_t otherwise);
// Makes the GPU's clock go on, as if the work took so long.
void add_milliseconds(std::size_t milliseconds);

// Numbers of a type of CUDA's libraries, as doubles.
enum class Stored { Float32, Float64, Float16, BFloat16, Float8, Int8, Int32 };
std::size_t bytes_of(Stored type);
double load(Stored type, const void* from, std::size_t element);
void store(Stored type, void* to, std::size_t element, double number);

}  // namespace fake
