"""Modules import only from rooms above their own, and never in a circle.

Late imports (inside functions) and those for a type checker count as well. The package's root,
which only names the public API, is exempt.
"""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
ROOMS = (
    "base", "data", "plots", "metrics", "linear", "gp", "model", "inference",
    "training", "prediction", "belief", "fitted", "evaluation", "report", "workflow", "study",
    "cli",
)  # fmt: skip


def module_name(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def import_graph(source: Path) -> dict[str, set[str]]:
    """For each module, the modules of the package that it imports anywhere in its text."""
    paths = {module_name(path, source): path for path in sorted(source.rglob("*.py"))}
    return {
        name: {found for found in imported(path, name, paths) if found != name}
        for name, path in paths.items()
        if name != "gpssm"
    }


def imported(path: Path, name: str, known: dict[str, Path]) -> set[str]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package.split(".")[: package.count(".") + 2 - node.level])
            module = ".".join(filter(None, (base, node.module))) if node.level else node.module
            # a name may be a module of its own, or a name inside of one
            names = {f"{module}.{alias.name}" for alias in node.names}
            found |= {each if each in known else str(module) for each in names}
    return {each for each in found if each in known and each != "gpssm"}


def upward_edges(graph: dict[str, set[str]], rooms: tuple[str, ...] = ROOMS) -> list[str]:
    """Imports of a room that lies below the importer's own."""
    rank = {room: place for place, room in enumerate(rooms)}

    def place(module: str) -> int:
        return rank[module.split(".")[1]]

    return [
        f"{module} imports {other}"
        for module, others in graph.items()
        for other in sorted(others)
        if place(other) > place(module)
    ]


def cycle(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_the_rooms_are_those_of_the_package():
    package = SOURCE / "gpssm"
    folders = {path.parent.name for path in package.glob("*/__init__.py")}
    files = {path.stem for path in package.glob("*.py")} - {"__init__"}
    assert sorted(ROOMS) == sorted(folders | files)


def test_figures_lie_above_the_classes_that_draw_with_them():
    """`Forecast.plot` and `Run.plot` call functions of a room above their own."""
    graph = import_graph(SOURCE)
    for module in ("gpssm.metrics.forecast", "gpssm.fitted.run"):
        assert "gpssm.plots" in graph[module]
        assert ROOMS.index("plots") < ROOMS.index(module.split(".")[1])
    assert graph["gpssm.plots"] == set()


def test_no_module_imports_from_a_room_below_its_own():
    graph = import_graph(SOURCE)
    assert len(graph) > 100
    assert upward_edges(graph) == []


def test_no_module_imports_itself_by_way_of_others():
    # A package's __init__ only gathers what its modules define.
    graph = import_graph(SOURCE)
    gathered = {name: others for name, others in graph.items() if not is_package(name)}
    assert cycle(gathered) == []


def is_package(name: str) -> bool:
    return (SOURCE / Path(*name.split("."))).is_dir()


LATE = "def later():\n    from gpssm.upper import thing\n    return thing\n"
TYPES = "import typing\nif typing.TYPE_CHECKING:\n    from gpssm.upper import thing\n"


@pytest.mark.parametrize("text", [LATE, TYPES, "from ..upper import thing\n"])
def test_late_and_type_only_imports_are_found(text, tmp_path):
    for name, content in (("lower/mine.py", text), ("upper/__init__.py", "thing = 1\n")):
        path = tmp_path / "gpssm" / name
        path.parent.mkdir(parents=True)
        path.write_text(content)
    (tmp_path / "gpssm" / "__init__.py").write_text("")
    found = upward_edges(import_graph(tmp_path), ("lower", "upper"))
    assert found == ["gpssm.lower.mine imports gpssm.upper"]


def test_a_circle_is_found():
    assert set(cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}})) == {"a", "b", "c"}
    assert cycle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
