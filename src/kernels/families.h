// Every family of kernels, each in a file of its own; `kernel.cpp` gathers them.
#pragma once

#include "kernels/kernel.h"

namespace assay {

void add_arithmetic_kernels(KernelTable& table);
void add_comparison_kernels(KernelTable& table);
void add_unary_kernels(KernelTable& table);
void add_cast_kernels(KernelTable& table);
void add_creation_kernels(KernelTable& table);
void add_view_kernels(KernelTable& table);
void add_movement_kernels(KernelTable& table);
void add_gather_kernels(KernelTable& table);
void add_scatter_kernels(KernelTable& table);
void add_reduction_kernels(KernelTable& table);
void add_selection_kernels(KernelTable& table);

}  // namespace assay
