"""Holds counts to what was recorded: no more, and not much less without saying so."""

# Of the instructions: libraries choose code by processor, and compilers change within a Debian release.
TOLERANCE = 0.02
# Of what is counted one by one, for each call. Locks and system calls are those of timers, which go by time: a machine
# with other work has more of them for each call. One that each call makes is a whole one.
SLACK = {"allocations": 0.1, "locks": 0.6, "system_calls": 0.6, "doorbells": 0.02}


def differences(measured, recorded):
    """What is wrong, in words; empty if nothing is."""
    wrong = []
    instructions = measured.without_device()
    if instructions > recorded["instructions"] * (1 + TOLERANCE):
        wrong.append(f"{instructions:.0f} instructions without the software device; recorded are "
                     f"{recorded['instructions']}")
    if instructions < recorded["instructions"] * (1 - TOLERANCE):
        wrong.append(f"{instructions:.0f} instructions without the software device, which is better than the recorded "
                     f"{recorded['instructions']}: write it into baseline.json, so that it is held")
    for name, slack in SLACK.items():
        number = getattr(measured, name)
        if number > recorded[name] + slack:
            wrong.append(f"{number:.2f} {name.replace('_', ' ')}; recorded are {recorded[name]}")
    return wrong
