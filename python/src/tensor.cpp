#include "python/src/tensor.h"

#include <pybind11/numpy.h>

#include <cstring>

#include "base/fail.h"

namespace assay::python {

namespace {

// Memory of a Python object, which may be let go on any thread.
class BufferStorage : public Storage {
 public:
  explicit BufferStorage(const Py_buffer& view) : view_(view) {}
  BufferStorage(const BufferStorage&) = delete;
  BufferStorage& operator=(const BufferStorage&) = delete;
  ~BufferStorage() override {
    if (Py_IsInitialized() == 0) return;
    const py::gil_scoped_acquire locked;
    PyBuffer_Release(&view_);
  }

  std::size_t size() const override { return static_cast<std::size_t>(view_.len); }
  std::span<const std::byte> bytes() const override {
    return {static_cast<const std::byte*>(view_.buf), size()};
  }

 private:
  Py_buffer view_;
};

DataType integer_of(std::size_t bytes, bool is_signed) {
  switch (bytes) {
    case 1:
      return is_signed ? DataType::Int8 : DataType::UInt8;
    case 2:
      return is_signed ? DataType::Int16 : DataType::UInt16;
    case 4:
      return is_signed ? DataType::Int32 : DataType::UInt32;
    case 8:
      return is_signed ? DataType::Int64 : DataType::UInt64;
    default:
      return DataType::Undefined;
  }
}

// Python's `struct` characters; Undefined for everything that is no plain number of this machine.
DataType type_of_format(const char* format, std::size_t bytes) {
  if (format == nullptr) return DataType::UInt8;
  std::string_view text = format;
  const bool is_swapped = text.starts_with('>') || text.starts_with('!');
  if (is_swapped && bytes > 1) return DataType::Undefined;
  if (!text.empty() && std::strchr("@=<>!", text.front()) != nullptr) text.remove_prefix(1);
  if (text.size() != 1) return DataType::Undefined;
  if (text == "?") return DataType::Bool;
  if (text == "e") return DataType::Float16;
  if (text == "f") return DataType::Float32;
  if (text == "d") return DataType::Float64;
  if (std::strchr("bhilqn", text.front()) != nullptr) return integer_of(bytes, true);
  if (std::strchr("BHILQN", text.front()) != nullptr) return integer_of(bytes, false);
  return DataType::Undefined;
}

DataType type_named(const std::string& text, const std::string& what) {
  for (int number = 1; number <= static_cast<int>(DataType::Int4); ++number) {
    const auto type = static_cast<DataType>(number);
    if (name(type) == text) return type;
  }
  fail_usage("{}: there is no type '{}'", what, text);
}

class View {
 public:
  View(const py::object& array, const std::string& what) {
    if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_FORMAT | PyBUF_ND | PyBUF_STRIDES) != 0) {
      PyErr_Clear();
      fail_bad_input("{}: an object of type {} is not an array of numbers", what,
                     Py_TYPE(array.ptr())->tp_name);
    }
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  ~View() {
    if (!is_given_) PyBuffer_Release(&view_);
  }

  const Py_buffer& operator*() const { return view_; }
  std::shared_ptr<const Storage> give() {
    is_given_ = true;
    return std::make_shared<BufferStorage>(view_);
  }

 private:
  Py_buffer view_ = {};
  bool is_given_ = false;
};

// Without its sign, a NaN is above infinity. A loop of integers, which compilers turn into vectors.
template <typename Bits>
bool has_above(std::span<const std::byte> bytes, Bits magnitude, Bits infinity) {
  Bits any = 0;
  for (std::size_t i = 0; i + sizeof(Bits) <= bytes.size(); i += sizeof(Bits)) {
    Bits bits = 0;
    std::memcpy(&bits, bytes.data() + i, sizeof(Bits));
    any |= static_cast<Bits>((bits & magnitude) > infinity);
  }
  return any != 0;
}

bool has_nan(const Tensor& tensor) {
  switch (tensor.type()) {
    case DataType::Float16:
      return has_above<std::uint16_t>(tensor.bytes(), 0x7fff, 0x7c00);
    case DataType::BFloat16:
      return has_above<std::uint16_t>(tensor.bytes(), 0x7fff, 0x7f80);
    case DataType::Float32:
      return has_above<std::uint32_t>(tensor.bytes(), 0x7fffffff, 0x7f800000);
    case DataType::Float64:
      return has_above<std::uint64_t>(tensor.bytes(), 0x7fffffffffffffff, 0x7ff0000000000000);
    default:
      return false;
  }
}

py::dtype dtype_of(DataType type) {
  switch (type) {
    case DataType::Bool:
      return py::dtype("?");
    case DataType::Float16:
      return py::dtype("e");
    case DataType::Float32:
      return py::dtype("f");
    case DataType::Float64:
      return py::dtype("d");
    default:
      break;
  }
  const std::string kind = is_integer(type) && name(type).front() == 'i' ? "i" : "u";
  return py::dtype(kind + std::to_string(bits(type) / 8));
}

py::object strings_of(const Tensor& tensor) {
  const py::module_ numpy = py::module_::import("numpy");
  return numpy.attr("array")(tensor.strings(), py::arg("dtype") = "object")
      .attr("reshape")(py::cast(tensor.dims()));
}

}  // namespace

Tensor tensor_of(const py::object& array, const std::string& what, const std::string& type) {
  if (py::isinstance<Tensor>(array)) return array.cast<Tensor>();
  View view(array, what);
  const auto width = static_cast<std::size_t>((*view).itemsize);
  const DataType found =
      type.empty() ? type_of_format((*view).format, width) : type_named(type, what);
  if (found == DataType::Undefined) {
    fail_bad_input("{}: elements of type '{}' are not numbers that a model takes", what,
                   (*view).format);
  }
  if (PyBuffer_IsContiguous(&*view, 'C') == 0) {
    fail_bad_input("{}: the array is not contiguous; numpy.ascontiguousarray makes a copy that is",
                   what);
  }
  const std::vector<std::int64_t> dims((*view).shape, (*view).shape + (*view).ndim);
  Tensor tensor(found, dims, view.give());
  if (has_nan(tensor)) fail_bad_input("{}: the array has elements that are NaN", what);
  return tensor;
}

py::object array_of(const Tensor& tensor, bool writeable) {
  if (tensor.type() == DataType::String) return strings_of(tensor);
  tensor.keep();
  auto* const kept = new Tensor(tensor);
  const py::capsule owner(kept, [](void* held) { delete static_cast<Tensor*>(held); });
  const bool is_packed = bits(tensor.type()) < 8;
  const std::vector<py::ssize_t> shape =
      is_packed ? std::vector<py::ssize_t>{static_cast<py::ssize_t>(tensor.byte_size())}
                : std::vector<py::ssize_t>(tensor.dims().begin(), tensor.dims().end());
  py::array array(is_packed ? py::dtype("u1") : dtype_of(tensor.type()), shape,
                  kept->bytes().data(), owner);
  if (!writeable) array.attr("setflags")(py::arg("write") = false);
  return array;
}

void bind_tensor(py::module_& module) {
  py::class_<Tensor>(module, "Tensor")
      .def(py::init([](const py::object& array, const std::string& type) {
             return tensor_of(array, "array", type);
           }),
           py::arg("array"), py::arg("type") = "")
      .def_property_readonly(
          "shape", [](const Tensor& tensor) { return py::tuple(py::cast(tensor.dims())); })
      .def_property_readonly("type",
                             [](const Tensor& tensor) { return std::string(name(tensor.type())); })
      .def_property_readonly("size", &Tensor::elements)
      .def_property_readonly("nbytes", &Tensor::byte_size)
      .def_property_readonly(
          "data", [](const Tensor& tensor) { return array_of(tensor, false); },
          "The numbers, as a NumPy array that shares this tensor's memory.")
      .def("numpy", [](const Tensor& tensor) { return array_of(tensor, false); })
      .def("__repr__", [](const Tensor& tensor) {
        return fmt::format("assay.Tensor({}, {})", name(tensor.type()), tensor.shape().to_string());
      });
}

}  // namespace assay::python
