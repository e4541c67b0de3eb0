"""The same tests on the software device in its other settings."""

# Each is a device that a user may meet: the profiles' lacks, one-sided requests executed by the responder, and the
# wire between hosts.
_SETTINGS = {
    "mlx5": "VERBENA_SOFT_PROFILE=mlx5",
    "irdma": "VERBENA_SOFT_PROFILE=irdma",
    "rxe": "VERBENA_SOFT_PROFILE=rxe",
    "siw": "VERBENA_SOFT_PROFILE=siw",
    "responder": "VERBENA_SOFT_ONE_SIDED=responder",
    "tcp": "VERBENA_SOFT_FABRIC=tcp",
}

def soft_device_variants(tests, settings = _SETTINGS.keys()):
    """Makes `<test>_on_<setting>` of each test in this package, and of each setting."""
    for test in tests:
        for setting in settings:
            native.sh_test(
                name = "%s_on_%s" % (test, setting),
                size = "medium",
                srcs = ["with_setting.sh"],
                args = [
                    _SETTINGS[setting],
                    "$(location :%s)" % test,
                ],
                data = [":" + test],
                tags = ["local", "slow"],
            )

# Faults that a program which keeps the rules of the verbs notices by nothing but the time, and refused receives, which
# Verbena posts again: what the tests expect holds under them unchanged.
_RANDOM_FAULTS = "kinds=harmless;seed=%s;count=20000;objects=1000;operations=60"
_CONSTANT_FAULTS = "qp=*:lose-last-wqe;qp=*:refuse-direct;qp=*,request=*:trickle=700;" + \
                   "srq=*,receive=1:refuse;srq=*,receive=300:refuse"

def under_faults(tests):
    """Makes `<test>_under_faults` of each test in this package, and `<test>_under_fresh_faults` with seeds of its own."""
    for test in tests:
        _under_plans(test, "faults", [_CONSTANT_FAULTS, _RANDOM_FAULTS % 1], [])
        _under_plans(test, "fresh_faults", [_RANDOM_FAULTS % "SEED"], ["external"])  # Never taken from the cache.

def _under_plans(test, name, plans, tags):
    native.sh_test(
        name = "%s_under_%s" % (test, name),
        size = "medium",
        srcs = ["under_faults.sh"],
        args = ["//%s:%s" % (native.package_name(), test), "$(location :%s)" % test] + ["'%s'" % plan for plan in plans],
        data = [":" + test],
        tags = ["local", "slow"] + tags,
    )
