"""Progress bars: in terminals on stderr, in notebooks below the cell."""

from __future__ import annotations

import sys
import time
from typing import Any, Callable, Optional, Union

from ._arguments import checked

Listener = Callable[[float, str], None]
Choice = Union[bool, Listener, None]

_SHOWN_AFTER = 1.0  # seconds: short work shows nothing
_shows = True


@checked
def show_progress(on: bool = True) -> None:
    """Switches progress bars on or off for the whole process.

    >>> assay.show_progress(False)
    """
    global _shows
    _shows = on


def _notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


class Bar:
    """A bar that appears once the work takes longer than a moment, and goes when it is done."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._display: Any = None
        self._has_drawn = False

    def __call__(self, fraction: float, what: str) -> None:
        if time.monotonic() - self._start < _SHOWN_AFTER:
            return
        fraction = min(1.0, max(0.0, fraction))
        if _notebook():
            self._draw_in_notebook(fraction, what)
        elif sys.stderr is not None and sys.stderr.isatty():
            cells = int(30 * fraction)
            sys.stderr.write(f"\r\x1b[K{'█' * cells}{'░' * (30 - cells)} {100 * fraction:3.0f} % {what[:40]}")
            sys.stderr.flush()
            self._has_drawn = True

    def _draw_in_notebook(self, fraction: float, what: str) -> None:
        import html

        from IPython.display import HTML, display

        picture = HTML(f"<progress value='{fraction:.3f}' max='1'></progress> {html.escape(what)}")
        if self._display is None:
            self._display = display(picture, display_id=True)
        else:
            self._display.update(picture)

    def close(self) -> None:
        if self._has_drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
        if self._display is not None:
            from IPython.display import HTML

            self._display.update(HTML(""))


class Showing:
    """The listener for one call: the caller's own, a bar, or none."""

    def __init__(self, choice: Choice) -> None:
        self._bar: Optional[Bar] = None
        self.listener: Optional[Listener] = None
        if callable(choice):
            self.listener = choice
        elif choice or (choice is None and _shows and (_notebook() or _is_terminal())):
            self._bar = Bar()
            self.listener = self._bar

    def __enter__(self) -> Optional[Listener]:
        return self.listener

    def __exit__(self, *_: Any) -> None:
        if self._bar is not None:
            self._bar.close()


def _is_terminal() -> bool:
    return sys.stderr is not None and hasattr(sys.stderr, "isatty") and sys.stderr.isatty()
