// What oneDNN and the program itself take, kept small for networks that have to fit: primitives
// that would be remembered for later, and pages of code that only compiling needs.
#pragma once

namespace assay::cpu {

// While it lives, primitives that nobody holds are not remembered.
class ForgetPrimitives {
 public:
  explicit ForgetPrimitives(bool forgets);
  ForgetPrimitives(const ForgetPrimitives&) = delete;
  ForgetPrimitives& operator=(const ForgetPrimitives&) = delete;
  ~ForgetPrimitives();

 private:
  bool forgets_;
  int capacity_ = 0;
};

// The system brings back what is needed again.
void give_back_code_pages();

}  // namespace assay::cpu
