from __future__ import annotations

import re

from fastapi.testclient import TestClient

from tests.autotune.dashboard.sample_study import make_sample
from tests.db.nights import Night


def test_trials_stand_side_by_side_and_differences_are_marked(page: TestClient) -> None:
    text = page.get("/studies/sample/compare?trial=0&trial=12&trial=2").text
    rows = {
        re.sub("<.*?>", "", name): mark
        for mark, name in re.findall(r'<tr class="(\w*)"><th scope="row">(.*?)</th>', text)
    }
    assert rows["cuda_graph_max_bs"] == "changed"
    assert rows["outcome"] == "changed"
    assert rows["first token p50 / p95"] == "", "a crash that measured nothing is no difference"
    assert "91.0 tok/s (90.1 to 91.9)" in text
    assert "Measured with 8 streams (simulated)" in text


def test_one_trial_is_no_comparison(page: TestClient) -> None:
    assert "Choose two or more trials" in page.get("/studies/sample/compare?trial=1").text
    assert "Choose two or more trials" in page.get("/studies/sample/compare").text


def test_what_cannot_be_compared_is_said(page: TestClient) -> None:
    assert page.get("/studies/sample/compare?trial=1&trial=99").status_code == 404
    many = "&".join(f"trial={number}" for number in range(9))
    assert page.get(f"/studies/sample/compare?{many}").status_code == 400


def test_studies_stand_side_by_side(night: Night, own_page: TestClient) -> None:
    other = make_sample(night.path.parent.parent / "sample")
    text = own_page.get("/compare?study=sample&study=night&study=sample").text
    other.close()
    assert re.findall('<th scope="col"><a href="(.*?)"', text) == ["/studies/sample", "/studies/night"]
    assert "89.4 tok/s" in text, "91.0 less the luck of a leader among so many"
    assert '<th scope="row">all_<wbr>reduce</th>' in text
    assert "Choose two or more" in own_page.get("/compare?study=sample").text


def test_studies_that_cannot_stand_side_by_side_are_said(night: Night, own_page: TestClient) -> None:
    unknown = own_page.get("/compare?study=night&study=..%2Fnight")
    assert (unknown.status_code, "There is no study &#39;../night&#39; here." in unknown.text) == (404, True)
    many = own_page.get("/compare?" + "&".join(f"study=night{number}" for number in range(9)))
    assert (many.status_code, "8 studies at most" in many.text) == (400, True)
    broken = night.path.parent.parent / "broken" / "study.db"
    broken.parent.mkdir()
    broken.write_bytes(b"not a database")
    assert "no SQLite database" in own_page.get("/compare?study=night&study=broken").text
