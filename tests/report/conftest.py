"""A report in the browser, for all tests of pages."""

import pytest
from browsing import open_page

from starcert.report import write_report


@pytest.fixture
def shown(quiet, tmp_path):
    """Writes a report and opens it."""

    def show(archive, sites, **told):
        path = tmp_path / "report.html"
        write_report(path, archive, sites, **told)
        open_page(quiet, path.as_uri())
        return quiet

    return show
