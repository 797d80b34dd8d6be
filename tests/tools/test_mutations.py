"""Changes of a source that matter are found, and are said to be noticed where a test fails."""

import argparse
import json

import pytest
from tools.mutants import ROOT, Place, summary, touching_tests, try_one, verdict
from tools.mutations import Mutation, draw, find_mutations, is_program

from tools import mutants, pages

SOURCE = '''"""Words, 1 of them."""

LIMIT = 3


def clip(value: int = 5, low: "int | None" = None) -> int:
    """No less than 0."""
    if value > LIMIT and low is not None:
        raise ValueError(f"{value + 1} is too large")
    return max(value, min(low, 7))
'''


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A package of one module, whose test does not look at every line."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they are slow to load
    module = tmp_path / "src/gpssm/data/clip.py"
    test = tmp_path / "tests/data/test_clip.py"
    for path in (module, test):
        path.parent.mkdir(parents=True)
    for folder in (module.parent, module.parent.parent):
        (folder / "__init__.py").touch()
    module.write_text(SOURCE)
    test.write_text(
        "from gpssm.data.clip import clip\n\n\ndef test_it():\n    assert clip(2, 1) == 2\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def lines_after(path):
    text = path.read_bytes()
    found = [each for each in find_mutations(path) if is_program(each)]
    return {each.diff(text).splitlines()[-1][1:].strip() for each in found}


def test_each_kind_of_change_is_made(project):
    after = lines_after(project / "src/gpssm/data/clip.py")
    assert after >= {
        "LIMIT = 4",
        'def clip(value: int = 6, low: "int | None" = None) -> int:',
        "if value >= LIMIT and low is not None:",
        "if value > LIMIT or low is not None:",
        "if value > LIMIT and low is None:",
        "if not (value > LIMIT and low is not None):",
        "pass",
        "return None",
        "return max(value, min(low, 8))",
    }
    assert "return max(min(low, 7), value)" not in after  # the same


def test_words_and_annotations_stay(project):
    path = project / "src/gpssm/data/clip.py"
    changed = {each.line for each in find_mutations(path)}
    assert changed == {3, 6, 8, 9, 10}
    assert not any("value + 2" in line or "value - 1" in line for line in lines_after(path))


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("def f(a):\n    return a(1, key=a)\n", "return a(1, )"),
        ("def f(a):\n    return escape(a)\n", "return (a)"),
        ("class A:\n    @property\n    def b(self):\n        pass\n", "    "),
        ("def f(a):\n    a.b = 1\n", "pass"),
        ("def f(a):\n    return not a\n", "return (a)"),
        ("def f(a):\n    return a(1, 2)\n", "return a(2, 1)"),
        ("def f(a):\n    return np.float(a + 1)\n", "return np.float(a + 2)"),
        ("def f(ä):\n    return 'ü' + ä * 2\n", "return 'ü' + ä / 2"),
    ],
)
def test_other_kinds_of_change(tmp_path, text, after):
    path = tmp_path / "some.py"
    path.write_text(text, encoding="utf-8")
    assert after.strip() in lines_after(path)


def test_a_seed_always_draws_the_same(project):
    paths = list((project / "src").rglob("*.py"))
    assert draw(3, paths, 5) == draw(3, paths, 5) != draw(4, paths, 5)
    assert len(draw(3, paths, 5)) == 5


def test_a_change_is_noticed_where_a_test_fails(project):
    path = project / "src/gpssm/data/clip.py"
    by_line = {(each.line, each.kind): each for each in find_mutations(path)}
    place = Place(project)
    found = try_one(by_line[10, "return nothing"], place, root=project)
    assert found["noticed"]
    assert found["by"] == "tests/data/test_clip.py::test_it"
    found = try_one(by_line[9, "statement removed"], place, root=project)
    assert not found["noticed"]
    assert path.read_text() == SOURCE


def test_a_test_whose_name_has_blanks_is_run_again_by_its_whole_name(project):
    (project / "tests/data/test_clip.py").write_text(
        "import pytest\nfrom gpssm.data.clip import clip\n\n\n"
        "@pytest.mark.parametrize('low', [1], ids=['one and only'])\n"
        "def test_it(low):\n    assert clip(2, low) == 2\n"
    )
    path = project / "src/gpssm/data/clip.py"
    (change,) = (m for m in find_mutations(path) if (m.line, m.kind) == (10, "return nothing"))
    found = try_one(change, Place(project), root=project)
    assert found["by"] == "tests/data/test_clip.py::test_it[one and only]"
    assert found["noticed"]


def test_a_test_that_fails_anyway_notices_nothing(project):
    (project / "tests/data/test_clip.py").write_text("def test_clip():\n    raise OSError\n")
    some = find_mutations(project / "src/gpssm/data/clip.py")[0]
    assert try_one(some, Place(project), root=project)["outcome"] == "unclear"


def test_the_tests_of_the_file_come_first():
    path = ROOT / "src/gpssm/data/normalisation.py"
    tests = touching_tests(Mutation(path, 1, "constant", 0, 0, ""), ROOT)
    assert tests[0] == "tests/data/test_normalisation.py"
    assert "tests/data/test_dataset.py" in tests
    assert not any(each.startswith("tests/experiments") for each in tests)


@pytest.mark.parametrize(
    ("code", "log", "expected"),
    [
        (0, "3 passed", ("passed", "")),
        (1, "FAILED tests/a.py::test_b[x y] - assert 1", ("failed", "tests/a.py::test_b[x y]")),
        (1, "tests/a.py::test_b PASSED\ntests/a.py::test_c Timeout (0:01:00)!\n",
         ("hung", "tests/a.py::test_c")),
        (4, "ImportError while loading conftest", ("failed", "")),
    ],
)  # fmt: skip
def test_what_pytest_says(code, log, expected):
    assert verdict(code, log) == expected


def test_the_page_says_what_was_not_noticed(tmp_path):
    missed = {"file": "a.py", "diff": "@@\n-a | b\n+a & b", "noticed": False, "reason": "equal"}
    found = {"seed": 3, "rooms": ["data"], "share": 0.5, "minutes": 9.6,
             "mutations": [missed, {**missed, "noticed": True}]}  # fmt: skip
    text = summary(found | {"mutations": [{**each, "line": 2} for each in found["mutations"]]})
    assert "1 were noticed (50 %)" in text
    assert text.count("a \\| b") == 1
    assert "| equal |" in text
    page = tmp_path / "page.md"
    page.write_text("# Title\n\nMine.\n")
    pages.update("mutations", "old", page)
    pages.update("fuzzing", "other", page)
    pages.update("mutations", text, page)
    assert "old" not in page.read_text()
    assert page.read_text().startswith("# Title\n\nMine.\n")
    assert page.read_text().count("mutations: begin") == 1
    assert "other" in page.read_text()


def test_what_was_unclear_is_tried_again_once_its_test_is_mended(project, monkeypatch):
    monkeypatch.setattr(mutants, "ROOT", project)
    monkeypatch.setattr(mutants, "copy_project", lambda root, to: Place(project))
    monkeypatch.setattr(mutants, "try_one", lambda m, place, _: try_one(m, place, root=project))
    path = project / "src/gpssm/data/clip.py"
    some = [m for m in find_mutations(path) if m.line == 10 and is_program(m)][:2]
    entries = [
        {"file": "src/gpssm/data/clip.py", "diff": m.diff(path.read_bytes()), "noticed": False}
        for m in some
    ]
    entries[0]["outcome"], entries[1]["outcome"] = "unclear", "passed"
    result = project / "mutants.json"
    result.write_text(json.dumps({"seed": 1, "mutations": entries}))
    asked = argparse.Namespace(out=result, minutes=60.0, budget=60.0, workers=1)
    found = mutants.again(asked)
    assert [each["outcome"] for each in found["mutations"]] == ["failed", "passed"]
    assert found["share"] == 0.5
