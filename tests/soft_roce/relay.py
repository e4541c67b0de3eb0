"""Between the lines of a guest and this program's own output or terminal."""

import contextlib
import os
import pty
import select
import sys
import termios
import threading
import tty
from collections.abc import Iterator
from typing import BinaryIO

CHUNK_BYTES = 65536


@contextlib.contextmanager
def copy_in_background(sink: BinaryIO) -> Iterator[int]:
    """A descriptor; what is written to it goes to `sink` at once. At the end all that was written has gone there."""
    reading, writing = os.pipe()
    thread = threading.Thread(target=_copy, args=(reading, sink), daemon=True)
    thread.start()
    try:
        yield writing
    finally:
        os.close(writing)
        thread.join()
        os.close(reading)


def _copy(source: int, sink: BinaryIO) -> None:
    wanted = True
    while chunk := os.read(source, CHUNK_BYTES):
        if wanted:
            try:
                sink.write(chunk)
                sink.flush()
            except OSError:
                wanted = False  # The reader went away; the guest must not wait for it.


@contextlib.contextmanager
def relay_terminal() -> Iterator[int]:
    """A descriptor that is a terminal whose screen and keyboard are those of this program."""
    outer, inner = pty.openpty()
    tty.setraw(inner)
    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard)
    stop_reading, stop_writing = os.pipe()
    thread = threading.Thread(target=_exchange, args=(outer, keyboard, stop_reading), daemon=True)
    tty.setraw(keyboard)
    thread.start()
    try:
        yield inner
    finally:
        os.close(stop_writing)
        thread.join()
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
        for descriptor in (outer, inner, stop_reading):
            os.close(descriptor)


def _exchange(guest: int, keyboard: int, stop: int) -> None:
    """Until `stop` is at its end and nothing of the guest's is left."""
    sources = [guest, keyboard, stop]
    while True:
        ready = select.select(sources, [], [])[0]
        if guest in ready:
            os.write(sys.stdout.fileno(), os.read(guest, CHUNK_BYTES))
        elif stop in ready:
            return
        if keyboard in ready:
            typed = os.read(keyboard, CHUNK_BYTES)
            if typed:
                os.write(guest, typed)
            else:
                sources.remove(keyboard)


def terminal_settings() -> str:
    """As stty takes them."""
    size = os.get_terminal_size(sys.stdin.fileno())
    return f"rows {size.lines} columns {size.columns}"
