"""Labelled samples: data sets by name, arrays, and iterables of batches such as a torch DataLoader."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

from . import _core
from ._arguments import Count, replace_method
from ._arrays import is_torch_tensor
from ._core import Dataset
from ._models import loader_batch

__all__ = ["Dataset"]

_BATCH = 64


def _init(self: Dataset, name: str, samples: Any, labels: Any, classes: Count = 0) -> None:
    """Samples and their labels; ``classes`` of 0 means as many as the labels need."""
    _init_natively(self, name, _numpy(samples, "samples"), _numpy(labels, "labels"), classes)


_init_natively = Dataset.__init__
replace_method(Dataset, "__init__", _init)


def _reduced(self: Dataset) -> Any:
    return Dataset, (self.name, self.samples, self.labels, self.classes)


setattr(Dataset, "__reduce__", _reduced)


def dataset(data: Any, model: _core.Model, *, seed: int = 0, samples: int = 0) -> "Tuple[_core.Dataset, int]":
    """The samples to judge a model on, and how many a batch has."""
    if isinstance(data, _core.Dataset):
        return data, _BATCH
    if isinstance(data, str):
        return _core.load_dataset(data, model, count=samples, seed=seed), _BATCH
    if _is_pair_of_arrays(data):
        return _from_arrays(data[0], data[1]), _BATCH
    return _from_batches(data)


def training_data(data: Any, model: _core.Model, *, seed: int, training: int, validation: int) -> _core.TrainingData:
    if isinstance(data, _core.TrainingData):
        return data
    if isinstance(data, str):
        return _core.load_training_data(
            data, model, training_samples=training, validation_samples=validation, seed=seed
        )
    return _core.split_dataset(dataset(data, model)[0], validation_samples=validation, seed=seed)


def _is_array(value: Any) -> bool:
    return is_torch_tensor(value) or (hasattr(value, "shape") and hasattr(value, "dtype"))


def _is_pair_of_arrays(data: Any) -> bool:
    if not isinstance(data, (tuple, list)) or len(data) != 2 or not _is_array(data[0]):
        return False
    return _is_array(data[1]) or (isinstance(data[1], (tuple, list)) and not any(_is_array(label) for label in data[1]))


def _numpy(value: Any, what: str) -> Any:
    import numpy

    if is_torch_tensor(value):
        value = value.detach().cpu().numpy()
    try:
        array = numpy.ascontiguousarray(value)
    except Exception as error:
        raise _core.BadInputError(f"{what}: {error}") from error
    if array.dtype.kind not in "fiub":
        raise _core.BadInputError(f"{what}: elements of type {array.dtype} are not numbers")
    return array


def _from_arrays(samples: Any, labels: Any, name: str = "arrays") -> _core.Dataset:
    x, y = _numpy(samples, "samples"), _numpy(labels, "labels")
    if x.shape[:1] != y.shape[:1]:
        raise _core.BadInputError(f"there are {len(x) if x.ndim else 0} samples and {len(y) if y.ndim else 0} labels")
    return _core.Dataset(name, x, y)


# All batches as one data set: models are evaluated in whole batches.
def _from_batches(batches: Any) -> "Tuple[_core.Dataset, int]":
    import numpy

    name = type(batches).__name__
    samples: List[Any] = []
    labels: List[Any] = []
    try:
        iterator = iter(batches)
    except TypeError:
        raise _core.BadInputError(f"an object of type {name} is not data; give (samples, labels), a name, or batches of both") from None
    for batch in iterator:
        if not isinstance(batch, (tuple, list)) or len(batch) != 2:
            raise _core.BadInputError(f"{name}: a batch is not a pair of samples and labels")
        samples.append(_numpy(batch[0], "samples"))
        labels.append(numpy.atleast_1d(_numpy(batch[1], "labels")))
    if not samples:
        raise _core.BadInputError(f"the data set '{name}' is empty")
    size: Optional[int] = loader_batch(batches)
    try:
        x, y = numpy.concatenate(samples), numpy.concatenate(labels)
    except ValueError as error:
        raise _core.BadInputError(f"{name}: batches have different shapes: {error}") from error
    return _from_arrays(x, y, name), size or len(samples[0])
