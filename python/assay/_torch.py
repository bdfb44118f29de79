"""torch modules as models: exported in memory, with the module's own parameters and names."""

from __future__ import annotations

import contextlib
import inspect
import io
import warnings
from typing import Any, Dict, Iterator, List, Mapping, Tuple

import torch

from . import _core
from ._arrays import tensor
from ._core import Model


_PREFIX = "module."


class _Root(torch.nn.Module):  # type: ignore[misc]
    """The module inside another that claims to be trained: then the exporter takes stored tensors for the same only if
    they share memory, not if they happen to be equal, as a fresh batch norm's are.
    """

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.module = module
        self.training = True

    def forward(self, *arguments: Any) -> Any:
        return self.module(*arguments)


def exported(module: Any, inputs: Any, input_shapes: Any) -> Model:
    name = type(module).__name__
    arguments, names = _arguments(module, inputs, input_shapes)
    with _evaluating(module):
        try:
            content = _export(_Root(module), arguments, names)
        except Exception as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise _core.BadInputError(f"{name}: torch cannot export it: {reason}") from error
    made = _core.read_onnx(content, name)
    return made.with_stored(_stored(module)).named_by_modules(_PREFIX)


def example_inputs(module: Any, inputs: Any, input_shapes: Any) -> List[Any]:
    return list(_arguments(module, inputs, input_shapes)[0])


def _forward_names(module: Any) -> List[str]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(module.forward).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in kinds]


def _as_torch(value: Any, what: str) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach()
    return torch.from_numpy(tensor(value, what).numpy().copy())


def _arguments(module: Any, inputs: Any, input_shapes: Any) -> "Tuple[Tuple[Any, ...], List[str]]":
    from ._models import as_sequence

    known = _forward_names(module)
    if isinstance(inputs, Mapping):
        unknown = [name for name in inputs if name not in known]
        if unknown:
            raise _core.BadInputError(f"{type(module).__name__}: forward() has no argument '{unknown[0]}'")
        names = [name for name in known if name in inputs]
        values = [inputs[name] for name in names]
    elif inputs is not None:
        values = as_sequence(inputs)
        names = known[: len(values)] + [f"input_{i}" for i in range(len(known), len(values))]
    elif input_shapes is not None:
        shapes = input_shapes if isinstance(input_shapes, Mapping) else {(known or ["input"])[0]: input_shapes}
        names = [str(name) for name in shapes]
        values = [torch.zeros(tuple(int(n) for n in shape)) for shape in shapes.values()]
    else:
        raise _core.UsageError(
            f"{type(module).__name__}: a torch module needs example inputs; give `inputs` or `input_shapes`"
        )
    return tuple(_as_torch(value, f"input '{name}'") for value, name in zip(values, names)), names


# Batch norms and dropouts as in inference; afterwards every module is in its own mode again.
@contextlib.contextmanager
def _evaluating(module: Any) -> Iterator[None]:
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode


def _export(module: Any, arguments: "Tuple[Any, ...]", names: List[str]) -> bytes:
    # With gradients attention takes the path that exporters know.
    with torch.enable_grad(), warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            return _traced(module, arguments, names)
        except Exception:
            if not _has_dynamo():
                raise
            try:
                return _captured(module, arguments, names)
            except Exception:
                pass  # what tracing says is clearer
            raise


def _has_dynamo() -> bool:
    return "dynamo" in inspect.signature(torch.onnx.export).parameters


# The exporter of newer versions, for what cannot be traced; it stores copies of the parameters.
def _captured(module: Any, arguments: "Tuple[Any, ...]", names: List[str]) -> bytes:
    program: Any = torch.onnx.export(module, arguments, dynamo=True, input_names=names, verbose=False)
    return bytes(program.model_proto.SerializeToString())


# Parameters stay inputs of the export: nothing is copied, folded or renamed.
def _traced(module: Any, arguments: "Tuple[Any, ...]", names: List[str]) -> bytes:
    options: Dict[str, Any] = {
        "export_params": False,
        "keep_initializers_as_inputs": True,
        "do_constant_folding": False,
        "training": torch.onnx.TrainingMode.PRESERVE,
        "input_names": names,
        "dynamic_axes": _batch_axes(arguments, names),
    }
    if _has_dynamo():
        options["dynamo"] = False
    content = io.BytesIO()
    torch.onnx.export(module, arguments, content, **options)
    return content.getvalue()


# The first axis of the first input is the batch, and of every other input with as many.
def _batch_axes(arguments: "Tuple[Any, ...]", names: List[str]) -> Dict[str, Dict[int, str]]:
    first = arguments[0].shape[:1] if arguments else ()
    return {name: {0: "batch"} for name, value in zip(names, arguments) if len(first) > 0 and value.shape[:1] == first}


# Tensors that share memory in the module share it in the model, so that they count once.
def _stored(module: Any) -> Dict[str, _core.Tensor]:
    made: Dict[Any, _core.Tensor] = {}
    stored: Dict[str, _core.Tensor] = {}
    for name, value in module.state_dict(keep_vars=True).items():
        if not isinstance(value, torch.Tensor):
            continue
        value = value.detach()
        key = (value.data_ptr(), tuple(value.shape), value.dtype)
        if key not in made or value.numel() == 0:
            made[key] = tensor(value.cpu().contiguous(), f"'{name}'")
        stored[_PREFIX + name] = made[key]
    return stored
