"""The notebook, executed."""

from pathlib import Path

import nbclient
import nbformat

import yahtzee_cluster as yc

NOTEBOOK = Path(__file__).resolve().parent.parent / "examples" / "any_position.ipynb"


def read() -> nbformat.NotebookNode:
    """The notebook as it is in the repository."""
    notebook: nbformat.NotebookNode = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    return notebook


def test_the_repository_has_no_outputs() -> None:
    """What a notebook printed is not stored, so that its source is all that changes."""
    cells = [cell for cell in read().cells if cell.cell_type == "code"]
    assert len(cells) > 5
    assert [(cell.outputs, cell.execution_count) for cell in cells] == [([], None)] * len(cells)


def test_the_notebook_runs(tmp_path: Path) -> None:
    """From top to bottom, without an error or a warning; it shows advice, an array, a frame and figures."""
    notebook = read()
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert [output.text for output in outputs if output.get("name") == "stderr"] == []
    shown = [output.text if "text" in output else output.data["text/plain"] for output in outputs]
    game = yc.new_game("yahtzee").with_card("1=3, 2=6, 3=9, 4=12, yahtzee=0, 3k=20, ss=30, fh=25")
    position = game.with_dice("22243", rolls_left=1)
    assert shown[0] == repr(position)
    assert all(repr(position.advise(goal)) in shown[1] for goal in ("mean", "reach:215", "reach:260"))
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 2
    assert any(text.startswith("<xarray.Dataset>") and "state: 4096" in text for text in shown)
    assert any("the game is over" in text for text in shown)
