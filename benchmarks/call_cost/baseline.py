"""Holds counts to what was recorded: no more, and not much less without saying so."""

# Of the instructions: libraries choose code by processor, and compilers change within a Debian release.
TOLERANCE = 0.02
# Of what is counted one by one, for each call. They vary by what is done once in many turns: that the descriptors are
# looked at is one system call in 256 of them.
SLACK = {"allocations": 0.05, "locks": 0.02, "locked_instructions": 0.1, "system_calls": 0.06, "doorbells": 0.01,
         "receive_posts": 0.005, "copies": 0.2}  # fmt: skip


def _differences_in_instructions(measured, recorded, whose):
    if measured > recorded * (1 + TOLERANCE):
        return [f"{measured:.0f} instructions {whose}; recorded are {recorded}"]
    if measured < recorded * (1 - TOLERANCE):
        return [f"{measured:.0f} instructions {whose}, which is better than the recorded {recorded}: write it into "
                "baseline.json, so that it is held"]
    return []


def differences(measured, recorded):
    """What is wrong with what is recorded, in words; empty if nothing is.

    `recorded` may have slack of its own, of what varies more. Where not all instructions are the same each time, one
    layer's are recorded: of a large payload, most of which are copies, the transport's (libc copies for it), not what
    timers add meanwhile; over many connections those of the RPC layer, not what depends on which messages come together.
    """
    wrong = []
    if "instructions" in recorded:
        wrong += _differences_in_instructions(measured.without_device(), recorded["instructions"],
                                              "without the software device")
    if "budget" in recorded and measured.without_device() > recorded["budget"]:
        wrong.append(f"{measured.without_device():.0f} instructions without the software device; the budget is "
                     f"{recorded['budget']}")
    for layer, whose in (("rpc", "of the RPC layer"), ("transport", "of the transport")):
        if layer in recorded:
            wrong += _differences_in_instructions(measured.instructions[layer], recorded[layer], whose)
    for name, slack in (SLACK | recorded.get("slack", {})).items():
        number = getattr(measured, name)
        if name not in recorded:
            continue
        what = f"{number:.{2 if slack >= 0.01 else 3}f} {name.replace('_', ' ')}"
        if number > recorded[name] + slack:
            wrong.append(f"{what}; recorded are {recorded[name]}")
        if number < recorded[name] - slack:
            wrong.append(f"{what}, which is better than the recorded {recorded[name]}: write it into baseline.json")
    return wrong
