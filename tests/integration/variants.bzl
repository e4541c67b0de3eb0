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
