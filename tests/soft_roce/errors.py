"""What goes wrong here, in words for the person who started it."""


class GuestError(Exception):
    """There is no guest, or it did not do what it was started for. The text says what to do, where something can be."""
