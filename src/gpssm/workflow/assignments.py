"""Settings as `NAME=VALUE`: any setting of a run, by its name, with a value as in a TOML file."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpssm.base.errors import ConfigError, expected
from gpssm.base.settings import nearest

from .configuration import SECTIONS, RunConfig, from_file, place_files

_OWN = ("version", "physics", *SECTIONS)  # no settings, or none that a text can give


def parse_assignments(texts: Sequence[str], field: str = "--set") -> dict[str, Any]:
    """The settings of `training.steps=500`, or `steps=500` where one section has that name."""
    found: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign:
            raise ConfigError(expected(field, repr(text), "NAME=VALUE, such as steps=500"))
        section, _, key = _full_name(name.strip(), field).rpartition(".")
        place = found.setdefault(section, {}) if section else found
        if key in place:
            raise ConfigError(expected(field, f"{name.strip()} twice", "each setting once"))
        place[key] = from_file(section, key, _value(value.strip()))
    place_files(found.get("data", {}), Path.cwd())  # the configuration is read elsewhere
    return found


def merge(options: dict[str, Any], assigned: dict[str, Any]) -> dict[str, Any]:
    """Options together with assigned settings; raise where both give the same one."""
    merged = {**options}
    for key, value in assigned.items():
        if isinstance(value, dict) and key in SECTIONS:
            merged[key] = merge(options.get(key, {}), value)
            continue
        if options.get(key) is not None:
            remedy = "Give it once."
            given = f"{key} together with the option that sets it"
            raise ConfigError(expected("--set", given, "one of them", remedy))
        merged[key] = value
    return merged


def _names() -> list[str]:
    """All settings: `seeds`, `training.steps`, …"""
    own = [name for name in RunConfig.model_fields if name not in _OWN]
    return own + [
        f"{section}.{key}"
        for section, kind in SECTIONS.items()
        for key in kind.model_fields
        if key not in _OWN
    ]


def _full_name(name: str, field: str) -> str:
    """The name with its section."""
    names = _names()
    if name in names:
        return name
    found = [each for each in names if each.rpartition(".")[2] == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise ConfigError(expected(field, repr(name), " or ".join(found)))
    short = {each.rpartition(".")[2]: each for each in names}
    near = nearest(name.rpartition(".")[2], short) or nearest(name, names)
    remedy = f"Nearest: {', '.join(short.get(each, each) for each in near)}."
    raise ConfigError(expected(field, repr(name), "the name of a setting", remedy if near else ""))


def _value(text: str) -> Any:
    """A value as in a TOML file; what is none is text, since a shell removes quotes."""
    try:
        content = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return content["value"] if len(content) == 1 else text
