"""Holds counts to what was recorded: no more, and not much less without saying so."""

# Of the instructions: libraries choose code by processor, and compilers change within a Debian release.
TOLERANCE = 0.02
# Of what is counted one by one, for each call. They vary by what is done once in many turns.
SLACK = {"allocations": 0.1, "locks": 0.1, "system_calls": 0.1, "doorbells": 0.01}


def _differences_in_instructions(measured, recorded, whose):
    if measured > recorded * (1 + TOLERANCE):
        return [f"{measured:.0f} instructions {whose}; recorded are {recorded}"]
    if measured < recorded * (1 - TOLERANCE):
        return [f"{measured:.0f} instructions {whose}, which is better than the recorded {recorded}: write it into "
                "baseline.json, so that it is held"]
    return []


def differences(measured, recorded):
    """What is wrong with what is recorded, in words; empty if nothing is.

    Of a large payload's instructions, most of which copy, the transport's are recorded: libc copies for it. Not what
    timers add while it is copied.
    """
    wrong = []
    if "instructions" in recorded:
        wrong += _differences_in_instructions(measured.without_device(), recorded["instructions"],
                                              "without the software device")
    if "transport" in recorded:
        wrong += _differences_in_instructions(measured.instructions["transport"], recorded["transport"],
                                              "of the transport")
    for name, slack in SLACK.items():
        number = getattr(measured, name)
        if name in recorded and number > recorded[name] + slack:
            wrong.append(f"{number:.2f} {name.replace('_', ' ')}; recorded are {recorded[name]}")
    return wrong
