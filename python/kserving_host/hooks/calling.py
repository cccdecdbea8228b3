"""How hook functions are called: by what their signatures take."""

import inspect

from ..parts import kind_of


class Caller:
    """Calls a hook as `hook(inputs, ctx, **kwargs)`, less what it does not take; `ctx` may have any name.

    One that takes `*args` alone, as decorators do, gets the inputs; with `**kwargs` next to it also ctx, by its name.
    `parts` says if it answers in parts, as kind_of does.
    """

    def __init__(self, function):
        self.parts = kind_of(function)
        self._function = function
        self._positional, self._named, self._takes_all = _parameters(function)

    def __call__(self, values, ctx, kwargs):
        if len(self._positional) > 1 and self._positional[1] not in kwargs:
            return self._function(values, ctx, **self._pick(kwargs, self._positional[:2]))
        if self._positional == ["*"]:
            return self._function(values)
        return self._function(values, **self._pick({**kwargs, "ctx": ctx}, self._positional[:1]))

    def _pick(self, kwargs, given):
        if self._takes_all:
            return {name: value for name, value in kwargs.items() if name not in given}
        return {name: kwargs[name] for name in self._named if name in kwargs and name not in given}


def call_init(function, ctx, params):
    """`init_hook(**params)` or `init_hook(ctx, **params)`."""
    positional, named, takes_all = _parameters(function)
    given = params if takes_all else {name: params[name] for name in named if name in params}
    first = positional[0] if positional else None
    if first is not None and first not in params:
        return function(ctx, **{name: value for name, value in given.items() if name != first})
    return function(**given)


def _parameters(function):
    """Names of the positional parameters (`*` for any and nothing else), of all, and whether any keyword is taken."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return ["inputs", "ctx"], [], False
    by_place = [each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    any_place = any(each.kind is each.VAR_POSITIONAL for each in parameters)
    named = [each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    takes_all = any(each.kind is each.VAR_KEYWORD for each in parameters)
    return (["*"] if any_place and not by_place and not takes_all else by_place), named, takes_all
