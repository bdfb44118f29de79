"""torch modules as models: exported in memory, with the module's own parameters and names."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import io
import warnings
from typing import Any, Dict, Iterator, List, Mapping, Tuple

import torch

from . import _core
from ._arrays import first_line, tensor
from ._calls import Call, call_with
from ._core import Model


_ROOT = "module"


class _Root(torch.nn.Module):  # type: ignore[misc]
    """The module inside another that claims to be trained: then the exporter takes stored tensors for the same only if
    they share memory, not if they happen to be equal, as a fresh batch norm's are.
    """

    def __init__(self, module: Any, call: Call) -> None:
        super().__init__()
        self.module = module
        self.call = call
        self.training = True

    def forward(self, *tensors: Any) -> Any:
        positional, named = self.call.filled(tensors)
        return self.module(*positional, **named)


def exported(module: Any, inputs: Any, input_shapes: Any) -> "Tuple[Model, Dict[str, _core.Tensor]]":
    """The module as a model, and its example inputs by the names that the model has for them."""
    is_script = isinstance(module, torch.jit.ScriptModule)  # is exported as it is: scripts cannot be traced
    name = str(getattr(module, "original_name", type(module).__name__))
    if any(value.device.type == "meta" for value in module.state_dict().values() if isinstance(value, torch.Tensor)):
        raise _core.BadInputError(f"{name}: its parameters are on the device meta, which holds no numbers; .to_empty(device='cpu') makes some")
    call = _call(module, inputs, input_shapes)
    with _evaluating(module):
        try:
            content = _export(module if is_script else _Root(module, call), tuple(call.tensors), call.names)
        except Exception as error:
            raise _core.BadInputError(f"{name}: torch cannot export it: {first_line(error)}{_hint(inputs)}") from error
    root = "" if is_script else _ROOT
    made = _core.read_onnx(content, name).with_stored(_stored(module, root)).named_by_modules(root)
    kept = [value["name"] for value in made.inputs]
    if not kept:
        raise _core.BadInputError(f"{name}: torch cannot export it: no output depends on an input; what is not computed by torch is lost")
    if inputs is None:
        return made, {}
    return made, {name: tensor(value, f"input '{name}'") for name, value in zip(call.names, call.tensors) if name in kept}


def _hint(inputs: Any) -> str:
    return "" if inputs is not None else "; example `inputs` may be of any type, those of `input_shapes` are floating"


def _call(module: Any, inputs: Any, input_shapes: Any) -> Call:
    name = type(module).__name__
    if inputs is not None:
        call = call_with(module.forward, inputs, name, _as_torch)
    elif input_shapes is not None:
        call = call_with(module.forward, _zeros(module, input_shapes), name, _as_torch)
    else:
        raise _core.UsageError(f"{name}: a torch module needs example inputs; give `inputs` or `input_shapes`")
    device = next((parameter.device for parameter in module.parameters()), torch.device("cpu"))
    return call._replace(tensors=[value.to(device) for value in call.tensors])


def _zeros(module: Any, input_shapes: Any) -> Any:
    types = [parameter.dtype for parameter in module.parameters() if parameter.is_floating_point()]
    wanted = types[0] if types else torch.float32
    if isinstance(input_shapes, Mapping):
        return {name: torch.zeros(tuple(shape), dtype=wanted) for name, shape in input_shapes.items()}
    return torch.zeros(tuple(input_shapes), dtype=wanted)


def _as_torch(value: Any, what: str) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach()
    return torch.from_numpy(tensor(value, what).numpy().copy())


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
    with torch.enable_grad(), warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), _with_or_without_onnx():
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


_ONNX_PROTO_UTILS = ("torch.onnx._internal.torchscript_exporter.onnx_proto_utils", "torch.onnx._internal.onnx_proto_utils")


# After an export torch 2 looks for functions of onnxscript, with the package onnx. Where that is not installed there are none.
@contextlib.contextmanager
def _with_or_without_onnx() -> Iterator[None]:
    module: Any = next(filter(None, map(_module_if_there, _ONNX_PROTO_UTILS)), None)
    if importlib.util.find_spec("onnx") is not None or not hasattr(module, "_add_onnxscript_fn"):
        yield
        return
    looks_for_functions = module._add_onnxscript_fn
    module._add_onnxscript_fn = lambda content, *_, **__: content
    try:
        yield
    finally:
        module._add_onnxscript_fn = looks_for_functions


def _module_if_there(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


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
def _stored(module: Any, root: str) -> Dict[str, _core.Tensor]:
    made: Dict[Any, _core.Tensor] = {}
    stored: Dict[str, _core.Tensor] = {}
    for name, value in module.state_dict(keep_vars=True).items():
        if not isinstance(value, torch.Tensor):
            continue
        value = value.detach()
        key = (value.data_ptr(), tuple(value.shape), value.dtype)
        if key not in made or value.numel() == 0:
            made[key] = tensor(value.cpu().contiguous(), f"'{name}'")
        stored[f"{root}.{name}" if root else name] = made[key]
    return stored
