"""What every command returns: a mapping with the keys of `assay … --json`, that prints as the command's table."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterator, List, Mapping, Optional, Union

from . import _core
from ._arguments import Path, Positive, checked

Row = Dict[str, Any]


def rows_as_frame(rows: List[Row]) -> Any:
    """A DataFrame where pandas is installed, else the rows themselves."""
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


class Stored:
    """The forms of a result that came from another process."""

    def __init__(self, document: str, table: str, forms: Dict[str, bytes]) -> None:
        self.document = document
        self._table = table
        self._forms = forms

    def table(self, width: Positive = 80, markdown: bool = False) -> str:
        return self._table

    def forms(self) -> List[str]:
        return sorted(self._forms)

    def render(self, form: str) -> bytes:
        if form not in self._forms:
            raise _core.UsageError(f"this result cannot be written as {form}; there are {', '.join(self.forms())}")
        return self._forms[form]


class Result(Mapping[str, Any]):
    """A result of assay.

    It is a mapping with the keys of the command's JSON, prints as the command's table, and shows the command's page with
    charts in notebooks.

    >>> result = assay.count("zoo:lenet5")
    >>> result["totals"]["macs"]
    416520
    >>> "layers" in result
    True
    """

    _rows_key = "layers"

    def __init__(self, report: "Union[_core.Report, Stored]") -> None:
        self._report = report
        self._keys: Optional[Dict[str, Any]] = None

    def to_dict(self) -> Dict[str, Any]:
        """Everything, as dicts and lists."""
        if self._keys is None:
            import json

            self._keys = json.loads(self._report.render("json"))
        assert self._keys is not None
        return self._keys

    def __getitem__(self, key: str) -> Any:
        return self.to_dict()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_dict())

    def __len__(self) -> int:
        return len(self.to_dict())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    @property
    def warnings(self) -> List[str]:
        """What to keep in mind when reading the figures."""
        return list(self.get("warnings", []))

    @property
    def rows(self) -> List[Row]:
        """The rows of the result's main table."""
        return list(self[self._rows_key])

    @checked
    def to_json(self, path: Optional[Path] = None) -> str:
        """The JSON of the command, also written to ``path`` where one is given."""
        text = self._report.render("json").decode()
        if path is not None:
            _write(path, text.encode())
        return text

    def to_pandas(self) -> Any:
        """The rows as a DataFrame; without pandas a list of dicts."""
        return rows_as_frame(self.rows)

    def to_html(self) -> str:
        """The page that ``--html`` writes: one file, readable without a network."""
        return _core.page_html(self._report.document, self.to_json())

    @checked
    def save_html(self, path: Path) -> None:
        """Writes the page with charts."""
        _write(path, self.to_html().encode())

    @checked
    def save(self, path: Path, form: Optional[str] = None) -> None:
        """Writes the result in the form that the path's ending names: .json, .csv, .html, .png, .svg."""
        name = os.fspath(path)
        form = form or name.rpartition(".")[2].lower()
        if form == "html":
            self.save_html(path)
        else:
            _write(path, self._report.render(form))

    @checked
    def table(self, width: Positive = 80, markdown: bool = False) -> str:
        """The text that the command prints."""
        return self._report.table(width, markdown)

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        from ._notebook import framed

        return framed(self.to_html())

    def _repr_markdown_(self) -> Optional[str]:
        return None

    def __reduce__(self) -> Any:
        forms = {form: self._report.render(form) for form in self._report.forms() if form in ("json", "csv")}
        stored = Stored(self._report.document, self.table(), forms)
        more = {name: value for name, value in vars(self).items() if name not in ("_report", "_keys")}
        return type(self), (stored,), more

    def __copy__(self) -> "Result":
        copy = type(self).__new__(type(self))
        vars(copy).update(vars(self))
        return copy

    def __deepcopy__(self, memo: Any) -> "Result":
        copy = self.__copy__()
        copy._keys = None  # dicts and lists, which callers may have changed
        return copy


def _write(path: Path, content: bytes) -> None:
    try:
        with open(path, "wb") as file:
            file.write(content)
    except OSError as error:
        raise _core.RunError(f"{os.fspath(path)}: cannot be written: {error.strerror}") from error


class Count(Result):
    """What `assay.count` found: parameters, MACs, FLOPs and bytes of every layer."""

    @property
    def totals(self) -> Row:
        """Sums over all layers."""
        return dict(self["totals"])

    @property
    def layers(self) -> List[Row]:
        """One row for each layer, in execution order."""
        return list(self["layers"])


class Profile(Count):
    """What `assay.profile` measured: latency with its interval, and the time of every layer."""

    @property
    def latency(self) -> Row:
        """Median, mean, interval, tails and every sample, in ms."""
        return dict(self["latency"])

    @property
    def latency_ms(self) -> float:
        """The median, ms."""
        return float(self["latency"]["median_ms"])

    @property
    def advice(self) -> List[Row]:
        """Potential savings, largest first."""
        return list(self.get("advice", []))

    @checked
    def table(self, width: Positive = 80, markdown: bool = False) -> str:
        """The text that the command prints, without its hint at options of the command line."""
        lines = super().table(width, markdown).splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith("`explain` says"))

    @checked
    def save_trace(self, path: Path) -> None:
        """Writes the runs of ``traced_runs`` as a timeline for Perfetto."""
        _write(path, self._report.render("trace"))


class TrainingProfile(Profile):
    """What `assay.profile(…, train=True)` measured: forward pass, backward pass and update."""


class Comparison(Result):
    """Which of two models is faster."""

    _rows_key = "metrics"

    @property
    def verdict(self) -> str:
        """FASTER, SLOWER, SAME or UNDECIDED, for the second compared with the first."""
        return str(self["verdict"])

    @property
    def ratio(self) -> float:
        """The second's time over the first's."""
        return float(self["ratio"])

    @property
    def failed(self) -> bool:
        """Whether a gate of ``fail_if`` failed."""
        return any(gate.get("verdict") == "FAILED" for gate in self.get("gates", []))


class Fit(Result):
    """On which devices a model is fast enough and fits into memory."""

    _rows_key = "devices"

    @property
    def devices(self) -> List[Row]:
        return list(self["devices"])


class Stream(Result):
    """A model fed at a fixed interval."""

    _rows_key = "operator_profile"


class Trained(Result):
    """A training run; ``model`` is the trained network."""

    _rows_key = "epochs"

    def __init__(self, report: "Union[_core.Report, Stored]", model: Optional[_core.Model] = None) -> None:
        super().__init__(report)
        self._model = model

    @property
    def model(self) -> _core.Model:
        if self._model is None:
            raise _core.UsageError("this result has no model")
        return self._model

    @property
    def epochs(self) -> List[Row]:
        return list(self["epochs"])


class Optimized(Result):
    """The versions that were tried; ``model`` is the one chosen."""

    _rows_key = "trail"

    def __init__(
        self, report: "Union[_core.Report, Stored]", model: Optional[_core.Model] = None, met: bool = False
    ) -> None:
        super().__init__(report)
        self._model = model
        self.met = met

    @property
    def model(self) -> _core.Model:
        if self._model is None:
            raise _core.UsageError("this result has no model")
        return self._model


class Sweep(Result):
    """The rows, frontiers and recommendation of a sweep; its files are in ``folder``."""

    def __init__(self, report: "Union[_core.Report, Stored]", folder: str = "") -> None:
        super().__init__(report)
        self.folder = folder

    @property
    def rows(self) -> List[Row]:
        import csv
        import io

        text = self._report.render("csv").decode()
        return [{key: _number(value) for key, value in row.items()} for row in csv.DictReader(io.StringIO(text))]

    @property
    def baseline(self) -> Row:
        return dict(self["baseline"])


class Study(Result):
    """How a cost changes when one thing changes."""

    _rows_key = "rows"

    @property
    def verdict(self) -> List[str]:
        return list(self.get("verdict", []))


class Machine(Result):
    """Peaks, bandwidths and caches of this machine."""

    _rows_key = "bandwidths"

    @property
    def rows(self) -> List[Row]:
        return list(self["ceilings"]["bandwidths"] if "ceilings" in self else self["bandwidths"])


class Devices(Result):
    """The catalogue of devices."""

    _rows_key = "devices"


def _number(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if text == "":
        return None
    try:
        return float(text) if any(c in text for c in ".eEn") else int(text)
    except ValueError:
        return text
