"""What a model may be: a path, zoo:NAME, bytes, an ONNX message, a torch module, a layer."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, List, Mapping, Optional, Tuple

from . import _core
from ._arguments import Path, Shapes, checked, replace_method
from ._arrays import tensor
from ._calls import as_sequence
from ._core import Layer, Model
from ._progress import Choice, Showing

__all__ = ["Model", "SmallCNN", "engine_names", "load", "zoo"]


@checked
def load(model: Any, inputs: Any = None, *, input_shapes: Shapes = None) -> Model:
    """Reads a model once, for several calls.

    ``model`` is a path, ``zoo:NAME``, bytes, an ``onnx.ModelProto`` or a ``torch.nn.Module``. A module needs example
    ``inputs`` or ``input_shapes``; its parameters are shared, not copied.

    >>> assay.load("zoo:lenet5")
    assay.Model(zoo:lenet5, 12 nodes)
    """
    return given_model(model, inputs, input_shapes)[0]


def _save(self: Model, path: Path, progress: Choice = None) -> None:
    """Writes the model as ONNX."""
    with Showing(progress) as shown:
        _save_natively(self, os.fspath(path), shown)


_save_natively = Model.save
replace_method(Model, "save", _save)


def _from_bytes(content: bytes, name: str) -> Model:
    return _core.read_onnx(content, name)


def _reduced(self: Model) -> Any:
    """Other processes get the model as ONNX."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        path = os.path.join(folder, "model.onnx")
        _save_natively(self, path)
        if len(os.listdir(folder)) > 1:
            raise _core.RunError(f"{self.name}: has more than 2 GiB, which another process reads from a file: save it and pass the path")
        with open(path, "rb") as file:
            return _from_bytes, (file.read(), self.name)


setattr(Model, "__reduce__", _reduced)


@checked
def SmallCNN() -> Model:
    """The built-in network ``zoo:small_cnn_gap``: `conv1`, `conv2`, a global average pool and `classifier`.

    >>> assay.Profiler().count_parameters(assay.SmallCNN())
    5130
    """
    return _core.load_model("zoo:small_cnn_gap")


@checked
def zoo() -> "List[Dict[str, Any]]":
    """The built-in networks, with their parameters.

    >>> "resnet18" in [network["name"] for network in assay.zoo()]
    True
    """
    return _core.zoo()


@checked
def engine_names() -> List[str]:
    """The engines that run models, the default first."""
    return _core.engine_names()


def given_model(model: Any, inputs: Any = None, input_shapes: Shapes = None) -> "Tuple[Model, Dict[str, _core.Tensor]]":
    """The model, and what it is fed, by name."""
    if is_torch_module(model):
        from ._torch import exported

        return exported(model, inputs, input_shapes)
    made = _read(model)
    return made, named_inputs(made, inputs)


def is_torch_module(model: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _read(model: Any) -> Model:
    if isinstance(model, Model):
        return model
    if isinstance(model, Layer):
        return model.model()
    if isinstance(model, (str, os.PathLike)):
        return _core.load_model(_path(model))
    if isinstance(model, (bytes, bytearray, memoryview)):
        return _core.read_onnx(model, "bytes")
    if hasattr(model, "read"):
        return _read_file(model)
    if hasattr(model, "SerializeToString") and hasattr(model, "graph"):
        return _read_message(model)
    raise _core.BadInputError(
        f"an object of type {type(model).__name__} is not a model; give a path, zoo:NAME, bytes, an onnx.ModelProto or a torch.nn.Module"
    )


def _path(model: Any) -> str:
    path = os.fspath(model)
    if not path or not isinstance(path, str) or "\0" in path:
        raise _core.BadInputError(f"{path!r} is not a path; give a path, or zoo:NAME")
    return path


def _read_file(file: Any) -> Model:
    name = str(getattr(file, "name", "file"))
    try:
        content = file.read()
    except ValueError as error:
        raise _core.BadInputError(f"{name}: {error}") from error
    if not isinstance(content, bytes):
        raise _core.BadInputError(f"{name}: is open as text; open it with mode 'rb'")
    return _core.read_onnx(content, name)


def _read_message(message: Any) -> Model:
    try:
        content = message.SerializeToString()
    except Exception as error:
        raise _core.BadInputError(f"the onnx.ModelProto cannot be serialised: {error}") from error
    return _core.read_onnx(content, message.graph.name or "onnx.ModelProto")


def input_names(model: Model) -> List[str]:
    return [value["name"] for value in model.inputs]


def _inputs(names: List[str]) -> str:
    return "1 input" if len(names) == 1 else f"{len(names)} inputs"


def named_inputs(model: Model, inputs: Any) -> Dict[str, _core.Tensor]:
    if inputs is None:
        return {}
    names = input_names(model)
    if isinstance(inputs, Mapping):
        for name in inputs:
            if name not in names:
                raise _core.BadInputError(f"{model.name}: there is no input '{name}'; there are {', '.join(names)}")
        return {name: tensor(value, f"input '{name}'") for name, value in inputs.items()}
    given = as_sequence(inputs)
    if len(given) > len(names):
        raise _core.BadInputError(f"{model.name}: the model takes {_inputs(names)}, {len(given)} given")
    return {name: tensor(value, f"input '{name}'") for name, value in zip(names, given)}


def in_order(model: Model, given: Mapping[str, _core.Tensor]) -> List[_core.Tensor]:
    """One tensor for each input, in order."""
    names = input_names(model)
    missing = [name for name in names if name not in given]
    if missing:
        raise _core.BadInputError(f"{model.name}: the model takes {_inputs(names)}; '{missing[0]}' is missing")
    return [given[name] for name in names]


def named_shapes(model: Model, shapes: Shapes) -> Dict[str, List[int]]:
    if shapes is None:
        return {}
    if isinstance(shapes, Mapping):
        return {str(name): _dims(shape) for name, shape in shapes.items()}
    names = input_names(model)
    if not names:
        raise _core.BadInputError(f"{model.name}: the model has no input")
    return {names[0]: _dims(shapes)}


def _dims(shape: Any) -> List[int]:
    try:
        return [int(n) for n in shape]
    except (TypeError, ValueError) as error:
        raise _core.UsageError(f"{shape!r} is not a shape; give whole numbers, such as (1, 3, 224, 224)") from error


def on_disk(model: Any, made: Model, folder: str, name: str) -> str:
    """Where a fresh process finds the model: its own name, or a file in the folder."""
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model)
    path = os.path.join(folder, name + ".onnx")
    made.save(path)
    return path


def loader_batch(value: Any) -> Optional[int]:
    size = getattr(value, "batch_size", None)
    return int(size) if isinstance(size, int) and size > 0 else None
