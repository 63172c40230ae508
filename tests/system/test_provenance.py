"""How a result was made: a repetition with the same versions gives the same files."""

from starcert.system.files import versions


def test_a_repetition_gives_the_same_bytes(project, here):
    """All but the file of votes, whose sessions tell the time."""
    for number in range(2):
        for command in (["certify", "run.toml"], ["sweep", "run.toml", "--grid", "hub=0.02,0.1"]):
            status, _, err = here(*command, "--samples", 50, "--out", "out")
            assert (status, err) == (0, "")
            (project / "out").rename(project / f"{command[0]}-{number}")
    for command, page in (("certify", "report.html"), ("sweep", "sweep.html")):
        one, two = (
            {path.name: path.read_bytes() for path in (project / f"{command}-{number}").iterdir() if path.is_file()}
            for number in range(2)
        )
        assert page in one
        assert {name for name in one if one[name] != two[name]} <= {"votes.db"}
        assert set(one) == set(two)


def test_versions_are_those_of_what_computes():
    assert {"python", "machine", "starcert", "numpy"} <= set(versions())
