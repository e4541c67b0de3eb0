"""Holds counts to what was recorded: no more, and not much less without saying so."""

# Of the instructions: libraries choose code by processor, and compilers change within a Debian release.
TOLERANCE = 0.02
# Of what is counted one by one, for each call: what happens now and then, as a timer does.
SLACK = 0.1


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
    for name in ("allocations", "locks", "system_calls"):
        number = getattr(measured, name)
        if number > recorded[name] + SLACK:
            wrong.append(f"{number:.2f} {name.replace('_', ' ')}; recorded are {recorded[name]}")
    return wrong
