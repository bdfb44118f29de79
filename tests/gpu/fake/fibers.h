// The threads of one block of a kernel, emulated by one thread of the processor: each runs until it
// waits for its warp or its block.
#pragma once

#include <functional>

namespace fake {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

// Runs `body` for each thread of a block. `set_thread` is called whenever another thread goes on.
void run_block(unsigned threads, const std::function<void()>& body,
               const std::function<void(unsigned)>& set_thread);

// Called by the running thread.
void wait_for_block();
void wait_for_warp();

}  // namespace fake
