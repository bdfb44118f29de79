"""Counts and measurements of one model, under the usual names of profilers."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Optional, Sequence, Tuple

from . import _core
from ._arguments import Count, Positive, Shape, checked
from ._arrays import is_torch_tensor, zeros
from ._models import Model, _read, given_model, in_order, is_torch_module, named_inputs
from ._options import run_options
from ._progress import Choice, Showing

__all__ = ["Profiler", "profile_forward_pass", "profile_backward_pass"]

_KNOWN = (str, bytes, bytearray, memoryview, _core.Model, _core.Layer)


def _is_foreign(model: Any) -> bool:
    """Whether it is an object of another library that a layer describes, not one of our kinds of model."""
    import os

    is_ours = isinstance(model, (*_KNOWN, os.PathLike)) or is_torch_module(model)
    is_message = hasattr(model, "SerializeToString")
    is_number = model is None or isinstance(model, (int, float, complex))
    return not (is_ours or is_message or is_number or hasattr(model, "read"))


def _model(model: Any, shape: Sequence[int]) -> Model:
    if is_torch_module(model):
        return given_model(model, None, shape)[0]
    return _described(model, zeros(shape)) if _is_foreign(model) else _read(model)


def _described(model: Any, x: Any) -> Model:
    from .layers import layer_like

    return layer_like(model, x).model()


def _elements(parameter: Any) -> int:
    shape: Any = getattr(parameter, "shape", None)
    if shape is None:
        shape = getattr(getattr(parameter, "data", None), "shape", ())
    return math.prod(int(n) for n in shape)


def _stored_parameters(thing: Any) -> List[Any]:
    if callable(getattr(thing, "parameters", None)):
        return list(thing.parameters())
    return [part for part in (getattr(thing, "weight", None), getattr(thing, "bias", None)) if part is not None]


_LOSSES = {
    "MSELoss": "mean-squared-error",
    "mse_loss": "mean-squared-error",
    "CrossEntropyLoss": "cross-entropy",
    "cross_entropy": "cross-entropy",
}


def _loss_name(loss: Any) -> str:
    if loss is None:
        return "sum-of-squares"
    if isinstance(loss, str):
        return loss
    known_as = getattr(loss, "__name__", type(loss).__name__)
    name = _LOSSES.get(known_as)
    if name is None:
        raise _core.UsageError(
            f"the loss {known_as} is not known; give sum-of-squares, cross-entropy or mean-squared-error"
        )
    return name


class Profiler:
    """Counts and measures a model.

    Models are paths, ``zoo:NAME``, bytes, ONNX messages, torch modules, layers of `assay.layers`, and objects of other
    libraries with the usual attributes of layers.

    >>> profiler = assay.Profiler()
    >>> profiler.count_parameters(assay.Linear(128, 64))
    8256
    """

    @checked
    def __init__(
        self, *, threads: Optional[Positive] = None, engine: Optional[str] = None, progress: Choice = None
    ) -> None:
        self._engine: Dict[str, Any] = {"threads": threads, "engine": engine}
        self._progress = progress

    def _options(self, model: Model) -> _core.RunOptions:
        return run_options(model, {}, pin_threads=False, **self._engine)

    @checked
    def count_parameters(self, model: Any) -> int:
        """What training would change; 0 for a model without parameters.

        >>> assay.Profiler().count_parameters("zoo:small_cnn_gap")
        5130
        """
        if is_torch_module(model):
            return sum(int(parameter.numel()) for parameter in model.parameters())
        if _is_foreign(model):
            return sum(_elements(parameter) for parameter in _stored_parameters(model))
        return _core.count_parameters(_read(model))

    @checked
    def count_flops(self, model: Any, input_shape: Shape) -> int:
        """FLOPs of one sample: two for each multiply-add, one for each element of other ops.

        >>> assay.Profiler().count_flops(assay.Conv2d(3, 64, 7, stride=2, padding=3), (1, 3, 224, 224))
        236027904
        """
        return _core.count_flops(_model(model, input_shape), input_shape)

    @checked
    def measure_memory(self, model: Any, input_shape: Shape) -> Dict[str, Any]:
        """Memory of parameters and activations as planned, and what was really allocated, in MB of 1024² bytes.

        >>> round(assay.Profiler().measure_memory(assay.Linear(1024, 512), (32, 1024))["parameter_memory_mb"], 2)
        2.0
        """
        made = _model(model, input_shape)
        with Showing(self._progress) as shown:
            return _core.measure_memory(made, input_shape, self._options(made), shown)

    @checked
    def measure_latency(
        self, model: Any, input: Any = None, warmup: Count = 10, iterations: Positive = 100, *, input_tensor: Any = None
    ) -> float:
        """The median of ``iterations`` runs, ms."""
        made, tensors = self._fed(model, input, input_tensor)
        with Showing(self._progress) as shown:
            options = self._options(made)
            return _core.measure_median_latency(made, tensors, warmup, iterations, options, shown)

    @checked
    def profile_forward_pass(self, model: Any, input: Any = None, *, input_tensor: Any = None) -> Dict[str, Any]:
        """Parameters, FLOPs, latency, memory, rates and the bottleneck of a forward pass, really run.

        >>> import numpy
        >>> x = numpy.ones((32, 256), numpy.float32)
        >>> assay.Profiler().profile_forward_pass(assay.Linear(256, 128), x)["flops"]
        2101248
        """
        made, tensors = self._fed(model, input, input_tensor)
        with Showing(self._progress) as shown:
            return _core.profile_forward_pass(made, tensors, self._options(made), shown)

    @checked
    def profile_backward_pass(
        self, model: Any, input: Any = None, loss: Any = None, *, input_tensor: Any = None, loss_fn: Any = None
    ) -> Dict[str, Any]:
        """Forward and backward pass of a training step, really run and really counted.

        ``loss`` is ``sum-of-squares`` (the default, for any output), ``cross-entropy`` or ``mean-squared-error``, or a loss of torch.
        """
        made, tensors = self._fed(model, input, input_tensor)
        name = _loss_name(loss if loss is not None else loss_fn)
        with Showing(self._progress) as shown:
            return _core.profile_backward_pass(made, tensors, name, self._options(made), shown)

    def _fed(self, model: Any, input: Any, input_tensor: Any) -> "Tuple[Model, List[_core.Tensor]]":
        given = input if input is not None else input_tensor
        if given is None:
            raise _core.UsageError("there is no `input` to run the model on")
        if not (is_torch_tensor(given) or isinstance(given, (_core.Tensor, tuple, list, dict))):
            given = _plain(given)
        if is_torch_module(model):
            made, tensors = given_model(model, given)
        else:
            made = _described(model, given) if _is_foreign(model) else _read(model)
            tensors = named_inputs(made, given)
        return made, in_order(made, tensors)


# Arrays of other libraries keep their numbers in `data`.
def _plain(value: Any) -> Any:
    is_wrapper = hasattr(value, "data") and hasattr(value, "shape") and not hasattr(value, "__array__")
    return value.data.astype("float32") if is_wrapper and hasattr(value.data, "astype") else value


@checked
def profile_forward_pass(model: Any, input: Any = None, *, input_tensor: Any = None) -> Dict[str, Any]:
    """`Profiler.profile_forward_pass` with the default engine."""
    return Profiler().profile_forward_pass(model, input, input_tensor=input_tensor)


@checked
def profile_backward_pass(
    model: Any, input: Any = None, loss: Any = None, *, input_tensor: Any = None, loss_fn: Any = None
) -> Dict[str, Any]:
    """`Profiler.profile_backward_pass` with the default engine."""
    return Profiler().profile_backward_pass(model, input, loss, input_tensor=input_tensor, loss_fn=loss_fn)
