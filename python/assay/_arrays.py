"""Arrays of any kind as tensors that share their memory."""

from __future__ import annotations

import sys
from typing import Any

from . import _core
from ._arguments import checked, shown


class Tensor(_core.Tensor):
    """An array, as models take it.

    Numbers of Python and float64 become float32, which networks compute in; ``dtype`` keeps another type.

    >>> assay.Tensor([[1.0, 2.0], [3.0, 4.0]])
    assay.Tensor(float32, 2x2)
    """

    @checked
    def __init__(self, data: Any, dtype: Any = None) -> None:
        import numpy

        tensor = data if isinstance(data, _core.Tensor) else None
        array = tensor.numpy() if tensor is not None else _as_array(data)
        if dtype is None and array.dtype == numpy.float64:
            dtype = numpy.float32
        try:
            array = numpy.require(array, dtype=dtype, requirements="C")
        except (TypeError, ValueError) as error:
            raise _core.BadInputError(f"the array cannot be of type {shown(dtype)}: {first_line(error)}") from error
        super().__init__(array)

    @property
    def dtype(self) -> Any:
        """The type of the elements, as NumPy names it."""
        return self.numpy().dtype

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return len(self.shape)

    def __len__(self) -> int:
        return len(self.numpy())

    def __getitem__(self, index: Any) -> Any:
        return self.numpy()[index]

    def __reduce__(self) -> Any:
        return type(self), (self.numpy(), self.dtype)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)


def zeros(shape: Any) -> Tensor:
    import numpy

    return Tensor(numpy.zeros(tuple(shape), numpy.float32))


def first_line(error: Exception) -> str:
    """What other libraries say, as one line."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def is_torch_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _as_array(value: Any) -> Any:
    import numpy

    try:
        return numpy.asarray(value)
    except Exception as error:
        raise _core.BadInputError(f"an object of type {type(value).__name__} is not an array of numbers: {first_line(error)}") from error


def _of_torch(tensor: Any, what: str) -> _core.Tensor:
    import torch

    try:
        shared = tensor.detach().cpu()
        if not shared.is_contiguous():
            raise _core.BadInputError(f"{what}: the tensor is not contiguous; .contiguous() makes a copy that is")
        if shared.dtype == torch.bfloat16:
            return _core.Tensor(shared.view(torch.int16).numpy(), "bfloat16")
        return _core.Tensor(shared.numpy())
    except (TypeError, RuntimeError) as error:  # sparse, on no device, of a type that NumPy lacks
        raise _core.BadInputError(f"{what}: {first_line(error)}") from error


def tensor(value: Any, what: str = "input") -> _core.Tensor:
    """The value's own memory as a tensor; nothing is copied."""
    if isinstance(value, _core.Tensor):
        return value
    try:
        if is_torch_tensor(value):
            return _of_torch(value, what)
        if not _has_buffer(value):
            value = _exported(value, what)
        return _core.Tensor(value)
    except _core.BadInputError as error:
        message = str(error)
        if message.startswith("array: "):
            raise _core.BadInputError(what + message[len("array") :]) from None
        raise


def _has_buffer(value: Any) -> bool:
    try:
        memoryview(value)
    except TypeError:
        return False
    return True


# DLPack where there is one, else what NumPy makes of lists and numbers.
def _exported(value: Any, what: str) -> Any:
    import numpy

    if hasattr(value, "__dlpack__"):
        try:
            return numpy.from_dlpack(value)
        except Exception as error:
            raise _core.BadInputError(f"{what}: cannot be shared by DLPack: {first_line(error)}") from error
    if isinstance(value, (list, tuple, int, float)) or hasattr(value, "__array__"):
        array = _as_array(value)
        return array.astype("float32") if isinstance(value, (list, tuple, float)) and array.dtype == "float64" else array
    raise _core.BadInputError(f"{what}: an object of type {type(value).__name__} is not an array of numbers")
