"""A module that fails, before or behind its work."""


def breaks(module, when):
    """Raise before a module runs, or after NaN has gone through it."""

    def before(module, args):
        raise RuntimeError("broken")

    def after(module, args, output):
        for each in output if isinstance(output, tuple) else (output,):
            each.detach().fill_(float("nan"))
        raise KeyboardInterrupt

    if when == "before":
        return module.register_forward_pre_hook(before)
    return module.register_forward_hook(after)
