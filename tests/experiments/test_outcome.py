"""Tables as CSV: every number can be read back exactly."""

import csv
import io

import numpy as np

from starcert.experiments.outcome import Table


def test_numbers_read_back_exactly():
    values = [0.1 + 0.2, np.float64(1 / 3), 1e-300, 5, np.int64(7), True, 'a,b\n"c"', None]
    text = Table("t", "", list("abcdefgh"), [values, values]).to_csv()
    header, *rows = csv.reader(io.StringIO(text))
    assert header == list("abcdefgh")
    assert rows[0] == rows[1]
    assert [float(cell) for cell in rows[0][:5]] == [0.1 + 0.2, 1 / 3, 1e-300, 5, 7]
    assert rows[0][3:] == ["5", "7", "True", 'a,b\n"c"', ""]
    assert "\r" not in text
