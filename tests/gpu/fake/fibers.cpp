#include "fibers.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <cstdlib>
#include <vector>

namespace fake {

namespace {

constexpr std::size_t kStackBytes = std::size_t{256} << 10;
constexpr unsigned kWarp = 32;

#ifdef __x86_64__
// Saves what a function call preserves, and goes on with another stack.
extern "C" void fake_switch_stack(void** from, void* to);
asm(R"(
.text
.globl fake_switch_stack
.hidden fake_switch_stack
fake_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");
#endif

enum class State { Ready, AtWarp, AtBlock, Done };

struct Fiber {
  char* stack = nullptr;
  State state = State::Done;
#ifdef __x86_64__
  void* top = nullptr;
#else
  ucontext_t context = {};
#endif
};

std::vector<Fiber> fibers;
unsigned count = 0;
unsigned running = 0;
const std::function<void()>* work = nullptr;
#ifdef __x86_64__
void* scheduler_top = nullptr;
#else
ucontext_t scheduler_context;
#endif

void leave() {
#ifdef __x86_64__
  fake_switch_stack(&fibers[running].top, scheduler_top);
#else
  swapcontext(&fibers[running].context, &scheduler_context);
#endif
}

void enter() {
#ifdef __x86_64__
  fake_switch_stack(&scheduler_top, fibers[running].top);
#else
  swapcontext(&scheduler_context, &fibers[running].context);
#endif
}

void begin() {
  (*work)();
  fibers[running].state = State::Done;
  leave();
  std::abort();
}

void prepare(Fiber& fiber) {
  if (fiber.stack == nullptr) {
    fiber.stack = static_cast<char*>(mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  }
  fiber.state = State::Ready;
#ifdef __x86_64__
  auto* top = reinterpret_cast<void**>(fiber.stack + kStackBytes - 64);
  *--top = nullptr;  // where begin() would return to
  *--top = reinterpret_cast<void*>(&begin);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  fiber.top = top;
#else
  getcontext(&fiber.context);
  fiber.context.uc_stack = {.ss_sp = fiber.stack, .ss_flags = 0, .ss_size = kStackBytes};
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, begin, 0);
#endif
}

// Lets all of first..last go on if each of them waits there or is done, and any waits.
bool release(unsigned first, unsigned last, State where) {
  bool any = false;
  for (unsigned i = first; i < last; ++i) {
    if (fibers[i].state == State::Done) continue;
    if (fibers[i].state != where) return false;
    any = true;
  }
  for (unsigned i = first; i < last; ++i) {
    if (fibers[i].state == where) fibers[i].state = State::Ready;
  }
  return any;
}

}  // namespace

void wait_for_block() {
  fibers[running].state = State::AtBlock;
  leave();
}

void wait_for_warp() {
  fibers[running].state = State::AtWarp;
  leave();
}

void run_block(unsigned threads, const std::function<void()>& body,
               const std::function<void(unsigned)>& set_thread) {
  if (fibers.size() < threads) fibers.resize(threads);
  count = threads;
  work = &body;
  for (unsigned i = 0; i < count; ++i) prepare(fibers[i]);
  for (;;) {
    for (unsigned i = 0; i < count; ++i) {
      if (fibers[i].state != State::Ready) continue;
      running = i;
      set_thread(i);
      enter();
    }
    bool goes_on = false;
    for (unsigned first = 0; first < count; first += kWarp)
      goes_on |= release(first, std::min(first + kWarp, count), State::AtWarp);
    if (!goes_on) goes_on = release(0, count, State::AtBlock);
    if (!goes_on) break;
  }
  for (unsigned i = 0; i < count; ++i) {
    if (fibers[i].state != State::Done) std::abort();  // threads wait for each other
  }
}

}  // namespace fake
