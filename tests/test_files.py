import pytest

from starcert.files import write_whole


def test_a_file_is_replaced_whole_or_stays(tmp_path):
    path = tmp_path / "note.txt"
    write_whole(path, ["one\n", "two ☃"])
    assert path.read_bytes() == "one\ntwo ☃".encode()

    def broken():
        yield "half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(path, broken())
    assert path.read_text(encoding="utf-8") == "one\ntwo ☃"
    assert list(tmp_path.iterdir()) == [path]


def test_others_may_read_it_as_they_may_read_any_new_file(tmp_path):
    (tmp_path / "plain.txt").write_text("x")
    write_whole(tmp_path / "note.txt", ["x"])
    assert (tmp_path / "note.txt").stat().st_mode == (tmp_path / "plain.txt").stat().st_mode
