// A reference to something that can be called, for the length of a call: it allocates nothing,
// where std::function may.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace assay {

template <typename Signature>
class FunctionRef;

template <typename Result, typename... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  template <typename Callable>
  requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef>)
      FunctionRef(const Callable& callable)  // NOLINT(google-explicit-constructor): stands for it
      : callable_(std::addressof(callable)), call_([](const void* what, Arguments... arguments) {
          return (*static_cast<const Callable*>(what))(std::forward<Arguments>(arguments)...);
        }) {}

  Result operator()(Arguments... arguments) const {
    return call_(callable_, std::forward<Arguments>(arguments)...);
  }

 private:
  const void* callable_;
  Result (*call_)(const void*, Arguments...);
};

}  // namespace assay
