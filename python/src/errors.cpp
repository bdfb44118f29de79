// assay::Error as Python exceptions: one class for each kind, all of them `assay.Error`.
#include <new>
#include <system_error>

#include "assay/error.h"

#include "python/src/bindings.h"

namespace assay::python {

namespace {

struct ErrorClasses {
  PyObject* error = nullptr;
  PyObject* usage = nullptr;
  PyObject* bad_input = nullptr;
  PyObject* failed = nullptr;
  PyObject* cancelled = nullptr;

  PyObject* of(ErrorKind kind) const {
    switch (kind) {
      case ErrorKind::Usage:
        return usage;
      case ErrorKind::BadInput:
        return bad_input;
      case ErrorKind::Cancelled:
        return cancelled;
      case ErrorKind::Failed:
        return failed;
    }
    return error;
  }
};

ErrorClasses& classes() {
  static ErrorClasses all;
  return all;
}

// They live as long as the process, as classes of modules do.
PyObject* add_class(py::module_& module, const char* name, const char* doc, PyObject* base,
                    PyObject* also = nullptr) {
  py::tuple bases = py::make_tuple(py::handle(base));
  if (also != nullptr) bases = py::make_tuple(py::handle(base), py::handle(also));
  const std::string qualified = std::string("assay.") + name;
  PyObject* made = PyErr_NewExceptionWithDoc(qualified.c_str(), doc, bases.ptr(), nullptr);
  if (made == nullptr) throw py::error_already_set();
  module.add_object(name, py::handle(made));
  return made;
}

}  // namespace

void bind_errors(py::module_& module) {
  ErrorClasses& all = classes();
  all.error = add_class(module, "Error",
                        "A request that could not be met. The text says what, "
                        "where, and what to try.",
                        PyExc_Exception);
  all.usage = add_class(module, "UsageError",
                        "An argument that does not exist or contradicts "
                        "another.",
                        all.error, PyExc_ValueError);
  all.bad_input = add_class(module, "BadInputError",
                            "A model, array, file or configuration that "
                            "cannot be used.",
                            all.error, PyExc_ValueError);
  all.failed = add_class(module, "RunError",
                         "Something went wrong while running: disk full, out "
                         "of memory.",
                         all.error, PyExc_RuntimeError);
  all.cancelled = add_class(module, "CancelledError", "The work was stopped.", all.error);
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
      PyErr_SetString(classes().of(error.kind()), error.what());
    } catch (const std::system_error& error) {
      PyErr_SetString(classes().failed, error.what());
    } catch (const std::bad_alloc&) {
      PyErr_SetString(classes().failed, "there is not enough memory");
    }
  });
}

}  // namespace assay::python
